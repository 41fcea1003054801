import pytest
import torch

from contextualdag.graphs import is_acyclic
from contextualdag.training.constant_graph import (
    SplitMoments,
    group_path,
    information_criterion,
    one_graph_path,
    penalty_grid,
)
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import Moments


def a_split(seed=0, n=500):
    """x1 -> x2 -> x3, x4 alone."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(2 * n, 4, generator=generator)
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    Z = torch.zeros(2 * n, 1)
    return Split(Rows(X[:n], Z[:n]), Rows(X[n:], Z[n:]))


ALLOWED = torch.ones(4, 4, dtype=torch.bool)
EDGES = [[0, 1], [1, 2]]


def moments_of(split):
    nothing = torch.zeros(len(split.train), dtype=torch.int64)
    return SplitMoments(Moments.of(split.train, nothing), Moments.of(split.held_out, nothing))


@pytest.mark.parametrize("n_members", [1, 3])
def test_the_path_of_one_graph(n_members):
    points = one_graph_path([a_split(seed) for seed in range(n_members)], ALLOWED, 12)
    assert len(points) == 12
    norms = [point.l1_budget for point in points]
    assert norms == sorted(norms, reverse=True)
    assert points[-1].n_edges == 0
    best = min(points, key=lambda point: point.refit.loss)
    W = best.refit.mean_graphs([fit.learned for fit in best.refit.fits], best.refit.best_cut)
    assert bool(is_acyclic(W).all())
    assert (W[0] > 0.5).nonzero().tolist() == EDGES  # besides these there may be a few weak ones
    torch.testing.assert_close(W[0, 0, 1].float(), torch.tensor(1.0), atol=0.1, rtol=0)
    assert len(best.fits) == len(best.refit.fits) == n_members


def test_weights_up_to_the_cut_are_dropped_all_along_the_path():
    moments = moments_of(a_split())
    penalties = penalty_grid(moments.train.S, 6)
    for point in group_path(moments, penalties, ALLOWED, cut=0.3, with_refits=False):
        W = point.fits[0].learned
        assert bool((W[W != 0].abs() > 0.3).all())
        assert point.refit is None


def test_only_allowed_edges():
    allowed = torch.triu(ALLOWED, 1).T
    moments = moments_of(a_split())
    for point in group_path(moments, penalty_grid(moments.train.S, 6), allowed, cut=0.0, with_refits=True):
        assert not bool((point.fits[0].learned[0] != 0)[~allowed].any())
        assert not bool((point.refit.fits[0].learned[0] != 0)[~allowed].any())


def test_the_largest_penalty_leaves_no_edge():
    moments = moments_of(a_split())
    penalties = penalty_grid(moments.train.S, 5)
    assert penalties[-1] == pytest.approx(1e-3 * penalties[0])
    (sparsest,) = group_path(moments, penalties[:1], ALLOWED, cut=0.0, with_refits=True)
    assert sparsest.n_edges == 0


def test_of_two_graphs_the_criterion_prefers_the_right_directions_and_no_needless_edge():
    rows = a_split().train
    right = torch.zeros(1, 4, 4)
    right[0, 0, 1] = right[0, 1, 2] = 1.0
    denser, reversed_ = right.clone(), right.transpose(1, 2)
    denser[0, 0, 3] = 1.0
    best = information_criterion(right, rows)
    assert best < information_criterion(denser, rows)
    assert best < information_criterion(reversed_, rows)
    assert best == information_criterion(5 * right, rows)  # weights are refitted
