from dataclasses import replace

import numpy as np
import pytest
import torch

from contextualdag.training.data import Rows
from contextualdag.training.loss import (
    Moments,
    array_residuals,
    cross_moments,
    errors,
    explained_variance,
    gains,
    losses_of_cuts,
    mean_error,
    moment_errors,
    pair_residuals,
    residuals,
    response_moments,
    row_errors,
    weighted_row_errors,
)

PAIRS = torch.tensor([1, 2, 3, 5, 6, 7])  # all of three nodes


def graph_loss(W, rows):
    return mean_error(errors(residuals(rows.X, W)), rows)


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(0)
    X, Z = (torch.randn(7, size, generator=generator, dtype=torch.float64) for size in (3, 2))
    return Rows(X, Z)


@pytest.fixture
def W():
    return torch.triu(torch.randn(7, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64), 1)


@pytest.fixture
def weighted(rows):
    """The same rows with all that can change the loss."""
    scored = torch.ones(7, 3, dtype=torch.bool)
    scored[2, 1] = scored[4, 0] = scored[4, 2] = False
    weight = torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0, 0.0, 1.0], dtype=torch.float64)
    return replace(rows, weight=weight, scored=scored)


def test_residuals_and_their_gradient(rows, W):
    expected = rows.X - torch.einsum("nj,njk->nk", rows.X, W)
    torch.testing.assert_close(residuals(rows.X, W), expected)
    np.testing.assert_allclose(array_residuals(rows.X.numpy(), W.numpy()), expected.numpy())
    assert torch.autograd.gradcheck(lambda W: residuals(rows.X, W), W.clone().requires_grad_())


def test_residuals_of_some_pairs_alone(rows, W):
    pairs = torch.tensor([1, 5])  # x1 -> x2 and x2 -> x3
    only = torch.zeros_like(W)
    only[:, 0, 1], only[:, 1, 2] = W[:, 0, 1], W[:, 1, 2]
    torch.testing.assert_close(pair_residuals(rows.X, W.flatten(1)[:, pairs], pairs), residuals(rows.X, only))
    nothing = torch.zeros(0, dtype=torch.int64)
    assert torch.equal(pair_residuals(rows.X, W.flatten(1)[:, nothing], nothing), rows.X)


def test_the_loss_is_the_mean_of_squares(rows, W):
    squares = residuals(rows.X, W) ** 2
    assert float(graph_loss(W, rows)) == pytest.approx(float(squares.mean()))
    torch.testing.assert_close(row_errors(errors(residuals(rows.X, W)), rows), squares.mean(1))


def test_weights_and_entries_that_do_not_count(weighted, W):
    r, total, count = residuals(weighted.X, W), 0.0, 0.0
    for i in range(7):
        for k in range(3):
            if weighted.scored[i, k]:
                total += float(weighted.weight[i] * r[i, k] ** 2)
                count += float(weighted.weight[i])
    assert float(graph_loss(W, weighted)) == pytest.approx(total / count)
    of_row = row_errors(errors(r), weighted)
    assert float(of_row[4]) == pytest.approx(float(r[4, 1] ** 2))


def test_stacked_rows_have_one_mean_each(weighted, W):
    both = Rows(*(torch.stack([tensor, tensor]) for tensor in (weighted.X, weighted.Z)))
    both = replace(both, weight=weighted.weight.expand(2, 7), scored=weighted.scored.expand(2, 7, 3))
    r = torch.stack([residuals(weighted.X, W), residuals(weighted.X, 2 * W)])
    found = mean_error(errors(r), both)
    torch.testing.assert_close(found, torch.stack([graph_loss(W, weighted), graph_loss(2 * W, weighted)]))


@pytest.mark.parametrize("which", ["rows", "weighted"])
def test_gains_are_what_the_sum_rises_by_without_an_edge(which, W, request):
    rows = request.getfixturevalue(which)
    entries = torch.ones(7, 3, dtype=torch.float64) if rows.weight is None else rows.weight[:, None] * rows.scored
    before = (errors(residuals(rows.X, W)) * entries).sum()
    for j, k in ((0, 1), (0, 2), (1, 2)):
        without = W.clone()
        without[:, j, k] = 0
        after = (errors(residuals(rows.X, without)) * entries).sum()
        torch.testing.assert_close(gains(W.flatten(1)[:, PAIRS], PAIRS, rows)[3 * j + k == PAIRS][0], after - before)


