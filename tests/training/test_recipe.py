"""The method as a whole, on a problem small enough to know the answer."""

import math
from dataclasses import replace

import pytest
import torch

from contextualdag.projection import Order
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.data import Split
from contextualdag.training.ensemble import Ensemble
from contextualdag.training.path import Path
from contextualdag.training.problem import GroupSettings, NetworkSettings, Problem, Stage
from contextualdag.training.recipe import learn, learn_graphs
from contextualdag.training.runner import Runner
from contextualdag.training.solution import ClusterGraphs, ConstantGraph, VaryingGraphs
from contextualdag.training.trainer import TrainingSettings

pytestmark = pytest.mark.slow

SETTINGS = NetworkSettings(
    acyclicity=Order(),
    selection="relaxed",
    n_members=1,
    cross_fit=True,
    structure="auto",
    hidden_layers=(16,),
    activation="silu",
    dropout=0.2,
    budgets="geometric",
    n_budgets=50,
    training=TrainingSettings(0.01),
)
GROUPS = GroupSettings(selection="relaxed", penalties=None, n_penalties=20, cut=0.0)
AT = torch.tensor([[-0.7], [0.7]])
REVERSED = [[[False, True], [False, False]], [[False, False], [True, False]]]


@pytest.fixture
def problem(two_nodes):
    def make(n=400, settings=SETTINGS, **more):
        allowed = torch.ones(2, 2, dtype=torch.bool)
        given = {
            "contextual_mean": False,
            "noise": "equal",
            "given_weight": None,
            "units": torch.ones(2),
            "features": {"z": (0,)},
            "seed": 3,
        } | more
        return Problem(two_nodes(n), allowed, torch.zeros_like(allowed), settings, **given)

    return make


def one_graph(problem):
    """The same problem with one graph for all contexts, x1 -> x2."""
    generator = torch.Generator().manual_seed(1)
    split = problem.split
    parts = []
    for rows in (split.train, split.held_out):
        X = torch.randn(len(rows), 2, generator=generator)
        X[:, 1] += 0.8 * X[:, 0]
        parts.append(replace(rows, X=X))
    return replace(problem, split=Split(*parts))


def test_the_path_runs_from_dense_to_empty_and_the_edge_is_reversed(problem):
    (found,) = learn([problem()])
    assert isinstance(found.choice.solution, VaryingGraphs)
    points = found.choice.solution.points
    budgets = [point.l1_budget for point in points]
    assert budgets[0] < math.inf
    assert budgets[-1] == 0
    assert budgets == sorted(budgets, reverse=True)
    assert points[-1].n_edges == 0
    assert (found.choice.solution.graphs(AT) != 0).tolist() == REVERSED
    assert found.choice.solution.refit.polished
    assert found.mean_network is None
    assert found.n_held_out == 400
    assert 0.1 < float(found.explained.sum(1).mean()) < 0.6


def test_the_stages_come_in_order(problem):
    stages = []
    observer = lambda stage, follows, l1_budget: stages.append((stage, len(follows), l1_budget))  # noqa: E731
    (found,) = learn([problem(n=100, settings=replace(SETTINGS, structure="varying"), observer=observer)])
    n_points = len(found.choice.solution.points)
    assert stages[0] == (Stage.PRETRAINING, 0, None)
    assert stages[1][:2] == (Stage.BUDGET, 0)
    assert [stage for stage, _, _ in stages[1 : n_points + 1]] == [Stage.BUDGET] * n_points
    assert {stage for stage, _, _ in stages[n_points + 1 : -1]} == {Stage.REFIT}
    assert stages[-1][0] is Stage.POLISHING


def test_one_graph_for_all_where_nothing_varies(problem):
    (found,) = learn([one_graph(problem())])
    assert isinstance(found.choice.solution, ConstantGraph)
    # Its direction is a matter of the noise, which is equal here; that there is one edge is not.
    assert int((found.choice.solution.graphs(AT[:1]) != 0).sum()) == 1
    (varying,) = learn([one_graph(problem(settings=replace(SETTINGS, structure="varying")))])
    assert isinstance(varying.choice.solution, VaryingGraphs)


def test_the_least_validation_loss_needs_no_refit(problem):
    (found,) = learn([problem(n=100, settings=replace(SETTINGS, selection="min"))])
    assert all(point.refit is None for point in found.choice.solution.points)
    losses = [point.validation_loss for point in found.choice.solution.points]
    assert found.choice.solution.point.validation_loss == min(losses)


@pytest.mark.parametrize("n_edges", [0, 0.5, 1])
def test_a_given_number_of_edges(problem, n_edges):
    (found,) = learn([problem(settings=replace(SETTINGS, selection=n_edges))])
    Z = torch.linspace(-1, 1, 201)[:, None]
    assert float((found.choice.solution.graphs(Z) != 0).sum()) / 201 == pytest.approx(n_edges, abs=0.15)


