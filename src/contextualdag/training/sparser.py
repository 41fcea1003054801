"""One graph for all contexts: sparser where that predicts as well, and without reversals where it is made sparser still.

Real tables are dense. Many weak edges each help a little, so along the path the loss of rows held out is nearly flat, and
which of its points is the least is a matter of chance: with other rows held out it may have half as many edges, or twice.
Graphs that explain nearly all of what the best ones do, so nearly that the rows held out do not tell them apart, are taken
instead. Where edges are few, no more than variables, each of them counts, and none is given up.

Then the weakest edges go that all rows together do not speak for: a search among all pairs finds some by chance, and such an
edge can give others a direction that data do not tell.

Points of a path are fitted one by one, and weak edges do not fix the order of the variables. So that sparser points do not
reverse edges of denser ones, they are fitted again along one order, that of the best point.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from contextualdag.graphs import order_to_mask, topological_order
from contextualdag.training.constant_graph import information_criterion
from contextualdag.training.data import Folds, Rows, standard_error
from contextualdag.training.held_out import losses_of_rows
from contextualdag.training.selection import AS_MUCH, Points, Refitted, least_refit_loss, loss_of_empty, with_n_edges
from contextualdag.training.solution import ConstantGraph

STEP = 0.07  # share of the edges that one step leaves out
NEARLY = 0.99  # share of what the best graphs explain


def sparsest_as_good(solution: ConstantGraph, folds: Folds) -> ConstantGraph:
    """The sparsest graphs of a path that predict rows held out as well as the best.

    They explain nearly as much, and the loss of rows rises by no more than a standard error of the difference. Below one
    edge for each variable none is given up.
    """
    best = solution.at(least_refit_loss(solution.points))
    losses = losses_of_rows(best, folds)
    least = float(losses.mean())
    most = least + (1 - NEARLY) * (loss_of_empty(best.points) - least)
    chosen, n_edges = best, best.describe().n_edges
    fewest = folds.rows.X.shape[1]
    while (n_edges := math.floor(n_edges * (1 - STEP))) >= fewest:
        sparser = best.at(with_n_edges(best.points, n_edges))
        if not isinstance(sparser.selected, Refitted):
            break
        worse = losses_of_rows(sparser, folds) - losses
        rise = float(worse.mean())
        if least + rise <= most and rise <= standard_error(worse, folds.group_held_out):
            chosen = sparser
    return chosen


def without_chance_edges(solution: ConstantGraph, rows: Rows) -> ConstantGraph:
    """The graphs without their weakest edges, as many as lowers the extended Bayesian information criterion most."""
    selected = solution.selected
    if not isinstance(selected, Refitted):
        return solution
    cuts = [selected.cut, *(cut for cut in solution.refit.curve.cuts if cut > selected.cut)]
    sparser = [solution.at(Refitted(selected.index, cut)) for cut in cuts]
    return min(sparser, key=lambda one: information_criterion(one.graphs(rows.Z[:1], None), rows))


def along_one_order(solution: ConstantGraph, allowed: Tensor, path: Callable[[Tensor], Points]) -> ConstantGraph:
    """The same path with points along the order of the best one, as far as they explain as much.

    If that has few edges, no more than variables, they are strong, and tell their directions well at every point: then the
    path stays as it is.

    Parameters
    ----------
    solution : ConstantGraph
        One graph for all contexts.
    allowed : Tensor of bool, shape (p, p)
        Edges that are allowed.
    path : callable
        Fits the points of a path within edges that are allowed, at the same penalties.
    """
    best = solution.at(least_refit_loss(solution.points))
    if best.describe().n_edges <= len(allowed):
        return solution
    forward = order_to_mask(topological_order(best.graphs(allowed.new_zeros(1, 1).float())))[0].to(allowed.device) & allowed
    along = {point.thresholds: point for point in path(forward)}
    empty, points = loss_of_empty(solution.points), list(solution.points)
    for index in range(len(points)):
        other, own = along[points[index].thresholds].refit, points[index].refit
        if own is None or other is None:
            continue
        if empty - other.loss >= AS_MUCH * (empty - own.loss):
            points[index] = along[points[index].thresholds]
    return replace(solution, points=tuple(points))
