"""Whether the order of the variables can be read off their variances, or off how well the others explain them.

Where variances grow along the edges of a graph, as they do in most simulations, sorting the variables by variance finds its
order (var-sortability; Reisach, Seiler and Weichwald, "Beware of the simulated DAG!", NeurIPS 2021). Where shares of
explained variance do, sorting by these finds it in any units (R2-sortability; Reisach, Tami, Seiler, Chambaz and Weichwald,
"A scale-invariant sorting criterion to find a causal order in additive noise models", NeurIPS 2023).
"""

import numpy as np

from contextualdag.tables import Array


def sortability(W: Array, scores: Array) -> float:
    """Share of directed paths along which scores increase.

    A pair of nodes counts once for each length of paths between them, and ties count half, as in the papers. Half is what an
    order that has nothing to do with the scores gives.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Graphs.
    scores : array of shape (n, p) or (p,)
        A score of each node, for each graph or for all.

    Returns
    -------
    float
        NaN if no graph has an edge.
    """
    edges = W != 0
    step: Array = edges.astype(np.float64)
    scores = np.broadcast_to(scores, W.shape[:2])
    rises = scores[:, None, :] - scores[:, :, None]
    points = np.where(rises > 0, 1.0, np.where(rises == 0, 0.5, 0.0))
    joined, n_paths, n_rising = edges, 0, 0.0
    while joined.any():  # acyclic, so that no path is longer than p - 1
        n_paths += int(joined.sum())
        n_rising += float(points[joined].sum())
        joined = joined.astype(np.float64) @ step > 0
    return n_rising / n_paths if n_paths else float("nan")


def explained_by_others(X: Array) -> Array:
    """Share of the variance of each column that a regression on all others explains, adjusted for their number."""
    n, p = X.shape
    deviations = X.std(0)
    moving = deviations > 0
    correlation = np.eye(p)
    correlation[np.ix_(moving, moving)] = np.corrcoef(X[:, moving], rowvar=False)
    values, vectors = np.linalg.eigh(correlation)
    left = 1 / ((vectors**2) / np.maximum(values, 1e-12)).sum(1)
    explained: Array = 1 - np.minimum(left * (n - 1) / max(n - p, 1), 1)
    return explained
