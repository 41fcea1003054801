"""What makes simulated tables like real ones: yes or no answers, counts, holes, rows of one person, experiments."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Persons = NDArray[np.int64]

RATE, LARGEST_EXPONENT = 0.7, 10.0  # of counts: their mean is exp(RATE * x)
MOST_BY_VALUE = 0.5  # share of the entries that can be missing by value
INTERVENED_ROWS, INTERVENED_SD = 0.2, 2.0  # share of the rows in which a variable is set, and how far apart its values are


def persons(n: int, size: int) -> Persons:
    """The person that each of n rows belongs to."""
    return np.arange(n) // size


def of_persons(Z: Array, noise: Array, groups: Persons, rng: np.random.Generator) -> tuple[Array, Array]:
    """Contexts and noise where rows of a person share the context, and a part of the noise with variance one."""
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    shared = rng.standard_normal((len(first), noise.shape[1]))
    return Z[first][groups], noise + shared[groups]


def drawn_targets(share: float, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Flags, Array]:
    """Which variables (n, p) are set in which rows, and to what."""
    n, p = shape
    chosen = rng.permutation(p)[: round(share * p)]
    targets = np.zeros(shape, dtype=bool)
    targets[:, chosen] = rng.random((n, len(chosen))) < INTERVENED_ROWS
    return targets, INTERVENED_SD * rng.standard_normal(shape)


def cut_and_counted(X: Array, x: Array, binary: float, counts: float, rng: np.random.Generator) -> Array:
    """X with a share of its columns cut at the median of x, and another with counts whose mean grows with x."""
    p = X.shape[1]
    order, n_binary = rng.permutation(p), round(binary * p)
    cut, counted = order[:n_binary], order[n_binary : n_binary + round(counts * p)]
    seen = X.copy()
    seen[:, cut] = x[:, cut] > np.median(x[:, cut], axis=0)
    seen[:, counted] = rng.poisson(np.exp(np.minimum(RATE * x[:, counted], LARGEST_EXPONENT)))
    return seen


def with_holes(X: Array, share: float, by_value: bool, rng: np.random.Generator) -> Array:
    """X with a share of its entries missing, at random or large ones more often."""
    rank = X.argsort(0, kind="stable").argsort(0) / max(len(X) - 1, 1)
    return np.where(rng.random(X.shape) < share * (2 * rank if by_value else 1), np.nan, X)
