"""Scores of estimated graphs against the true ones.

Functions take the true graphs, then the estimated ones: two batches of one shape (n, p, p), in which ``W[i, j, k] != 0``
means that graph i has the edge j -> k. Both may be weights or booleans; `estimation_error` compares weights.
Each returns a float: a score for every graph, averaged over the graphs, except for `estimation_error`, which is one ratio.

Edges have directions: a reversed edge counts as a false one and a missed one. The diagonal is ignored, but for
`acyclic_rate`, `cpdag_shd` and `sid` a nonzero entry there is a cycle. A fraction of zero edges has its best value:
`precision` is one (`fdr` zero) if no edge was estimated, `recall` and `tpr` are one if there is no true edge, `fpr` is zero
if every pair is a true edge, and `f1_score`, the harmonic mean of precision and recall, is one if both graphs are empty.
"""

import importlib

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from contextualdag.cpdag import check_acyclic, cpdag, distinct
from contextualdag.errors import InvalidInputError
from contextualdag.graphs import is_acyclic

__all__ = [
    "acyclic_rate",
    "cpdag_shd",
    "estimation_error",
    "f1_score",
    "fdr",
    "fpr",
    "precision",
    "recall",
    "shd",
    "sid",
    "tpr",
]

Edges = NDArray[np.bool_]


def f1_score(true: ArrayLike, estimated: ArrayLike) -> float:
    """Mean F1 score over directed edges; from 0 to 1, higher is better.

    Examples
    --------
    >>> from contextualdag.metrics import f1_score
    >>> f1_score([[[0, 1], [0, 0]]], [[[0, 2], [0, 0]]])
    1.0
    """
    a, b = _edges(true, estimated)
    return _mean_fraction(2 * _size(a & b), _size(a) + _size(b), if_empty=1)


def precision(true: ArrayLike, estimated: ArrayLike) -> float:
    """Fraction of the estimated edges that are true; from 0 to 1, higher is better.

    Examples
    --------
    >>> from contextualdag.metrics import precision
    >>> precision([[[0, 1, 0], [0, 0, 0], [0, 0, 0]]], [[[0, 1, 1], [0, 0, 0], [0, 0, 0]]])
    0.5
    """
    a, b = _edges(true, estimated)
    return _mean_fraction(_size(a & b), _size(b), if_empty=1)


def recall(true: ArrayLike, estimated: ArrayLike) -> float:
    """Fraction of the true edges that were found; from 0 to 1, higher is better.

    Examples
    --------
    >>> from contextualdag.metrics import recall
    >>> recall([[[0, 1, 1], [0, 0, 0], [0, 0, 0]]], [[[0, 1, 0], [0, 0, 0], [0, 0, 0]]])
    0.5
    """
    a, b = _edges(true, estimated)
    return _mean_fraction(_size(a & b), _size(a), if_empty=1)


def fdr(true: ArrayLike, estimated: ArrayLike) -> float:
    """False discovery rate, the fraction of the estimated edges that are false; from 0 to 1, lower is better.

    Examples
    --------
    A reversed edge is a false one.

    >>> from contextualdag.metrics import fdr
    >>> fdr([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]])
    1.0
    """
    a, b = _edges(true, estimated)
    return _mean_fraction(_size(b & ~a), _size(b), if_empty=0)


def tpr(true: ArrayLike, estimated: ArrayLike) -> float:
    """True positive rate: another name for `recall`.

    Examples
    --------
    >>> from contextualdag.metrics import tpr
    >>> tpr([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]])
    0.0
    """
    return recall(true, estimated)


def fpr(true: ArrayLike, estimated: ArrayLike) -> float:
    """False positive rate, the fraction of the ordered pairs without a true edge that got one; lower is better.

    Examples
    --------
    >>> from contextualdag.metrics import fpr
    >>> fpr([[[0, 1, 0], [0, 0, 0], [0, 0, 0]]], [[[0, 1, 1], [0, 0, 0], [0, 0, 0]]])
    0.2
    """
    a, b = _edges(true, estimated)
    p = a.shape[1]
    return _mean_fraction(_size(b & ~a), p * (p - 1) - _size(a), if_empty=0)


