"""How near estimated graphs are to the true ones, averaged over batches (n, p, p).

``W[i, j, k] != 0`` means that graph i has the edge j -> k. Functions take the true graphs first.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextualdag.errors import InvalidInputError

__all__ = ["estimation_error", "f1_score", "shd"]


def f1_score(true: ArrayLike, estimated: ArrayLike) -> float:
    """Mean F1 score over directed edges; one for a graph where both are empty.

    Parameters
    ----------
    true, estimated : array of shape (n, p, p)
        Weights or booleans.

    Returns
    -------
    float
        From 0 to 1, higher is better.

    Examples
    --------
    >>> from contextualdag.metrics import f1_score
    >>> f1_score([[[0, 1], [0, 0]]], [[[0, 2], [0, 0]]])
    1.0
    """
    a, b = _edges(true, estimated)
    hits = (a & b).sum((1, 2))
    total = a.sum((1, 2)) + b.sum((1, 2))
    return float(np.where(total > 0, 2 * hits / np.maximum(total, 1), 1.0).mean())


def shd(true: ArrayLike, estimated: ArrayLike) -> float:
    """Mean structural Hamming distance: pairs of nodes that are joined differently, a reversal counting one.

    Parameters
    ----------
    true, estimated : array of shape (n, p, p)
        Weights or booleans.

    Returns
    -------
    float
        Zero or more, lower is better.

    Examples
    --------
    >>> from contextualdag.metrics import shd
    >>> shd([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]])
    1.0
    """
    a, b = _edges(true, estimated)
    wrong = a != b
    wrong |= wrong.transpose(0, 2, 1)
    return float(np.triu(wrong, k=1).sum((1, 2)).mean())


def estimation_error(true: ArrayLike, estimated: ArrayLike) -> float:
    """Sum of squared errors of the weights, relative to the sum of squared true weights.

    Parameters
    ----------
    true, estimated : array of shape (n, p, p)
        Weights.

    Returns
    -------
    float
        Zero or more, lower is better; one for an estimate without edges. Infinite if there is an error and no true edge.

    Examples
    --------
    >>> from contextualdag.metrics import estimation_error
    >>> estimation_error([[[0, 2.0], [0, 0]]], [[[0, 1.0], [0, 0]]])
    0.25
    """
    a, b = _pair(true, estimated)
    error, size = float(((a - b) ** 2).sum()), float((a**2).sum())
    if size == 0:
        return 0.0 if error == 0 else float("inf")
    return error / size


def _pair(true: ArrayLike, estimated: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(true, dtype=np.float64), np.asarray(estimated, dtype=np.float64)
    if a.ndim != 3 or a.shape[1] != a.shape[2]:
        raise InvalidInputError(f"true must hold graphs of shape (n, p, p). Got {a.shape} instead.")
    if a.shape != b.shape:
        raise InvalidInputError(f"true and estimated must have the same shape. Got {a.shape} and {b.shape}.")
    if len(a) == 0:
        raise InvalidInputError("true and estimated hold no graph; there is nothing to average over.")
    return a, b


def _edges(true: ArrayLike, estimated: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    a, b = _pair(true, estimated)
    return a != 0, b != 0
