"""Rows that belong together, such as those of one person."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contextualdag.checks import shown
from contextualdag.columns import is_missing, vector
from contextualdag.errors import ContextualDAGWarning, InvalidInputError
from contextualdag.training.resampling import group_numbers

Indices = NDArray[np.int64]

FEWEST_ROWS, FEWEST_GROUPS = 20, 4  # that can be divided into halves, each with rows to train on and rows held out
LOPSIDED = 1 / 3  # of the rows; smaller halves than that say little


def read_groups(groups: Any, n: int, has_validation_set: bool) -> Tensor | None:
    """The groups of n rows as numbers from zero on; None if there are none, or if every row is one of its own."""
    if groups is None:
        return None
    if has_validation_set:
        raise InvalidInputError("groups and a validation set cannot be given together: append X_val and Z_val to X and Z.")
    column = vector(groups, "groups")
    if len(column) != n:
        raise InvalidInputError(
            f"groups must name the group of each of the {n} rows of X. Got {len(column)} "
            "instead. Pass one value for each row, such as a column of the table that X comes from."
        )
    missing = sum(map(is_missing, column))
    if missing:
        raise InvalidInputError(f"groups must name the group of every row. {missing} of {n} are missing.")
    strange = [value for value in column if not isinstance(value, Hashable)]
    if strange:
        raise InvalidInputError(f"groups must name groups by text, numbers or dates. Got {shown(strange[0])}.")
    numbers = group_numbers(column.tolist())
    if n > 1 and int(numbers.max()) + 1 == n:
        warnings.warn(
            f"groups has as many groups as rows ({n}), so they change nothing. Give rows that belong together one value.",
            ContextualDAGWarning,
            stacklevel=5,
        )
        return None
    return numbers


def fewest_groups(n_members: int) -> int:
    """How many groups a fit needs whose members hold out so many different parts of the rows."""
    return max(FEWEST_GROUPS, n_members)


def check_number(groups: Tensor, n_members: int) -> None:
    """Raise if groups are too few for rows to be held out by group."""
    found, fewest = int(groups.max()) + 1, fewest_groups(n_members)
    if found < fewest:
        for_each = "" if fewest == FEWEST_GROUPS else ", one for each member of the ensemble"
        raise InvalidInputError(
            f"groups: whole groups are held out, so a fit with groups needs at least {fewest}{for_each}. Got {found}. "
            "Pass rows of more groups, or finer groups; without groups, rows count as if each stood for itself."
        )


def check_enough(n: int) -> None:
    """Raise if rows are too few for halves."""
    if n < FEWEST_ROWS:
        raise InvalidInputError(
            f"BootstrapDAG fits halves of the rows, so it needs at least {FEWEST_ROWS} that count. Got {n}. Pass more rows, "
            "or fit its estimator alone, without probabilities."
        )


def warn_if_lopsided(halves: Sequence[Tensor], groups: Tensor | None) -> None:
    """A warning if the smaller halves have few of the rows, as they do where one group has most rows."""
    if groups is None:
        return
    n, sizes = len(groups), [len(half) for half in halves]
    smaller = sum(min(size, n - size) for size in sizes) / len(sizes)
    if smaller < LOPSIDED * n:
        largest = int(torch.bincount(groups).max())
        warnings.warn(
            f"The halves that BootstrapDAG fits are lopsided: groups stay whole, the largest has {largest} of {n} rows, and "
            f"the smaller half has {smaller:.0f} rows on average. Probabilities may be far from those of even halves. "
            "Divide the largest group if its rows need not stay together, or leave it out.",
            ContextualDAGWarning,
            stacklevel=4,
        )


def hold_out(n: int, n_given: int, share: float, rng: np.random.Generator, group: Indices | None) -> tuple[Indices, Indices]:
    """Rows to train on and rows to hold out, at random, both rising; whole groups if there are any.

    An error tells apart the rows that count from those that were given.
    """
    n_val = max(1, round(share * n))
    if n - n_val < 2:
        that_count = "" if n == n_given else f" with a sample_weight above zero, of {n_given}"
        raise InvalidInputError(
            f"X has {n} samples (rows){that_count}, too few to hold out {share:g} of them and train on the rest. Pass more "
            f"rows{' that have a weight' if that_count else ''}, or a validation set as X_val and Z_val."
        )
    if group is not None:
        counts = np.bincount(group)
        by_chance = rng.permutation(len(counts))
        n_out = 1 + int(np.abs(np.cumsum(counts[by_chance])[:-1] - n_val).argmin())
        is_out = np.isin(group, by_chance[:n_out])
        return np.flatnonzero(~is_out), np.flatnonzero(is_out)
    order = rng.permutation(n)
    return np.sort(order[n_val:]), np.sort(order[:n_val])
