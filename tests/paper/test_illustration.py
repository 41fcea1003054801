"""The first figure: fitted once, kept, and drawn without training."""

import json

import numpy as np
import pandas as pd
import pytest

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.errors import PersistenceError
from contextualdag.paper import illustration
from contextualdag.paper.illustration import (
    _edges_over,
    draw,
    edge_table,
    load_illustration,
    run_illustration,
    write_illustration,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("illustration") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(illustration, "QUICK_SAMPLES", 300)
        patch.setattr(illustration, "N_CONTEXTS", 500)
        run_illustration(home, quick=True, device="cpu", verbose=False)
    return home


def never(*arguments, **settings):
    raise AssertionError("nothing was left to fit")


def test_models_and_graphs_are_kept(folder):
    shown = load_illustration(folder)
    assert shown.n_samples == 300
    assert shown.truth.shape == shown.contextual.shape == (500, 5, 5)
    model = ContextualDAG.load(folder / "contextual", device="cpu")
    np.testing.assert_allclose(model.adjacency(shown.Z), shown.contextual, atol=1e-6)
    np.testing.assert_allclose(FixedDAG.load(folder / "fixed").graph_, shown.fixed, atol=1e-6)
    assert not (folder / "checkpoint").exists()


def test_a_finished_fit_is_not_repeated_and_drawing_never_trains(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(illustration, "learn", never)
    run_illustration(folder, quick=True)
    paths = write_illustration(folder, tmp_path / "figure")
    assert [path.name for path in paths] == ["figure.csv", "figure.png", "figure.svg"]
    table = pd.read_csv(paths[0])
    assert list(table.columns) == ["context", "z1", "z2", "source", "target", "true", "contextual", "fixed"]
    assert set(table["context"]) == {1, 2, 3, 4}
    assert (table[["true", "contextual", "fixed"]] != 0).any(axis=1).all()


def test_the_contexts_shown_are_chosen_by_place(folder, tmp_path):
    table = pd.read_csv(write_illustration(folder, tmp_path / "figure")[0]).groupby("context")[["z1", "z2"]].first()
    assert np.abs(table.to_numpy() - [[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]).max() < 0.2
    titles = [ax.get_title() for ax in draw(load_illustration(folder)).axes]
    assert "number of edges, true" in titles
    assert "number of edges, learned" in titles
    assert sum(title.startswith("1.  z = (") for title in titles) == 1


def test_edges_are_counted_in_squares():
    Z = np.array([[-0.99, 0.99], [-0.98, 0.98], [1.0, -1.0]])
    W = np.zeros((3, 2, 2))
    W[0, 0, 1] = W[2, 0, 1] = 0.5
    counts = _edges_over(Z, W)
    assert counts[0, -1] == 0.5
    assert counts[-1, 0] == 1
    assert np.isnan(counts).sum() == counts.size - 2


def test_edge_table():
    first, second = np.zeros((2, 3, 3))
    first[0, 2], second[0, 2], second[1, 0] = 0.5, 0.25, -1
    table = edge_table(["a", "b", "c"], {"true": first, "learned": second})
    assert table.to_dict("list") == {"source": ["a", "b"], "target": ["c", "a"], "true": [0.5, 0], "learned": [0.25, -1]}


@pytest.mark.parametrize("how", ["truncated", "another version", "not arrays"])
def test_damaged_files_are_named(how, folder, tmp_path):
    content = (folder / "graphs.npz").read_bytes()
    file = tmp_path / "graphs.npz"
    if how == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif how == "not arrays":
        file.write_text(json.dumps({}))
    else:
        np.savez_compressed(file, **(dict(np.load(folder / "graphs.npz")) | {"version": 99}))
    with pytest.raises(PersistenceError, match=r"graphs\.npz (cannot be read|is of another version).* delete it"):
        run_illustration(tmp_path)
