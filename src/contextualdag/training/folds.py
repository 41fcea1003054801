"""Which samples each member of a path trains on, and which it holds out."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from contextualdag.training.trainer import Split


@dataclass(frozen=True)
class Folds:
    """All samples in one, and the rows of it that each member trains on and holds out: as many for every member."""

    X: Tensor
    Z: Tensor
    mask: Tensor | None
    train: tuple[Tensor, ...]
    held_out: tuple[Tensor, ...]

    def repeated(self, times: int) -> "Folds":
        """The same folds for so many times as many members."""
        return replace(self, train=self.train * times, held_out=self.held_out * times)

    @property
    def trained_on(self) -> tuple[Tensor, Tensor | None]:
        """Contexts and masks of all samples that some member trains on, in their order."""
        used = torch.zeros(len(self.Z), dtype=torch.bool, device=self.Z.device)
        used[torch.cat(self.train)] = True
        return self.Z[used], None if self.mask is None else self.mask[used]

    @cached_property
    def splits(self) -> list[Split]:
        """The data of each member."""
        mask = self.mask
        return [
            Split(
                self.X[train],
                self.Z[train],
                self.X[held_out],
                self.Z[held_out],
                None if mask is None else mask[train],
                None if mask is None else mask[held_out],
            )
            for train, held_out in zip(self.train, self.held_out, strict=True)
        ]


def n_held_out(n_train: int, n_val: int, n_folds: int) -> int:
    """How many samples a fold holds out: as many as the validation set has, but no more than its share of them all."""
    return n_val if n_folds == 1 else max(1, min(n_val, (n_train + n_val) // n_folds))


def make_folds(split: Split, n_folds: int, seed: int) -> Folds:
    """Hold out other samples in each of several folds, so that together they train on all; one fold is the split itself."""
    n_train, n_val = len(split.X), len(split.X_val)
    n = n_train + n_val
    mask = None if split.mask is None or split.mask_val is None else torch.cat([split.mask, split.mask_val])
    device = split.X.device
    # The validation set comes first, so that a single fold holds out just that.
    order = torch.arange(n, device=device).roll(n_val)
    if n_folds > 1:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(device)
    size = n_held_out(n_train, n_val, n_folds)
    turned = [order.roll(-(k * n // n_folds)) for k in range(n_folds)]
    return Folds(
        torch.cat([split.X, split.X_val]),
        torch.cat([split.Z, split.Z_val]),
        mask,
        train=tuple(rows[size:].sort().values for rows in turned),
        held_out=tuple(rows[:size].sort().values for rows in turned),
    )
