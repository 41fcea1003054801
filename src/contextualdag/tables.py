"""From the user's tables to checked arrays, with names kept."""

import bisect
import itertools
import re
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from contextualdag.checks import listed, shown
from contextualdag.columns import as_floats, check_meaning, columns, described, has_names, is_date, is_flags, is_numeric
from contextualdag.errors import ContextualDAGWarning, InvalidInputError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12  # range of a column, as a share of its largest value, up to which it is one number with rounding errors
LARGEST = float(np.finfo(np.float32).max)
FURTHEST = 1e15  # standard deviations: of larger ones sums of squares are beyond 32-bit numbers
MOST = 1e150  # squares are finite up to here
SMALLEST = 1e-200  # range of a column that is a constant, however small its values
WIDE = 1e30  # ratio of values of which scaling leaves nothing of the smaller
FEW_VALUES = 3  # which may all be different without being too many categories
LIKE_A_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


def read_variables(X: Any, with_missing: bool = False, what: str = "X") -> tuple[Array, list[str]]:
    """X as an array (n, p) of finite numbers, and the names of its columns (x1, x2, ... for an array).

    True and false are 1 and 0. Missing values, if they are allowed, are NaN. Errors call the table `what`.
    """
    found, names = columns(X, what, "x")
    if not found:
        raise InvalidInputError(f"{what} has 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 2 is required.")
    for name, column in zip(names, found, strict=True):
        check_meaning(column, name, what)
        if is_date(column):
            raise InvalidInputError(
                f"{what} must hold numbers, and its column '{name}' holds dates. Drop it, or code it as a number, such as "
                "days since a start."
            )
        if not is_numeric(column) and not is_flags(column):
            raise InvalidInputError(
                f"{what} must hold numbers, and its column '{name}' holds {described(column)}. Drop it, code it as a "
                "number, or pass it as context (Z), where categories are allowed."
            )
    array = np.stack([as_floats(column) for column in found], axis=1)
    known = np.where(np.isnan(array), 0, array) if with_missing else array
    check_finite(known, names, what)
    check_size(known, names, what)
    return array, names


def read_columns(X: Any, names: Sequence[str], what: str, owner: str, with_missing: bool = False) -> Array:
    """The variables of a fit in their order: by name where X has names, by position where it has none."""
    values, found = read_variables(X, with_missing, what)
    if len(found) != len(names):
        raise InvalidInputError(
            f"{what} has {len(found)} features, but {owner} is expecting {len(names)} features as input: {list(names)}."
        )
    if not has_names(X) or found == list(names):
        return values
    if set(found) != set(names):
        raise InvalidInputError(f"{what} has the columns {found}; the model was fitted on {list(names)}.")
    return values[:, [found.index(name) for name in names]]


def category_levels(table: Any) -> dict[str, tuple[tuple[str, ...], bool]]:
    """For columns of a data frame of pandas that are categorical by type: their levels, and whether these are ordered."""
    if not nw.dependencies.is_pandas_dataframe(table):
        return {}
    types = {str(name): dtype for name, dtype in zip(table.columns, table.dtypes, strict=True)}
    return {
        name: (tuple(map(str, dtype.categories)), bool(dtype.ordered))
        for name, dtype in types.items()
        if hasattr(dtype, "categories") and hasattr(dtype, "ordered")
    }


def too_many_categories(n_different: int, n_rows: int, example: str) -> str:
    """The rest of a sentence that begins with the column, if its values hardly ever repeat; else empty."""
    if n_rows <= FEW_VALUES or n_different <= n_rows / 2:
        return ""
    date = ""
    if LIKE_A_DATE.fullmatch(example):
        date = "; make a date one, with pandas.to_datetime or written as 2024-01-31 in a file, or code it as its month"
    return (
        f"has {n_different} different values in {n_rows} rows, such as '{example[:40]}'; that is too many for a category. "
        f"Leave it out or code it as a number{date}."
    )


def varying(values: Array) -> Flags:
    """Which columns (n, p) vary by more than rounding errors; a column of .1 can have a standard deviation above zero."""
    if not len(values):
        return np.zeros(values.shape[1], dtype=bool)
    low, high = values.min(0), values.max(0)
    moves: Flags = high - low > np.maximum(ROUNDING * np.maximum(np.abs(low), np.abs(high)), SMALLEST)
    return moves


def check_finite(array: Array, names: Sequence[str], what: str) -> None:
    """Raise if numbers are missing or infinite, with the columns and how many each has."""
    missing = {name: int(count) for name, count in zip(names, np.isnan(array).sum(0), strict=True) if count}
    remedy = 'Drop these rows or columns, or let an estimator impute missing values of X: missing="impute".'
    check_complete(missing, len(array), what, remedy if what.startswith("X") else "Fill them in, or drop these rows.")
    infinite = {name: int(count) for name, count in zip(names, np.isinf(array).sum(0), strict=True) if count}
    if infinite:
        raise InvalidInputError(
            f"{what} must be finite. Columns with infinite values, and how many: {counted(infinite)}. Look for divisions by "
            "zero and logarithms of it; correct these values, or drop these rows."
        )


def check_complete(missing: Mapping[str, int], n: int, what: str, remedy: str) -> None:
    """Raise if some of the n values of a column are missing, or all of them."""
    empty = [name for name, count in missing.items() if count == n > 1]
    if empty:
        raise InvalidInputError(without_values(empty, n, what))
    if missing:
        raise InvalidInputError(
            f"{what} must be complete. Columns with missing values (NaN), and how many: {counted(missing)}. {remedy}"
        )


def without_values(names: Sequence[str], n: int, what: str) -> str:
    """A sentence about columns in which all n values are missing."""
    columns, have, them = ("Column", "has", "it") if len(names) == 1 else ("Columns", "have", "them")
    return (
        f"{columns} {listed(names)} of {what} {have} no values: all {n} are missing. Fill {them} in, or fit without {them}."
    )


