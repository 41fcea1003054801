"""Whether the size of the noise changes with the context, which the theory behind directions excludes.

Squared residuals are regressed on polynomials of the context, of degree two, or of one or none where rows are few.
"""

import numpy as np
import torch
from scipy.special import gammaincc

from contextualdag.tables import Array, Flags
from contextualdag.training.data import polynomials

LEVEL = 0.01  # chance of a false alarm, over all variables
NOISE_CHANGES = 0.3  # standard deviation of the noise variance over contexts, as a share of its mean
LARGE_SQUARE = 10.0  # of a standardised residual: larger ones count as this


def standardised(columns: Array) -> Array:
    """Columns with mean zero and standard deviation one; zero where they do not vary."""
    centred = columns - columns.mean(0)
    scale = centred.std(0)
    still = scale <= 1e-12 * np.abs(columns).max(0, initial=0)
    scaled: Array = np.where(still, 0.0, centred / np.where(still, 1.0, scale))
    return scaled


def context_basis(Z: Array, n_coefficients: int = 1) -> Array:
    """Polynomials of contexts (n, m) as columns (n, q) with mean square one and no correlation; the first is constant.

    `n_coefficients` is how many each of them has in a regression.
    """
    features = polynomials(torch.from_numpy(standardised(Z)), n_coefficients).numpy()
    left, size, _ = np.linalg.svd(standardised(features[:, 1:]), full_matrices=False)
    kept = size > 1e-6 * size.max(initial=0)
    return np.hstack([np.ones((len(Z), 1)), left[:, kept] * np.sqrt(len(Z))])


def changes_of_noise(residuals: Array, Z: Array, scored: Flags | None = None) -> Array:
    """How much the noise of each variable changes: the standard deviation of its variance over contexts, as a share of it.

    Zero where a test does not see that it changes, or where it changes by little.

    Parameters
    ----------
    residuals : array of shape (n, p)
        What graphs leave of the variables.
    Z : array of shape (n, m)
        Contexts.
    scored : array of bool, shape (n, p), optional
        Residuals that count.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.training.noise_changes import changes_of_noise
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.uniform(-1, 1, (1000, 1))
    >>> changes_of_noise(np.hstack([1 + 0.5 * Z, 1 + 0 * Z]) * rng.standard_normal((1000, 2)), Z).round(2)
    array([0.51, 0.  ])
    """
    counts = np.ones(residuals.shape, dtype=bool) if scored is None else scored
    basis = context_basis(Z)[:, 1:]
    n, q = basis.shape
    if not q:
        return np.zeros(residuals.shape[1])
    mean = (residuals**2).mean(0, where=counts)
    squares = np.minimum(residuals**2 / np.where(mean > 0, mean, 1), LARGE_SQUARE)
    squares = np.where(counts, squares - squares.mean(0, where=counts), 0.0)
    moments, variance = (basis.T @ squares) ** 2, squares.var(0)
    p_values = gammaincc(q / 2, moments.sum(0) / np.maximum(n * variance, 1e-300) / 2)
    spread = np.sqrt(np.maximum(moments.sum(0) / n - q * variance, 0) / n)
    found: Array = np.where((p_values < LEVEL / residuals.shape[1]) & (spread > NOISE_CHANGES), spread, 0.0)
    return found
