"""From the user's tables to checked arrays, with names kept."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from contextualdag.errors import InvalidInputError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def read_variables(X: Any) -> tuple[Array, list[str]]:
    """X as an array (n, p) of finite numbers, and the names of its columns (x1, x2, ... for an array)."""
    found, names = columns(X, "X", "x")
    if not found:
        raise InvalidInputError(f"X has 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 2 is required.")
    for name, column in zip(names, found, strict=True):
        if not is_numeric(column):
            raise InvalidInputError(
                f"X must hold numbers, and its column '{name}' holds {_kind(column)}. Drop it, code it as a number, or pass "
                "it as context (Z), where categories are allowed."
            )
    array = np.stack([column.astype(np.float64) for column in found], axis=1)
    check_finite(array, names, "X")
    return array, names


def read_columns(X: Any, names: Sequence[str], what: str, owner: str) -> Array:
    """The variables of a fit in their order: by name where X has names, by position where it has none."""
    values, found = read_variables(X)
    if len(found) != len(names):
        raise InvalidInputError(
            f"{what} has {len(found)} features, but {owner} is expecting {len(names)} features as input: {list(names)}."
        )
    if not has_names(X) or found == list(names):
        return values
    if set(found) != set(names):
        raise InvalidInputError(f"{what} has the columns {found}; the model was fitted on {list(names)}.")
    return values[:, [found.index(name) for name in names]]


def columns(table: Any, what: str, prefix: str) -> tuple[list[NDArray[Any]], list[str]]:
    """The columns of a table and their names (`prefix` with a number for an array); errors call the table `what`."""
    if issparse(table):
        raise InvalidInputError(f"{what} is sparse; sparse data are not supported. Pass a dense array: {what}.toarray().")
    if has_names(table):
        names = [str(name) for name in table.columns]
    else:
        array = np.asarray(table)
        if array.ndim == 1 and what == "Z":  # one context feature
            array = array[:, None]
        if array.ndim != 2:
            raise InvalidInputError(
                f"{what} must be a table: rows are samples, columns variables. Got shape {array.shape} instead. Reshape "
                "your data."
            )
        names = [f"{prefix}{k + 1}" for k in range(array.shape[1])]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"Column names of {what} must differ. Found more than once: {twice}.")
    if not names and what == "Z":
        raise InvalidInputError("Z has no columns.")
    if has_names(table):
        frame = nw.from_native(table, eager_only=True)
        return [frame[:, i].to_numpy() for i in range(len(names))], names
    if np.issubdtype(array.dtype, np.complexfloating):
        raise InvalidInputError(f"{what} holds complex numbers. Complex data not supported.")
    return [_numbers_if_all_are(column) for column in array.T], names


def has_names(table: Any) -> bool:
    """Whether the columns of a table have names of their own."""
    return hasattr(table, "columns")


def is_numeric(column: NDArray[Any]) -> bool:
    """Whether a column holds real numbers."""
    return bool(np.issubdtype(column.dtype, np.number)) and not np.issubdtype(column.dtype, np.complexfloating)


def _numbers_if_all_are(column: NDArray[Any]) -> NDArray[Any]:
    """An array of objects as numbers where all are numbers."""
    if column.dtype == object and all(isinstance(value, Real) and not isinstance(value, bool) for value in column):
        return column.astype(np.float64)
    return column


def _kind(column: NDArray[Any]) -> str:
    if column.dtype != object:
        return str(column.dtype)
    other = next((value for value in column if isinstance(value, bool) or not isinstance(value, Real)), None)
    return f"objects such as {other!r}"


def check_finite(array: Array, names: list[str], what: str) -> None:
    """Raise if numbers are missing or infinite, with the columns and how many each has."""
    bad = ~np.isfinite(array)
    if bad.any():
        counts = {name: int(count) for name, count in zip(names, bad.sum(0), strict=True) if count}
        listed = ", ".join(f"'{name}' ({count})" for name, count in counts.items())
        raise InvalidInputError(
            f"{what} must be finite. Columns with NaN or infinity, and how many: {listed}. Drop or impute them."
        )


def check_same_samples(X: Array, Z: Array) -> None:
    """Raise unless X and Z have equally many rows."""
    if len(X) != len(Z):
        raise InvalidInputError(f"X has {len(X)} rows and Z has {len(Z)}; they must describe the same samples.")
