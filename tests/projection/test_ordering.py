import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contextualdag.graphs import is_acyclic, order_to_mask
from contextualdag.projection import Order
from contextualdag.projection.kernels import order_numba, order_torch


def weight(W):
    return (W * W).sum((1, 2))


def heaviest_by_all_orders(W):
    """Brute force over all p! orders."""
    orders = torch.tensor(list(itertools.permutations(range(W.shape[1]))))
    masks = order_to_mask(orders)
    return torch.stack([(w * w * masks).sum((1, 2)).max() for w in W])


@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("p", [2, 3, 4, 5, 6])
def test_exact_for_small_p(gaussian, p, density):
    W = gaussian(60, p, density=density)
    torch.testing.assert_close(weight(Order()(W)), heaviest_by_all_orders(W), rtol=1e-12, atol=0)


def test_exact_for_eight_nodes_by_subsets(gaussian):
    # Another recursion than the kernel's: choose the first node, not the last, over frozensets.
    W = gaussian(5, 8)
    for w, kept in zip(W, Order()(W), strict=True):
        square, best = (w * w).tolist(), {frozenset(): 0.0}
        for size in range(1, 9):
            for nodes in map(frozenset, itertools.combinations(range(8), size)):
                best[nodes] = max(best[nodes - {v}] + sum(square[v][u] for u in nodes - {v}) for v in nodes)
        assert float((kept * kept).sum()) == pytest.approx(best[frozenset(range(8))], rel=1e-12)


def test_small_core_of_a_large_graph_is_exact(gaussian):
    # A cyclic core of five nodes, with sources above and sinks below it.
    W = torch.zeros(20, 25, 25, dtype=torch.float64)
    W[:, 10:15, 10:15] = gaussian(20, 5)
    W[:, :10, 10:] = gaussian(20, 25)[:, :10, 10:]
    W[:, 10:15, 15:] = gaussian(20, 25)[:, 10:15, 15:]
    shuffle = torch.randperm(25)
    kept = Order()(W[:, shuffle][:, :, shuffle])
    lost = weight(W) - weight(kept)
    core = W[:, 10:15, 10:15]
    torch.testing.assert_close(lost, weight(core) - heaviest_by_all_orders(core), rtol=1e-9, atol=1e-12)


def test_near_the_optimum_for_twelve_nodes(gaussian):
    W = gaussian(200, 12)
    exact = W * order_to_mask(order_numba.linear_order(W, exact_up_to=12))
    share = weight(Order()(W)) / weight(exact)
    assert bool((share <= 1 + 1e-12).all())
    assert float(share.mean()) >= 0.998
    assert torch.equal(order_torch.linear_order(W[:5], exact_up_to=12), order_numba.linear_order(W[:5], exact_up_to=12))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [1, 2, 3, 7, 8, 9, 13, 20, 33, 64])
@pytest.mark.parametrize("density", [1.0, 0.3, 0.1])
def test_kernel_equals_twin(gaussian, p, density, dtype):
    W = gaussian(70, p, dtype, density)
    for starts in (1, 2, 3):
        assert torch.equal(order_numba.linear_order(W, starts), order_torch.linear_order(W, starts))
    for cut in (0.0, 0.5):
        assert torch.equal(order_numba.project(W, cut, 3), order_torch.project(W, cut, 3))


@given(st.integers(0, 10**6), st.integers(2, 11), st.sampled_from([0.2, 0.5, 1.0]))
def test_kernel_equals_twin_with_ties(seed, p, density):
    generator = torch.Generator().manual_seed(seed)
    W = torch.randint(-2, 3, (40, p, p), generator=generator) * (torch.rand(40, p, p, generator=generator) < density)
    W = W.to(torch.float32)
    W.diagonal(dim1=1, dim2=2).zero_()
    order = order_numba.linear_order(W)
    assert torch.equal(order, order_torch.linear_order(W))
    assert torch.equal(order.sort(1).values, torch.arange(p).expand(40, p))


