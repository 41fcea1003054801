"""Missing values of X: filled in as regressors, and never scored as responses.

A first guess is the mean given the context. A quick fit to that gives graphs, and the second guess is the expectation of a
missing value given all others of its row under these graphs. A regression on all other columns would plant its own graph,
the same in all contexts.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from contextualdag.checks import listed
from contextualdag.errors import InvalidInputError
from contextualdag.tables import Array, Flags
from contextualdag.training.data import Split, polynomials
from contextualdag.training.loss import residuals
from contextualdag.training.noise import residual_scales
from contextualdag.training.problem import Problem
from contextualdag.training.solution import Solution

ERROR, IMPUTE = MISSING = ("error", "impute")
FEWEST = 10  # values that a column has to have
AT_ONCE = 4096


def check_enough_observed(observed: Flags, names: list[str]) -> None:
    """Raise if a column has hardly a value."""
    counts = observed.sum(0)
    few = [f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count < min(FEWEST, len(observed))]
    if few:
        raise InvalidInputError(
            f"Columns of X with too few values to impute the others, and how many they have: {listed(few)}. Leave them out."
        )


def means_given_context(X: Array, Z: Array) -> tuple[Array, Array]:
    """Coefficients (q, p) of the least-squares means of observed values given features of the context, and these (n, q)."""
    features = polynomials(torch.from_numpy((Z - Z.mean(0)) / np.where(Z.std(0) > 0, Z.std(0), 1)), 1).numpy()
    found = [np.linalg.lstsq(features[seen], X[seen, k], rcond=None)[0] for k, seen in enumerate(~np.isnan(X).T)]
    return np.stack(found, axis=1), features


def filled_by_context(X: Array, Z: Array) -> Array:
    """X with the mean given the context where values are missing."""
    coefficients, features = means_given_context(X, Z)
    return np.where(np.isnan(X), features @ coefficients, X)


def filled_by_model(
    X: Array, observed: Flags, W: Array, means: Array, noise_scale: Array, rng: np.random.Generator | None = None
) -> Array:
    """X with missing values filled in, under graphs W (n, p, p): by expectations given the rest of the row, or draws.

    The inverse covariance is (I - W) diag(1 / s^2) (I - W)^T. Of a normal vector with inverse covariance A the missing part
    has the mean given the rest -A_mm^{-1} A_mo x_o and the covariance A_mm^{-1}; with A_mm = L L^T, L^{-T} u has that
    covariance if u is standard normal. Draws have the right second moments, where expectations vary too little.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.estimators.imputation import filled_by_model
    >>> W, X = np.array([[[0.0, 2.0], [0.0, 0.0]]]), np.array([[1.5, 0.0]])
    >>> filled_by_model(X, np.array([[True, False]]), W, np.zeros((1, 2)), np.ones(2)).tolist()
    [[1.5, 3.0]]
    """
    filled = X.copy()
    some = np.flatnonzero(~observed.all(1))
    eye = np.eye(X.shape[1])
    for first in range(0, len(some), AT_ONCE):
        rows = some[first : first + AT_ONCE]
        factor = (eye - W[rows]) / np.maximum(noise_scale, 1e-12)
        inverse = factor @ factor.transpose(0, 2, 1)
        missing = (~observed[rows]).astype(np.float64)
        deviation = (X[rows] - means[rows]) * observed[rows]
        right = -missing * np.einsum("ijk,ik->ij", inverse, deviation)
        left = missing[:, :, None] * inverse * missing[:, None, :] + eye * (1 - missing)[:, None, :]
        found = means[rows] + np.linalg.solve(left, right[:, :, None])[:, :, 0]
        if rng is not None:
            root = np.linalg.cholesky(left).transpose(0, 2, 1)
            found += np.linalg.solve(root, rng.standard_normal((*found.shape, 1)))[:, :, 0]
        filled[rows] = np.where(observed[rows], X[rows], found)
    return filled


def filled_anew(problem: Problem, missing: Flags | None, solution: Solution, seeds: Sequence[int]) -> Iterator[Problem]:
    """A problem whose graphs were learned once for each seed, with missing values drawn anew from what the graphs say.

    Graphs of half-samples then differ by as much as is unknown of what was missing.
    """
    if missing is None:
        yield from itertools.repeat(problem, len(seeds))
        return
    rows = problem.rows
    W = solution.graphs(rows.Z, rows.mask)
    scale = residual_scales(residuals(rows.X, W), rows).cpu().numpy()
    X, graphs = rows.X.double().cpu().numpy(), W.double().cpu().numpy()
    n_train = len(problem.split.train)
    for seed in seeds:
        drawn = filled_by_model(X, ~missing, graphs, np.zeros_like(X), scale, np.random.default_rng(seed))
        filled = replace(rows, X=torch.from_numpy(drawn).to(rows.X))
        yield replace(problem, split=Split(filled[:n_train], filled[n_train:]))
