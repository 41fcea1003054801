"""The method, from top to bottom.

`learn` is what a fit does once tables have been read. `learn_graphs` is the method for graphs that vary with the context:

1. Rows far from all others have less weight, see `contextualdag.training.outliers`. The mean of the variables given the
   context is removed. Variables are divided by the scales of their noise: one for all in the user's units, or scales that
   are learned, see `contextualdag.training.noise`.
2. The path: networks that map a context to a matrix are trained without constraints, then behind a projection that makes
   every matrix a DAG, then for a falling sequence of budgets of the l1 norm, each from the networks of the budget before.
3. Points of the path are refitted on their supports without shrinkage, and the weak edges of each refit are pruned.
4. The point of least refit loss on rows held out is selected. (``selection="min"`` ends before the refits, with the least
   validation loss; "1se" takes the sparsest point within a standard error; "explained" the strongest edges, which explain
   nearly as much; a number, graphs with that many edges.)
5. Simpler graphs are fitted too: one for all contexts, and graphs that keep to one order of the variables (see
   `contextualdag.training.common_order`). The simplest that predict rows held out as well are chosen, see
   `contextualdag.training.structure`. Where the order varies, reversals that do not help are left out. One graph for all
   is made sparser where that predicts as well, see `contextualdag.training.sparser`, and under noise of unknown scales its
   directions are those of the largest likelihood, see `contextualdag.training.likelihood_search`.
6. The refit of the selected point is polished: trained once more, with more patience.
7. The graphs of the members of the ensemble, each of which held out other rows, are averaged whenever graphs are asked for.

Steps 2, 3 and 6 are methods of `contextualdag.training.ensemble.Ensemble`, which keeps what they reach in its path; a path
from a checkpoint goes on where it stopped. Step 7 is `contextualdag.training.solution.Solution.graphs`. Problems of one
shape are solved side by side: what the steps yield is carried out by a `contextualdag.training.runner.Runner`, which
documents the protocol.

`learn_group_graphs` is the method for graphs that do not vary, or only from cluster to cluster.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from contextualdag.graphs import is_acyclic, order_to_mask
from contextualdag.network import MeanNetwork
from contextualdag.threads import one_thread_each
from contextualdag.training import noise
from contextualdag.training import selection as selections
from contextualdag.training.common_order import find_order
from contextualdag.training.constant_graph import (
    SplitMoments,
    group_path,
    information_criterion,
    one_graph_path,
    penalty_grid,
)
from contextualdag.training.context_test import ContextTest, permutation_test
from contextualdag.training.data import Folds, Rows, Split
from contextualdag.training.ensemble import Ensemble
from contextualdag.training.explaining import explaining
from contextualdag.training.filling import emptied, has_holes, refilled
from contextualdag.training.held_out import explained, gain_of_context, gains_of_features, losses_of_rows, predictions
from contextualdag.training.likelihood_search import with_likeliest_edges
from contextualdag.training.loss import Moments, errors, residuals, row_errors
from contextualdag.training.means import draw_mean, fit_means, without_means
from contextualdag.training.path import Path
from contextualdag.training.problem import NetworkSettings, Outcome, Problem
from contextualdag.training.required import required_weights
from contextualdag.training.reversals import unearned_reversals
from contextualdag.training.runner import Runner, Steps
from contextualdag.training.scales import divided, learn_scales, may_be_equal, speaks_for_unequal
from contextualdag.training.screening import screen
from contextualdag.training.solution import (
    AnySolution,
    ClusterGraphs,
    ConstantGraph,
    Solution,
    VaryingGraphs,
    nearest_centre,
)
from contextualdag.training.sparser import along_one_order, sparsest_as_good, without_chance_edges
from contextualdag.training.structure import (
    COMMON_ORDER,
    CONSTANT,
    STRUCTURES,
    VARYING,
    Choice,
    StructureScore,
    compare,
    simplest,
)

N_PENALTIES, THINNED = 20, 4  # of the constant graph; every fourth at first
FAR_BEHIND, HOPELESS = 0.1, 4  # log likelihood and standard errors by which simpler graphs may be behind at first sight
SURE = 1.96  # standard errors in an interval of 95 %
TRIED = (2.0, 1.4, 1.0)  # budgets of graphs along one order, as multiples of the best one without
ROWS_IN_A_CLUSTER = 100


def learn(problems: Sequence[Problem]) -> list[Outcome]:
    """Solve problems of one shape, side by side where that helps."""
    with one_thread_each(problems[0].split.train.X.device):
        return _learn(problems)


def learn_resamples(problems: Sequence[Problem]) -> list[Solution]:
    """Graphs of half-samples, see `contextualdag.training.resampling`, each without the rest of its path.

    Values that are missing are filled in anew in each, so that its graphs include the doubt of what they might have been.
    """
    with one_thread_each(problems[0].split.train.X.device):
        if has_holes(problems):
            first = _solve([emptied(problem) for problem in problems])
            problems = [refilled(problem, choice.solution) for problem, choice in zip(problems, first, strict=True)]
        return [choice.solution.alone() for choice in _solve(problems)]


def _learn(problems: Sequence[Problem]) -> list[Outcome]:
    problems = _with_weights(problems)
    means = [draw_mean(one.split.train, one.seed) if one.contextual_mean else None for one in problems]
    problems = _without_means(problems, means)
    equal = [may_be_equal(problem) for problem in problems]
    found: dict[int, tuple[Tensor, Choice]] = {}
    for noise_is_equal in (True, False):
        some = [i for i in range(len(problems)) if equal[i] == noise_is_equal]
        if noise_is_equal:
            scales = [problems[i].units.double() for i in some]
        else:
            scales = learn_scales([problems[i] for i in some], lambda trials: [choice.solution for choice in _solve(trials)])
        scaled = [divided(problems[i], scale) for i, scale in zip(some, scales, strict=True)]
        if not noise_is_equal:
            scaled = [replace(problem, noise=noise.UNEQUAL) for problem in scaled]
        for i, scale, problem, choice in zip(some, scales, scaled, _solve(scaled), strict=True):
            found[i] = scale, choice
            if noise_is_equal and problem.noise == "auto" and speaks_for_unequal(problem, choice.solution):
                equal[i] = False
                problems[i] = replace(problems[i], checkpoint=None)  # it holds the path of the other noise
    return [_outcome(problems[i], means[i], *found[i], equal[i]) for i in range(len(problems))]


def _with_weights(problems: Sequence[Problem]) -> list[Problem]:
    """The problems, of whose rows all or none have weights, to be solved side by side."""
    if all(problem.split.train.weight is None for problem in problems):
        return list(problems)
    return [
        replace(problem, split=Split(_with_weight(problem.split.train), _with_weight(problem.split.held_out)))
        for problem in problems
    ]


def _with_weight(rows: Rows) -> Rows:
    return rows if rows.weight is not None else replace(rows, weight=torch.ones_like(rows.X[:, 0]))


def _solve(problems: Sequence[Problem]) -> list[Choice]:
    """Graphs of variables whose means are removed and whose noise has one scale."""
    if problems and isinstance(problems[0].settings, NetworkSettings):
        choices = _run([Ensemble(_screened(problem), problem.folds()) for problem in problems])
    else:
        choices = [_learn_groups(problem) for problem in problems]
    return [_with_required(choice, problem) for choice, problem in zip(choices, problems, strict=True)]


def _with_required(choice: Choice, problem: Problem) -> Choice:
    """Graphs with the edges that they must have, which their numbers of edges count."""
    if not bool(problem.required.any()):
        return choice
    folds = problem.folds()
    rows = folds.trained_on

    def complete(solution: Solution) -> Solution:
        W = solution.graphs(rows.Z, rows.mask)
        return replace(solution, required=required_weights(W, rows, problem.required))

    solution = complete(choice.solution)
    return replace(
        choice,
        solution=_counting(solution, problem, folds) if problem.settings.final else solution,
        constant=None if choice.constant is None else complete(choice.constant),
    )


def _counting(solution: AnySolution, problem: Problem, folds: Folds) -> AnySolution:
    """The same path, whose numbers of edges count the required ones."""
    if not bool(problem.required.any()):
        return solution
    return solution.counting(problem.required, folds.rows.Z, folds.rows.mask)


def _learn_groups(problem: Problem) -> Choice:
    """Graphs of clusters of contexts, with one for all to compare; or only that."""
    settings, folds = problem.group_settings, problem.folds()
    constant = learn_group_graphs(replace(problem, settings=replace(settings, clustered=False)), folds)
    if not settings.clustered:
        return Choice(constant, CONSTANT, constant=constant)
    return Choice(learn_group_graphs(problem, folds), VARYING, constant=constant)


def _outcome(problem: Problem, mean: MeanNetwork | None, scale: Tensor, choice: Choice, is_equal: bool) -> Outcome:
    """What is kept of a fit. In the shares that are explained outliers count in full: rows have the weights given."""
    folds = divided(problem, scale).folds()
    folds = replace(folds, rows=replace(folds.rows, weight=problem.given_weight))
    shares = explained(choice, folds, len(problem.split.train), mean, scale)
    return Outcome(choice, scale, noise.EQUAL if is_equal else noise.UNEQUAL, problem.split, mean, *shares)


def _run(ensembles: Sequence[Ensemble]) -> list[Choice]:
    """What ensembles learn: side by side those whose networks have the same pairs."""
    alike: dict[tuple[bool, ...], list[int]] = {}
    for i, ensemble in enumerate(ensembles):
        alike.setdefault(tuple(ensemble.network.allowed.flatten().tolist()), []).append(i)
    found: dict[int, Choice] = {}
    for group in alike.values():
        some = [ensembles[i] for i in group]
        splits = [split for ensemble in some for split in ensemble.folds.splits]
        runner = Runner(some[0].network, some[0].layer, splits, some[0].settings.training.for_rows(splits[0].train))
        found |= zip(group, runner.run([learn_graphs(ensemble) for ensemble in some]), strict=True)
    return [found[i] for i in range(len(ensembles))]


def learn_graphs(ensemble: Ensemble) -> Steps[Choice]:
    """Learn a graph for every context with an ensemble of networks, and simpler graphs, and choose between them."""
    settings, folds, n_nodes = ensemble.settings, ensemble.folds, ensemble.network.n_nodes
    own, wanted = _structures(ensemble)
    if wanted == {CONSTANT}:
        constant = _constant(ensemble, ensemble.problem.allowed)
        test = _context_test(ensemble) if settings.final else None
        graph = _selected_graph(constant, ensemble)
        return Choice(graph, CONSTANT, {}, test, graph)

    # Graphs that vary freely, within the edges that are allowed.
    best = {own: (yield from _best_of_path(ensemble))}
    is_chosen = wanted == {own} and (settings.as_published or not settings.final)
    if is_chosen or folds.rows.mask is not None:
        return Choice((yield from _finish(ensemble)), own)

    # One graph for all contexts, and graphs that keep to one order.
    ensembles, losses = {own: ensemble}, {own: losses_of_rows(best[own], folds)}
    thinned = _constant(ensemble, ensemble.problem.allowed, THINNED)
    single = thinned.graphs(folds.rows.Z[:1])[0]
    order = find_order(best[own].graphs(folds.trained_on.Z), folds.trained_on, single)
    forward = order_to_mask(torch.tensor([order]))[0] & ensemble.network.allowed
    if not settings.final:
        along, _ = yield from _along(ensemble, forward, best[own], losses[own])
        return Choice((yield from _finish(along)), COMMON_ORDER)
    constant = _best_constant(ensemble, thinned, forward, losses[own])
    if CONSTANT in wanted:
        losses[CONSTANT] = losses_of_rows(constant, folds)
    if COMMON_ORDER in wanted and own == VARYING:
        ensembles[COMMON_ORDER], best[COMMON_ORDER] = yield from _along(ensemble, forward, best[own], losses[own])
        losses[COMMON_ORDER] = losses_of_rows(best[COMMON_ORDER], folds)

    # The simplest that predicts as well; what is reported is trained with more patience.
    scores = _compare({name: losses[name] for name in STRUCTURES if name in wanted}, ensemble)
    test = _context_test(ensemble)
    structure = simplest(scores, n_nodes, test is None or test.context_matters)
    if test is not None:
        test = replace(test, **_gain(ensemble, best.get(structure, best[own])))
    if len(scores) == 1:
        scores = {}
    if structure == CONSTANT:
        graph = _selected_graph(constant, ensemble)
        return Choice(graph, CONSTANT, scores, test, graph)
    chosen = ensembles[structure]
    if structure == VARYING:
        chosen = yield from _with_earned_reversals(ensemble, best[own], losses[own])
    return Choice((yield from _finish(chosen)), structure, scores, test, constant)


def _structures(ensemble: Ensemble) -> tuple[str, set[str]]:
    """The structure of graphs within the edges that are allowed, and those to choose from."""
    settings = ensemble.settings
    own = COMMON_ORDER if bool(is_acyclic(ensemble.network.allowed[None].float())) else VARYING
    wanted = set(STRUCTURES) if settings.structure == "auto" else {settings.structure}
    Z = ensemble.folds.rows.Z
    if ensemble.folds.rows.mask is not None or (settings.structure == "auto" and settings.selection == "min"):
        wanted = {own}  # simpler graphs cannot heed a mask for each row
    elif bool((Z[:1] == Z).all()) and not settings.as_published:
        wanted = {CONSTANT}  # there is nothing to vary with
    return own, {own if structure == VARYING else structure for structure in wanted}


def _best_of_path(ensemble: Ensemble) -> Steps[VaryingGraphs]:
    """Fit a path and find its best point."""
    path = ensemble.path

    # Warm-started fits, from dense graphs to empty ones.
    if not path.pretrained:
        yield from ensemble.pretrain()
    if path.largest_budget is None:
        yield from ensemble.find_largest_budget()
    while (budget := ensemble.next_budget()) is not None:
        yield from ensemble.fit_budget(budget)
    if ensemble.settings.selection == "min":
        return ensemble.solution(selections.least_validation_loss(path.points))

    # Refits without shrinkage, until the point of least refit loss is found.
    while (index := selections.next_to_refit(path.points)) is not None:
        yield from ensemble.refit(index)
    return ensemble.solution(selections.least_refit_loss(path.points))


def _along(
    ensemble: Ensemble, forward: Tensor, best: VaryingGraphs, losses: Tensor
) -> Steps[tuple[Ensemble, VaryingGraphs]]:
    """Fit graphs whose edges all point forward in one order: an ensemble with its path, and the best point of it.

    First a single point, near the best one of graphs that vary freely. If it is far behind there is no path.
    """
    paths = ensemble.path.others
    if COMMON_ORDER not in paths and ensemble.settings.structure == "auto":
        trial = ensemble.on_path(Path(allowed=forward), stream=1)
        yield from trial.pretrain()
        for times in TRIED:
            yield from trial.fit_budget(times * best.point.l1_budget)
        yield from trial.refit(len(TRIED) - 1)
        found = trial.solution(selections.least_refit_loss(trial.path.points))
        if not _is_near(losses_of_rows(found, ensemble.folds), losses, ensemble):
            return trial, found
    paths.setdefault(COMMON_ORDER, Path(allowed=forward))
    along = ensemble.on_path(paths[COMMON_ORDER], stream=2)
    return along, (yield from _best_of_path(along))


def _with_earned_reversals(ensemble: Ensemble, best: VaryingGraphs, losses: Tensor) -> Steps[Ensemble]:
    """Fit graphs without the reversals that do not help, unless these are clearly worse."""
    paths, folds = ensemble.path.others, ensemble.folds
    if VARYING not in paths:
        _, rows, W = predictions(best, folds)
        unearned = unearned_reversals(W, rows).cpu()
        if not bool(unearned.any()):
            return ensemble
        paths[VARYING] = Path(allowed=ensemble.network.allowed & ~unearned)
    other = ensemble.on_path(paths[VARYING], stream=3)
    found = yield from _best_of_path(other)
    score = _compare({"fewer": losses_of_rows(found, folds), "all": losses}, ensemble)["fewer"]
    return other if score.behind <= SURE * score.standard_error else ensemble


def _best_constant(ensemble: Ensemble, own: ConstantGraph, forward: Tensor, losses: Tensor) -> ConstantGraph:
    """One graph for all contexts: the best that a search of its own finds, or the best along an order.

    Paths are thinned out at first, as that of its own search is that is given. If the better one is far behind graphs that
    vary that is all.
    """
    rows = ensemble.folds.rows

    def better(*found: ConstantGraph) -> ConstantGraph:
        return min(found, key=lambda constant: information_criterion(constant.graphs(rows.Z[:1]), rows))

    thinned = better(own, _constant(ensemble, forward, THINNED))
    if not _is_near(losses_of_rows(thinned, ensemble.folds), losses, ensemble):
        return thinned
    return better(*(_constant(ensemble, edges) for edges in (ensemble.problem.allowed, forward)))


def _selected_graph(constant: ConstantGraph, ensemble: Ensemble) -> Solution:
    """The one graph to report, selected from a path along one order."""
    settings, folds = ensemble.settings, ensemble.folds
    if settings.final and settings.selection != "min":
        splits, allowed = folds.splits[: settings.n_folds], ensemble.problem.allowed
        constant = along_one_order(constant, allowed, lambda edges: one_graph_path(splits, edges, N_PENALTIES))
    return _select(constant, ensemble.problem, folds)


def _is_near(losses: Tensor, best: Tensor, ensemble: Ensemble) -> bool:
    """Whether graphs that predict with these errors might turn out to be as good as others."""
    score = _compare({"": losses, "best": best}, ensemble)[""]
    return score.behind <= max(FAR_BEHIND, HOPELESS * score.standard_error)


def _compare(losses: Mapping[str, Tensor], ensemble: Ensemble) -> dict[str, StructureScore]:
    return compare(losses, ensemble.network.n_nodes, ensemble.folds.group_held_out)


def _context_test(ensemble: Ensemble) -> ContextTest | None:
    return permutation_test(ensemble.folds.rows, ensemble.problem.features, ensemble.problem.seed)


def _gain(ensemble: Ensemble, graphs: Solution) -> dict[str, Any]:
    """What graphs gain by the context, with its interval, and by each of its features."""
    folds, features, seed = ensemble.folds, ensemble.problem.features, ensemble.problem.seed
    gain, error = gain_of_context(graphs, folds, seed)
    of_features = gains_of_features(graphs, folds, features, seed) if len(features) > 1 else {}
    return {"gain": gain, "gain_interval": (gain - SURE * error, gain + SURE * error), "feature_gains": of_features}


def _constant(ensemble: Ensemble, allowed: Tensor, every: int = 1) -> ConstantGraph:
    """One graph for all contexts; its path may be thinned out to every so many penalties."""
    splits = ensemble.folds.splits[: ensemble.settings.n_folds]
    points = tuple(one_graph_path(splits, allowed, N_PENALTIES, every))
    return ConstantGraph(points, selections.least_refit_loss(points))


def _finish(ensemble: Ensemble) -> Steps[Solution]:
    """The graphs to report, from a path whose best point is known."""
    settings, points, folds = ensemble.settings, ensemble.path.points, ensemble.folds
    if settings.selection == "min":
        return ensemble.solution(selections.least_validation_loss(points))
    if isinstance(settings.selection, str):
        selected = selections.least_refit_loss(points)
    else:
        problem, fewest = ensemble.problem, int(ensemble.problem.required.sum())

        def counted() -> selections.Points:
            return _counting(ensemble.solution(selections.Shrunken(0)), problem, folds).points

        for index in selections.to_refit_for(counted(), settings.selection):
            yield from ensemble.refit(index, keep=False)
        selected = selections.with_n_edges(counted(), settings.selection, fewest=fewest)
    refit = points[selected.index].refit
    if refit is not None and not refit.polished and settings.final:
        yield from ensemble.refit(selected.index, polish=True, keep=False)
    return _select(ensemble.solution(selected), ensemble.problem, folds)


def learn_group_graphs(problem: Problem, folds: Folds) -> Solution:
    """Learn one graph for all contexts, or one for each cluster of them, along a path of l1 penalties."""
    settings, train, held_out = problem.group_settings, problem.split.train, problem.split.held_out
    centres = _cluster(train, settings.n_clusters, problem.seed) if settings.clustered else None
    n_groups = 1 if centres is None else len(centres)
    moments = SplitMoments(
        Moments.of(train, nearest_centre(train.Z, centres), n_groups),
        Moments.of(held_out, nearest_centre(held_out.Z, centres), n_groups),
    )
    penalties = settings.penalties or penalty_grid(moments.train.S, settings.n_penalties)
    with_refits = settings.selection != "min"

    def path(allowed: Tensor) -> selections.Points:
        return group_path(moments, penalties, allowed, settings.cut, with_refits)

    first, points = selections.Shrunken(0), tuple(path(problem.allowed))
    if centres is not None:
        return _select(ClusterGraphs(points, first, centres=centres), problem, folds)
    constant = ConstantGraph(points, first)
    if with_refits and settings.final:
        constant = along_one_order(constant, problem.allowed, path)
    return _select(constant, problem, folds)


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


def _cluster(rows: Rows, n_clusters: int | None, seed: int) -> Tensor:
    """Centres (g, m) of clusters of contexts, by k-means."""
    from sklearn.cluster import KMeans

    Z, weight = rows.Z, None if rows.weight is None else rows.weight.cpu().numpy()
    wanted = n_clusters or math.ceil(len(Z) / ROWS_IN_A_CLUSTER)
    found = KMeans(min(wanted, len(torch.unique(Z, dim=0))), n_init=10, random_state=seed)
    found.fit(Z.cpu().numpy(), sample_weight=weight)
    return torch.tensor(found.cluster_centers_, dtype=torch.float32, device=Z.device)


def _select(solution: Solution, problem: Problem, folds: Folds) -> Solution:
    """The point of its path that a `selection` parameter asks for."""
    settings, points = problem.settings, solution.points
    selection = settings.selection
    if not isinstance(selection, str):
        points, fewest = _counting(solution, problem, folds).points, int(problem.required.sum())
        return solution.at(selections.with_n_edges(points, selection, fewest=fewest))
    if selection == "min":
        return solution.at(selections.least_validation_loss(points))
    best: Solution = solution.at(selections.least_refit_loss(points))
    if selection == "1se":
        _, rows, W = predictions(best, folds)
        losses: list[float] = row_errors(errors(residuals(rows.X, W)), rows).tolist()
        return solution.at(selections.within_one_standard_error(points, losses))
    if isinstance(best, ConstantGraph):
        best = _best_edges(best, problem, folds)
    if selection == "explained":
        return explaining(best, settings.explained, folds.rows.Z)
    return best  # "relaxed"


def _best_edges(solution: ConstantGraph, problem: Problem, folds: Folds) -> ConstantGraph:
    """Graphs that do not vary, or only from cluster to cluster, with the edges that rows speak for."""
    if problem.settings.final:
        solution = solution.at(sparsest_as_good(solution, folds).selected)
    if isinstance(solution, ClusterGraphs):
        return solution
    if problem.settings.final:
        solution = without_chance_edges(solution, folds.rows)
    return with_likeliest_edges(solution, problem.allowed, folds) if problem.noise == noise.UNEQUAL else solution