def test_means_that_move_with_the_context_are_removed(problem):
    plain = one_graph(problem(settings=GROUPS))
    shifted = [replace(rows, X=rows.X + 5 * rows.Z) for rows in (plain.split.train, plain.split.held_out)]
    moving = replace(plain, split=Split(*shifted), contextual_mean=True)
    (expected,), (found,) = learn([plain]), learn([moving])
    assert found.mean_network is not None
    torch.testing.assert_close(found.choice.solution.graphs(AT), expected.choice.solution.graphs(AT), atol=0.05, rtol=0)
    assert float(found.explained.sum(1).mean()) > 0.85  # of the variance, most of which is that of the means


def test_a_graph_for_each_cluster(problem):
    (found,) = learn([problem(settings=replace(GROUPS, clustered=True, n_clusters=2))])
    assert isinstance(found.choice.solution, ClusterGraphs)
    assert found.choice.solution.centres.flatten().sort().values.tolist() == pytest.approx([-0.5, 0.5], abs=0.1)
    assert (found.choice.solution.graphs(AT) != 0).tolist() == REVERSED


def test_together_as_alone(problem):
    problems = [problem(n=100), replace(problem(n=100), seed=4)]
    together = learn(problems)
    for one, found in zip(problems, together, strict=True):
        (alone,) = learn([one])
        assert torch.equal(found.choice.solution.graphs(AT), alone.choice.solution.graphs(AT))
        assert torch.equal(found.explained, alone.explained)


def test_problems_of_one_shape(problem):
    first = problem(n=100)
    assert first.shape == replace(first, seed=9).shape
    assert first.shape == replace(first, settings=replace(SETTINGS, selection=3)).shape
    others = [problem(n=101), problem(n=100, settings=GROUPS), problem(n=100, settings=replace(SETTINGS, n_members=2))]
    assert len({first.shape, *(other.shape for other in others)}) == 4


@pytest.mark.parametrize("stop_after", [1, 2, 5, 12])
def test_an_interrupted_fit_ends_the_same(problem, tmp_path, stop_after, monkeypatch):
    (whole,) = learn([problem(n=100)])
    save, saves = Checkpoint.save, []

    def stop(self, path):
        save(self, path)
        saves.append(len(path.points))
        if len(saves) == stop_after:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", stop)
    with pytest.raises(KeyboardInterrupt):
        learn([problem(n=100, checkpoint=Checkpoint(tmp_path / "path", {}, 0))])
    (resumed,) = learn([problem(n=100, checkpoint=Checkpoint(tmp_path / "path", {}, 0))])
    for ours, theirs in zip(resumed.choice.solution.points, whole.choice.solution.points, strict=True):
        assert ours.validation_loss == theirs.validation_loss
        assert all(torch.equal(ours.fits[0].learned[name], value) for name, value in theirs.fits[0].learned.items())
    assert torch.equal(resumed.choice.solution.graphs(AT), whole.choice.solution.graphs(AT))


def test_steps_ask_for_one_training_for_each_member(problem):
    given = problem(n=100, settings=replace(SETTINGS, n_members=3))
    ensemble = Ensemble(given, given.folds())
    asked = []

    def spy(steps):
        fits = None
        while True:
            try:
                trainings = steps.send(fits)
            except StopIteration as end:
                return end.value
            asked.append(trainings)
            fits = yield trainings

    runner = Runner(ensemble.network, ensemble.layer, ensemble.folds.splits, SETTINGS.training)
    runner.run([spy(learn_graphs(ensemble))])
    assert {len(trainings) for trainings in asked} == {3}
    seeds = [training.seed for trainings in asked for training in trainings]
    assert len(seeds) == len(set(seeds))


def test_networks_along_an_order_have_no_other_pairs(problem):
    given = problem(n=100)
    ensemble = Ensemble(given, given.folds())
    forward = torch.tensor([[False, True], [False, False]])
    along = ensemble.on_path(Path(allowed=forward), stream=1)
    runner = Runner(ensemble.network, ensemble.layer, ensemble.folds.splits, SETTINGS.training)

    def steps():
        yield from along.pretrain()
        yield from along.fit_budget(0.5)
        yield from along.refit(0)

    runner.run([steps()])
    point = along.path.points[0]
    states = [*along.path.pretrained, *(fit.learned for fit in (*point.fits, *point.refit.fits))]
    for state in states:
        ensemble.network.load_state_dict(state)
        assert torch.equal(ensemble.network.live.cpu(), forward)
