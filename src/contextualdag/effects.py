"""Effects in linear models of acyclic graphs: what changes in one variable if another is set to a value.

The model of a context is x - mu = W^T (x - mu) + noise. Setting x_j by intervention replaces its equation by a constant and
leaves the other equations as they are. Edges into j are cut, and all that j reaches along directed paths follows.

In every sum over paths a missing edge contributes exactly zero. So where there is no path, the effect is zero and not a
rounding error, as it would be after an inversion of I - W.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextualdag.errors import CyclicGraphError

__all__ = ["effects_of", "means_under", "sample_under", "spreads", "total_effects"]

Array = NDArray[np.float64]


def total_effects(W: Array) -> Array:
    """Total effects of all variables on all others: sums over directed paths of the products of their weights.

    This is (I - W)^-1 - I, which for acyclic W is the finite sum W + W^2 + W^3 + ...; as a product it is
    (I + W) (I + W^2) (I + W^4) ... - I, with about log2(p) factors.

    Parameters
    ----------
    W : array of shape (n, p, p)
        ``W[i, j, k]`` is the direct effect of j on k in context i; acyclic.

    Returns
    -------
    array of shape (n, p, p)
        Entry [i, j, k] is the change of the mean of k for one unit more of j, set by intervention.

    Raises
    ------
    CyclicGraphError
        If a graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.effects import total_effects
    >>> total_effects(np.array([[[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]]))
    array([[[0., 2., 7.],
            [0., 0., 3.],
            [0., 0., 0.]]])
    """
    totals = power = np.array(W, dtype=np.float64)
    for _ in range(W.shape[-1].bit_length()):
        power = power @ power
        if not power.any():
            return totals
        totals = totals + power + totals @ power
    raise _cycle()


def effects_of(W: Array, source: int) -> Array:
    """Total effects of one variable on all others.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Direct effects; acyclic.
    source : int
        Position of the variable.

    Returns
    -------
    array of shape (n, p)

    Raises
    ------
    CyclicGraphError
        If the variable is on a cycle, or reaches one.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.effects import effects_of
    >>> effects_of(np.array([[[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]]), 0)
    array([[0., 2., 7.]])
    """
    unit = np.zeros(W.shape[:2])
    unit[:, source] = 1
    return _forward(W, unit)


def spreads(W: Array, noise_scale: Array) -> Array:
    """Standard deviations of the variables.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Direct effects; acyclic.
    noise_scale : array of shape (p,)
        Standard deviations of the noise, which is independent.

    Returns
    -------
    array of shape (n, p)

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.effects import spreads
    >>> spreads(np.array([[[0.0, 2.0], [0.0, 0.0]]]), np.array([2.0, 3.0]))
    array([[2., 5.]])
    """
    paths = total_effects(W) + np.eye(W.shape[-1])
    found: Array = np.sqrt(np.einsum("njk,j->nk", paths**2, noise_scale**2))
    return found


def means_under(W: Array, mu: Array, interventions: Mapping[int, float | Array]) -> Array:
    """Means of all variables where some are set to values.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Direct effects; acyclic.
    mu : array of shape (n, p)
        Means without intervention.
    interventions : mapping of int to float or array of shape (n,)
        Positions of the variables that are set, and their values.

    Returns
    -------
    array of shape (n, p)

    Examples
    --------
    A chain in which the middle is set: what is before it stays as it is.

    >>> import numpy as np
    >>> from contextualdag.effects import means_under
    >>> W = np.array([[[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]])
    >>> means_under(W, np.array([[10.0, 20.0, 30.0]]), {1: 21.0})
    array([[10., 21., 33.]])
    """
    return sample_under(W, mu, np.zeros(np.shape(mu)), interventions)


def sample_under(W: Array, mu: Array, noise: Array, interventions: Mapping[int, float | Array]) -> Array:
    """Values of all variables where some are set, for given noise.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Direct effects; acyclic.
    mu : array of shape (n, p)
        Means without intervention.
    noise : array of shape (n, p)
        Noise of the variables; that of variables that are set has no part in the result.
    interventions : mapping of int to float or array of shape (n,)
        Positions of the variables that are set, and their values.

    Returns
    -------
    array of shape (n, p)

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.effects import sample_under
    >>> W = np.array([[[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]])
    >>> sample_under(W, np.zeros((1, 3)), np.array([[0.5, 0.5, 0.5]]), {1: 1.0})
    array([[0.5, 1. , 3.5]])
    """
    cut, start, mu = (np.array(array, dtype=np.float64) for array in (W, noise, mu))
    for position, value in interventions.items():
        cut[:, :, position] = 0
        start[:, position] = value - mu[:, position]
    values: Array = mu + start + _forward(cut, start)
    for position, value in interventions.items():
        values[:, position] = value  # and not mu + (value - mu), which may differ in the last digit
    return values


def _forward(W: Array, start: Array) -> Array:
    """Sum over t = 1, 2, ... of (W^T)^t start: what arrives from (n, p) along paths of any length."""
    total, step = np.zeros_like(start), start
    for _ in range(W.shape[-1]):
        step = np.einsum("nj,njk->nk", step, W)
        if not step.any():
            return total
        total = total + step
    raise _cycle()


def _cycle() -> CyclicGraphError:
    return CyclicGraphError("Effects are defined for acyclic graphs, and W has a cycle. `break_cycles` removes cycles.")
