import contextlib
import math
from dataclasses import replace

import pytest
import torch

from contextualdag.errors import TrainingError
from contextualdag.network import ContextNetwork, Dropout, MeanNetwork, auto_dropout, initialise
from contextualdag.projection import DAGProjection, Order
from contextualdag.training import selection
from contextualdag.training.folds import make_folds
from contextualdag.training.mean import HIDDEN_LAYERS, fit_means
from contextualdag.training.path import (
    Path,
    PathFitter,
    PathPoint,
    equispaced_budgets,
    geometric_budgets,
    shrunken_graphs,
)
from contextualdag.training.refit import Refit
from contextualdag.training.side_by_side import SideBySide
from contextualdag.training.trainer import Fit, NoProjection, Split, TrainingSettings, copy_state, residual_errors, train


def two_nodes(n=400):
    """x1 drives x2 for z < 0, x2 drives x1 for z > 0."""
    generator = torch.Generator().manual_seed(0)
    Z = torch.rand(2 * n, 1, generator=generator) * 2 - 1
    X = torch.randn(2 * n, 2, generator=generator)
    forward = X.clone()
    forward[:, 1] += X[:, 0]
    backward = X.clone()
    backward[:, 0] += X[:, 1]
    X = torch.where(Z < 0, forward, backward)
    return Split(X[:n], Z[:n], X[n:], Z[n:])


def network_for(split, **settings):
    arguments = {"hidden_layers": (16,), "activation": "silu", "dropout": 0.0} | settings
    network = ContextNetwork(split.Z.shape[1], split.X.shape[1], **arguments)
    initialise(network, torch.Generator().manual_seed(0))
    return network


def test_the_gradient_of_the_errors():
    torch.manual_seed(0)
    X, mask = torch.randn(5, 3, dtype=torch.float64), torch.rand(5, 3, 3) < 0.5
    W = torch.randn(5, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda W: residual_errors(W, NoProjection(), X, mask), W)
    expected = (X - torch.einsum("nj,njk->nk", X, W * mask)) ** 2
    torch.testing.assert_close(residual_errors(W, NoProjection(), X, mask), expected)


def test_network_has_a_zero_diagonal_and_only_allowed_edges():
    split = two_nodes(5)
    network = network_for(split)
    assert network.last.out_features == 2
    W = network(split.Z)
    assert bool((W.diagonal(dim1=1, dim2=2) == 0).all())
    assert bool((W[:, 0, 1] != 0).all())
    only = network_for(split, allowed=torch.tensor([[True, True], [False, True]]))
    assert bool((only(split.Z)[:, 1, 0] == 0).all())
    assert only.last.out_features == 1


def test_training_stops_at_the_best_validation_loss():
    split = two_nodes()
    network = network_for(split)
    seen = []
    fit = train(network, NoProjection(), split, TrainingSettings(0.01, 500, 5), progress=lambda *row: seen.append(row))
    losses = [validation for _, _, validation in seen]
    assert fit.validation_loss == min(losses)
    assert losses.index(min(losses)) == fit.epochs
    assert len(losses) == fit.epochs + 6  # five without improvement after it, and the first is epoch 0
    with torch.no_grad():
        again = residual_errors(network.eval()(split.Z_val), NoProjection(), split.X_val, None).mean()
    assert float(again) == pytest.approx(fit.validation_loss)


def test_training_may_end_with_the_last_weights():
    split = two_nodes()
    network = network_for(split)
    seen = []
    settings = TrainingSettings(0.01, 500, 5, keep_last=True)
    fit = train(network, NoProjection(), split, settings, progress=lambda *row: seen.append(row[2]))
    assert fit.validation_loss == min(seen) < seen[-1]
    for state in (fit.state, network.state_dict()):
        network.load_state_dict(state)
        with torch.no_grad():
            last = residual_errors(network.eval()(split.Z_val), NoProjection(), split.X_val, None).mean()
        assert float(last) == pytest.approx(seen[-1])


def test_divergence_is_said():
    split = two_nodes()
    with pytest.raises(TrainingError, match=r"training has diverged. Try a smaller learning_rate than 1e\+20"):
        train(network_for(split), NoProjection(), split, TrainingSettings(1e20, 100, 10))


