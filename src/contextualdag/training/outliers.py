"""Rows that lie far from all others, and how much less they count.

Squares let one bad row in a hundred outweigh all others. The size of a row is the mean of its squared deviations from the
medians, in units of the median absolute deviations; neither is moved by a few bad rows. A row that is larger than normal
rows hardly ever are counts less, such that its influence does not grow with its size. Where no row is that large, all count
the same.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training.data import Split

NORMAL = 1.4826  # standard deviations of a normal variable in a median absolute deviation
FAR = 4.5  # standard deviations: one normal row in three hundred thousand is larger
OUTLIER = 1 / 3  # weight below which a row is reported


def weighted(split: Split) -> Split:
    """The rows with weights; as they are where all count the same."""
    parts = (split.train, split.held_out)
    centre, spread = _location_and_scale(split.train.X)
    sizes = [((rows.X - centre) / spread).square().mean(1) for rows in parts]
    limit = sizes[0].median() * _largest_normal(split.train.X.shape[1])
    weights = [(limit / size.clamp_min(limit)) for size in sizes]
    if all(bool((weight == 1).all()) for weight in weights):
        return split
    train, held_out = (
        replace(rows, weight=weight if rows.weight is None else rows.weight * weight)
        for rows, weight in zip(parts, weights, strict=True)
    )
    return Split(train, held_out)


def _largest_normal(p: int) -> float:
    """How much larger than the median a normal row gets: a quantile of chi-squared, by Wilson and Hilferty's cube root."""
    middle, step = 1 - 2 / (9 * p), math.sqrt(2 / (9 * p))
    return ((middle + FAR * step) / middle) ** 3


def _location_and_scale(X: Tensor) -> tuple[Tensor, Tensor]:
    """Medians and median absolute deviations, or standard deviations of columns most of whose values are the same."""
    centre = X.median(0).values
    deviation = NORMAL * (X - centre).abs().median(0).values
    spread = X.std(0, correction=0)
    scale = torch.where(deviation > 0, deviation, spread)
    return centre, torch.where(scale > 0, scale, 1.0)
