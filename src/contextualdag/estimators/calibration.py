"""From shares of half-samples that have an edge to its probability.

Half-samples have fewer rows than the fit to all of them, and their errors are not independent of its own, so shares are not
probabilities. What is below was learned from simulated data, where the truth is known, by ``benchmarks/calibration.py``: 37
data sets of `contextualdag.datasets.make_varying_dag`, each of a design of its own, drawn at random from 250 to 2500 rows, 8
to 20 variables, one to five context features, sparse and dense graphs, with and without hubs, one order, weak edges, unequal
noise and heavy tails; seeds from 3000 on; default estimators. Every pair of variables that some fit joins, in each of 500
new contexts, counted once.
"""

import numpy as np
from scipy.special import expit, logit

from contextualdag.tables import Array, Flags

# Spread of the errors of the fit to all rows, as a multiple of that of half-samples. It would be 1 / sqrt(2) if errors were
# all chance; but networks smooth, and what they smooth away is the same in all halves. With 2 about nine in ten intervals of
# 90 % hold the true effect.
SPREAD = 2.0

# The log odds that two variables are joined are a sum: of those of the share of half-samples, of those of the share of the
# members of the ensemble that was fitted to all rows, of the logarithm of the size of its weight in standard deviations, and
# of more under unequal noise. Shares are kept away from 0 and 1, and sizes from 0.
OF_HALVES, OF_MEMBERS, OF_SIZE, OF_UNEQUAL_NOISE, CONSTANT = 0.654, 0.08, 0.932, 0.603, 1.232
RAREST_HALF, RAREST_MEMBER, SMALLEST = 0.01, 0.1, 0.05

# Those that an edge points forward, of the shares that do among those that join the two. Where all graphs keep to one order,
# its mistakes turn many edges at once, and agreement says less.
FORWARD_OF_HALVES, FORWARD_OF_MEMBERS, IN_ONE_ORDER = 0.868, 0.403, -0.584
RAREST_FORWARD_HALF, RAREST_FORWARD_MEMBER = 0.01, 0.05


def calibrated(
    of_halves: Array,
    of_members: Array,
    weights: Array,
    allowed: Flags,
    noise_is_unequal: bool = False,
    one_order: bool = False,
) -> Array:
    """Probabilities (n, p, p) of edges.

    Parameters
    ----------
    of_halves : array of shape (n, p, p)
        Shares of the half-samples that have each edge; half of one for each direction where that is not told.
    of_members : array of shape (n, p, p)
        The same of the members of the ensemble that was fitted to all rows.
    weights : array of shape (n, p, p)
        Graphs of that ensemble, in standard deviations of the variables.
    allowed : array of bool, shape (p, p) or (n, p, p)
        Edges that may be there at all.
    noise_is_unequal, one_order : bool
        Whether the noise of variables has scales of its own, and whether graphs keep to one order.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.estimators.calibration import calibrated
    >>> halves, members = np.array([[[0.0, 0.7], [0.1, 0.0]]]), np.array([[[0.0, 1.0], [0.0, 0.0]]])
    >>> calibrated(halves, members, 0.5 * members, ~np.eye(2, dtype=bool)).round(2).tolist()
    [[[0.0, 0.81], [0.05, 0.0]]]
    """
    arrays = of_halves, of_members, np.abs(weights)
    shares, of_all, size = (array + array.transpose(0, 2, 1) for array in arrays)
    log_odds = joined_evidence(shares, of_all, size) @ (OF_HALVES, OF_MEMBERS, OF_SIZE)
    joined = expit(log_odds + OF_UNEQUAL_NOISE * noise_is_unequal + CONSTANT)

    log_odds = forward_evidence(of_halves, of_members, one_order) @ (FORWARD_OF_HALVES, FORWARD_OF_MEMBERS, IN_ONE_ORDER)
    either = allowed & allowed.swapaxes(-1, -2)
    forward = np.where(either, expit(log_odds), allowed.astype(np.float64))
    probabilities: Array = np.where(shares + of_all > 0, joined, 0) * forward
    return probabilities


def joined_evidence(of_halves: Array, of_members: Array, size: Array) -> Array:
    """What tells whether two variables are joined (..., 3): shares that join them, and the size of the weight."""
    shares = _log_odds(of_halves, RAREST_HALF), _log_odds(of_members, RAREST_MEMBER)
    return np.stack([*shares, np.log(SMALLEST + size)], axis=-1)


def forward_evidence(of_halves: Array, of_members: Array, one_order: bool) -> Array:
    """What tells whether edges point forward (n, p, p, 3), from shares that have each of them."""
    halves = _log_odds(_forward(of_halves), RAREST_FORWARD_HALF)
    return np.stack([halves, _log_odds(_forward(of_members), RAREST_FORWARD_MEMBER), halves * one_order], axis=-1)


def _forward(shares: Array) -> Array:
    """The share of each direction (n, p, p) among those that join two variables; a half where none does."""
    total = shares + shares.transpose(0, 2, 1)
    return np.divide(shares, total, out=np.full_like(total, 0.5), where=total > 0)


def _log_odds(share: Array, rarest: float) -> Array:
    odds: Array = logit(np.clip(share, rarest, 1 - rarest))
    return odds


def interval(estimate: Array, resampled: Array, level: float) -> tuple[Array, Array]:
    """Bounds around estimates (...), from those of halves (b, ...).

    Estimates from halves spread about sqrt(2) times as much as those from all rows, or what was measured instead. The
    bounds reach as far as the nearest half: an edge that no half has may be none.
    """
    spread = (resampled - resampled.mean(0)) * SPREAD
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.minimum(estimate + low, resampled.max(0)), np.maximum(estimate + high, resampled.min(0))