@pytest.mark.parametrize("p", [5, 12])
def test_kernel_equals_twin_on_weights_of_all_sizes(p):
    generator = torch.Generator().manual_seed(p)
    W = 10 ** (torch.rand(200, p, p, dtype=torch.float64, generator=generator) * 70 - 35)
    W = W * (torch.rand(200, p, p, generator=generator) < 0.5)
    W.diagonal(dim1=1, dim2=2).zero_()
    assert torch.equal(order_numba.linear_order(W), order_torch.linear_order(W))


def test_a_large_edge_outside_the_core_hides_nothing():
    W = torch.zeros(1, 3, 3, dtype=torch.float64)
    W[0, 0, 1], W[0, 1, 2], W[0, 2, 1] = 1.0, 1e-10, 1e-9
    assert Order()(W)[0].nonzero().tolist() == [[0, 1], [2, 1]]


def test_twin_in_several_parts(gaussian, monkeypatch):
    W = gaussian(50, 12)
    whole = order_torch.linear_order(W)
    monkeypatch.setattr(order_torch, "SAMPLES_AT_ONCE", 7)
    assert torch.equal(order_torch.linear_order(W), whole)


@pytest.mark.parametrize("kernel", ["numba", "torch"])
def test_stated_ties(kernel):
    # Two nodes, equal weights both ways: net flow ties, so labels follow the index and the lower comes first.
    W = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    assert torch.equal(Order(kernel=kernel)(W), torch.tensor([[[0.0, 1.0], [0.0, 0.0]]]))
    # All weights equal, on both sides of the exact limit: the order of the labels is as good as any, and stays.
    for p in (8, 9):
        W = 1 - torch.eye(p)[None]
        assert torch.equal(Order(kernel=kernel)(W)[0], torch.ones(p, p).triu(1))


@pytest.mark.parametrize("p", [3, 8, 9, 20])
def test_never_cyclic_and_only_drops(gaussian, p):
    W = gaussian(200, p, torch.float32)
    kept = Order()(W)
    assert bool(is_acyclic(kept).all())
    assert bool(((kept == W) | (kept == 0)).all())
    # Of each pair at least one direction is forward, and it is kept: a maximal acyclic set of a complete graph.
    assert torch.equal((kept != 0).sum((1, 2)), torch.full((200,), p * (p - 1) // 2))


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e30])
def test_scale_does_not_matter(gaussian, scale):
    W = gaussian(30, 12)
    assert torch.equal(Order()(W * scale) != 0, Order()(W) != 0)


def test_tiny_weights_next_to_large_ones_make_no_cycle():
    W = torch.tensor([[[0.0, 1e20, 0.0], [0.0, 0.0, 1e-20], [1e-30, 0.0, 0.0]]])
    kept = Order()(W)
    assert bool(is_acyclic(kept).all())
    assert int((kept != 0).sum()) == 2
    assert kept[0, 0, 1] == 1e20


def test_cut_drops_first():
    W = torch.tensor([[[0.0, 0.1, 0.0], [0.0, 0.0, 5.0], [0.2, 0.0, 0.0]]])
    assert torch.equal(
        Order(cut=0.1)(W) != 0, torch.tensor([[[False, False, False], [False, False, True], [True, False, False]]])
    )
    assert torch.equal(Order()(W), W * torch.tensor([[0, 0, 0], [0, 0, 1], [1, 0, 0]]))


def test_more_starts_keep_more(gaussian):
    W = gaussian(200, 20)
    kept = [weight(Order(starts=starts)(W)) for starts in (1, 2, 3)]
    assert bool((kept[0] <= kept[1]).all())
    assert bool((kept[1] <= kept[2]).all())
    assert float(kept[0].sum()) < float(kept[1].sum()) < float(kept[2].sum())


def test_diagonal_is_ignored(gaussian):
    W = gaussian(5, 6)
    assert torch.equal(Order()(W + 100 * torch.eye(6)), Order()(W))
