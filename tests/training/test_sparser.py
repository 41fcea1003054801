"""One graph for all: sparser where that predicts as well, and along one order."""

import pytest
import torch

from contextualdag.training.constant_graph import SplitMoments, group_path, penalty_grid
from contextualdag.training.data import Folds, Rows, Split
from contextualdag.training.loss import Moments
from contextualdag.training.selection import least_refit_loss
from contextualdag.training.solution import ConstantGraph
from contextualdag.training.sparser import NEARLY, along_one_order, sparsest_as_good


def a_split(W, n, seed):
    generator = torch.Generator().manual_seed(seed)
    X = torch.linalg.solve(torch.eye(len(W)) - W.T, torch.randn(2 * n, len(W), generator=generator).T).T
    Z = torch.zeros(2 * n, 1)
    return Split(Rows(X[:n], Z[:n]), Rows(X[n:], Z[n:]))


def fitted(W, n=2000, seed=0):
    """A path of one graph for all, its rows, and how others are fitted to these."""
    split, allowed = a_split(W, n, seed), torch.ones(len(W), len(W), dtype=torch.bool)
    nothing = torch.zeros(n, dtype=torch.int64)
    moments = SplitMoments(Moments.of(split.train, nothing), Moments.of(split.held_out, nothing))

    def path(allowed):
        return tuple(group_path(moments, penalty_grid(moments.train.S, 12), allowed, 0.0, True))

    points = path(allowed)
    rows = Rows(torch.cat([split.train.X, split.held_out.X]), torch.cat([split.train.Z, split.held_out.Z]))
    folds = Folds(rows, (torch.arange(n),), (torch.arange(n, 2 * n),))
    return ConstantGraph(points, least_refit_loss(points)), folds, allowed, path


@pytest.fixture(scope="module")
def dense():
    """Ten variables, all joined, most of them weakly."""
    generator = torch.Generator().manual_seed(1)
    sizes = torch.tensor([0.02, 0.05, 0.6])[torch.randint(0, 3, (10, 10), generator=generator)]
    return fitted(torch.triu(sizes, 1))


def test_fewer_edges_that_explain_nearly_as_much(dense):
    best, folds, _, _ = dense
    sparser = sparsest_as_good(best, folds)
    assert 10 <= sparser.describe().n_edges < 0.9 * best.describe().n_edges
    empty = max(point.refit.curve.losses[-1] for point in best.points)
    assert empty - sparser.describe().loss >= (NEARLY - 0.002) * (empty - best.describe().loss)


def test_no_edge_is_given_up_where_they_are_few():
    W = torch.zeros(6, 6)
    W[0, 1] = W[1, 2] = W[3, 4] = 0.5
    best, folds, _, _ = fitted(W)
    assert sparsest_as_good(best, folds).selected == best.selected


def test_points_along_one_order(dense):
    best, _, allowed, path = dense
    model = along_one_order(best, allowed, path)
    assert [point.thresholds for point in model.points] == [point.thresholds for point in best.points]
    order = model.graphs(torch.zeros(1, 1))[0] != 0
    replaced = [(old, new) for old, new in zip(best.points, model.points, strict=True) if new is not old]
    assert len(replaced) >= 8
    for old, new in replaced:
        assert not bool((order.T & (new.refit.fits[0].learned[0] != 0)).any())
        assert new.refit.loss <= old.refit.loss + 0.02 * best.points[-1].refit.loss