@pytest.mark.parametrize("which", ["rows", "weighted"])
def test_losses_of_cuts_are_those_of_the_graphs_that_they_leave(which, W, request):
    rows = request.getfixturevalue(which)
    cuts = [0.0, *W.abs()[W != 0].sort().values[[3, 9, -1]].tolist()]
    for weights in (W, 2 * W):
        expected = [graph_loss(torch.where(W.abs() > cut, weights, 0), rows) for cut in cuts]
        entries, sizes = (one.flatten(1)[:, PAIRS] for one in (weights, W.abs()))
        torch.testing.assert_close(losses_of_cuts(entries, sizes, cuts, PAIRS, rows), torch.stack(expected))


def test_moments_give_the_loss_of_graphs_that_do_not_vary(rows, W):
    group = torch.tensor([0, 1, 0, 0, 1, 1, 0])
    graphs = W[:2]
    for weight in (None, torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0, 0.0, 1.0], dtype=torch.float64)):
        given = replace(rows, weight=weight)
        moments = Moments.of(given, group, n_groups=2)
        assert moments.loss(graphs) == pytest.approx(float(graph_loss(graphs[group], given)))
    empty = Moments.of(rows, torch.zeros(7, dtype=torch.int64), n_groups=2)
    assert empty.share.tolist() == [1.0, 0.0]
    assert not empty.S[1].any()


def test_moments_by_response_give_the_loss_of_scored_entries(weighted, W):
    group, graphs = torch.tensor([0, 1, 0, 0, 1, 1, 0]), W[:2]
    for weight in (None, weighted.weight):
        given = replace(weighted, weight=weight)
        moments = Moments.of(given, group, n_groups=2)
        assert moments.S.shape == (2, 3, 3, 3)
        assert moments.loss(graphs) == pytest.approx(float(graph_loss(graphs[group], given)))
        S = moments.S
        torch.testing.assert_close(cross_moments(S)[1][0, 2], S[1, 2, 0, 2])
        torch.testing.assert_close(response_moments(S, 2), S[:, 2])
    all_scored = Moments.of(replace(weighted, scored=torch.ones(7, 3, dtype=torch.bool)), group, 2)
    plain = Moments.of(replace(weighted, scored=None), group, 2)
    torch.testing.assert_close(all_scored.share, plain.share)
    torch.testing.assert_close(all_scored.S, plain.S[:, None].expand(2, 3, 3, 3))


def test_row_errors_with_weights_have_the_loss_as_their_mean(rows, weighted, W):
    for given in (rows, weighted, replace(weighted, weight=None), replace(weighted, scored=None)):
        of_rows = weighted_row_errors(errors(residuals(given.X, W)), given)
        torch.testing.assert_close(of_rows.mean(), graph_loss(W, given))


def test_nothing_to_score_is_no_loss(rows, W):
    nothing = replace(rows, scored=torch.zeros(7, 3, dtype=torch.bool))
    assert float(graph_loss(W, nothing)) == 0
    assert not gains(W.flatten(1)[:, PAIRS], PAIRS, nothing).any()


def test_moment_errors(rows, W):
    S = rows.X.T @ rows.X / 7
    expected = (residuals(rows.X, W[:1].expand(7, 3, 3)) ** 2).sum(1).mean()
    torch.testing.assert_close(moment_errors(S[None], W[:1])[0], expected)


def test_explained_variance_leaves_out_constant_columns():
    X = np.column_stack([np.arange(10.0), np.full(10, 3.0)])
    assert explained_variance(np.zeros((10, 2)), X) == 1
    assert explained_variance(X - X.mean(0), X) == 0
    assert explained_variance(X[:, 1:], X[:, 1:]) == 0


def test_explained_variance_counts_rows_by_weight():
    rng = np.random.default_rng(0)
    X, left, weight = rng.standard_normal((20, 2)), rng.standard_normal((20, 2)), rng.integers(0, 3, 20)
    repeated = explained_variance(np.repeat(left, weight, 0), np.repeat(X, weight, 0))
    assert explained_variance(left, X, weight) == pytest.approx(repeated)


def test_explained_variance_leaves_out_what_is_not_observed():
    rng = np.random.default_rng(0)
    X, left, observed = rng.standard_normal((20, 2)), rng.standard_normal((20, 2)), rng.random((20, 2)) < 0.7
    each = [explained_variance(left[seen, k, None], X[seen, k, None]) for k, seen in enumerate(observed.T)]
    for hidden in (0.0, 1e6, np.nan):
        found = explained_variance(np.where(observed, left, hidden), np.where(observed, X, hidden), None, observed)
        assert found == pytest.approx(np.mean(each))
    weight = rng.integers(0, 3, 20)
    repeated = explained_variance(*(np.repeat(one, weight, 0) for one in (left, X)), None, np.repeat(observed, weight, 0))
    assert explained_variance(left, X, weight, observed) == pytest.approx(repeated)
    observed[:, 0] = False
    assert explained_variance(left, X, None, observed) == pytest.approx(each[1])
