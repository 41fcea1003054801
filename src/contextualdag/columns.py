"""From a table in any container to columns of numbers, flags, dates or text; what is none of these is refused.

A column of numbers is an array of floats, with NaN for missing values; one of flags an array of bool, or of objects if some
are missing; one of dates, times or spans of time an array of these. All others are arrays of objects, text mostly.
"""

import contextlib
import datetime
import warnings
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from contextualdag.errors import InvalidInputError

Column = NDArray[Any]

TABLE, VECTOR = "a table: rows are samples, columns variables", "a sequence with one value for each row"
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def columns(table: Any, what: str, prefix: str) -> tuple[list[Column], list[str]]:
    """The columns of a table and their names (`prefix` with a number for an array); errors call the table `what`."""
    frame = _frame(table, what)
    if what == "Z" and nw.dependencies.is_into_series(table):  # one context feature
        found, names = [_values(nw.from_native(table, series_only=True))], [f"{prefix}1"]
    elif frame is None:
        array = _array(table, what)
        found = [_settled(column) for column in array.T]
        names = [f"{prefix}{k + 1}" for k in range(len(found))]
    else:
        names = [str(name) for name in frame.columns]
        found = [_values(frame[:, i]) for i in range(len(names))]
    if not names and what == "Z":
        raise InvalidInputError("Z has no columns.")
    _check_names(names, what)
    return found, names


def vector(given: Any, what: str) -> Column:
    """One value for each row, from a sequence, an array or a series; errors call it `what`."""
    if nw.dependencies.is_into_series(given):
        return _values(nw.from_native(given, series_only=True))
    array = as_array(given, what, VECTOR)
    if array.ndim != 1:
        got = f"shape {array.shape}" if array.ndim else f"a {type(given).__name__}"
        raise InvalidInputError(f"{what} must be {VECTOR}. Got {got} instead.")
    return _settled(array)


def has_names(table: Any) -> bool:
    """Whether the columns of a table have names of their own."""
    return hasattr(type(table), "columns")


def is_numeric(column: Column) -> bool:
    """Whether a column holds numbers."""
    return column.dtype.kind in "iuf"


def is_flags(column: Column) -> bool:
    """Whether a column holds true and false, and nothing else but missing values."""
    if column.dtype == object:
        there = _there(column)
        return bool(there) and all(isinstance(value, bool | np.bool_) for value in there)
    return column.dtype.kind == "b"


