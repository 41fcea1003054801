"""Entries that are not scored: every step against the same step on the rows that are left for a response."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from contextualdag.graphs import is_acyclic
from contextualdag.network import ContextNetwork, MeanNetwork, initialise
from contextualdag.projection import DAGProjection
from contextualdag.training import noise
from contextualdag.training.common_order import _Errors, find_order
from contextualdag.training.constant_graph import one_graph_path
from contextualdag.training.context_test import permutation_test
from contextualdag.training.cuda_graph import GraphTrainer
from contextualdag.training.dagma import (
    lasso_on_order,
    least_squares_on_support,
    objective,
    penalised_dags,
    penalised_dags_in_torch,
)
from contextualdag.training.data import Rows, Split, stack
from contextualdag.training.loss import Moments
from contextualdag.training.means import _fit_linear_part, fit_means
from contextualdag.training.outliers import trust
from contextualdag.training.required import required_weights
from contextualdag.training.reversals import unearned_reversals
from contextualdag.training.screening import explained_share
from contextualdag.training.trainer import NoProjection, Training, TrainingSettings, copy_state, train

ALLOWED = ~torch.eye(4, dtype=torch.bool)


def some_rows(n=300, seed=0, share=0.3):
    """x1 -> x2 -> x3 and x4 alone; x2 and x4 are set to large numbers in some rows."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    Z = torch.rand(n, 1, generator=generator, dtype=torch.float64) * 2 - 1
    scored = torch.ones(n, 4, dtype=torch.bool)
    scored[:, [1, 3]] = torch.rand(n, 2, generator=generator) > share
    by_hand = 3 * torch.randn(n, 2, generator=generator, dtype=torch.float64)
    X[:, 1] = torch.where(scored[:, 1], X[:, 1] + X[:, 0], by_hand[:, 0])
    X[:, 3] = torch.where(scored[:, 3], X[:, 3], by_hand[:, 1])
    X[:, 2] += X[:, 1]
    weight = torch.rand(n, generator=generator, dtype=torch.float64) + 0.5
    return Rows(X, Z, weight=weight, scored=scored)


def of_response(rows, k):
    """The rows that are left for a response."""
    return replace(rows, scored=None)[rows.scored[:, k]]


@pytest.fixture(scope="module")
def rows():
    return some_rows()


def test_scales_and_brackets(rows):
    scales, found = noise.residual_scales(rows.X, rows), noise.brackets(rows, ALLOWED)
    for k in range(4):
        own = of_response(rows, k)
        torch.testing.assert_close(scales[k], noise.residual_scales(own.X, own)[k])
        alone = noise.brackets(own, ALLOWED)
        torch.testing.assert_close(found.high[k], alone.high[k])
        torch.testing.assert_close(found.low[k], alone.low[k])
    assert float(scales[3]) < 1.3  # of what was not set by hand


def test_likelihoods_and_sizes(rows):
    scale = torch.tensor([1.0, 2.0, 0.5, 1.0], dtype=torch.float64)
    of_entries = -(0.5 * (rows.X / scale) ** 2 + scale.log())
    expected = torch.stack([entries[kept].sum() for entries, kept in zip(of_entries, rows.scored, strict=True)])
    torch.testing.assert_close(noise.log_likelihoods(rows.X, scale, rows.scored), expected)
    sized = noise.sized(scale, rows)
    after = noise.residual_scales(rows.X / sized, rows)
    assert float(after.square().mean()) == pytest.approx(1)


def test_screening(rows):
    found = explained_share(rows)
    for k in range(4):
        torch.testing.assert_close(found[:, k], explained_share(of_response(rows, k))[:, k])


def test_required_weights(rows):
    required = torch.zeros(4, 4, dtype=torch.bool)
    required[0, 1] = required[2, 3] = True
    found = required_weights(torch.zeros(300, 4, 4, dtype=torch.float64), rows, required)
    for j, k in ((0, 1), (2, 3)):
        own = of_response(rows, k)
        slope = (own.weight * own.X[:, j] * own.X[:, k]).sum() / (own.weight * own.X[:, j] ** 2).sum()
        assert float(found[j, k]) == pytest.approx(float(slope), rel=1e-5)


