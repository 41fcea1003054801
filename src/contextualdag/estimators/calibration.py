"""From shares of half-samples that have an edge to its probability.

Half-samples have fewer rows than the fit to all of them, and their errors are not independent of its own, so shares are not
probabilities. The curves below were learned from simulated data, where the truth is known, by ``benchmarks/calibration.py``:
ten designs of `contextualdag.datasets.make_varying_dag` with 316 to 3162 rows, 10 or 20 variables, one, two or five context
features, equal and unequal noise, weak edges, hubs, denser graphs and one order; four data sets of each, two of the last,
with seeds from 1000 on; default estimators. Every pair of variables in each of 500 new contexts counted once.
"""

import numpy as np

from contextualdag.tables import Array, Flags

# Spread of the errors of the fit to all rows, as a multiple of that of half-samples. It would be 1 / sqrt(2) if errors were
# all chance; but networks smooth, and what they smooth away is the same in all halves. With 2 about nine in ten intervals of
# 90 % hold the true effect in the designs above.
SPREAD = 2.0

# What counts is the mean of two shares: of the half-samples, and of the members of the ensemble that was fitted to all rows.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
JOINED = (0.0, 0.024, 0.131, 0.131, 0.225, 0.297, 0.412, 0.507, 0.673, 0.793, 0.861, 0.993)
# The probability that an edge points forward, given the share of those that do.
FORWARD_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
FORWARD = (0.0, 0.037, 0.037, 0.037, 0.146, 0.5, 0.854, 0.963, 0.963, 0.963, 1.0)


def calibrated(of_halves: Array, of_members: Array, allowed: Flags) -> Array:
    """Probabilities (n, p, p) of edges.

    Parameters
    ----------
    of_halves : array of shape (n, p, p)
        Shares of the half-samples that have each edge; half of one for each direction where that is not told.
    of_members : array of shape (n, p, p)
        The same of the members of the ensemble that was fitted to all rows.
    allowed : array of bool, shape (p, p) or (n, p, p)
        Edges that may be there at all.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.estimators.calibration import calibrated
    >>> halves, members = np.array([[[0.0, 0.7], [0.1, 0.0]]]), np.array([[[0.0, 1.0], [0.0, 0.0]]])
    >>> calibrated(halves, members, ~np.eye(2, dtype=bool)).round(2).tolist()
    [[[0.0, 0.84], [0.02, 0.0]]]
    """
    votes = (of_halves + of_members) / 2
    joined = votes + votes.transpose(0, 2, 1)
    forward = np.divide(votes, joined, out=np.full_like(votes, 0.5), where=joined > 0)
    forward = np.where(
        allowed & allowed.swapaxes(-1, -2), np.interp(forward, FORWARD_SHARES, FORWARD), allowed.astype(np.float64)
    )
    probabilities: Array = np.interp(joined, SHARES, JOINED) * forward
    return probabilities


def interval(estimate: Array, resampled: Array, level: float) -> tuple[Array, Array]:
    """Bounds around estimates (...), from those of halves (b, ...).

    Estimates from halves spread about sqrt(2) times as much as those from all rows, or what was measured instead. The
    bounds reach as far as the nearest half: an edge that no half has may be none.
    """
    spread = (resampled - resampled.mean(0)) * SPREAD
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.minimum(estimate + low, resampled.max(0)), np.maximum(estimate + high, resampled.min(0))
