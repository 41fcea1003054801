"""Rows that lie far from all others, and how much less they count.

Squares let one bad row in a hundred outweigh all others. The size of a row is the mean of its squared deviations from means
given the context, by least absolute deviations, in units of robust scales; none of these is moved by a few bad rows. A row
that is larger than normal rows hardly ever are counts less, such that its influence does not grow with its size. Where no
row is that large, or so many are that they are a kind of their own, all count the same. Entries that are not scored have no
part in the size of a row: what was set by hand may be far off.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training.data import ROWS_FOR_EACH, Rows, Split
from contextualdag.training.loss import row_errors

NORMAL = 1.4826  # standard deviations of a normal variable in a median absolute deviation
TAILS, NORMAL_TAILS = (0.05, 0.95), 3.29  # quantiles, and how many standard deviations apart those of a normal variable are
NARROWEST = 0.75  # a scale, as a share of what these quantiles say: most values of a column may be nearly the same
LEAST_LEFT = 0.1  # scale of what means leave, as a share of that of the variable: contexts may be variables as well
FAR = 4.5  # standard deviations: one normal row in three hundred thousand is larger
OUTLIER = 1 / 3  # weight below which a row is reported
MOST = 0.1  # share of rows that may be reported
FURTHEST_CONTEXT = 3.0  # standard deviations; contexts further out count as this, so that none draws a line to itself
ROWS_OF_MEANS, STEPS = 2000, 20  # to learn means from, and of reweighted least squares


def trust(split: Split) -> tuple[Tensor, Tensor] | None:
    """How much rows to train on and rows held out count by their sizes, from 0 to 1; None where all count the same.

    Contexts are standardised; variables may be in any units. Weights that rows have already count in medians.
    """
    parts = [replace(rows, X=rows.X.double(), Z=rows.Z.double()) for rows in (split.train, split.held_out)]
    means = _means(parts[0])
    left = [rows.X - _features(rows.Z, len(means)) @ means for rows in parts]
    scale = torch.maximum(_scales(left[0], parts[0]), LEAST_LEFT * _scales(parts[0].X, parts[0]))
    sizes = [row_errors((its / scale).square(), rows) for its, rows in zip(left, parts, strict=True)]
    usual = _quantile(sizes[0], split.train.weight, 0.5)
    if not float(usual) > 0:
        return None  # most rows are the same one, and the others need not be errors
    limits = [usual * _largest_normal(rows) for rows in parts]
    train, held_out = (limit / torch.maximum(size, limit) for size, limit in zip(sizes, limits, strict=True))
    if bool((train == 1).all() and (held_out == 1).all()) or float((train < OUTLIER).double().mean()) > MOST:
        return None
    return train, held_out


def _largest_normal(rows: Rows) -> Tensor:
    """How much larger than the median a normal row gets: a quantile of chi-squared, by Wilson and Hilferty's cube root."""
    every = rows.X[:, 0].double()
    p = torch.full_like(every, rows.X.shape[1]) if rows.scored is None else rows.scored.sum(1).clamp_min(1).to(every)
    middle, step = 1 - 2 / (9 * p), (2 / (9 * p)).sqrt()
    return (((middle + FAR * step) / middle) ** 3).to(rows.X.dtype)


def _features(Z: Tensor, n_features: int) -> Tensor:
    """The constant, and contexts unless these are too many to learn from."""
    one = torch.ones_like(Z[:, :1]) if Z.shape[1] else Z.new_ones(len(Z), 1)
    return torch.cat([one, Z.clamp(-FURTHEST_CONTEXT, FURTHEST_CONTEXT)], 1)[:, :n_features]


def _means(rows: Rows) -> Tensor:
    """Coefficients (q, p) of least absolute deviations of every variable on contexts, by reweighted least squares."""
    some = rows[torch.linspace(0, len(rows) - 1, min(len(rows), ROWS_OF_MEANS), dtype=torch.float64).round().long()]
    n_features = 1 + some.Z.shape[1]
    if ROWS_FOR_EACH * n_features > len(some):
        n_features = 1
    X = some.X if some.scored is None else torch.where(some.scored, some.X, math.nan)
    centre = torch.stack([_quantile(column, some.weight, 0.5) for column in X.T])
    counted = torch.ones_like(X) if some.weight is None else some.weight[:, None].expand_as(X)
    counted = counted * X.isfinite()
    left = (X - centre).nan_to_num()
    coefficients = X.new_zeros(n_features, X.shape[1])
    coefficients[0] = centre
    if n_features == 1:
        return coefficients
    design = _features(some.Z, n_features)
    usual = torch.stack([_quantile(column, some.weight, 0.5) for column in left.abs().T])
    floor = torch.where(usual > 0, usual, (left.square() * counted).sum(0).div(counted.sum(0).clamp_min(1e-30)).sqrt()) / 100
    start = left
    found = torch.zeros_like(coefficients)
    eye = 1e-9 * torch.eye(n_features, dtype=X.dtype, device=X.device)
    for _ in range(STEPS):
        weight = counted / torch.maximum(left.abs() / floor.clamp_min(1e-300), torch.ones_like(left))
        gram = torch.einsum("na,np,nb->pab", design, weight, design)
        right = torch.einsum("na,np->pa", design, weight * start)
        gram = gram + gram.diagonal(dim1=1, dim2=2).mean(1)[:, None, None].clamp_min(1e-30) * eye
        found = torch.linalg.solve(gram, right).T
        left = start - design @ found
    return coefficients + found


def _scales(left: Tensor, rows: Rows) -> Tensor:
    """Robust standard deviations (p,) of what means leave: by medians, or by wider quantiles where values hardly differ."""
    left = left if rows.scored is None else torch.where(rows.scored, left, math.nan)
    middle = torch.stack([_quantile(column, rows.weight, 0.5) for column in left.T])
    medians = NORMAL * torch.stack([_quantile(column, rows.weight, 0.5) for column in (left - middle).abs().T])
    low, high = (torch.stack([_quantile(column, rows.weight, share) for column in left.T]) for share in TAILS)
    scale = torch.maximum(medians, NARROWEST * (high - low) / NORMAL_TAILS)
    deviations = (left - middle).nan_to_num().square().mean(0).sqrt()  # columns most of whose values are the same
    scale = torch.where(scale > 0, scale, deviations)
    return torch.where(scale > 0, scale, 1.0)


def _quantile(values: Tensor, weight: Tensor | None, share: float) -> Tensor:
    """A lower quantile of finite values, with a row counted as often as its weight says; zero where there are none."""
    known = values.isfinite()
    values, weight = values[known], None if weight is None else weight[known]
    if not len(values):
        return values.new_zeros(())
    values, order = values.sort()
    if weight is None:
        return values[int(share * (len(values) - 1))]
    reached = weight[order].double().cumsum(0)
    return values[min(int((reached < reached[-1] * share * (1 - 1e-9)).sum()), len(values) - 1)]
