"""The rows that networks see, and which of them each member of an ensemble trains on and holds out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
from torch import Tensor

ROWS_FOR_EACH = 3  # coefficient of a regression


@dataclass(frozen=True)
class Rows:
    """Samples on the device of the networks, and what the loss has to know of them.

    Attributes
    ----------
    X : Tensor of shape (n, p)
        Variables, without their mean given the context.
    Z : Tensor of shape (n, m)
        Contexts, standardised.
    mask : Tensor of shape (n, p, p), optional
        One matrix of allowed edges for each sample; zero where an edge is not allowed.
    weight : Tensor of shape (n,), optional
        Weights of the samples in the loss; all one by default.
    scored : Tensor of bool, shape (n, p), optional
        Which entries of X count as responses in the loss; all by default.
    """

    X: Tensor
    Z: Tensor
    mask: Tensor | None = None
    weight: Tensor | None = None
    scored: Tensor | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: Tensor | slice) -> "Rows":
        return self._map(lambda tensor: tensor[index])

    def flatten(self) -> "Rows":
        """Rows of several slots, stacked along a first dimension, as rows of one."""
        return self._map(lambda tensor: tensor.flatten(0, 1))

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Rows":
        """Change every tensor."""
        by_sample = {name: getattr(self, name) for name in BY_SAMPLE}
        return replace(self, **{name: change(tensor) for name, tensor in by_sample.items() if tensor is not None})


BY_SAMPLE = tuple(field.name for field in fields(Rows))


def concatenate(parts: Sequence[Rows]) -> Rows:
    """Rows of one data set that was split."""
    return _join(parts, torch.cat)


def stack(parts: Sequence[Rows]) -> Rows:
    """Rows of several data sets of one size, along a new first dimension."""
    return _join(parts, torch.stack)


def _join(parts: Sequence[Rows], join: Callable[[list[Tensor]], Tensor]) -> Rows:
    columns = {name: [getattr(part, name) for part in parts] for name in BY_SAMPLE}
    joined = {name: join(column) for name, column in columns.items() if all(part is not None for part in column)}
    return replace(parts[0], **joined)


def polynomials(Z: Tensor, n_coefficients: int) -> Tensor:
    """The constant, contexts and their products of two, (n, q): as much of it as the rows are enough for.

    `n_coefficients` is how many each of these features has in a regression.
    """
    one = Z.new_ones(len(Z), 1)
    first, second = torch.triu_indices(Z.shape[1], Z.shape[1])
    for features in (torch.cat([one, Z, Z[:, first] * Z[:, second]], 1), torch.cat([one, Z], 1)):
        if ROWS_FOR_EACH * n_coefficients * features.shape[1] <= len(Z):
            return features
    return one


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows held out."""

    train: Rows
    held_out: Rows


@dataclass(frozen=True)
class Folds:
    """All rows of a data set, and the indices that each member trains on and holds out: as many for every member."""

    rows: Rows
    train: tuple[Tensor, ...]
    held_out: tuple[Tensor, ...]

    @property
    def trained_on(self) -> Rows:
        """All rows that some member trains on, in their order."""
        used = torch.zeros(len(self.rows), dtype=torch.bool, device=self.rows.X.device)
        used[torch.cat(self.train)] = True
        return self.rows[used]

    @cached_property
    def splits(self) -> list[Split]:
        """The data of each member."""
        pairs = zip(self.train, self.held_out, strict=True)
        return [Split(self.rows[train], self.rows[held_out]) for train, held_out in pairs]

    def repeat(self, times: int) -> "Folds":
        """The same folds for that many times as many members."""
        return replace(self, train=self.train * times, held_out=self.held_out * times)


def n_held_out(n_train: int, n_val: int, n_folds: int) -> int:
    """Number of rows that a fold holds out: the size of the validation set, but at most its share of all rows."""
    return n_val if n_folds == 1 else max(1, min(n_val, (n_train + n_val) // n_folds))


def make_folds(split: Split, n_folds: int, seed: int) -> Folds:
    """Hold out different rows in each fold, so that together the folds train on all rows; one fold is the split itself."""
    n_train, n_val = len(split.train), len(split.held_out)
    n = n_train + n_val
    device = split.train.X.device
    # The validation set comes first, so that a single fold holds out just that.
    order = torch.arange(n, device=device).roll(n_val)
    if n_folds > 1:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(device)
    size = n_held_out(n_train, n_val, n_folds)
    rotated = [order.roll(-(k * n // n_folds)) for k in range(n_folds)]
    return Folds(
        concatenate([split.train, split.held_out]),
        train=tuple(rows[size:].sort().values for rows in rotated),
        held_out=tuple(rows[:size].sort().values for rows in rotated),
    )
