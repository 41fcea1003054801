"""The method, from top to bottom.

`learn` is what a fit does once tables have been read. `learn_graphs` is the method for graphs that vary with the context:

1. Rows far from all others are given less weight, see `contextualdag.training.outliers`. The mean of the variables given the
   context is removed. Variables are divided by the scales of their noise: one for all in the user's units, or scales that
   are learned, see `contextualdag.training.noise`.
2. The path: networks that map a context to a matrix are trained without constraints, then behind a projection that makes
   every matrix a DAG, then for a falling sequence of budgets of the l1 norm, each from the networks of the budget before.
3. Points of the path are refitted on their supports without shrinkage, and the weak edges of each refit are pruned.
4. The point of least refit loss on rows held out is selected. (``selection="min"`` ends before the refits, with the least
   validation loss; "1se" takes the sparsest point within a standard error; a number, graphs with that many edges.)
5. One graph for all contexts is fitted too, and selected where it predicts rows held out as well, or where these are
   predicted as well with the graphs of one another's contexts.
6. The refit of the selected point is polished: trained once more, with more patience.
7. The graphs of the members of the ensemble, each of which held out other rows, are averaged whenever graphs are asked for.

Steps 2, 3 and 6 are methods of `contextualdag.training.ensemble.Ensemble`, which keeps what they reach in its path; a path
from a checkpoint goes on where it stopped. Step 7 is `contextualdag.training.solution.Solution.graphs`. Problems of one
shape are solved side by side: what the steps yield is carried out by a `contextualdag.training.runner.Runner`, which
documents the protocol.

`learn_group_graphs` is the method for graphs that do not vary, or only from cluster to cluster.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from contextualdag.network import MeanNetwork
from contextualdag.threads import one_thread_each
from contextualdag.training import noise
from contextualdag.training import selection as selections
from contextualdag.training.constant_graph import SplitMoments, group_path, one_graph_path, penalty_grid
from contextualdag.training.context_test import ContextTest, context_test
from contextualdag.training.data import Folds, Rows, Split, concatenate
from contextualdag.training.ensemble import Ensemble
from contextualdag.training.loss import Moments, errors, explained_variance, residuals, row_errors
from contextualdag.training.means import draw_mean, fit_means, without_means
from contextualdag.training.outliers import weighted
from contextualdag.training.problem import GroupSettings, NetworkSettings, Outcome, Problem
from contextualdag.training.runner import Runner, Steps
from contextualdag.training.screening import screen
from contextualdag.training.solution import ClusterGraphs, ConstantGraph, Solution, nearest_centre

N_PENALTIES = 20  # of the constant candidate
MOST_TRIED = 1000  # rows to learn noise scales from
HOPELESS = 0.02  # how much worse it may be with a few of them before the others are tried
ROWS_IN_A_CLUSTER = 100
ROWS_WORTH_THREADS = 4000  # for one network with fewer, PyTorch's threads gain little and disturb other programs


def learn(problems: Sequence[Problem]) -> list[Outcome]:
    """Solve problems of one shape, side by side where that helps."""
    rows, settings = problems[0].split.train, problems[0].settings
    n_networks = len(problems) * (settings.n_members if isinstance(settings, NetworkSettings) else 1)
    is_large = n_networks == 1 and len(rows) >= ROWS_WORTH_THREADS
    with contextlib.nullcontext() if is_large else one_thread_each(rows.X.device):
        return _learn(problems)


def _learn(problems: Sequence[Problem]) -> list[Outcome]:
    problems = _with_weights(problems)
    means = [draw_mean(one.split.train, one.seed) if one.contextual_mean else None for one in problems]
    problems = _without_means(problems, means)
    equal = [_may_be_equal(problem) for problem in problems]
    found: dict[int, tuple[Tensor, Solution, ContextTest | None]] = {}
    for noise_is_equal in (True, False):
        some = [i for i in range(len(problems)) if equal[i] == noise_is_equal]
        scales = [problems[i].units.double() for i in some] if noise_is_equal else learn_scales([problems[i] for i in some])
        scaled = [divided(problems[i], scale) for i, scale in zip(some, scales, strict=True)]
        for i, scale, problem, (solution, test) in zip(some, scales, scaled, _solve(scaled), strict=True):
            found[i] = scale, solution, test
            if noise_is_equal and problem.noise == "auto" and _speaks_for_unequal(problem, solution):
                equal[i] = False
                problems[i] = replace(problems[i], checkpoint=None)  # it holds the path of the other noise
    return [_outcome(problems[i], means[i], *found[i], equal[i]) for i in range(len(problems))]


def _with_weights(problems: Sequence[Problem]) -> list[Problem]:
    """The problems with less weight for rows far from the others; all or none have weights, to be solved side by side."""
    found = [replace(problem, split=weighted(problem.split)) if problem.robust else problem for problem in problems]
    if all(problem.split.train.weight is None for problem in found):
        return found
    return [
        replace(problem, split=Split(_with_weight(problem.split.train), _with_weight(problem.split.held_out)))
        for problem in found
    ]


def _with_weight(rows: Rows) -> Rows:
    return rows if rows.weight is not None else replace(rows, weight=torch.ones_like(rows.X[:, 0]))


def _solve(problems: Sequence[Problem]) -> list[tuple[Solution, ContextTest | None]]:
    """Graphs of variables whose means are removed and whose noise has one scale, and whether the context matters to them."""
    if problems and isinstance(problems[0].settings, NetworkSettings):
        return _run([Ensemble(_screened(problem), problem.folds()) for problem in problems])
    return [(learn_group_graphs(problem, problem.folds()), None) for problem in problems]


def learn_scales(problems: Sequence[Problem]) -> list[Tensor]:
    """Noise scales (p,) that are not equal: those of the residuals of a single network that is trained on some of the rows.

    It needs scales as well. There are two starts, residuals of regressions on all other variables and standard deviations,
    neither of which depends on units; what predicts rows held out better is taken.
    """
    starts = [(noise.brackets(one.split.train, one.allowed).low.sqrt(), torch.ones_like(one.units)) for one in problems]
    trials = [_trial(one, start) for one, its in zip(problems, starts, strict=True) for start in its]
    solutions = _solve([problem for _, problem in trials])
    found = [_scale_of(*trial, solution) for trial, (solution, _) in zip(trials, solutions, strict=True)]
    scales = [max(its, key=lambda one: one[0])[1] for its in zip(found[::2], found[1::2], strict=True)]
    return [noise.sized(scale, one.split.train) for one, scale in zip(problems, scales, strict=True)]


def _trial(problem: Problem, start: Tensor) -> tuple[Tensor, Problem]:
    """A smaller problem, with its scales."""
    parts = []
    for rows, most in ((problem.split.train, MOST_TRIED), (problem.split.held_out, MOST_TRIED // 2)):
        chosen = torch.randperm(len(rows), generator=torch.Generator().manual_seed(problem.seed))[:most]
        parts.append(rows[chosen.sort().values.to(rows.X.device)])
    settings: NetworkSettings | GroupSettings = replace(problem.settings, selection="relaxed")
    if isinstance(settings, NetworkSettings):
        settings = replace(settings, n_members=1, cross_fit=False, consider_constant=False, polish=False)
    trial = replace(problem, split=Split(*parts), settings=settings, checkpoint=None, observer=None)
    scale = noise.sized(noise.floored(start, noise.residual_scales(parts[0].X, parts[0]).cpu()), parts[0])
    return scale, divided(trial, scale)


def _scale_of(scale: Tensor, problem: Problem, solution: Solution) -> tuple[float, Tensor]:
    """The scales of the residuals of a trial, and the log likelihood that they reach on rows held out."""
    rows = concatenate([problem.split.train, problem.split.held_out])
    left = residuals(rows.X, solution.graphs(rows.Z, rows.mask))
    spread = scale * noise.residual_scales(rows.X, rows).cpu()
    found = noise.floored(scale * noise.residual_scales(left, rows).cpu(), spread)
    unseen = left[len(problem.split.train) :].double().cpu() * scale
    weight = torch.ones(len(unseen)) if rows.weight is None else rows.weight[len(problem.split.train) :].cpu()
    return float((noise.log_likelihoods(unseen, found) * weight).sum() / weight.sum()), found


def divided(problem: Problem, scale: Tensor) -> Problem:
    """The problem with variables divided by their scales."""
    by = scale.to(problem.split.train.X)
    parts = [replace(rows, X=rows.X / by) for rows in (problem.split.train, problem.split.held_out)]
    return replace(problem, split=Split(*parts))


def _may_be_equal(problem: Problem) -> bool:
    """Whether noise is, or could be, equal in the units of the user."""
    if problem.noise != "auto":
        return problem.noise == noise.EQUAL
    return noise.brackets(problem.split.train, problem.allowed).allow_equal(problem.units)


def _speaks_for_unequal(problem: Problem, solution: Solution) -> bool:
    """Whether the residuals of graphs learned under equal noise are those of unequal noise."""
    _, rows, W = _predictions(solution, problem.folds())
    left = residuals(rows.X, W)
    halves = (slice(0, None, 2), slice(1, None, 2))
    gains = [noise.gain_of_scales((left[a], rows[a]), (left[b], rows[b])) for a, b in (halves, halves[::-1])]
    gain, error = (sum(values) / 2 for values in zip(*gains, strict=True))
    return noise.is_clear(gain, error)


def _outcome(
    problem: Problem, mean: MeanNetwork | None, scale: Tensor, solution: Solution, test: ContextTest | None, is_equal: bool
) -> Outcome:
    folds = divided(problem, scale).folds()
    score = _score(solution, folds, len(problem.split.train), mean, scale)
    return Outcome(solution, scale, noise.EQUAL if is_equal else noise.UNEQUAL, problem.split, test, mean, *score)


def _run(ensembles: Sequence[Ensemble]) -> list[tuple[Solution, ContextTest | None]]:
    """The solutions of ensembles: side by side those whose networks have the same pairs."""
    alike: dict[tuple[bool, ...], list[int]] = {}
    for i, ensemble in enumerate(ensembles):
        alike.setdefault(tuple(ensemble.network.allowed.flatten().tolist()), []).append(i)
    solutions: dict[int, Solution] = {}
    for group in alike.values():
        some = [ensembles[i] for i in group]
        splits = [split for ensemble in some for split in ensemble.folds.splits]
        runner = Runner(some[0].network, some[0].layer, splits, some[0].settings.training.for_rows(splits[0].train))
        solutions |= zip(group, runner.run([learn_graphs(ensemble) for ensemble in some]), strict=True)
    return [(solutions[i], ensemble.context_test) for i, ensemble in enumerate(ensembles)]


def learn_graphs(ensemble: Ensemble) -> Steps[Solution]:
    """Learn a graph for every context, with an ensemble of networks."""
    settings, path = ensemble.settings, ensemble.path

    # A path of warm-started fits, from dense graphs to empty ones.
    if not path.pretrained:
        yield from ensemble.pretrain()
    if path.largest_budget is None:
        yield from ensemble.find_largest_budget()
    while (budget := ensemble.next_budget()) is not None:
        yield from ensemble.fit_budget(budget)
    if settings.selection == "min":
        return ensemble.solution(selections.least_validation_loss(path.points))

    # Refits without shrinkage, until the point of least refit loss is found.
    while (index := selections.next_to_refit(path.points)) is not None:
        yield from ensemble.refit(index)
    selected = selections.least_refit_loss(path.points)

    # One graph for all contexts, if it predicts rows held out as well, or if the context does not matter. It cannot heed a
    # mask of allowed edges for each row.
    _, rows, W = _predictions(ensemble.solution(selected), ensemble.folds)
    ensemble.context_test = context_test(W, rows, ensemble.problem.seed)
    if settings.consider_constant and ensemble.folds.rows.mask is None:
        constant_path = partial(one_graph_path, ensemble.folds.splits[: settings.n_folds], ensemble.problem.allowed)
        thinned = constant_path(N_PENALTIES, every=4)
        if selections.predicts_as_well(thinned, path.points, selected, margin=HOPELESS):
            constant = constant_path(N_PENALTIES)
            if selections.predicts_as_well(constant, path.points, selected) or not ensemble.context_test.context_matters:
                return _select(constant, settings.selection, ensemble.folds, partial(ConstantGraph, tuple(constant)))

    # The refit that is reported is trained with more patience.
    if not isinstance(settings.selection, str):
        for index in selections.to_refit_for(path.points, settings.selection):
            yield from ensemble.refit(index)
        selected = selections.with_n_edges(path.points, settings.selection)
    refit = path.points[selected.index].refit
    if refit is not None and not refit.polished and settings.polish:
        yield from ensemble.refit(selected.index, polish=True)
    return _select(path.points, settings.selection, ensemble.folds, ensemble.solution)


def learn_group_graphs(problem: Problem, folds: Folds) -> Solution:
    """Learn one graph for all contexts, or one for each cluster of them, along a path of l1 penalties."""
    settings, train, held_out = problem.group_settings, problem.split.train, problem.split.held_out
    centres = _cluster(train.Z, settings.n_clusters, problem.seed) if settings.clustered else None
    n_groups = 1 if centres is None else len(centres)
    moments = SplitMoments(
        Moments.of(train, nearest_centre(train.Z, centres), n_groups),
        Moments.of(held_out, nearest_centre(held_out.Z, centres), n_groups),
    )
    penalties = settings.penalties or penalty_grid(moments.train.S, settings.n_penalties)
    with_refits = settings.selection != "min"
    points = tuple(group_path(moments, penalties, problem.allowed, settings.cut, with_refits))
    kind = partial(ConstantGraph, points) if centres is None else partial(ClusterGraphs, points, centres=centres)
    return _select(points, settings.selection, folds, kind)


def _without_means(problems: Sequence[Problem], networks: Sequence[MeanNetwork | None]) -> list[Problem]:
    """The problems with the means given the context removed, where a mean network is to be fitted."""
    fitted = {i: network for i, network in enumerate(networks) if network is not None}
    fit_means(list(fitted.values()), [problems[i].split for i in fitted])
    centred = list(problems)
    for i, network in fitted.items():
        centred[i] = replace(problems[i], split=without_means(problems[i].split, network))
    return centred


def _screened(problem: Problem) -> Problem:
    """The problem with fewer allowed edges where variables are many."""
    if problem.network_settings.as_published:
        return problem
    return replace(problem, allowed=screen(problem.split.train, problem.allowed))


def _cluster(Z: Tensor, n_clusters: int | None, seed: int) -> Tensor:
    """Centres (g, m) of clusters of contexts, by k-means."""
    from sklearn.cluster import KMeans

    wanted = n_clusters or math.ceil(len(Z) / ROWS_IN_A_CLUSTER)
    found = KMeans(min(wanted, len(torch.unique(Z, dim=0))), n_init=10, random_state=seed).fit(Z.cpu().numpy())
    return torch.tensor(found.cluster_centers_, dtype=torch.float32, device=Z.device)


def _select(
    points: selections.Points, selection: str | float, folds: Folds, solution_at: Callable[[selections.Selected], Solution]
) -> Solution:
    """The point of a path that a `selection` parameter asks for, as a solution."""
    if not isinstance(selection, str):
        return solution_at(selections.with_n_edges(points, selection))
    if selection == "min":
        return solution_at(selections.least_validation_loss(points))
    best = solution_at(selections.least_refit_loss(points))
    if selection == "relaxed":
        return best
    _, rows, W = _predictions(best, folds)
    losses: list[float] = row_errors(errors(residuals(rows.X, W)), rows).tolist()
    return solution_at(selections.within_one_standard_error(points, losses))  # "1se"


def _predictions(solution: Solution, folds: Folds) -> tuple[Tensor, Rows, Tensor]:
    """Rows that were held out, as indices and as rows, with the graphs of members that did not see them.

    Where members hold out different rows, each predicts its own, with as many edges as are selected; the rows that all hold
    out are predicted by the average.
    """
    if all(torch.equal(held_out, folds.held_out[0]) for held_out in folds.held_out):
        index = folds.held_out[0]
        rows = folds.rows[index]
        return index, rows, solution.graphs(rows.Z, rows.mask)
    members = solution.member_graphs(folds.rows.Z, folds.rows.mask)
    index = torch.cat(folds.held_out)
    W = torch.cat([own[held_out] for own, held_out in zip(members, folds.held_out, strict=True)])
    return index, folds.rows[index], W


def _score(solution: Solution, folds: Folds, n_train: int, mean: MeanNetwork | None, scale: Tensor) -> tuple[float, int]:
    """Share of the variance of rows held out that is explained, and how many rows these are.

    Only rows outside the training set count: the means are fitted to all of that.
    """
    index, rows, W = _predictions(solution, folds)
    unseen = index >= n_train
    n_unseen = len(set(index[unseen].tolist()))
    if n_unseen == 0:
        return math.nan, 0
    by = scale.to(rows.X)
    X = rows.X * by if mean is None else rows.X * by + mean(rows.Z)
    left, given = (table[unseen].double().cpu().numpy() for table in (residuals(rows.X, W) * by, X))
    return explained_variance(left, given), n_unseen
