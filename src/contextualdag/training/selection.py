"""Which point of a path to believe, without being told the truth.

The budget of least validation loss keeps far too many edges: shrinkage biases the loss, and a larger budget shrinks less.
The relaxed choice compares the points without shrinkage, by the validation loss of a second network that is trained on the
supports of the first.
"""

import math
from collections.abc import Callable

from contextualdag.training.path import PathPoint

COARSE = 3  # every third point is refitted at first


def by_validation_loss(points: list[PathPoint]) -> int:
    """The point of least validation loss."""
    return min(_candidates(points), key=lambda i: points[i].fit.validation_loss)


def by_n_edges(points: list[PathPoint], n_edges: float) -> int:
    """The point whose graphs have nearest to `n_edges` edges on average, the sparser on ties."""
    return min(_candidates(points), key=lambda i: (abs(points[i].n_edges - n_edges), points[i].n_edges))


def by_budget(points: list[PathPoint], l1_budget: float) -> int:
    """The point with the budget nearest to `l1_budget`."""
    return min(_candidates(points), key=lambda i: abs(points[i].l1_budget - l1_budget))


def relaxed(points: list[PathPoint], refit: Callable[[int], PathPoint]) -> int:
    """The point of least refit loss. `refit` replaces a point by its refitted self; not all are asked for.

    The refit loss falls and rises once along a path, but for noise. So every third point is refitted, and then the
    neighbours of the best, until the best has no neighbour left within two places.
    """
    candidates = _candidates(points)
    loss: dict[int, float] = {}

    def evaluate(positions: list[int]) -> int:
        for position in positions:
            if 0 <= position < len(candidates) and position not in loss:
                index = candidates[position]
                points[index] = points[index] if points[index].refit is not None else refit(index)
                fit = points[index].refit
                loss[position] = math.inf if fit is None else fit.validation_loss
        return min(loss, key=lambda position: (loss[position], -position))  # the sparser on ties

    best = evaluate([*range(0, len(candidates), COARSE), len(candidates) - 1])
    while True:
        before = len(loss)
        best = evaluate([best - 1, best + 1, best - 2, best + 2])
        if len(loss) == before:
            return candidates[best]


def within_one_standard_error(points: list[PathPoint], losses_of: Callable[[int], list[float]]) -> int:
    """The sparsest point whose refit loss is within one standard error of the least.

    The relaxed choice must have been made before. `losses_of` gives the refit's loss of each validation sample.
    """
    refitted = [i for i in _candidates(points) if points[i].refit is not None]
    best = min(refitted, key=lambda i: points[i].refit.validation_loss)  # type: ignore[union-attr]
    losses = losses_of(best)
    mean = sum(losses) / len(losses)
    variance = sum((loss - mean) ** 2 for loss in losses) / max(len(losses) - 1, 1)
    limit = points[best].refit.validation_loss + math.sqrt(variance / len(losses))  # type: ignore[union-attr]
    return max(i for i in refitted if i >= best and points[i].refit.validation_loss <= limit)  # type: ignore[union-attr]


def _candidates(points: list[PathPoint]) -> list[int]:
    """All points but the first, which has no budget and serves only to find the largest."""
    return [i for i, point in enumerate(points) if point.l1_budget < math.inf]
