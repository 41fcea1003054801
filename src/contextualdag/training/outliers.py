"""Rows that lie far from all others, and how much less they count.

Squares let one bad row in a hundred outweigh all others. The size of a row is the mean of its squared deviations from the
medians, in units of the median absolute deviations; neither is moved by a few bad rows. A row that is larger than normal
rows hardly ever are counts less, such that its influence does not grow with its size. Where no row is that large, all count
the same. Entries that are not scored have no part in the size of a row: what was set by hand may be far off.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import entry_weights, row_errors

NORMAL = 1.4826  # standard deviations of a normal variable in a median absolute deviation
FAR = 4.5  # standard deviations: one normal row in three hundred thousand is larger
OUTLIER = 1 / 3  # weight below which a row is reported


def weighted(split: Split) -> Split:
    """The rows with weights; as they are where all count the same."""
    parts = (split.train, split.held_out)
    centre, spread = _location_and_scale(split.train)
    sizes = [row_errors(((rows.X - centre) / spread).square(), rows) for rows in parts]
    usual = _median(sizes[0], split.train.weight)
    if not float(usual) > 0:
        return split  # most rows are the same one, and the others need not be errors
    limits = [usual * _largest_normal(rows) for rows in parts]
    weights = [limit / torch.maximum(size, limit) for size, limit in zip(sizes, limits, strict=True)]
    if all(bool((weight == 1).all()) for weight in weights):
        return split
    train, held_out = (
        replace(rows, weight=weight if rows.weight is None else rows.weight * weight)
        for rows, weight in zip(parts, weights, strict=True)
    )
    return Split(train, held_out)


def _largest_normal(rows: Rows) -> Tensor:
    """How much larger than the median a normal row gets: a quantile of chi-squared, by Wilson and Hilferty's cube root."""
    every = rows.X[:, 0].double()
    p = torch.full_like(every, rows.X.shape[1]) if rows.scored is None else rows.scored.sum(1).clamp_min(1).to(every)
    middle, step = 1 - 2 / (9 * p), (2 / (9 * p)).sqrt()
    return (((middle + FAR * step) / middle) ** 3).to(rows.X.dtype)


def _location_and_scale(rows: Rows) -> tuple[Tensor, Tensor]:
    """Medians and median absolute deviations, or standard deviations of columns most of whose values are the same."""
    X = rows.X if rows.scored is None else torch.where(rows.scored, rows.X, math.nan)
    centre = _medians(X, rows.weight)
    deviation = NORMAL * _medians((X - centre).abs(), rows.weight)
    X = X.nan_to_num()
    weights = entry_weights(rows)
    weights = torch.ones_like(X) if weights is None else weights
    total = weights.sum(0).clamp_min(1e-30)
    spread = ((X - (X * weights).sum(0) / total).square() * weights).sum(0).div(total).sqrt()
    scale = torch.where(deviation > 0, deviation, spread)
    return centre, torch.where(scale > 0, scale, 1.0)


def _medians(X: Tensor, weight: Tensor | None) -> Tensor:
    """The median of every column, without entries that are not numbers; zero where there are only such."""
    if weight is None:
        return X.nanmedian(0).values.nan_to_num()
    known = [(column[column.isfinite()], weight[column.isfinite()]) for column in X.T]
    return torch.stack([_median(values, its) if len(values) else X.new_zeros(()) for values, its in known])


def _median(values: Tensor, weight: Tensor | None) -> Tensor:
    """The lower median, with a row counted as often as its weight says."""
    if weight is None:
        return values.median()
    values, order = values.sort()
    reached = weight[order].double().cumsum(0)
    return values[int((reached < reached[-1] / 2 * (1 - 1e-9)).sum())]
