"""Fewer edges that explain nearly as much: of the same graphs, none of them reversed."""

import numpy as np
import pytest

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidParameterError
from contextualdag.estimators.remarks import remarks


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 8))
    W = np.triu(rng.choice([0.05, 0.1, 0.15, 0.9], size=(8, 8), p=[0.3, 0.3, 0.3, 0.1]), 1)
    return np.linalg.solve(np.eye(8) - W.T, X.T).T, rng.uniform(-1, 1, (4000, 1))


@pytest.fixture(scope="module")
def dense(data):
    return FixedDAG(noise="equal", random_state=0).fit(*data)


def test_the_strongest_edges_of_the_same_graph(dense, data):
    W, fewer = dense.graph_, dense.select(explained=0.8).graph_
    kept = fewer != 0
    assert 0 < kept.sum() < (W != 0).sum()
    assert np.array_equal(fewer[kept], W[kept])
    assert np.abs(W[kept]).min() > np.abs(W[(W != 0) & ~kept]).max()
    shares = [model.score(*data) for model in (dense, dense.select(explained=0.8))]
    assert 0.6 < shares[1] / shares[0] < 1


def test_all_that_is_explained_is_the_selection_itself(dense):
    assert np.array_equal(dense.select(explained=1.0).graph_, dense.graph_)


def test_as_a_selection(dense, data):
    model = FixedDAG(noise="equal", selection="explained", random_state=0).fit(*data)
    assert np.array_equal(model.graph_, dense.select(explained=0.9).graph_)


def test_another_share_as_a_selection(dense, data, tmp_path):
    model = FixedDAG(noise="equal", selection=("explained", 0.8), random_state=0).fit(*data)
    expected = dense.select(explained=0.8).graph_
    assert np.array_equal(model.graph_, expected)
    n_all, n_kept = (dense.graph_ != 0).sum(), (expected != 0).sum()
    said = f"{n_all} edges predict best; the {n_kept} strongest, which these graphs have, explain 80 % of it."
    assert said in remarks(model)
    assert len(model.summary()) == n_kept
    model.save(tmp_path / "model")
    again = FixedDAG.load(tmp_path / "model")
    assert again.selection == ("explained", 0.8)
    assert np.array_equal(again.graph_, expected)
    assert said in remarks(again)
    assert not any("predict best" in text for text in remarks(again.select(n_edges=3)))


NONE = [("explained", 0), ("explained", 1.1), ("explained",), ("relaxed", 0.5), ("explained", "1")]


@pytest.mark.parametrize("selection", NONE)
def test_selections_that_are_none(selection, data):
    with pytest.raises(InvalidParameterError, match=r"'selection' parameter of FixedDAG must be .*\('explained', share\)"):
        FixedDAG(selection=selection).fit(*data)


def test_a_remark_says_how_many_are_enough(dense):
    (remark,) = [text for text in remarks(dense) if "predict best" in text]
    assert "nine tenths" in remark


@pytest.mark.slow
def test_graphs_that_vary():
    data = make_varying_dag(300, 4, 1, n_edges=4, random_state=0)
    given = {"hidden_layers": (16,), "n_members": 1, "structure": "varying", "random_state": 0, "verbose": False}
    model = ContextualDAG(**given).fit(data.X, data.Z)
    W, fewer = model.adjacency(data.Z), model.select(explained=0.3).adjacency(data.Z)
    assert 0 < (fewer != 0).sum() < (W != 0).sum()
    assert np.array_equal(fewer[fewer != 0], W[fewer != 0])


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_what_is_no_share(dense, share):
    with pytest.raises(InvalidParameterError, match="explained must be a number above 0, up to 1"):
        dense.select(explained=share)


def test_two_at_once(dense):
    with pytest.raises(InvalidParameterError, match="one of n_edges, l1_budget and explained"):
        dense.select(n_edges=2, explained=0.9)
