"""Missing values of X, filled in by what graphs expect of them given the other values of their row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from contextualdag.tables import Array, Flags
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import residuals
from contextualdag.training.noise import residual_scales
from contextualdag.training.problem import Problem
from contextualdag.training.solution import Solution

AT_ONCE = 4096


def filled_by_model(X: Array, observed: Flags, W: Array, means: Array, noise_scale: Array) -> Array:
    """X with the expectation given the observed values of its row where values are missing, under graphs W (n, p, p).

    The inverse covariance is (I - W) diag(1 / s^2) (I - W)^T. Of a normal vector with inverse covariance A the missing part
    has the mean given the rest -A_mm^{-1} A_mo x_o.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.training.filling import filled_by_model
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
        expected = means[rows] + np.linalg.solve(left, right[:, :, None])[:, :, 0]
        filled[rows] = np.where(observed[rows], X[rows], expected)
    return filled


def emptied(problem: Problem) -> Problem:
    """The problem with the mean given the context, which is zero, where values are missing."""

    def without(rows: Rows) -> Rows:
        return rows if rows.missing is None else replace(rows, X=rows.X * ~rows.missing)

    return replace(problem, split=Split(without(problem.split.train), without(problem.split.held_out)))


def refilled(problem: Problem, solution: Solution) -> Problem:
    """The problem with what graphs expect where values are missing."""
    rows = emptied(problem).rows
    scale = residual_scales(residuals(rows.X, solution.graphs(rows.Z, rows.mask)), rows).double().cpu().numpy()

    def filled(rows: Rows) -> Rows:
        if rows.missing is None:
            return rows
        W = solution.graphs(rows.Z, rows.mask).double().cpu().numpy()
        X = rows.X.double().cpu().numpy()
        found = filled_by_model(X, ~rows.missing.cpu().numpy(), W, np.zeros_like(X), scale)
        return replace(rows, X=torch.from_numpy(found).to(rows.X))

    return replace(problem, split=Split(filled(problem.split.train), filled(problem.split.held_out)))


def has_holes(problems: Sequence[Problem]) -> bool:
    """Whether values are missing."""
    return any(rows.missing is not None for one in problems for rows in (one.split.train, one.split.held_out))
