"""From the user's tables to checked arrays, with names kept."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from contextualdag.errors import InvalidInputError

Array = NDArray[np.float64]


def read_variables(X: Any) -> tuple[Array, list[str]]:
    """X as an array (n, p) of finite numbers, and the names of its columns (x1, x2, ... for an array)."""
    columns, names = _columns(X, "X", "x")
    if not columns:
        raise InvalidInputError(f"X has 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 2 is required.")
    for name, column in zip(names, columns, strict=True):
        if not _is_numeric(column):
            raise InvalidInputError(
                f"X must hold numbers, and its column '{name}' holds {_kind(column)}. Drop it, code it as a number, or pass "
                "it as context (Z), where categories are allowed."
            )
    array = np.stack([column.astype(np.float64) for column in columns], axis=1)
    _check_finite(array, names, "X")
    return array, names


@dataclass(frozen=True)
class ContextEncoder:
    """How context columns become numbers: numeric ones as they are, the others as one indicator for each category."""

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]  # None for a numeric column

    @classmethod
    def learn(cls, Z: Any) -> "ContextEncoder":
        """Take names and categories from the training data."""
        columns, names = _columns(Z, "Z", "z")
        kinds: list[tuple[str, ...] | None] = []
        for name, column in zip(names, columns, strict=True):
            if _is_numeric(column):
                kinds.append(None)
            else:
                _check_complete(column, name)
                kinds.append(tuple(sorted({str(value) for value in column})))
        return cls(tuple(names), tuple(kinds))

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns."""
        names = []
        for name, categories in zip(self.names, self.categories, strict=True):
            names += [name] if categories is None else [f"{name}={category}" for category in categories]
        return names

    def encode(self, Z: Any) -> Array:
        """Z as an array (n, m) of finite numbers."""
        columns, names = _columns(Z, "Z", "z")
        if has_names(Z):
            missing = [name for name in self.names if name not in names]
            if missing:
                raise InvalidInputError(
                    f"Z lacks the context columns {missing}. The model was fitted on {list(self.names)}."
                )
            columns = [columns[names.index(name)] for name in self.names]
        elif len(columns) != len(self.names):
            raise InvalidInputError(
                f"Z has {len(columns)} columns; the model was fitted on {len(self.names)}: {list(self.names)}."
            )
        encoded = []
        for name, categories, column in zip(self.names, self.categories, columns, strict=True):
            encoded += [_number(column, name)] if categories is None else _indicators(column, name, categories)
        array = np.stack(encoded, axis=1)
        _check_finite(array, self.feature_names, "Z")
        return array


def _columns(table: Any, what: str, prefix: str) -> tuple[list[NDArray[Any]], list[str]]:
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


def _is_numeric(column: NDArray[Any]) -> bool:
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


def _check_finite(array: Array, names: list[str], what: str) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        counts = {name: int(count) for name, count in zip(names, bad.sum(0), strict=True) if count}
        listed = ", ".join(f"'{name}' ({count})" for name, count in counts.items())
        raise InvalidInputError(
            f"{what} must be finite. Columns with NaN or infinity, and how many: {listed}. Drop or impute them."
        )


def _check_complete(column: NDArray[Any], name: str) -> None:
    missing = sum(value is None or value != value for value in column)
    if missing:
        raise InvalidInputError(f"Z must be complete. Column '{name}' has {missing} missing values. Drop or impute them.")


def _number(column: NDArray[Any], name: str) -> Array:
    if not _is_numeric(column):
        raise InvalidInputError(
            f"Context column '{name}' was numeric when the model was fitted. Got {column.dtype} instead."
        )
    return column.astype(np.float64)


def _indicators(column: NDArray[Any], name: str, categories: tuple[str, ...]) -> list[Array]:
    _check_complete(column, name)
    values = np.array([str(value) for value in column], dtype=object)
    unknown = sorted(set(values) - set(categories))
    if unknown:
        raise InvalidInputError(
            f"Context column '{name}' has categories that were not seen in fit: {unknown}. Known: {list(categories)}."
        )
    return [(values == category).astype(np.float64) for category in categories]