def shd(true: ArrayLike, estimated: ArrayLike) -> float:
    """Structural Hamming distance: pairs of nodes whose edges differ, a reversed edge counting once; lower is better.

    Examples
    --------
    >>> from contextualdag.metrics import shd
    >>> shd([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]])
    1.0
    """
    a, b = _edges(true, estimated)
    wrong = a != b
    wrong |= wrong.transpose(0, 2, 1)
    return float(_size(np.triu(wrong, k=1)).mean())


def cpdag_shd(true: ArrayLike, estimated: ArrayLike) -> float:
    """Structural Hamming distance between CPDAGs, which ignores directions that data cannot identify; lower is better.

    It counts the pairs of nodes whose edges differ (->, <-, - or none) in the two CPDAGs. Graphs must be acyclic.

    Examples
    --------
    >>> from contextualdag.metrics import cpdag_shd
    >>> cpdag_shd([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]])
    0.0
    """
    a, b = _dags(true, estimated)
    return shd(cpdag(a), cpdag(b))


def sid(true: ArrayLike, estimated: ArrayLike) -> float:
    """Structural intervention distance (Peters and Bühlmann, 2015); from 0 to p (p - 1), lower is better.

    It counts the ordered pairs (j, k) for which adjusting for the estimated parents of j gives a wrong effect of j on k in
    the true graph. Graphs must be acyclic. The package gadjid has to be installed.

    Examples
    --------
    >>> from contextualdag.metrics import sid
    >>> sid([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]])  # doctest: +SKIP
    2.0
    """
    try:
        gadjid = importlib.import_module("gadjid")
    except ImportError as error:
        raise ImportError("sid needs the package gadjid, which is not installed. Try: pip install gadjid") from error
    a, b = _dags(true, estimated)
    if a.shape[1] < 2:
        return 0.0  # gadjid refuses graphs without a pair
    first, of_each = distinct(np.stack([a, b], axis=1))
    mistakes = [
        gadjid.sid(a[i].astype(np.int8), b[i].astype(np.int8), edge_direction="from row to column")[1] for i in first
    ]
    return float(np.take(mistakes, of_each).mean())


def acyclic_rate(graphs: ArrayLike) -> float:
    """Fraction of the graphs of a batch (n, p, p) that are DAGs; from 0 to 1, higher is better.

    Examples
    --------
    >>> from contextualdag.metrics import acyclic_rate
    >>> acyclic_rate([[[0, 1], [0, 0]], [[0, 1], [1, 0]]])
    0.5
    """
    edges = _batch(graphs, "graphs") != 0
    return float(is_acyclic(torch.from_numpy(edges)).double().mean())


def estimation_error(true: ArrayLike, estimated: ArrayLike) -> float:
    """Sum of squared errors of the weights, relative to the sum of squared true weights; zero or more, lower is better.

    It is one for an estimate without edges, and infinite if there is an error and no true edge.

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


def _batch(graphs: ArrayLike, name: str) -> NDArray[np.float64]:
    W = np.asarray(graphs, dtype=np.float64)
    if W.ndim != 3 or W.shape[1] != W.shape[2]:
        raise InvalidInputError(f"{name} must hold graphs of shape (n, p, p). Got {W.shape} instead.")
    if len(W) == 0:
        raise InvalidInputError(f"{name} holds no graph; there is nothing to average over. Got shape {W.shape}.")
    return W


def _pair(true: ArrayLike, estimated: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = _batch(true, "true"), np.asarray(estimated, dtype=np.float64)
    if a.shape != b.shape:
        raise InvalidInputError(f"true and estimated must have the same shape. Got {a.shape} and {b.shape}.")
    return a, b


def _edges(true: ArrayLike, estimated: ArrayLike) -> tuple[Edges, Edges]:
    a, b = _pair(true, estimated)
    off_diagonal = ~np.eye(a.shape[1], dtype=bool)
    return (a != 0) & off_diagonal, (b != 0) & off_diagonal


def _dags(true: ArrayLike, estimated: ArrayLike) -> tuple[Edges, Edges]:
    a, b = (W != 0 for W in _pair(true, estimated))
    check_acyclic(a, "true")
    check_acyclic(b, "estimated")
    return a, b


def _size(edges: Edges) -> NDArray[np.int64]:
    """Count the edges of each graph."""
    return np.asarray(edges.sum((1, 2)), dtype=np.int64)


def _mean_fraction(part: NDArray[np.int64], whole: NDArray[np.int64], if_empty: float) -> float:
    return float(np.where(whole > 0, part / np.maximum(whole, 1), if_empty).mean())
