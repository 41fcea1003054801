"""One graph for all contexts as a candidate."""

import numpy as np
import pytest
import torch

from contextualdag import ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidParameterError, NotFittedError
from contextualdag.graphs import order_to_mask, topological_order
from contextualdag.metrics import f1_score

pytestmark = pytest.mark.slow

QUICK = {"hidden_layers": (32,), "learning_rate": 1e-2, "n_budgets": 8, "random_state": 0}
ALONE = QUICK | {"n_members": 1}


@pytest.fixture(scope="module")
def fixed():
    return make_fixed_dag(900, n_nodes=8, n_features=2, n_edges=8, weight=0.4, random_state=1)


@pytest.fixture(scope="module")
def model(fixed):
    return ContextualDAG(**QUICK).fit(fixed.X[:600], fixed.Z[:600])


def test_selected_where_nothing_varies(model, fixed):
    assert model.varies_ is False
    W = model.adjacency(fixed.Z[600:])
    assert np.ptp(W, axis=0).max() == 0
    assert f1_score(fixed.W[600:], W) > 0.85


def test_of_one_network_it_is_that_of_fixed_dag(fixed):
    alone = FixedDAG(random_state=0).fit(fixed.X[:600], fixed.Z[:600])
    model = ContextualDAG(**ALONE).fit(fixed.X[:600], fixed.Z[:600])
    W = model.adjacency(fixed.Z[:1])
    np.testing.assert_allclose(W[0], alone.graph_, atol=1e-3)  # their means start from other random numbers


@pytest.mark.long
def test_not_selected_where_graphs_vary():
    data = make_varying_dag(900, n_nodes=5, n_features=2, n_edges=5, random_state=3)
    model = ContextualDAG(**QUICK).fit(data.X, data.Z)
    assert model.varies_ is True
    W = model.adjacency(data.Z)
    assert np.ptp(W, axis=0).max() > 0


@pytest.mark.long
def test_other_sparsities_and_the_path_are_those_of_the_constant_graph(model, fixed):
    assert not model.select(n_edges=0).adjacency(fixed.Z[:3]).any()
    W = model.select(n_edges=4).adjacency(fixed.Z[:3])
    assert (W != 0).sum(axis=(1, 2)).tolist() == [4, 4, 4]
    assert len(model.path_) == 20
    number = ContextualDAG(selection=4, **ALONE).fit(fixed.X[:600], fixed.Z[:600])
    assert (number.adjacency(fixed.Z[:3]) != 0).sum(axis=(1, 2)).tolist() == [4, 4, 4]
    sparsest = ContextualDAG(selection="1se", **QUICK).fit(fixed.X[:600], fixed.Z[:600])
    assert (sparsest.adjacency(fixed.Z[:1]) != 0).sum() <= (model.adjacency(fixed.Z[:1]) != 0).sum()


def test_saved_and_loaded(model, fixed, tmp_path):
    model.save(tmp_path / "model")
    loaded = ContextualDAG.load(tmp_path / "model", device="cpu")
    assert loaded.varies_ is False
    np.testing.assert_array_equal(loaded.adjacency(fixed.Z[600:]), model.adjacency(fixed.Z[600:]))
    np.testing.assert_allclose(loaded.sample(fixed.Z[:5], 0), model.sample(fixed.Z[:5], 0))


def test_can_be_left_out(fixed):
    for settings in ({"structure": "varying"}, {"selection": "min"}):
        model = ContextualDAG(**(ALONE | settings)).fit(fixed.X[:300], fixed.Z[:300])
        assert model.varies_ is True
    assert ContextualDAG.paper().structure == "varying"


def test_within_an_order_and_never_with_a_mask_for_each_sample(fixed):
    order = topological_order(torch.from_numpy(fixed.W[:1]))[0].tolist()
    backwards = order[::-1]
    model = SortedDAG(order=backwards, **ALONE).fit(fixed.X[:600], fixed.Z[:600])
    W = model.adjacency(fixed.Z[:1])[0]
    assert np.triu(W[np.ix_(backwards, backwards)], 1).sum() == W.sum()
    masks = order_to_mask(topological_order(torch.from_numpy(fixed.W[:300]))).numpy()
    masked = SortedDAG(**(ALONE | {"max_epochs": 20})).fit(fixed.X[:300], fixed.Z[:300], mask=masks)
    assert masked.varies_ is True


def test_bad_use(fixed):
    with pytest.raises(InvalidParameterError, match=r"'structure' parameter of ContextualDAG must be one of .* Got 'fixed'"):
        ContextualDAG(structure="fixed").fit(fixed.X, fixed.Z)
    with pytest.raises(
        InvalidParameterError, match=r"'structure' parameter of SortedDAG must be one of \['auto', 'constant'"
    ):
        SortedDAG(order=range(8), structure="varying").fit(fixed.X, fixed.Z)
    with pytest.raises(NotFittedError):
        assert ContextualDAG().varies_
