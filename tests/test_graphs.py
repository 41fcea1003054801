import itertools

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contextualdag.errors import CyclicGraphError, InvalidInputError
from contextualdag.graphs import (
    acyclic_threshold,
    break_cycles,
    depth_first_order,
    is_acyclic,
    order_to_mask,
    topological_order,
)


@st.composite
def integer_batches(draw, max_p=7):
    """Sparse graphs with few distinct weights, hence with ties, self-loops and empty graphs."""
    n, p = draw(st.integers(1, 4)), draw(st.integers(1, max_p))
    numbers = draw(st.lists(st.sampled_from([0, 0, 0, 1, -1, 2, -3]), min_size=n * p * p, max_size=n * p * p))
    return torch.tensor(numbers, dtype=torch.float64).view(n, p, p)


def to_networkx(w):
    return nx.from_numpy_array(w.numpy(), create_using=nx.DiGraph)


@given(integer_batches())
def test_acyclic_agrees_with_networkx(W):
    assert is_acyclic(W).tolist() == [nx.is_directed_acyclic_graph(to_networkx(w)) for w in W]


def test_every_graph_on_three_nodes():
    bits = torch.tensor(list(itertools.product([0.0, 1.0], repeat=9))).view(-1, 3, 3)
    assert int(is_acyclic(bits).sum()) == 25  # labelled DAGs on three nodes, OEIS A003024


@pytest.mark.parametrize("order_of", [topological_order, depth_first_order])
@given(W=integer_batches())
def test_an_order_points_every_edge_forward(order_of, W):
    W = W[is_acyclic(W)]
    mask = order_to_mask(order_of(W))
    assert not bool(((W != 0) & ~mask).any())


@given(integer_batches())
def test_depth_first_order_agrees_with_networkx(W):
    W = W[is_acyclic(W)]
    assert depth_first_order(W).tolist() == [list(nx.dfs_postorder_nodes(to_networkx(w)))[::-1] for w in W]


def test_topological_order_sorts_by_depth_then_index():
    W = torch.zeros(1, 4, 4)
    W[0, 3, 0] = W[0, 0, 1] = 1
    assert topological_order(W).tolist() == [[2, 3, 0, 1]]


@pytest.mark.parametrize("order_of", [topological_order, depth_first_order])
def test_an_order_names_the_cyclic_samples(order_of):
    W = torch.zeros(3, 2, 2)
    W[1] = 1 - torch.eye(2)
    with pytest.raises(CyclicGraphError, match=r"1 of the 3 graphs have a cycle \(samples 1\)"):
        order_of(W)


def test_order_to_mask_against_pairs(gaussian):
    order = gaussian(5, 6)[:, 0].argsort(1)
    mask = order_to_mask(order)
    for i in range(5):
        rank = {int(v): t for t, v in enumerate(order[i])}
        for j, k in itertools.product(range(6), repeat=2):
            assert bool(mask[i, j, k]) == (rank[j] < rank[k])


@pytest.mark.parametrize(
    "order",
    [
        torch.tensor([[0, 0]]),
        torch.tensor([[0, 2]]),
        torch.tensor([[-1, 0]]),
        torch.tensor([0, 1]),
        torch.tensor([[0.0, 1.0]]),
        [[0, 1]],
    ],
)
def test_order_to_mask_refuses_what_is_no_order(order):
    with pytest.raises(InvalidInputError, match="order"):
        order_to_mask(order)


@given(integer_batches())
def test_threshold_is_sufficient_and_smallest(W):
    thresholds = acyclic_threshold(W)
    for w, threshold in zip(W, thresholds, strict=True):
        candidates = sorted({0.0, *w.abs().flatten().tolist()})
        enough = [t for t in candidates if nx.is_directed_acyclic_graph(to_networkx(w * (w.abs() > t)))]
        assert float(threshold) == enough[0]


def test_break_cycles_drops_no_more_than_needed(gaussian):
    W = gaussian(50, 8, density=0.15)
    kept = break_cycles(W)
    assert bool(is_acyclic(kept).all())
    acyclic = is_acyclic(W)
    assert acyclic.any()
    assert not acyclic.all()
    assert torch.equal(kept[acyclic], W[acyclic])
    dropped = (W != 0) & (kept == 0)
    weakest_kept = torch.where(kept != 0, kept.abs(), torch.inf).amin((1, 2))
    assert bool((torch.where(dropped, W.abs(), 0).amax((1, 2)) < weakest_kept).all())


def test_break_cycles_by_another_strength():
    W = torch.tensor([[[0.0, 3.0], [2.0, 0.0]]])
    assert torch.equal(break_cycles(W, strength=W.mT), torch.tensor([[[0.0, 0.0], [2.0, 0.0]]]))
    with pytest.raises(InvalidInputError, match=r"strength must be a tensor with the shape of W, \(1, 2, 2\)"):
        break_cycles(W, strength=W[0])
    with pytest.raises(InvalidInputError, match="Got list instead"):
        break_cycles(W, strength=[1])


@pytest.mark.parametrize("shape", [(0, 3, 3), (0, 1, 1), (2, 1, 1), (2, 0, 0)])
def test_nothing_to_do(shape):
    W = torch.zeros(shape)
    assert is_acyclic(W).tolist() == [True] * shape[0]
    assert topological_order(W).shape == depth_first_order(W).shape == shape[:2]
    assert acyclic_threshold(W).tolist() == [0.0] * shape[0]
    assert break_cycles(W).shape == shape
    assert order_to_mask(topological_order(W)).shape == shape


@pytest.mark.parametrize("function", [is_acyclic, topological_order, depth_first_order, acyclic_threshold, break_cycles])
@pytest.mark.parametrize("W", [torch.zeros(3, 3), torch.zeros(2, 3, 4), torch.zeros(1, 2, 2, 2), [[[0.0]]]])
def test_bad_shapes_are_named(function, W):
    with pytest.raises(InvalidInputError, match=r"W must .* \(n, p, p\)"):
        function(W)


def test_inputs_stay_as_they_were(gaussian):
    W = gaussian(4, 5)
    before = W.clone()
    for function in (is_acyclic, acyclic_threshold, break_cycles):
        function(W)
    assert torch.equal(W, before)


def test_booleans_and_integers():
    edges = torch.tensor([[[False, True], [True, False]], [[False, True], [False, False]]])
    for W in (edges, edges.int()):
        assert is_acyclic(W).tolist() == [False, True]
        assert acyclic_threshold(W).tolist() == [1, 0]
        assert break_cycles(W).sum((1, 2)).tolist() == [0, 1]


def test_gradients_flow_through_what_is_kept():
    W = torch.tensor([[[0.0, 3.0], [-2.0, 0.0]]], requires_grad=True)
    assert not acyclic_threshold(W).requires_grad
    break_cycles(W).sum().backward()
    assert torch.equal(W.grad, torch.tensor([[[0.0, 1.0], [0.0, 0.0]]]))


def test_mixed_precision_does_not_miscount():
    W = torch.zeros(1, 302, 302)
    W[0, :301, 301] = 1
    with torch.autocast("cpu", torch.bfloat16):
        assert is_acyclic(W).tolist() == [True]


def test_sparse_tensors_are_named():
    with pytest.raises(InvalidInputError, match="W must be a dense tensor"):
        is_acyclic(torch.zeros(1, 2, 2).to_sparse())
