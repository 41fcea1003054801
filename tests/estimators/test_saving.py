import json

import numpy as np
import pytest

from contextualdag import ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.errors import PersistenceError
from contextualdag.estimators import load_model
from contextualdag.folder import load_folder, save_folder


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((60, 3)), rng.uniform(size=(60, 1))
    X[:, 1] += X[:, 0]
    return X, Z


@pytest.mark.parametrize(
    "model",
    [
        ContextualDAG(hidden_layers=(4,), n_budgets=2, max_epochs=2, random_state=0),
        SortedDAG(order=[0, 1, 2], hidden_layers=(4,), n_budgets=2, max_epochs=2, random_state=0),
        FixedDAG(random_state=0),
        ClusteredDAG(n_clusters=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_comes_back(model, data, tmp_path):
    model.fit(*data).save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.adjacency(data[1]), model.adjacency(data[1]))


def test_what_is_no_model(data, tmp_path):
    with pytest.raises(PersistenceError, match="There is no folder at"):
        load_model(tmp_path / "nothing")
    with pytest.raises(PersistenceError, match="is not a contextualdag folder"):
        load_model(tmp_path)
    save_folder(tmp_path / "checkpoint", "checkpoint", {}, {})
    with pytest.raises(PersistenceError, match=r"holds a 'checkpoint' .* does not know as a model. It loads: ContextualDAG"):
        load_model(tmp_path / "checkpoint")


def test_models_of_other_versions(data, tmp_path):
    FixedDAG(random_state=0).fit(*data).save(tmp_path / "model")
    metadata, tensors = load_folder(tmp_path / "model", "FixedDAG")
    save_folder(tmp_path / "older", "FixedDAG", metadata, {n: t for n, t in tensors.items() if n != "array/context_means"})
    save_folder(tmp_path / "newer", "FixedDAG", metadata | {"parameters": {"not_yet": 1}}, tensors)
    for name in ("older", "newer"):
        with pytest.raises(PersistenceError, match=rf"{name} was written by contextualdag \S+ in a form that this version"):
            load_model(tmp_path / name)
    file = tmp_path / "model" / "metadata.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format_version": 99}))
    with pytest.raises(PersistenceError, match="was written by a newer contextualdag"):
        load_model(tmp_path / "model")
    file.write_text("{")
    with pytest.raises(PersistenceError, match="is broken JSON"):
        load_model(tmp_path / "model")
