"""Half-samples: problems that differ in nothing but their rows, to see how much graphs depend on them.

Rows are divided into two halves at random, again and again, and graphs are learned from each half (complementary pairs; Shah
and Samworth, 2013). In a bootstrap with repeated rows copies of one row would be trained on and held out at once. Means,
noise scales, weights of outliers and the structure are those of the fit to all rows; how many edges there are is selected
anew in every half.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training.data import Split
from contextualdag.training.problem import NetworkSettings, Problem


def half_samples(n: int, n_resamples: int, seed: int, groups: Tensor | None = None) -> list[Tensor]:
    """Rows of each half, rising: those at 2 k and 2 k + 1 complete each other. The last one may be left without its other.

    Rows of one group, numbers (n,) from zero on, stay in one half.
    """
    generator = torch.Generator().manual_seed(seed)
    of_rows = torch.arange(n) if groups is None else groups
    n_groups = int(of_rows.max()) + 1
    halves: list[Tensor] = []
    while len(halves) < n_resamples:
        rank = torch.empty(n_groups, dtype=torch.int64)
        rank[torch.randperm(n_groups, generator=generator)] = torch.arange(n_groups)
        is_first = rank[of_rows] < _first_half(rank[of_rows], n_groups)
        halves += [is_first.nonzero()[:, 0], (~is_first).nonzero()[:, 0]]
    return halves[:n_resamples]


def half_problem(problem: Problem, rows: Tensor, structure: str, seed: int, groups: Tensor | None = None) -> Problem:
    """The problem with some of its rows, of which as large a share is held out; one network, and no search for a structure.

    Rows of a group stay together here too.
    """
    n_train, n_val = len(problem.split.train), len(problem.split.held_out)
    share = n_val / (n_train + n_val)
    generator = torch.Generator().manual_seed(seed)
    of_rows = torch.arange(len(rows)) if groups is None else torch.unique(groups[rows], return_inverse=True)[1]
    n_groups = int(of_rows.max()) + 1
    n_out = min(max(1, round(share * n_groups)), n_groups - 1)
    is_out = torch.zeros(n_groups, dtype=torch.bool)
    is_out[torch.randperm(n_groups, generator=generator)[:n_out]] = True
    held_out = is_out[of_rows]
    every, device = problem.rows, problem.split.train.X.device
    split = Split(every[rows[~held_out].to(device)], every[rows[held_out].to(device)])
    settings = problem.settings
    if isinstance(settings, NetworkSettings):
        settings = replace(settings, n_members=1, cross_fit=False, structure=structure, final=False)
    else:
        settings = replace(settings, final=False)
    return replace(problem, split=split, settings=settings, seed=seed, checkpoint=None, observer=None)


def group_numbers(groups: Sequence[object]) -> Tensor:
    """Groups as numbers from zero on, in the order in which they appear."""
    numbers: dict[object, int] = {}
    return torch.tensor([numbers.setdefault(group, len(numbers)) for group in groups], dtype=torch.int64)


def _first_half(rank: Tensor, n_groups: int) -> int:
    """How many groups, in the order of their ranks, hold half of the rows, as nearly as may be."""
    sizes = torch.bincount(rank, minlength=n_groups).cumsum(0)
    n_first = 1 + int((sizes - len(rank) / 2).abs().argmin())
    return min(n_first, n_groups - 1)