def test_common_order(rows):
    joined = torch.ones(4, 4, dtype=torch.bool)
    found = _Errors(joined, rows)
    total = float(rows.weight.sum())
    for k, parents in ((1, {0}), (3, {0, 2}), (2, set())):
        own = of_response(rows, k)
        share = float(own.weight.sum()) / total
        assert found.of(k, frozenset(parents)) == pytest.approx(share * _Errors(joined, own).of(k, frozenset(parents)))
    W = torch.zeros(300, 4, 4)
    W[:, 1, 0] = W[:, 2, 1] = 1.0  # the wrong way round
    order = find_order(W, rows)
    assert order.index(0) < order.index(1) < order.index(2)


def test_the_linear_part_of_means(rows):
    rows = replace(rows, X=rows.X + 2 + 3 * rows.Z)
    spoilt = replace(rows, X=torch.where(rows.scored, rows.X, 1e6))
    found = []
    for given in (rows, spoilt):
        network = MeanNetwork(1, 4, (8,), "silu").double()
        _fit_linear_part(network, given)
        found.append(torch.cat([network.linear.weight.detach(), network.linear.bias.detach()[:, None]], 1))
    torch.testing.assert_close(*found)
    for k in range(4):
        own = of_response(rows, k)
        design = np.column_stack([own.Z[:, 0], np.ones(len(own))]) * np.sqrt(own.weight.numpy())[:, None]
        slope = np.linalg.lstsq(design, own.X[:, k].numpy() * np.sqrt(own.weight.numpy()), rcond=None)[0]
        np.testing.assert_allclose(found[0][k].numpy(), slope, atol=1e-4)


def test_disturbed_rows_do_not_move_means():
    rows = replace(some_rows(), weight=None)
    clean = torch.arange(300) % 3 > 0
    moved = replace(rows, X=torch.where(clean[:, None], rows.X, rows.X + 50), scored=None, undisturbed=clean)
    networks = []
    for given in (moved, replace(moved, undisturbed=None)[clean]):
        given = replace(given, X=given.X.float(), Z=given.Z.float())
        network = MeanNetwork(1, 4, (8,), "silu")
        initialise(network, torch.Generator().manual_seed(0))
        fit_means([network], [Split(given, given)], TrainingSettings(1e-2, 20, 20))
        networks.append(network)
    Z = torch.linspace(-1, 1, 9)[:, None]
    torch.testing.assert_close(networks[0](Z), networks[1](Z), rtol=0, atol=0.02)


