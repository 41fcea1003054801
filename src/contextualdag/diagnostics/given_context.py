"""What the checks share: columns given the context, groups of like contexts, and a test of dependence.

"Given the context" means given a polynomial of degree two of the encoded contexts, or of degree one or none where rows are
too few for that.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from contextualdag.tables import Array
from contextualdag.training.noise_changes import context_basis, standardised

__all__ = [
    "context_basis",
    "context_groups",
    "dependence",
    "fitted",
    "in_robust_units",
    "scales_given_context",
    "standardised",
]

NORMAL = 1.4826  # standard deviations of a normal variable in a median absolute deviation
DAMPED = 0.1  # share of the mean square that is added to squares before their logarithm is taken
LARGE = 5.0  # products of two standardised columns: larger ones count as this
MOST_GROUPS, ROWS_A_GROUP, ROWS_A_VARIABLE = 6, 60, 10
ROWS_A_TERM = 10  # for the test of dependence that changes with the context


def fitted(columns: Array, basis: Array) -> Array:
    """Regressions of columns on a basis of `context_basis`."""
    means: Array = basis @ (basis.T @ columns) / len(basis)
    return means


def scales_given_context(residuals: Array, basis: Array) -> Array:
    """Sizes of residuals (n, p) as a function of the context, up to a factor: regressions of logarithms of squares."""
    squares = residuals**2
    scales: Array = np.exp(fitted(np.log(squares + DAMPED * squares.mean(0) + 1e-300), basis) / 2)
    return scales


def in_robust_units(columns: Array) -> Array:
    """Columns without their medians, in median absolute deviations of a normal variable; zero for those that do not vary."""
    centred = columns - np.median(columns, axis=0)
    deviations = NORMAL * np.median(np.abs(centred), axis=0)
    size = np.where(deviations > 0, deviations, columns.std(0))
    robust: Array = np.where(size > 0, centred, 0.0) / np.where(size > 0, size, 1.0)
    return robust


def context_groups(Z: Array, n_variables: int) -> NDArray[np.intp]:
    """Groups of rows (n,) with like contexts, by k-means: as many as rows are enough for, and six at most."""
    from sklearn.cluster import KMeans

    n_groups = min(MOST_GROUPS, len(Z) // max(ROWS_A_GROUP, ROWS_A_VARIABLE * n_variables))
    if n_groups > 1 and Z.shape[1]:
        n_groups = min(n_groups, len(np.unique(Z, axis=0)))
    if n_groups < 2 or not Z.shape[1]:
        return np.zeros(len(Z), dtype=np.intp)
    groups: NDArray[np.intp] = KMeans(n_groups, n_init=3, random_state=0).fit_predict(standardised(Z)).astype(np.intp)
    return groups


def dependence(first: Array, others: Array, basis: Array) -> tuple[Array, Array]:
    """Whether a column (n,) correlates with others (n, k), in all contexts or in some.

    All have mean zero given the context. If they do not depend on one another their products have mean zero, and so have
    products of these with polynomials of the context. Rows where one of the two is zero do not count.

    Returns
    -------
    (p_values, correlations)
        Arrays (k,): p-values, and root mean squares over the contexts of the correlation, without what is due to chance.
    """
    products = np.clip(_unit(first[:, None]) * _unit(others), -LARGE, LARGE)
    used = (products != 0).sum(0)
    sums, squares = products.sum(0), (products**2).sum(0)
    everywhere = chi2.sf(sums**2 / np.maximum(squares, 1e-300), 1)
    q = basis.shape[1]
    changes = used >= ROWS_A_TERM * q
    p_values, explained = everywhere, (sums**2 - squares) / np.maximum(used, 1) ** 2
    if q > 1 and changes.any():
        moments = basis.T @ products[:, changes]  # (q, k)
        pairs = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
        spread = (products[:, changes].T ** 2 @ pairs).reshape(-1, q, q)
        spread += 1e-9 * np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(q) + 1e-300 * np.eye(q)
        statistic = np.einsum("qk,kq->k", moments, np.linalg.solve(spread, moments.T[:, :, None])[:, :, 0])
        p_values = everywhere.copy()
        p_values[changes] = np.minimum(1, 2 * np.minimum(everywhere[changes], chi2.sf(statistic, q)))
        explained[changes] = ((moments**2).sum(0) - q * squares[changes]) / used[changes] ** 2
    return np.where(used > 0, p_values, 1.0), np.sqrt(np.maximum(explained, 0))


def _unit(columns: Array) -> Array:
    """Columns with mean square one over the rows where they are not zero."""
    size = np.sqrt((columns**2).sum(0) / np.maximum((columns != 0).sum(0), 1))
    unit: Array = columns / np.where(size > 0, size, 1.0)
    return unit
