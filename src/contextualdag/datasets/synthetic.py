"""The paper's synthetic designs: graphs that vary with the context."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextualdag.errors import InvalidParameterError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Simulated data with the graphs behind them. ``data[:100]`` is the first hundred rows.

    Attributes
    ----------
    X : array of shape (n, p)
        Variables.
    Z : array of shape (n, m)
        Context.
    W : array of shape (n, p, p)
        True weights; ``W[i, j, k]`` is the effect of variable j on k in sample i.
    names : tuple of str
        Names of the variables.
    """

    X: Array
    Z: Array
    W: Array
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice) -> "Dataset":
        return Dataset(self.X[rows], self.Z[rows], self.W[rows], self.names)


def make_varying_dag(
    n_samples: int = 1000,
    n_nodes: int = 20,
    n_features: int = 2,
    *,
    n_edges: int = 10,
    active: float = 0.5,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    r"""Simulate the paper's Erdős–Rényi design, in which edges appear, vanish and turn round with the context.

    Contexts are uniform on :math:`[-1, 1]^m`. `n_edges` pairs of nodes are drawn at random, and for each node j a centre
    :math:`c_j` in the space of contexts. With :math:`d = \|z - c_j\| - \|z - c_k\|`, a pair has the edge j → k with weight d
    if :math:`d > \varphi`, the edge k → j with weight −d if :math:`-d > \varphi`, and none otherwise. :math:`\varphi` is the
    quantile of :math:`|d|` that leaves the share `active` of the pairs. Noise is standard normal.

    Parameters
    ----------
    n_samples : int, default=1000
        n, the number of rows.
    n_nodes : int, default=20
        p, the number of variables.
    n_features : int, default=2
        m, the number of context features.
    n_edges : int, default=10
        Pairs of nodes that may be joined.
    active : float, default=0.5
        Share of them that is joined on average.
    random_state : int or numpy.random.Generator, optional
        Source of randomness.

    Returns
    -------
    Dataset
        A small frozen object with X, Z, W and names.

    Examples
    --------
    >>> from contextualdag.datasets import make_varying_dag
    >>> data = make_varying_dag(500, n_nodes=5, n_edges=6, random_state=0)
    >>> data.X.shape, data.Z.shape, round(float((data.W != 0).sum()) / 500, 1)
    ((500, 5), (500, 2), 3.0)
    """
    for name, value in (("n_samples", n_samples), ("n_nodes", n_nodes), ("n_features", n_features)):
        if value < 1:
            raise InvalidParameterError(
                f"The '{name}' parameter of make_varying_dag must be at least 1. Got {value!r} instead."
            )
    sources, targets = np.triu_indices(n_nodes, k=1)
    if not 0 <= n_edges <= len(sources):
        raise InvalidParameterError(
            f"The 'n_edges' parameter of make_varying_dag must be from 0 to {len(sources)}, the pairs of {n_nodes} nodes. "
            f"Got {n_edges!r} instead."
        )
    if not 0 <= active <= 1:
        raise InvalidParameterError(f"The 'active' parameter of make_varying_dag must be in [0, 1]. Got {active!r} instead.")
    rng = np.random.default_rng(random_state)
    pairs = rng.choice(len(sources), size=n_edges, replace=False)
    j, k = sources[pairs], targets[pairs]
    centres = rng.uniform(-1, 1, size=(n_nodes, n_features))

    Z = rng.uniform(-1, 1, size=(n_samples, n_features))
    distance = np.linalg.norm(Z[:, None] - centres, axis=2)
    d = distance[:, j] - distance[:, k]
    smallest = np.quantile(np.abs(d), 1 - active) if d.size else 0.0
    W = np.zeros((n_samples, n_nodes, n_nodes))
    W[:, j, k] = np.where(d > smallest, d, 0)
    W[:, k, j] = np.where(-d > smallest, -d, 0)
    noise = rng.standard_normal((n_samples, n_nodes))
    X = np.linalg.solve(np.eye(n_nodes) - W.transpose(0, 2, 1), noise[:, :, None])[:, :, 0]
    return Dataset(X.astype(np.float64), Z, W, tuple(f"x{v + 1}" for v in range(n_nodes)))