def is_date(column: Column) -> bool:
    """Whether a column holds dates, times or spans of time."""
    if column.dtype == object:
        there = _there(column)
        # The last are periods of pandas.
        return bool(there) and all(isinstance(value, DATES) or hasattr(value, "to_timestamp") for value in there)
    return column.dtype.kind in "mM"


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, NaT or the NA of pandas."""
    if isinstance(value, str):
        return False  # most values are; the rest takes long
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (Real, *DATES)) and bool(value != value)


def as_floats(column: Column) -> NDArray[np.float64]:
    """A column of numbers or flags as floats, with NaN for missing values."""
    if column.dtype == object:
        return np.array([np.nan if is_missing(value) else float(value) for value in column])
    with np.errstate(over="ignore"):  # numbers of more than 64 bits become infinite, which is refused later
        return column.astype(np.float64)


def as_text(column: Column) -> list[str]:
    """The values of a column as text; numbers that are equal have the same text, whatever their type."""
    texts: dict[Any, str] = {}
    return [texts.setdefault((isinstance(value, str), value), str(value)) for value in column]


def described(column: Column) -> str:
    """What a column holds, in words, for what is neither numbers nor dates."""
    texts = [value for value in column.tolist() if isinstance(value, str)]
    if texts:
        return f"text such as {_shortened(texts[0])}"
    return "a mixture of numbers and true or false" if column.dtype == object else str(column.dtype)


def _frame(table: Any, what: str) -> "nw.DataFrame[Any] | None":
    """A data frame through narwhals; None if the table is none."""
    pa = nw.dependencies.get_pyarrow()
    if pa is not None and isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not has_names(table):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what names that are no text may do to others
            frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
            names = [str(name) for name in frame.columns]
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(table, "column_names", table.columns)]
    except TypeError:
        lazy = " Call collect() or compute() first." if hasattr(table, "collect") or hasattr(table, "compute") else ""
        raise InvalidInputError(
            f"{what} must be an array or a data frame in memory, such as those of pandas, polars and pyarrow. Got a "
            f"{type(table).__name__} instead.{lazy}"
        ) from None
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"Column names of {what} must differ. Found more than once: {twice}.")
    return frame


def _check_names(names: list[str], what: str) -> None:
    for place, name in enumerate(names):
        if not name:
            raise InvalidInputError(f"Column {place + 1} of {what} has an empty name. Name it.")
        if not is_unicode(name):
            raise InvalidInputError(
                f"The name of column {place + 1} of {what}, {name!r}, holds half a character (a lone surrogate), which no "
                "file can hold. Rename the column."
            )


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file: Python's may hold halves of characters, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _values(series: "nw.Series[Any]") -> Column:
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    if series.dtype.is_temporal():
        return series.to_numpy()
    # Not to_numpy, in which missing values of a dictionary of Arrow become its last entry.
    return _settled(np.fromiter(series.to_list(), dtype=object, count=len(series)))


def as_array(table: Any, what: str, expected: str) -> Column:
    """What is no data frame as an array, with missing values where it is masked."""
    if issparse(table):
        raise InvalidInputError(f"{what} is sparse; sparse data are not supported. Pass a dense array: {what}.toarray().")
    if hasattr(table, "detach"):
        table = _of_tensor(table, what)
    try:
        array = _unmasked(table) if isinstance(table, np.ma.MaskedArray) else np.asarray(table)
        if array.dtype.kind in "US" and not hasattr(table, "dtype"):
            array = np.asarray(table, dtype=object)  # a list that mixes numbers and text
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{what} must be {expected}. {_ragged(table, error)}") from None
    if array.dtype.names is not None:
        raise InvalidInputError(f"{what} is an array of records. Pass it as a data frame: pandas.DataFrame({what}).")
    return array


def _array(table: Any, what: str) -> Column:
    """A table that is no data frame as an array (n, p)."""
    array = as_array(table, what, TABLE)
    if array.ndim == 1 and what == "Z":  # one context feature
        array = array[:, None]
    if array.ndim != 2:
        got = f"shape {array.shape}" if array.ndim or isinstance(table, np.ndarray) else f"a {type(table).__name__}"
        ragged = " Its rows have different lengths." if array.dtype == object and array.ndim == 1 else ""
        raise InvalidInputError(f"{what} must be {TABLE}. Got {got} instead.{ragged} Reshape your data.")
    if array.dtype.kind == "c":
        raise InvalidInputError(f"{what} holds complex numbers. Complex data not supported.")
    return array


def _of_tensor(tensor: Any, what: str) -> Column:
    """A tensor of PyTorch as an array."""
    try:
        numbers = tensor.detach().cpu()
        array: Column = (numbers.double() if numbers.is_floating_point() else numbers).numpy()
    except (TypeError, RuntimeError, NotImplementedError) as error:
        raise InvalidInputError(f"{what} is a tensor that cannot be read as an array: {str(error).split('.')[0]}.") from None
    return array


def _ragged(table: Any, error: Exception) -> str:
    try:
        lengths = {len(row) for row in table}
    except TypeError:
        lengths = set()
    return f"Its rows have {min(lengths)} to {max(lengths)} values." if len(lengths) > 1 else f"It cannot be read: {error}."


def _unmasked(table: "np.ma.MaskedArray[Any, Any]") -> Column:
    if not np.ma.is_masked(table):
        return np.asarray(table)
    if is_numeric(table.data):
        return np.where(table.mask, np.nan, table.data)
    return np.where(table.mask, None, table.data)  # type: ignore[call-overload, no-any-return]


def _settled(column: Column) -> Column:
    """An array of objects as numbers where all that are not missing are numbers."""
    if column.dtype.kind == "T":  # NumPy's text of any length
        column = column.astype(object)
    if column.dtype != object:
        return column
    missing = np.array([is_missing(value) for value in column], dtype=bool)
    there = column[~missing]
    if any(isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal) for value in there):
        return column
    if len(there) == len(column) and all(isinstance(value, int | np.integer) for value in there):
        with contextlib.suppress(OverflowError):  # whole numbers stay whole, so that codes of categories are as they were
            return column.astype(np.int64)
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = [_as_float(value) for value in there]
    return numbers


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # more than 308 digits
        return float("inf")


def check_meaning(column: Column, name: str, what: str) -> None:
    """Raise if a column holds what is neither a number, nor true or false, nor a date, nor text that can be written."""
    if is_numeric(column) or column.dtype.kind in "bmM" or is_date(column):
        return
    strange = [value for value in _there(column) if not isinstance(value, str | Real | Decimal | bool | np.bool_)]
    if strange:
        raise InvalidInputError(
            f"Column '{name}' of {what} holds objects of {type(strange[0])}, such as {_shortened(strange[0])}. "
            "It must hold numbers or text: convert it, or leave it out."
        )
    broken = [value for value in _there(column) if isinstance(value, str) and not is_unicode(value)]
    if broken:
        raise InvalidInputError(
            f"Column '{name}' of {what} holds {_shortened(broken[0])}, with half a character (a lone surrogate), which no "
            "file can hold. Rename the category."
        )


def _there(column: Column) -> list[Any]:
    return [value for value in column if not is_missing(value)]


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
