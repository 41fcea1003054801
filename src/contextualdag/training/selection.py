"""Which point of a path to believe, without being told the truth.

The budget of least validation loss keeps far too many edges: shrinkage biases the loss, and a larger budget shrinks less.
The relaxed choice compares the points without shrinkage, by the validation loss of a second network that is trained on the
supports of the first, once its small weights are cut off.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contextualdag.training.path import PathPoint, Steps

COARSE = 3  # every third point is refitted at first
NEARLY = 0.9  # of the wanted edges are enough in a polished refit


@dataclass(frozen=True)
class Choice:
    """A point of the path: with the weights of its refit above a cut, or without a cut with the shrunken weights."""

    index: int
    cut: float | None = None


def by_validation_loss(points: list[PathPoint]) -> Choice:
    """The point of least validation loss, shrunken."""
    return Choice(min(_candidates(points), key=lambda i: points[i].validation_loss))


def by_budget(points: list[PathPoint], l1_budget: float) -> Choice:
    """The point with the budget nearest to `l1_budget`, with its refit at the best cut where there is one."""
    return at_its_best_cut(points, min(_candidates(points), key=lambda i: abs(points[i].l1_budget - l1_budget)))


def by_n_edges(points: list[PathPoint], n_edges: float) -> Choice:
    """Graphs with `n_edges` edges on average: of all refits with as many or more, the one that loses least by the cut.

    A polished refit, better than its neighbours, may also have a little fewer. Where no refit has as many, the point whose
    shrunken graphs have nearest to that many, the sparser on ties. No edges are none anywhere, also in contexts where a cut
    would leave some.
    """
    if n_edges == 0:
        return Choice(nearest(points, 0))
    cut_to = {i: _cut_to(points[i], n_edges) for i in _candidates(points)}
    losses = {i: found[1] for i, found in cut_to.items() if found is not None}
    if not losses:
        return Choice(nearest(points, n_edges))
    best = min(losses, key=lambda i: (losses[i], -i))
    return Choice(best, cut_to[best][0])  # type: ignore[index]


def nearest(points: list[PathPoint], n_edges: float) -> int:
    """The point whose shrunken graphs have nearest to `n_edges` edges on average, the sparser on ties."""
    return min(_candidates(points), key=lambda i: (abs(points[i].n_edges - n_edges), points[i].n_edges))


def worth_refitting(points: list[PathPoint], n_edges: float) -> list[int]:
    """Points not yet refitted that `by_n_edges` should see: the two that have just as many edges or more."""
    enough = sorted((i for i in _candidates(points) if points[i].n_edges >= n_edges), key=lambda i: points[i].n_edges)
    return [i for i in enough[:2] if points[i].refit is None]


def relaxed(points: list[PathPoint], refit: Callable[[int], Steps[PathPoint]]) -> Steps[Choice]:
    """The point and the cut of least refit loss. `refit` replaces a point by its refitted self; not all are asked for.

    The refit loss falls and rises once along a path, but for noise. So every third point is refitted, and then the
    neighbours of the best, until the best has no neighbour left within two places.
    """
    candidates = _candidates(points)
    loss: dict[int, float] = {}

    def evaluate(positions: list[int]) -> Steps[int]:
        for position in positions:
            if 0 <= position < len(candidates) and position not in loss:
                index = candidates[position]
                if points[index].refit is None:
                    points[index] = yield from refit(index)
                loss[position] = _refit_loss(points[index])
        return min(loss, key=lambda position: (loss[position], -position))  # the sparser on ties

    best = yield from evaluate([*range(0, len(candidates), COARSE), len(candidates) - 1])
    while True:
        before = len(loss)
        best = yield from evaluate([best - 1, best + 1, best - 2, best + 2])
        if len(loss) == before:
            return at_its_best_cut(points, candidates[best])


def least_refit_loss(points: list[PathPoint]) -> Choice:
    """The point and the cut of least refit loss, where all points are refitted; the sparser on ties."""
    return at_its_best_cut(points, min(_candidates(points), key=lambda i: (_refit_loss(points[i]), -i)))


def is_constant_as_good(constant: list[PathPoint], varying: list[PathPoint], choice: Choice) -> bool:
    """Whether the best constant graphs predict what is held out as well as single networks do at the chosen point.

    Networks have many pairs to choose by what is held out, and some help by luck, so their honest loss counts.
    """
    refit = varying[choice.index].refit
    return refit is None or min(_refit_loss(point) for point in constant) <= refit.honest_loss


def within_one_standard_error(points: list[PathPoint], losses_of: Callable[[Choice], list[float]]) -> Choice:
    """The sparsest graphs whose refit loss is within one standard error of the least.

    The relaxed choice must have been made before. `losses_of` gives the loss of each validation sample.
    """
    refitted = {i: refit for i in _candidates(points) if (refit := points[i].refit) is not None}
    best = min(refitted, key=lambda i: (_refit_loss(points[i]), -i))
    losses = losses_of(at_its_best_cut(points, best))
    mean = sum(losses) / len(losses)
    variance = sum((loss - mean) ** 2 for loss in losses) / max(len(losses) - 1, 1)
    limit = refitted[best].losses[refitted[best].best] + math.sqrt(variance / len(losses))
    within = [
        (refit.n_edges[k], refit.losses[k], Choice(i, refit.cuts[k]))
        for i, refit in refitted.items()
        for k in range(len(refit.cuts))
        if refit.losses[k] <= limit
    ]
    return min(within, key=lambda found: found[:2])[2]


def at_its_best_cut(points: list[PathPoint], index: int) -> Choice:
    """A point with its refit at the cut that is best for it, or shrunken where there is no refit."""
    refit = points[index].refit
    return Choice(index) if refit is None else Choice(index, refit.cuts[refit.best])


def _refit_loss(point: PathPoint) -> float:
    return math.inf if point.refit is None else point.refit.loss


def _cut_to(point: PathPoint, n_edges: float) -> tuple[float, float] | None:
    """The cut that leaves `n_edges` edges and its loss, both between those of the nearest cuts; None with too few edges."""
    refit = point.refit
    if refit is None or refit.n_edges[0] < n_edges * (NEARLY if refit.polished else 1):
        return None
    falling = [-edges for edges in refit.n_edges]
    return float(np.interp(-n_edges, falling, refit.cuts)), float(np.interp(-n_edges, falling, refit.losses))


def _candidates(points: list[PathPoint]) -> list[int]:
    """All points but the first, which has no budget and serves only to find the largest."""
    return [i for i, point in enumerate(points) if point.l1_budget < math.inf]