def counted(counts: Mapping[str, int], most: int = 12) -> str:
    """Names of columns in quotes, each with a count in brackets, and how many columns there are beyond `most`."""
    shown_ones = ", ".join(f"'{name}' ({count})" for name, count in list(counts.items())[:most])
    return shown_ones if len(counts) <= most else f"{shown_ones} and {len(counts) - most} more"


def check_size(array: Array, names: list[str], what: str) -> None:
    """Raise if a column has a value whose square overflows, or one beyond 32-bit numbers among others of usual size."""
    sizes = np.where(np.isfinite(array), np.abs(array), 0)
    for name, size, largest in zip(names, sizes.T, sizes.max(0, initial=0), strict=True):
        if LARGEST < largest <= MOST and largest / np.median(size[size > 0]) < WIDE:
            continue  # all of that size, which scaling takes away
        if largest > LARGEST or 0 < largest < 1 / MOST:
            raise InvalidInputError(
                f"Column '{name}' of {what} has values too {'large' if largest > 1 else 'small'} to compute with, up to "
                f"{largest:.1e}. Look for errors in it, or give it in other units."
            )


def check_scaled(scaled: Array, names: Sequence[str], what: str) -> None:
    """Raise if a column in standard deviations of the fit has values that are too large to compute with."""
    for name, largest in zip(names, np.abs(scaled).max(0, initial=0), strict=True):
        if largest > FURTHEST:
            raise InvalidInputError(
                f"Column '{name}' of {what} has values too large to compute with: {largest:.1e} standard deviations of the "
                "fit. Look for errors in it."
            )


def check_aligned(tables: Mapping[str, Any], depth: int = 5) -> None:
    """Raise if data frames or series of pandas have labels of rows that disagree: rows would be paired by position.

    Each table is compared with those before it. Labels that only count rows from zero say nothing and agree with all, unless
    they are the same labels in another order. There is a warning if some of them are labels of other rows of the other
    table; the user is so many calls away from it.

    Parameters
    ----------
    tables : mapping
        The tables by the names of the arguments. What is not of pandas has no labels, and agrees with all.
    depth : int, default=5
        Calls between the user's and the warning.
    """
    indexed = {
        name: table.index
        for name, table in tables.items()
        if nw.dependencies.is_pandas_dataframe(table) or nw.dependencies.is_pandas_series(table)
    }
    for (name, left), (other, right) in itertools.combinations(indexed.items(), 2):
        _check_labels(left, right, name, other, depth + 1)


def _check_labels(left: Any, right: Any, name: str, other: str, depth: int) -> None:
    """Raise, or warn, if the indexes of two tables disagree."""
    if left.equals(right) or (_only_counts(left) and _only_counts(right)):
        return
    align = f"{name}, {other} = {name}.align({other}, join='inner', axis=0)"
    if len(left) != len(right):
        raise InvalidInputError(
            f"{name} has {len(left)} rows and {other} has {len(right)}; they must describe the same samples. Keep the rows "
            f"that both have, by their labels: {align}."
        )
    same = left.nlevels == right.nlevels and bool(left.isin(right).all() and right.isin(left).all())
    if not same and (_only_counts(left) or _only_counts(right)):
        counts, labels = (left, right) if _only_counts(left) else (right, left)
        numbers = labels.nlevels == 1 and labels.dtype.kind in "iuf"
        elsewhere = labels[labels.isin(counts) & (labels != counts)] if numbers else []
        if len(elsewhere):
            warnings.warn(
                f"Rows of {name} and {other} are paired by position, but their indexes share labels of different rows, such "
                f"as {elsewhere[0]}. If position is right, call reset_index(drop=True) on both; if not, align them by "
                f"label: {align}.",
                ContextualDAGWarning,
                stacklevel=depth,
            )
        return
    row = bisect.bisect_left(range(len(left)), True, key=lambda row: not left[: row + 1].equals(right[: row + 1]))
    how = "hold the same labels in another order" if same else "hold different labels"
    by_label = f"{other} = {other}.loc[{name}.index]"
    if not same:
        by_label = f"{align}, which keeps the rows that both have"
    raise InvalidInputError(
        f"The indexes of {name} and {other} {how}, so it is unclear which rows belong together: row {row}, counted from 0, "
        f"is {_label(left[row])} in {name} and {_label(right[row])} in {other}. Align them: {by_label}; or, if rows belong "
        "together by position, call reset_index(drop=True) on both."
    )


def _label(label: Any) -> str:
    """A label of a row as an error message shows it, numbers of NumPy without their type."""
    if isinstance(label, tuple):
        return f"({', '.join(map(_label, label))})"
    return shown(label.item() if isinstance(label, np.generic) else label, 40)


def _only_counts(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def check_same_samples(X: Array, Z: Array) -> None:
    """Raise unless X and Z have equally many rows, one at least."""
    if not len(X):
        raise InvalidInputError(f"X has 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    if len(X) != len(Z):
        raise InvalidInputError(f"X has {len(X)} rows and Z has {len(Z)}; they must describe the same samples.")


def exact_numbers() -> dict[str, Any]:
    """Arguments with which pandas reads the numbers of a CSV file to their last digit; from version 3 on it always does."""
    return {"float_precision": "round_trip"} if version("pandas").startswith("2.") else {}


def n_rows(table: Any) -> int:
    """Number of rows of what may be a table."""
    if hasattr(table, "__len__") and not hasattr(table, "shape"):
        return len(table)
    shape = table.shape if hasattr(table, "shape") else np.asarray(table).shape
    return int(shape[0]) if shape else 0
