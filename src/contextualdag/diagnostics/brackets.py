"""Whether the noise of a variable can have one size in all contexts, whatever the graph.

For every context the noise variance of a variable lies between its variance given all others and its variance: parents are
among the others, and children and their parents can only explain more. Where the first bound in some contexts exceeds the
second in others, no graph has noise of one size there.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm

from contextualdag.diagnostics.given_context import standardised
from contextualdag.tables import Array
from contextualdag.training.data import polynomials
from contextualdag.training.loss import array_residuals

RIDGE = 1e-6
FEWEST = 20  # rows of a group
LARGE_SQUARE = 10.0  # of a residual, in units of the mean: larger ones count as this, which can only lower the lower bound


@dataclass(frozen=True)
class Bracket:
    """The two groups of contexts whose bounds of the noise variance of a variable are furthest apart.

    Attributes
    ----------
    low : float
        Variance given all others in one group, from below a bound of the noise variance there.
    high : float
        Variance in the other group, from above a bound of the noise variance there.
    p_value : float
        Of noise of one size, over all pairs of groups.
    """

    low: float
    high: float
    p_value: float


def noise_brackets(X: Array, Z: Array, W: Array, groups: NDArray[np.intp]) -> list[Bracket]:
    """Compare the bounds of groups of like contexts, for each variable.

    However a variable is predicted from all others, what is left is no less than its variance given them. It is predicted in
    two ways, of which the better one counts in each group: by regressions on the others and their products with polynomials
    of the context, and by the graphs of a model. So weights that change within a group are not taken for noise.

    Parameters
    ----------
    X : array of shape (n, p)
        Variables without their means given the context.
    Z : array of shape (n, m)
        Encoded contexts.
    W : array of shape (n, p, p)
        Graphs of the rows.
    groups : array of int, shape (n,)
        Group of every row.
    """
    used = [group for group in np.unique(groups) if (groups == group).sum() >= FEWEST]
    if len(used) < 2:
        return [Bracket(float("nan"), float("nan"), 1.0)] * X.shape[1]
    own = _moments(X**2, np.ones_like(X), groups, used)
    by_regression = _moments(*_left_by_others(X, Z), groups, used)
    by_graphs = _moments(_left_by_graphs(X, W), np.ones_like(X), groups, used)
    better = by_graphs[0] < by_regression[0]
    given_others = [np.where(better, ours, theirs) for ours, theirs in zip(by_graphs, by_regression, strict=True)]
    n_pairs = len(used) * (len(used) - 1)
    found = []
    for k in range(X.shape[1]):
        best = Bracket(float("nan"), float("nan"), 1.0)
        for g in range(len(used)):
            for h in range(len(used)):
                low, high = given_others[0][g, k], own[0][h, k]
                if g == h or low <= high or high <= 0:
                    continue
                # The delta method: an error of a mean, as a share of it, is one of its logarithm.
                error = np.hypot(given_others[1][g, k], own[1][h, k])
                p_value = min(1.0, n_pairs * float(norm.sf(np.log(low / high) / error)))
                if p_value < best.p_value:
                    best = Bracket(float(low), float(high), p_value)
        found.append(best)
    return found


def _left_by_graphs(X: Array, W: Array) -> Array:
    """Squared differences to the means given all others that graphs imply.

    With noise variances D the inverse of the covariance is Theta = (I - W) D^-1 (I - W)^T, and x_k differs from its mean
    given the others by the k-th entry of Theta x, divided by that of the diagonal.
    """
    residuals = array_residuals(X, W)
    variance = np.maximum((residuals**2).mean(0), 1e-300)
    A = np.eye(X.shape[1]) - W
    projected = np.einsum("njk,nk->nj", A, residuals / variance)
    squares: Array = (projected / np.einsum("njk,njk,k->nj", A, A, 1 / variance)) ** 2
    clipped: Array = np.minimum(squares, LARGE_SQUARE * squares.mean(0))
    return clipped


def _left_by_others(X: Array, Z: Array) -> tuple[Array, Array]:
    """Squared residuals of regressions on all other variables, and what each counts: less where a row fits itself."""
    n, p = X.shape
    features = polynomials(torch.from_numpy(standardised(Z)), p).numpy()
    squares, counts = np.empty_like(X), np.empty_like(X)
    for k in range(p):
        others = np.delete(X, k, axis=1)
        design = (others[:, :, None] * features[:, None, :]).reshape(n, -1)
        design = design / np.maximum(np.sqrt((design**2).mean(0)), 1e-300)
        inverse = np.linalg.inv(design.T @ design + RIDGE * n * np.eye(design.shape[1]))
        squares[:, k] = (X[:, k] - design @ (inverse @ (design.T @ X[:, k]))) ** 2
        counts[:, k] = np.clip(1 - np.einsum("ij,ij->i", design @ inverse, design), 0, 1)
    return np.minimum(squares, LARGE_SQUARE * squares.mean(0)), counts


def _moments(squares: Array, counts: Array, groups: NDArray[np.intp], used: list[int]) -> tuple[Array, Array]:
    """Mean squares of each group, and their relative errors: at least those of normal values, (groups, p) each.

    Where tails are heavy a group without large values does not know its error, so that of the group with the largest counts.
    """
    parts = [(squares[groups == group], np.maximum(counts[groups == group].sum(0), 1.0)) for group in used]
    means = np.array([mine.sum(0) / n for mine, n in parts])
    spread = np.array([mine.std(0) for mine, _ in parts]) / np.maximum(means, 1e-300)
    errors = np.maximum(spread.max(0), np.sqrt(2)) / np.sqrt([n for _, n in parts])
    return means, errors
