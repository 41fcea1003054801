"""Which point of a path to select, without knowing the true number of edges.

The budget of least validation loss keeps far too many edges: shrinkage biases the loss, and a larger budget shrinks less.
The relaxed selection compares the points without shrinkage, by the validation loss of their refits once small weights are
cut off.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextualdag.training.path import PathPoint, without_first

COARSE = 3  # every third point is refitted at first
NEARLY = 0.9  # share of the wanted edges that a polished refit needs
AS_MUCH = 0.98  # share of what other graphs explain that is as much
NEARLY_ALL = 0.9  # share of what all edges explain

Points = Sequence[PathPoint[Any]]


@dataclass(frozen=True)
class Shrunken:
    """A point of the path, with its shrunken weights."""

    index: int


@dataclass(frozen=True)
class Refitted:
    """A point of the path, with the weights of its refit above a cut.

    Where fewer edges were kept, since they explain nearly as much, `whole` is the cut that was selected before.
    """

    index: int
    cut: float
    whole: float | None = None


Selected = Shrunken | Refitted


def least_validation_loss(points: Points) -> Selected:
    """The point of least validation loss with shrinkage."""
    return Shrunken(min(without_first(points), key=lambda i: points[i].validation_loss))


def least_refit_loss(points: Points) -> Selected:
    """The point and the cut of least refit loss among the points with a refit; the sparser on ties."""
    return at_best_cut(points, min(without_first(points), key=lambda i: (_refit_loss(points[i]), -i)))


def nearest_budget(points: Points, l1_budget: float) -> Selected:
    """The point with the budget nearest to `l1_budget`, with its refit where there is one."""
    return at_best_cut(points, min(without_first(points), key=lambda i: abs(points[i].l1_budget - l1_budget)))


def at_best_cut(points: Points, index: int) -> Selected:
    """A point with its refit at the best cut, or shrunken where there is no refit."""
    refit = points[index].refit
    return Shrunken(index) if refit is None else Refitted(index, refit.best_cut)


def with_n_edges(points: Points, n_edges: float, selected: Selected | None = None, fewest: int = 0) -> Selected:
    """Graphs with `n_edges` edges on average: of all refits with as many or more, the one of least loss when cut to that.

    If denser graphs were selected already, these are cut where that explains as much, so that no edge is reversed. A
    polished refit, better than its neighbours, may also have a little fewer. Where no refit has as many, the point whose
    shrunken graphs have nearest to that many. The fewest edges, none or those required, means no other in any context,
    also where a cut would leave some.
    """
    if n_edges <= fewest:
        return Shrunken(_nearest_shrunken(points, fewest))
    losses: dict[Refitted, float] = {}
    for index in without_first(points):
        refit = points[index].refit
        if refit is not None and refit.curve.n_edges[0] >= n_edges * (NEARLY if refit.polished else 1):
            losses[Refitted(index, refit.curve.cut_to(n_edges))] = refit.curve.loss_with(n_edges)
    if not losses:
        return Shrunken(_nearest_shrunken(points, n_edges))
    best = min(losses, key=lambda refitted: (losses[refitted], -refitted.index))
    own = None if selected is None else _cut_of(points, selected, n_edges)
    if own in losses:
        empty = loss_of_empty(points)
        return own if empty - losses[own] >= AS_MUCH * (empty - losses[best]) else best
    return best


def _cut_of(points: Points, selected: Selected, n_edges: float) -> Refitted | None:
    """Selected graphs cut to fewer edges; None if they were not refitted or have fewer."""
    refit = points[selected.index].refit
    if refit is None or isinstance(selected, Shrunken) or refit.curve.at(selected.cut)[0] < n_edges:
        return None
    return Refitted(selected.index, refit.curve.cut_to(n_edges))


def loss_of_empty(points: Points) -> float:
    """The loss of refitted graphs that have hardly an edge left."""
    return max(point.refit.curve.losses[-1] for point in points if point.refit is not None)


def within_one_standard_error(points: Points, losses: Sequence[float]) -> Selected:
    """The sparsest graphs whose refit loss is within one standard error of the least.

    Parameters
    ----------
    points : sequence of PathPoint
        The path; points without a refit are left out.
    losses : sequence of float
        Losses of the rows held out at the selection of `least_refit_loss`.
    """
    refits = {i: refit for i in without_first(points) if (refit := points[i].refit) is not None}
    least = refits[least_refit_loss(points).index]
    mean = sum(losses) / len(losses)
    variance = sum((loss - mean) ** 2 for loss in losses) / max(len(losses) - 1, 1)
    limit = least.curve.losses[least.best] + math.sqrt(variance / len(losses))
    within = [
        (refit.curve.n_edges[k], refit.curve.losses[k], Refitted(i, refit.curve.cuts[k]))
        for i, refit in refits.items()
        for k in range(len(refit.curve.cuts))
        if refit.curve.losses[k] <= limit
    ]
    return min(within, key=lambda found: found[:2])[2]


def next_to_refit(points: Points) -> int | None:
    """The next point to refit in search of the least refit loss; None at the end of the search.

    The refit loss falls and rises once along a path, but for noise, and sparse graphs are sooner refitted than dense ones.
    So every third point is refitted from the sparse end on, until two in a row are worse than the best, and then the
    neighbours of the best, until it has no neighbour left within two places. The search is followed from its beginning each
    time, so that it goes on in the same way after an interruption.
    """
    candidates = without_first(points)
    losses: dict[int, float] = {}

    def best() -> int:
        return min(losses, key=lambda position: (losses[position], -position))  # the sparser on ties

    coarse: list[int] = sorted({*range(0, len(candidates), COARSE), len(candidates) - 1}, reverse=True)
    for step, position in enumerate(coarse):
        if step >= 2 and best() not in coarse[step - 2 : step]:
            break
        if points[candidates[position]].refit is None:
            return candidates[position]
        losses[position] = _refit_loss(points[candidates[position]])
    while True:
        near = [best() + offset for offset in (-1, 1, -2, 2)]
        new = [position for position in near if 0 <= position < len(candidates) and position not in losses]
        if not new:
            return None
        for position in new:
            if points[candidates[position]].refit is None:
                return candidates[position]
            losses[position] = _refit_loss(points[candidates[position]])


def to_refit_for(points: Points, n_edges: float) -> list[int]:
    """Points without a refit that `with_n_edges` should see: the two that have just as many edges or more."""
    enough = [i for i in without_first(points) if points[i].n_edges >= n_edges]
    return [i for i in sorted(enough, key=lambda i: points[i].n_edges)[:2] if points[i].refit is None]


def _nearest_shrunken(points: Points, n_edges: float) -> int:
    """The point whose shrunken graphs have nearest to `n_edges` edges on average, the sparser on ties."""
    return min(without_first(points), key=lambda i: (abs(points[i].n_edges - n_edges), points[i].n_edges))


def _refit_loss(point: PathPoint[Any]) -> float:
    return math.inf if point.refit is None else point.refit.loss
