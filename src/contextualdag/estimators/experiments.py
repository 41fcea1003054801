"""What else is known of the rows of a table: what was intervened on, what is missing, and how much each row counts."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contextualdag.columns import as_floats, has_names, is_flags, is_numeric, vector
from contextualdag.errors import ContextualDAGWarning, InvalidInputError
from contextualdag.estimators.interventions import check_enough_rows, flags_as_table, read_interventions
from contextualdag.tables import MOST, Array, Flags, n_rows
from contextualdag.training.data import Rows

if TYPE_CHECKING:
    from contextualdag.estimators.fitting import Tables

Indices = NDArray[np.int64]

FEWEST_UNDISTURBED, FEWEST_HELD_OUT = 50, 10  # rows without any intervention, to learn means from
FEWEST_ALIKE = 20  # rows of one condition, to learn its means from


@dataclass(frozen=True)
class Known:
    """What is known of rows besides their numbers.

    Attributes
    ----------
    intervened : array of bool, shape (n, p), optional
        Which variables were intervened on.
    undisturbed : array of bool, shape (n,), optional
        Rows without any intervention, if they are enough to learn means from.
    has_own_means : bool
        Whether the context says which rows are disturbed, so that means given the context are learned from all of them.
    missing : array of bool, shape (n, p), optional
        Which values are missing and filled in.
    weight : array of shape (n,), optional
        How much each row counts; positive, and one on average.
    trust : array of shape (n,), optional
        How much less each row counts because it lies far from all others, from 0 to 1.
    group : array of int, shape (n,), optional
        Numbers of the groups that rows belong to.
    """

    intervened: Flags | None = None
    undisturbed: Flags | None = None
    has_own_means: bool = False
    missing: Flags | None = None
    weight: Array | None = None
    trust: Array | None = None
    group: Indices | None = None

    def __getitem__(self, rows: Indices) -> "Known":
        found = {name: getattr(self, name) for name in ("intervened", "undisturbed", "missing", "weight", "trust", "group")}
        by_row = {name: None if values is None else values[rows] for name, values in found.items()}
        return Known(**by_row, has_own_means=self.has_own_means)

    @property
    def counts(self) -> Array | None:
        """How much each row counts in all; None if all count the same."""
        if self.weight is None or self.trust is None:
            return self.trust if self.weight is None else self.weight
        product: Array = self.weight * self.trust
        return product

    def for_means(self, shape: tuple[int, ...]) -> Flags:
        """Entries (n, p) that means are learned from."""
        if self.has_own_means:
            return np.ones(shape, dtype=bool) if self.missing is None else ~self.missing
        entries = self._scored()
        entries = np.ones(shape, dtype=bool) if entries is None else entries
        return entries if self.undisturbed is None else entries & self.undisturbed[:, None]

    def _scored(self) -> Flags | None:
        """Entries (n, p) that count as responses; None if all do."""
        left_out = [entries for entries in (self.intervened, self.missing) if entries is not None]
        return ~np.logical_or.reduce(left_out) if left_out else None

    def rows(self, rows: Rows) -> Rows:
        """Rows with what is known of them."""
        device = rows.X.device

        def flags(values: Flags | None) -> Tensor | None:
            return None if values is None else torch.from_numpy(values).to(device)

        return replace(
            rows,
            weight=None if self.counts is None else torch.tensor(self.counts, dtype=rows.X.dtype, device=device),
            scored=flags(self._scored()),
            undisturbed=flags(self.undisturbed),
            for_means=flags(self.for_means(tuple(rows.X.shape))) if self.has_own_means else None,
            group=None if self.group is None else torch.from_numpy(self.group).to(device),
        )


def with_flags_as_tables(tables: "Tables") -> "Tables":
    """The tables with interventions as a data frame where they are a dict of variables and flags for each row."""
    found = {}
    for what, table in (("interventions", "X"), ("interventions_val", "X_val")):
        given = getattr(tables, what)
        if isinstance(given, Mapping) and getattr(tables, table) is not None:
            found[what] = flags_as_table(given, getattr(tables, table), what, table)
    return replace(tables, **found)


def rows_that_count(tables: "Tables") -> tuple["Tables", Array | None, Array | None, Indices | None]:
    """The tables without rows of weight zero, the weights that are left, and the numbers of the rows of X that are.

    The last is None where all are left.
    """
    weight, weight_val = tables.sample_weight, tables.sample_weight_val
    if weight is None and weight_val is None:
        return tables, None, None, None
    if tables.X_val is None and weight_val is not None:
        raise InvalidInputError("sample_weight_val belongs to X_val, which is missing.")
    n = n_rows(tables.X)
    weight = np.ones(n) if weight is None else read_weights(weight, n)
    tables = _take_all(tables, ("X", "Z", "mask", "interventions", "groups"), weight > 0)
    if tables.X_val is not None:
        n_val = n_rows(tables.X_val)
        weight_val = np.ones(n_val) if weight_val is None else read_weights(weight_val, n_val, "sample_weight_val")
        tables = _take_all(tables, ("X_val", "Z_val", "mask_val", "interventions_val"), weight_val > 0)
        weight_val = weight_val[weight_val > 0]
    return tables, weight[weight > 0], weight_val, np.flatnonzero(weight > 0)


def _take_all(tables: "Tables", names: Sequence[str], rows: Flags) -> "Tables":
    """The tables with some of the rows of those that are named; the first of them has all rows."""
    if rows.all():
        return tables
    given = {name: getattr(tables, name) for name in names if getattr(tables, name) is not None}
    for name, table in given.items():
        if n_rows(table) != len(rows):
            raise InvalidInputError(
                f"{names[0]} has {len(rows)} rows and {name} has {n_rows(table)}; they must describe the same samples."
            )
    return replace(tables, **{name: take(table, rows) for name, table in given.items()})


def read_known(tables: "Tables", weight: Array | None, names: list[str], n: int, of_validation: bool = False) -> Known:
    """What is known of the n rows of X, or of X_val."""
    if tables.X_val is None and tables.interventions_val is not None:
        raise InvalidInputError("interventions_val belongs to X_val, which is missing.")
    what = "interventions_val" if of_validation else "interventions"
    given = getattr(tables, what)
    return Known(None if given is None else read_interventions(given, n, names, what), weight=weight)


def complete(
    known: Known, known_val: Known, contexts: tuple[Array, Array], names: list[str], centre: bool
) -> tuple[Known, Known]:
    """Both parts with the same fields: nothing was intervened on where nothing is said, and weights are one on average.

    Means are learned from rows without any intervention where these are enough, unless the context says which rows these
    are; there is a warning if neither is so.
    """
    parts, sizes = [known, known_val], [len(Z) for Z in contexts]
    if any(part.intervened is not None for part in parts):
        empty = [np.zeros((n, len(names)), dtype=bool) for n in sizes]
        flags = [none if part.intervened is None else part.intervened for part, none in zip(parts, empty, strict=True)]
        if not any(part.any() for part in flags):
            parts = [replace(part, intervened=None) for part in parts]
        else:
            check_enough_rows(np.concatenate(flags), names)
            clean: list[Flags] = [np.logical_not(part.any(1)) for part in flags]
            enough = clean[0].sum() >= FEWEST_UNDISTURBED and clean[1].sum() >= FEWEST_HELD_OUT
            own_means = context_tells(np.concatenate(contexts), np.concatenate(flags))
            if centre and not enough and not own_means:
                _warn_of_means(int(clean[0].sum()), int(clean[1].sum()))
            parts = [
                replace(part, intervened=its, undisturbed=rows if enough else None, has_own_means=own_means)
                for part, its, rows in zip(parts, flags, clean, strict=True)
            ]
    if all(part.weight is None for part in parts):
        return parts[0], parts[1]
    weights = [np.ones(n) if part.weight is None else part.weight for part, n in zip(parts, sizes, strict=True)]
    mean = np.concatenate(weights).mean()
    first, second = (replace(part, weight=weight / mean) for part, weight in zip(parts, weights, strict=True))
    return first, second


def context_tells(Z: Array, intervened: Flags) -> bool:
    """Whether contexts (n, m) say what was intervened on (n, p): it is the same in all rows of a condition.

    Conditions are rows that agree in all features that have few values.
    """
    few = [column for column in Z.T if len(np.unique(column)) <= len(Z) / FEWEST_ALIKE]
    condition = np.unique(np.column_stack([np.zeros(len(Z)), *few]), axis=0, return_inverse=True)[1].ravel()
    for each in np.unique(condition[intervened.any(1)]):
        its = intervened[condition == each]
        if len(its) < FEWEST_ALIKE or (its != its[0]).any():
            return False
    return True


def _warn_of_means(n_train: int, n_held_out: int) -> None:
    warnings.warn(
        f"Too few rows are without any intervention to learn the means of the variables from: {n_train} of those to train "
        f"on, where {FEWEST_UNDISTURBED} are needed, and {n_held_out} of those held out, where {FEWEST_HELD_OUT} are. The "
        "mean of a variable is learned from all rows where it was not intervened on itself; weights are off where "
        "interventions move the means of what comes after them. Pass more rows without an intervention, or a context (Z) "
        "that tells which rows have which.",
        ContextualDAGWarning,
        stacklevel=6,
    )


def check_some_scored(scored: Flags, weight: Array | None) -> None:
    """Raise if no value (n, p) is scored."""
    if not (scored if weight is None else scored[weight > 0]).any():
        raise InvalidInputError(
            "score has nothing to score: in all rows that count, every value of X is missing or was intervened on. Pass "
            "rows in which some value is neither; 'interventions' flags values that were set, not those to score."
        )


def read_weights(given: Any, n: int, what: str = "sample_weight") -> Array:
    """Weights of n rows, not negative and not all zero."""
    column = vector(given, what)
    if not is_numeric(column) and not is_flags(column):
        raise InvalidInputError(f"{what} must hold a number for each of the {n} rows.")
    weights = as_floats(column)
    if weights.shape != (n,):
        raise InvalidInputError(f"{what} must have the shape ({n},), one weight for each row. Got {weights.shape} instead.")
    for wrong, kind in ((~np.isfinite(weights), "missing or infinite"), (weights < 0, "negative")):
        if wrong.any():
            raise InvalidInputError(
                f"{what} must be finite and not negative. {wrong.sum()} of {n} weights are {kind}; the first is that of row "
                f"{int(wrong.argmax())}, counted from 0."
            )
    largest = weights.max(initial=0)
    if not largest:
        raise InvalidInputError(f"{what} is zero for all {n} rows, so none is left to learn from.")
    return weights if 1 / MOST < largest < MOST else weights / largest  # sums are finite


def take(table: Any, rows: Flags) -> Any:
    """Some rows of a table, an array or a sequence."""
    if has_names(table):
        places = np.flatnonzero(rows)
        if hasattr(table, "take"):  # of pandas and of pyarrow, whose batches of records narwhals does not know
            return table.take(places)
        return nw.from_native(table, eager_only=True)[places.tolist()].to_native()
    if isinstance(table, list | tuple):
        return [entry for entry, is_taken in zip(table, rows, strict=True) if is_taken]
    return np.asanyarray(table)[rows]  # masks are kept
