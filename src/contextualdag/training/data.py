"""The rows that networks see, and which of them each member of an ensemble trains on and holds out."""

import math
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
        Which entries of X count as responses in the loss; all by default. The others still explain other variables.
    undisturbed : Tensor of bool, shape (n,), optional
        Rows that means are learned from and the context is tested on; all by default.
    for_means : Tensor of bool, shape (n, p), optional
        Which entries of X means are learned from; by default those that are scored, in undisturbed rows.
    group : Tensor of int64, shape (n,), optional
        Numbers of the groups that rows belong to; those of one group are all trained on or all held out.
    missing : Tensor of bool, shape (n, p), optional
        Which entries of X were filled in and are to be filled in anew; only of half-samples.
    """

    X: Tensor
    Z: Tensor
    mask: Tensor | None = None
    weight: Tensor | None = None
    scored: Tensor | None = None
    undisturbed: Tensor | None = None
    for_means: Tensor | None = None
    group: Tensor | None = None
    missing: Tensor | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: Tensor | slice) -> "Rows":
        return self._map(lambda tensor: tensor[index])

    def flatten(self) -> "Rows":
        """Rows of several slots, stacked along a first dimension, as rows of one."""
        return self._map(lambda tensor: tensor.flatten(0, 1))

    def to(self, device: torch.device | str) -> "Rows":
        """The same on another device."""
        return self._map(lambda tensor: tensor.to(device))

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


def standard_error(values: Tensor, group: Tensor | None) -> float:
    """Standard error of the mean of values (n,), whose sums over groups are independent.

    A single group says nothing of how groups differ: then rows count as independent.
    """
    number = None if group is None else torch.unique(group, return_inverse=True)[1]
    n_groups = 0 if number is None else int(number.max()) + 1
    if number is None or n_groups < 2:
        return float(values.std(correction=min(len(values) - 1, 1))) / math.sqrt(len(values))
    sums = values.new_zeros(n_groups).index_add_(0, number, values - values.mean())
    return math.sqrt(n_groups / (n_groups - 1)) * float(sums.square().sum().sqrt()) / len(values)


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows held out."""

    train: Rows
    held_out: Rows


@dataclass(frozen=True)
class Folds:
    """All rows of a data set, and the indices that each member trains on and holds out.

    They are as many for every member, unless rows belong to groups of different sizes.
    """

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

    @cached_property
    def hold_out_the_same(self) -> bool:
        """Whether all members hold out the same rows."""
        return all(torch.equal(held_out, self.held_out[0]) for held_out in self.held_out)

    def by_row_held_out(self, values: Sequence[Tensor]) -> Tensor:
        """One value for each row that is held out, from those of each member: their mean where all hold out the same."""
        return torch.stack(list(values)).mean(0) if self.hold_out_the_same else torch.cat(list(values))

    @property
    def group_held_out(self) -> Tensor | None:
        """Groups of the rows that are held out, in the order of `by_row_held_out`."""
        held_out = self.held_out[:1] if self.hold_out_the_same else self.held_out
        return None if self.rows.group is None else self.rows.group[torch.cat(held_out)]

    def repeat(self, times: int) -> "Folds":
        """The same folds for that many times as many members."""
        return replace(self, train=self.train * times, held_out=self.held_out * times)


def n_held_out(n_train: int, n_val: int, n_folds: int) -> int:
    """Number of rows that a fold holds out: the size of the validation set, but at most its share of all rows."""
    return n_val if n_folds == 1 else max(1, min(n_val, (n_train + n_val) // n_folds))


def make_folds(split: Split, n_folds: int, seed: int) -> Folds:
    """Hold out different rows in each fold, so that together the folds train on all rows; one fold is the split itself.

    Rows of one group are held out together.
    """
    n_train, n_val = len(split.train), len(split.held_out)
    n = n_train + n_val
    device = split.train.X.device
    every = concatenate([split.train, split.held_out])
    if n_folds > 1 and every.group is not None:
        out = _groups_held_out(every.group.cpu(), n_held_out(n_train, n_val, n_folds), n_folds, seed)
        return Folds(
            every,
            train=tuple((~rows).nonzero()[:, 0].to(device) for rows in out),
            held_out=tuple(rows.nonzero()[:, 0].to(device) for rows in out),
        )
    # The validation set comes first, so that a single fold holds out just that.
    order = torch.arange(n, device=device).roll(n_val)
    if n_folds > 1:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(device)
    size = n_held_out(n_train, n_val, n_folds)
    rotated = [order.roll(-(k * n // n_folds)) for k in range(n_folds)]
    return Folds(
        every,
        train=tuple(rows[size:].sort().values for rows in rotated),
        held_out=tuple(rows[:size].sort().values for rows in rotated),
    )


def _groups_held_out(group: Tensor, size: int, n_folds: int, seed: int) -> list[Tensor]:
    """Rows (n,), as bool, that each fold holds out: whole groups, with about `size` rows and no group in two folds."""
    _, number, counts = torch.unique(group, return_inverse=True, return_counts=True)
    order = torch.randperm(len(counts), generator=torch.Generator().manual_seed(seed))
    found = []
    for k in range(n_folds):
        mine = order[k * len(order) // n_folds : (k + 1) * len(order) // n_folds]
        n_groups = 1 + int((counts[mine].cumsum(0) - size).abs().argmin())
        found.append(torch.isin(number, mine[:n_groups]))
    return found
