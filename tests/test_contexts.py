"""What a model remembers of its contexts."""

import numpy as np
import pandas as pd
import pytest

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.errors import InvalidParameterError, NotFittedError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    Z = pd.DataFrame({"age": np.linspace(20, 60, 201), "site": ["a"] * 60 + ["b"] * 101 + ["c"] * 40})
    X = pd.DataFrame(rng.standard_normal((201, 3)), columns=list("uvw"))
    return ContextualDAG(hidden_layers=(8,), max_epochs=5, random_state=0).fit(X, Z)


def test_summary_covers_all_rows_and_no_more(model):
    table = model.context_summary_.set_index("feature")
    numbers = table.loc["age", ["low", "q25", "median", "q75", "high"]].to_numpy(float)
    np.testing.assert_allclose(numbers, [20, 30, 40, 50, 60])
    assert table.loc["site", "shares"] == pytest.approx({"a": 60 / 201, "b": 101 / 201, "c": 40 / 201})
    assert table["kind"].tolist() == ["number", "category"]


def test_typical_contexts_are_contexts(model):
    assert model.typical_context().to_dict("records") == [{"age": pytest.approx(40), "site": "b"}]
    assert float(model.typical_context(0.1)["age"].iloc[0]) == pytest.approx(24)
    assert model.adjacency(model.typical_context(1)).shape == (1, 3, 3)
    with pytest.raises(InvalidParameterError, match="quantile must be a number from 0 to 1"):
        model.typical_context(2)


def test_outside(model):
    Z = pd.DataFrame({"age": [19.9, 20, 60, 60.1], "site": ["a"] * 4})
    assert model.is_outside(Z).tolist() == [True, False, False, True]


def test_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = ContextualDAG.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.context_summary_, model.context_summary_)
    pd.testing.assert_frame_equal(loaded.typical_context(0.9), model.typical_context(0.9))


def test_unfitted():
    for ask in (lambda m: m.context_summary_, lambda m: m.typical_context(), lambda m: m.is_outside([[0.0]])):
        with pytest.raises(NotFittedError):
            ask(FixedDAG())