def test_masks_of_both_sets_hold_in_training():
    split = two_nodes()
    nothing, everything = torch.zeros(400, 2, 2), torch.ones(400, 2, 2)
    variance = float((split.X_val**2).mean())
    masked = replace(split, mask=everything, mask_val=nothing)
    fit = train(network_for(split), NoProjection(), masked, TrainingSettings(0.01, 50, 5))
    assert fit.validation_loss == pytest.approx(variance)
    masked = replace(split, mask=nothing, mask_val=everything)
    network = network_for(split)
    with torch.no_grad():
        before = float(residual_errors(network(split.Z_val), NoProjection(), split.X_val, None).mean())
    assert train(network, NoProjection(), masked, TrainingSettings(0.01, 50, 5)).validation_loss == pytest.approx(before)


def test_batches_hold_every_sample_once():
    split = replace(two_nodes(), mask=torch.ones(400, 2, 2))
    seen = []

    class Spy(NoProjection):
        def forward(self, W, mask):
            if self.training:
                seen.append(len(mask))
            return super().forward(W, mask)

    fit = train(network_for(split), Spy(), split, TrainingSettings(0.01, 3, 5, batch_size=150))
    assert seen == [200, 200, 200, 200, 200]  # the last epoch only looks where the others led
    assert fit.validation_loss < float((split.X_val**2).mean())


def test_auto_dropout_falls_with_the_samples_for_each_variable_and_feature():
    shares = [auto_dropout(n_samples=n, n_nodes=10, n_features=2) for n in (2, 60, 600, 6000, 1_000_000)]
    assert shares == pytest.approx([0.8, 0.8, 0.5, 0.2, 0.2])
    shapes = [(250, 5, 2), (1000, 20, 2), (1000, 8, 5)]
    assert {round(auto_dropout(*shape), 6) for shape in shapes} == {round(auto_dropout(500, 10, 2), 6)}


def test_dropout_drops_the_share_and_keeps_the_mean():
    torch.manual_seed(0)
    layer, h = Dropout(0.3), torch.ones(1001, 101)
    dropped = layer(h)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert dropped[dropped != 0].unique().item() == pytest.approx(1 / 0.7, rel=1e-4)
    assert torch.equal(layer.eval()(h), h)
    assert torch.equal(Dropout(0.0)(h), h)


def test_mean_of_a_function_of_the_context():
    generator = torch.Generator().manual_seed(0)
    Z = torch.rand(2000, 1, generator=generator) * 2 - 1
    truth = torch.cat([3 * Z + 1, torch.sin(4 * Z)], dim=1)
    X = truth + 0.1 * torch.randn(2000, 2, generator=generator)
    network = MeanNetwork(1, 2, HIDDEN_LAYERS, "silu")
    initialise(network, generator)
    (without,) = fit_means([network], [Split(X[:1000], Z[:1000], X[1000:], Z[1000:])])
    with torch.no_grad():
        assert float((network(Z) - truth).abs().mean()) < 0.05
        torch.testing.assert_close(without.X_val, X[1000:] - network(Z[1000:]))


def carry_out(fitter, steps):
    return SideBySide(fitter.network, fitter.layer, fitter.splits, TrainingSettings(0.01)).run([steps])[0]


def a_path(split, stop_after=None):
    network = network_for(split, dropout=0.2)
    fitter = PathFitter(network, DAGProjection(acyclicity=Order()), make_folds(split, 1, 0), [copy_state(network)], 3)
    path, saves = Path(), []

    def saved(path):
        saves.append(len(path.points))
        if len(saves) == stop_after:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        carry_out(fitter, fitter.fit(path, geometric_budgets(50), saved, lambda what, done: None))
    return fitter, path


def test_path_runs_from_dense_to_empty_and_recovers_the_turn():
    split = two_nodes()
    fitter, path = a_path(split)
    budgets = [point.l1_budget for point in path.points]
    assert budgets[0] == math.inf
    assert budgets[-1] == 0
    assert budgets[1:] == sorted(budgets[1:], reverse=True)
    assert path.points[-1].n_edges == 0
    best = carry_out(fitter, selection.relaxed(path.points, lambda index: fitter.refit(path, index)))
    point = path.points[best.index]
    (W,) = shrunken_graphs(fitter.network, fitter.layer, point, torch.tensor([[-0.7], [0.7]]))
    assert (W != 0).tolist() == [[[False, True], [False, False]], [[False, False], [True, False]]]


def test_an_interrupted_path_goes_on_to_the_same_end():
    split = two_nodes(100)
    _, whole = a_path(split)
    for stop_after in (1, 2, 5):
        _, path = a_path(split, stop_after)
        assert len(path.points) < len(whole.points)
        fresh, _ = a_path(split, 1)
        carry_out(fresh, fresh.fit(path, geometric_budgets(50), lambda path: None, lambda what, done: None))
        assert [p.l1_budget for p in path.points] == [p.l1_budget for p in whole.points]
        for ours, theirs in zip(path.points, whole.points, strict=True):
            assert ours.validation_loss == theirs.validation_loss
            for fit, other in zip(ours.fits, theirs.fits, strict=True):
                assert all(torch.equal(fit.state[name], other.state[name]) for name in other.state)


