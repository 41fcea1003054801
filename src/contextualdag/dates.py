"""Dates as days since a first one."""

import datetime

import numpy as np
from numpy.typing import NDArray

from contextualdag.columns import Column, is_missing


def is_day(column: Column) -> bool:
    """Whether a column holds dates, with or without the time of the day; spans and times of day are none.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.dates import is_day
    >>> is_day(np.array(["2024-01-31"], dtype="M8[D]")), is_day(np.array(["2024-01-31"], dtype=object))
    (True, False)
    """
    if column.dtype != object:
        return column.dtype.kind == "M"
    there = [value for value in column if not is_missing(value)]
    # The last are periods of pandas.
    return bool(there) and all(
        isinstance(one, datetime.date | np.datetime64) or hasattr(one, "to_timestamp") for one in there
    )


def first_day(column: Column) -> str:
    """The first day of a column of dates, such as 2024-01-31."""
    return str(_moments(column).min().astype("M8[D]"))


def days_since(column: Column, first: str) -> NDArray[np.float64]:
    """A column of dates as days since the beginning of the first.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.dates import days_since
    >>> days_since(np.array(["2024-02-28T12", "2024-03-01"], dtype="M8[s]"), "2024-02-28").tolist()
    [0.5, 2.0]
    """
    days: NDArray[np.float64] = (_moments(column) - np.datetime64(first, "us")) / np.timedelta64(1, "D")
    return days


def _moments(column: Column) -> "NDArray[np.datetime64]":
    """A column of dates in microseconds, UTC where they have a time zone, and NaT for missing values."""
    if column.dtype == object:
        import pandas as pd

        stamps = [value.to_timestamp() if hasattr(value, "to_timestamp") else value for value in column]
        column = pd.to_datetime(pd.Series(stamps, dtype=object), utc=True).dt.tz_convert(None).to_numpy()
    return column.astype("M8[us]")