def test_what_was_set_by_hand_is_no_outlier():
    rows = replace(some_rows(share=0.04), weight=None)
    far = replace(rows, X=torch.where(rows.scored, rows.X, 1e3))
    far.X[:, 2] = torch.randn(300, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    split = Split(far, far)
    assert trust(split) is None
    far.X[7] = torch.where(far.scored[7], 1e3, far.X[7])
    assert (trust(split)[0] < 1 / 3).nonzero().flatten().tolist() == [7]
    assert int((trust(replace_scored(split))[0] < 1 / 3).sum()) > 1


def replace_scored(split):
    return Split(replace(split.train, scored=None), replace(split.held_out, scored=None))


def test_weights_of_outliers_are_those_of_repeated_rows():
    rows = Rows(some_rows().X, some_rows().Z)
    rows.X[7] *= 100
    times = torch.randint(1, 4, (300,), generator=torch.Generator().manual_seed(0))
    repeated = rows[torch.arange(300).repeat_interleave(times)]
    by_weight = trust(Split(replace(rows, weight=times.double()), replace(rows, weight=times.double())))[0]
    by_hand = trust(Split(repeated, repeated))[0][times.cumsum(0) - 1]
    torch.testing.assert_close(by_weight, by_hand)


def test_the_context_test_does_not_take_an_intervention_for_a_context():
    """x2 is set wherever the context is large: its covariance with x1 is gone there, but by hand."""
    generator = torch.Generator().manual_seed(0)
    X, Z = torch.randn(600, 3, generator=generator), torch.rand(600, 1, generator=generator)
    by_hand = Z[:, 0] > 0.6
    X[:, 1] = torch.where(by_hand, X[:, 1], X[:, 1] + X[:, 0])
    rows = Rows(X, Z)
    scored = torch.ones(600, 3, dtype=torch.bool)
    scored[:, 1] = ~by_hand
    assert permutation_test(rows, {"z": (0,)}, 0).p_value < 0.01
    assert permutation_test(replace(rows, scored=scored), {"z": (0,)}, 0).p_value > 0.05
    clean = permutation_test(replace(rows, scored=scored, undisturbed=~by_hand), {"z": (0,)}, 0)
    assert clean.p_value > 0.05
    assert clean.n_rows == int((~by_hand).sum())


def test_reversals_are_judged_where_both_are_scored():
    rows = some_rows(n=400)
    W = torch.zeros(400, 4, 4, dtype=torch.float64)
    W[:250, 0, 1] = 1.0
    W[250:, 1, 0] = 0.5
    kept = rows.scored[:, 1]
    spoilt = replace(rows, X=torch.where(rows.scored, rows.X, 1e4))
    assert torch.equal(unearned_reversals(W, spoilt), unearned_reversals(W[kept], replace(spoilt, scored=None)[kept]))


@pytest.fixture(scope="module")
def moments(rows):
    S = Moments.of(rows, torch.zeros(300, dtype=torch.int64)).S
    return torch.cat([S, Moments.of(some_rows(seed=1), torch.zeros(300, dtype=torch.int64)).S])


def test_least_squares_by_response(rows, moments):
    support = torch.ones(2, 4, 4, dtype=torch.bool).triu(1)
    found = least_squares_on_support(moments, support)[0]
    for k in range(1, 4):
        own = of_response(rows, k)
        root = own.weight.sqrt()[:, None]
        expected = torch.linalg.lstsq(root * own.X[:, :k], root * own.X[:, k : k + 1]).solution[:, 0]
        torch.testing.assert_close(found[:k, k], expected)


@pytest.mark.parametrize("solve", [penalised_dags, penalised_dags_in_torch])
def test_the_search_by_response(solve, moments):
    penalty = torch.tensor([0.05, 0.05], dtype=torch.float64)
    found, _ = solve(moments, penalty, ALLOWED)
    assert bool(is_acyclic(found).all())
    assert (found.abs() > 0.3)[0].nonzero().tolist() == [[0, 1], [1, 2]]
    order = torch.ones(4, 4, dtype=torch.bool).triu(1).expand(2, 4, 4)
    lasso = lasso_on_order(moments, penalty, order)
    assert bool((objective(moments, penalty, found) <= objective(moments, penalty, lasso) + 1e-6).all())


@pytest.mark.parametrize("solve", [penalised_dags, penalised_dags_in_torch])
def test_one_matrix_for_all_responses_is_as_many_equal_ones(solve, rows):
    S = (rows.X.T @ rows.X / 300)[None]
    penalty = torch.tensor([0.1], dtype=torch.float64)
    expected, steps = solve(S, penalty, ALLOWED)
    found, its_steps = solve(S[:, None].expand(1, 4, 4, 4).contiguous(), penalty, ALLOWED)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)
    assert steps == its_steps


def test_the_path_of_one_graph_is_unbiased(rows):
    split = Split(some_rows(n=2000, seed=2), some_rows(n=2000, seed=3))
    W = {}
    for name, given in (("heeded", split), ("ignored", replace_scored(split))):
        best = min(one_graph_path([given], ALLOWED.triu(), 10), key=lambda point: point.refit.loss)
        W[name] = best.refit.fits[0].learned[0]
    assert float(W["heeded"][0, 1]) == pytest.approx(1, abs=0.1)
    assert float(W["ignored"][0, 1]) < 0.8


def network_for(rows, seed=0):
    network = ContextNetwork(1, 4, (16,), "silu", 0.0)
    initialise(network, torch.Generator().manual_seed(seed))
    return network


@pytest.mark.parametrize("layer", [NoProjection(), DAGProjection(2.0)])
def test_slots_trained_side_by_side_heed_it_as_one_alone(layer):
    parts = [
        replace(rows, X=rows.X.float(), Z=rows.Z.float(), weight=None) for rows in (some_rows(seed=s) for s in range(4))
    ]
    splits, settings = [Split(parts[0], parts[1]), Split(parts[2], parts[3])], TrainingSettings(1e-2, 30, 5)
    assert stack(parts).scored.shape == (4, 300, 4)
    budget = 2.0 if isinstance(layer, DAGProjection) else None
    trainer = GraphTrainer(network_for(parts[0]), layer, splits, settings)
    fits = trainer.run({k: Training(copy_state(network_for(parts[0], k)), 0, budget) for k in range(2)})
    for k in range(2):
        alone = train(network_for(parts[0], k), layer, splits[k], settings)
        assert fits[k].validation_loss == pytest.approx(alone.validation_loss, rel=1e-5)
        ignored = train(network_for(parts[0], k), layer, replace_scored(splits[k]), settings)
        assert ignored.validation_loss > 1.1 * alone.validation_loss