def test_grids():
    points = [PathPoint(math.inf, (0.0,), 50.0, ())]
    following = equispaced_budgets(5)
    while (budget := following(8.0, points)) is not None:
        points.append(PathPoint(budget, (0.0,), budget, ()))
    assert [point.l1_budget for point in points[1:]] == [8.0, 6.0, 4.0, 2.0, 0.0]
    points = points[:1]
    following = geometric_budgets(4)
    while (budget := following(8.0, points)) is not None:
        points.append(PathPoint(budget, (0.0,), 50.0, ()))
    assert [point.l1_budget for point in points[1:]] == pytest.approx([5.6, 3.92, 2.744, 0.0])


def losses(values):
    points = [PathPoint(math.inf, (0.0,), 99.0, (Fit({}, 0.0, 0.0, 0),))]
    return points + [PathPoint(1 / (i + 1), (0.0,), 20.0 - i, (Fit({}, 0.0, -float(v), 0),)) for i, v in enumerate(values)]


def at_once(steps):
    """The result of steps that train nothing."""
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


def refit_with(points, values, asked):
    def refit(index):
        yield from ()
        asked.append(index)
        value, n_edges = values[index - 1], points[index].n_edges
        curve = ([0.0, 0.5, 1.0], [n_edges, n_edges - 4, 0.0], [value + 0.1, value, value + 0.3])
        pairs = torch.ones(2, 2, dtype=torch.bool)
        refit = Refit(points[index].fits, torch.zeros(1, 2, 2), (value,), value, pairs, *curve, best=1)
        return replace(points[index], refit=refit)

    return refit


@pytest.mark.parametrize("best", range(20))
def test_relaxed_finds_the_least_of_a_valley_without_asking_for_all(best):
    values = [abs(i - best) for i in range(20)]
    points, asked = losses(values), []
    assert at_once(selection.relaxed(points, refit_with(points, values, asked))) == selection.Choice(best + 1, 0.5)
    assert len(asked) == len(set(asked)) <= 12


def test_choices_without_refits():
    points = losses([3.0, 2.0, 5.0, 1.0])
    assert selection.by_validation_loss(points) == selection.Choice(3)
    assert selection.by_n_edges(points, 18.4) == selection.Choice(3)
    assert selection.by_n_edges(points, 0) == selection.Choice(4)
    assert selection.by_budget(points, 0.49) == selection.Choice(2)


def test_choices_with_refits():
    points = losses([3.0, 2.0, 5.0, 1.0])
    at_once(selection.relaxed(points, refit_with(points, [2.0, 1.0, 1.05, 1.2], [])))
    assert selection.by_budget(points, 0.49) == selection.Choice(2, 0.5)
    # Points 1 to 4 have 20, 19, 18, 17 edges; half way between two cuts lie the loss and the edges half way between.
    assert selection.by_n_edges(points, 17) == selection.Choice(2, 0.25)
    assert selection.by_n_edges(points, 19.5) == selection.Choice(1, pytest.approx(0.0625))
    assert selection.by_n_edges(points, 20.5) == selection.Choice(1)
    polished = [*points[:2], replace(points[2], refit=replace(points[2].refit, polished=True)), *points[3:]]
    assert selection.by_n_edges(polished, 20.5) == selection.Choice(2, 0.0)  # it has 19 edges, more than nine tenths
    assert selection.by_n_edges(polished, 22) == selection.Choice(1)
    assert selection.by_n_edges(points, 0) == selection.Choice(4)  # the sparsest point, not a refit with a large cut
    assert selection.within_one_standard_error(points, lambda choice: [0.9, 1.0, 1.1]) == selection.Choice(3, 0.5)
    assert selection.within_one_standard_error(points, lambda choice: [1.0, 1.0, 1.0]) == selection.Choice(2, 0.5)


def test_points_worth_refitting_for_a_number_of_edges():
    points = losses([3.0, 2.0, 5.0, 1.0])
    assert selection.worth_refitting(points, 18.4) == [2, 1]
    points[2] = at_once(refit_with(points, [1.0] * 4, [])(2))
    assert selection.worth_refitting(points, 18.4) == [1]
    assert selection.worth_refitting(points, 99) == []
