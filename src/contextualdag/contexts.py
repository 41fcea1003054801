"""Contextual features: how columns become numbers, and what a model remembers of the contexts it was fitted on.

It remembers quantiles of every numeric feature and shares of every category, and no row of the data.

Networks see encoded columns: a number as it is, a date as days since the first, a cyclic number as its sine and cosine, an
ordered category as 0, 1, 2 and so on, any other as one indicator for each category. People see a feature as it is in their
table, but for dates: a cyclic one within one period, categories by name.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.categories import codes, find_category, learn_categories
from contextualdag.columns import (
    as_floats,
    check_meaning,
    columns,
    described,
    has_names,
    is_date,
    is_flags,
    is_missing,
    is_numeric,
)
from contextualdag.cycles import learn_cycles, sine_and_cosine, wrapped
from contextualdag.dates import days_since, first_day, is_day
from contextualdag.errors import InvalidInputError
from contextualdag.tables import (
    Array,
    category_levels,
    check_complete,
    check_finite,
    check_size,
    varying,
)

if TYPE_CHECKING:
    import pandas

N_QUANTILES = 101
OPEN = 0.25  # of a period: where the data leave a wider gap across its end, they do not cover it


@dataclass(frozen=True)
class ContextFeature:
    """One contextual feature as the fit saw it: a number with its quantiles, or categories with their shares.

    Attributes
    ----------
    name : str
        As in the data.
    quantiles : tuple of float
        101 values from the smallest to the largest; empty for categories.
    shares : dict of str to float
        Share of rows in each category; empty for numbers.
    cycle : (float, float), optional
        Where a cyclic number begins, and its period; values are within that.
    origin : str, optional
        The day since which the days of a date are counted, such as 2024-01-01.
    joined : dict of str to str
        Categories with too few rows to stand alone, and the one that they are joined to.
    """

    name: str
    quantiles: tuple[float, ...]
    shares: dict[str, float]
    cycle: tuple[float, float] | None = None
    origin: str | None = None
    joined: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether it is a number and not a category."""
        return bool(self.quantiles)

    @property
    def is_full_circle(self) -> bool:
        """Whether it is cyclic and the data cover its period, so that no value is outside."""
        if self.cycle is None:
            return False
        return self.quantiles[0] + self.cycle[1] - self.quantiles[-1] <= OPEN * self.cycle[1]

    @property
    def low(self) -> float:
        """Smallest value in the data, the start of the period for a full circle; NaN for categories."""
        if self.cycle is not None and self.is_full_circle:
            return self.cycle[0]
        return self.quantiles[0] if self.is_number else math.nan

    @property
    def high(self) -> float:
        """Largest value in the data, the end of the period for a full circle; NaN for categories."""
        if self.cycle is not None and self.is_full_circle:
            return sum(self.cycle)
        return self.quantiles[-1] if self.is_number else math.nan

    @property
    def varies(self) -> bool:
        """Whether the data have more than one value of it."""
        if self.is_number:
            return bool(varying(np.array(self.quantiles)[:, None])[0])
        return sum(share > 0 for share in self.shares.values()) > 1

    @property
    def known(self) -> list[str]:
        """All values that mean a category, also those that are joined to others."""
        return [*self.shares, *self.joined]

    def category(self, value: object) -> str | None:
        """The category that a value means; None if it means none."""
        found = find_category(value, self.known)
        return None if found is None else self.joined.get(found, found)

    def contains(self, value: float) -> bool:
        """Whether a number is within the range of the data; a cyclic one by its place in the period."""
        if self.cycle is not None:
            value = float(wrapped(np.array([value]), self.cycle)[0])
        return self.low <= value <= self.high

    def beyond(self, share: float) -> tuple[float, float]:
        """The range of the data and a share of it on either side, but no more than one period of a cyclic number."""
        margin = share * (self.high - self.low)
        low, high = self.low - margin, self.high + margin
        if self.cycle is None:
            return low, high
        return max(low, self.cycle[0]), min(high, sum(self.cycle))

    def typical(self, quantile: float) -> float | str:
        """A quantile of a number, the most frequent of categories."""
        if self.is_number:
            return float(np.interp(quantile, np.linspace(0, 1, N_QUANTILES), self.quantiles))
        return max(self.shares, key=lambda category: self.shares[category])


@dataclass(frozen=True)
class ContextEncoder:
    """How context columns become numbers.

    A model without a context has one without columns, which encodes anything of n rows as an array (n, 0).
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]  # None for a numeric column
    ordered: frozenset[str] = frozenset()  # columns whose categories have an order
    cycles: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # start and period of cyclic columns
    origins: Mapping[str, str] = field(default_factory=dict)  # the first day of columns of dates
    joined: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # rare categories, and what they are joined to

    @classmethod
    def learn(cls, Z: Any, cyclic: Mapping[str, float] | None = None) -> "ContextEncoder":
        """Take names and categories from the training data, and periods from the parameter `cyclic`."""
        found, names = columns(Z, "Z", "z")
        _check_complete(found, names, "Z")
        levels = category_levels(Z)
        kinds: list[tuple[str, ...] | None] = []
        origins: dict[str, str] = {}
        joined: dict[str, dict[str, str]] = {}
        for place, (name, column) in enumerate(zip(names, found, strict=True)):
            check_meaning(column, name, "Z")
            if is_day(column) and name not in levels:
                origins[name] = first_day(column)
                found[place] = days_since(column, origins[name])
                kinds.append(None)
                continue
            _refuse_times(column, name)
            if is_numeric(column) and name not in levels:
                kinds.append(None)
                continue
            given, is_ordered = levels.get(name, ((), False))
            if not is_ordered:
                given, rare = learn_categories(column, name)
                joined |= {name: rare} if rare else {}
            kinds.append(given)
        ordered = frozenset(name for name, (_, is_ordered) in levels.items() if is_ordered)
        cycles = learn_cycles(
            dict(cyclic or {}), dict(zip(names, found, strict=True)), dict(zip(names, kinds, strict=True)), origins
        )
        return cls(tuple(names), tuple(kinds), ordered, cycles, origins, joined)

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns."""
        names: list[str] = []
        for name, categories in zip(self.names, self.categories, strict=True):
            if name in self.cycles:
                names += [f"sine of {name}", f"cosine of {name}"]
            elif categories is None or name in self.ordered:
                names.append(name)
            else:
                names += [f"{name}={category}" for category in categories]
        return names

    @property
    def columns_of_features(self) -> dict[str, tuple[int, ...]]:
        """The encoded columns of each feature."""
        widths = [
            2 if name in self.cycles else 1 if categories is None or name in self.ordered else len(categories)
            for name, categories in zip(self.names, self.categories, strict=True)
        ]
        return self._places(widths)

    @property
    def seen_columns(self) -> dict[str, tuple[int, ...]]:
        """The columns of each feature in the array of `as_seen`."""
        return self._places([1 if categories is None else len(categories) for categories in self.categories])

    def as_seen(self, encoded: Array) -> Array:
        """Encoded contexts as people see them: a number in one column, categories in one indicator each."""
        seen = []
        places = self.columns_of_features
        for name, categories in zip(self.names, self.categories, strict=True):
            values = encoded[:, list(places[name])]
            if name in self.cycles:
                start, period = self.cycles[name]
                turned = np.arctan2(values[:, :1], values[:, 1:]) / (2 * np.pi) * period
                values = wrapped(turned, (start, period))
            elif categories is not None and name in self.ordered:
                values = (values == np.arange(len(categories))).astype(np.float64)
            seen.append(values)
        return np.concatenate(seen, axis=1) if seen else encoded

    def _places(self, widths: list[int]) -> dict[str, tuple[int, ...]]:
        ends = np.cumsum(widths).tolist()
        places = zip(self.names, ends, widths, strict=True)
        return {name: tuple(range(end - width, end)) for name, end, width in places}

    def encode(self, Z: Any, what: str = "Z") -> Array:
        """Z as an array (n, m) of finite numbers; errors call it `what`."""
        if not self.names:
            return np.zeros((len(Z), 0))
        found, names = columns(Z, what, "z")
        if has_names(Z):
            missing = [name for name in self.names if name not in names]
            if missing:
                raise InvalidInputError(
                    f"{what} lacks the context columns {missing}. The model was fitted on {list(self.names)}."
                )
            found = [found[names.index(name)] for name in self.names]
        elif len(found) != len(self.names):
            raise InvalidInputError(
                f"{what} has {len(found)} columns; the model was fitted on {len(self.names)}: {list(self.names)}."
            )
        _check_complete(found, self.names, what)
        encoded: list[NDArray[Any]] = []
        for name, categories, column in zip(self.names, self.categories, found, strict=True):
            check_meaning(column, name, what)
            if name in self.cycles:
                encoded += sine_and_cosine(self.number(column, name), name, what, self.cycles[name][1])
            elif categories is None:
                encoded.append(self.number(column, name))
            else:
                places = codes(column, name, categories, self.joined.get(name, {}))
                encoded += [places] if name in self.ordered else [places == place for place in range(len(categories))]
        array = np.stack(encoded, axis=1).astype(np.float64)
        check_finite(array, self.feature_names, what)
        check_size(array, self.feature_names, what)
        return array

    def number(self, column: NDArray[Any], name: str) -> Array:
        """A column of numbers, or of dates as days since the first day of the fit."""
        origin = self.origins.get(name)
        if origin is not None and is_day(column):
            return days_since(column, origin)
        if is_numeric(column) or is_flags(column):
            return as_floats(column)
        expected, remedy = "was numeric", ""
        if origin is not None:
            expected, remedy = "held dates", f" Pass dates, by pandas.to_datetime for instance, or days since {origin}."
        raise InvalidInputError(
            f"Context column '{name}' {expected} when the model was fitted. Got {described(column)} instead.{remedy}"
        )


@dataclass(frozen=True)
class ContextSummary:
    """Quantiles (101, m) of the training contexts as people see them, from smallest to largest value, and means (m,)."""

    encoder: ContextEncoder
    quantiles: Array
    means: Array

    @classmethod
    def learn(cls, encoder: ContextEncoder, Z: Array) -> "ContextSummary":
        """From encoded contexts."""
        seen = encoder.as_seen(Z)
        return cls(encoder, np.quantile(seen, np.linspace(0, 1, N_QUANTILES), axis=0), seen.mean(0))

    @property
    def features(self) -> tuple[ContextFeature, ...]:
        """The features, in the order of the columns."""
        found = []
        places = self.encoder.seen_columns
        for name, categories in zip(self.encoder.names, self.encoder.categories, strict=True):
            if categories is None:
                quantiles = tuple(map(float, self.quantiles[:, places[name][0]]))
                cycle, origin = self.encoder.cycles.get(name), self.encoder.origins.get(name)
                found.append(ContextFeature(name, quantiles, {}, cycle, origin))
            else:
                shares = map(float, self.means[list(places[name])])
                joined = self.encoder.joined.get(name, {})
                found.append(ContextFeature(name, (), dict(zip(categories, shares, strict=True)), joined=joined))
        return tuple(found)

    def outside(self, Z: Array) -> Array:
        """Which encoded contexts lie outside the training range in some feature, (n,)."""
        low, high = self.quantiles[0].copy(), self.quantiles[-1].copy()
        for feature in self.features:
            if feature.is_full_circle:
                place = self.encoder.seen_columns[feature.name][0]
                low[place], high[place] = feature.low, feature.high
        seen = self.encoder.as_seen(Z)
        beyond: Array = (np.clip(seen, low, high) != seen).any(1)
        return beyond

    def typical(self, quantile: float) -> "pandas.DataFrame":
        """One context in the user's columns: this quantile of every number, the most frequent of categories."""
        import pandas as pd

        return pd.DataFrame([{feature.name: feature.typical(quantile) for feature in self.features}])

    def table(self) -> "pandas.DataFrame":
        """One row for each feature: its name, for numbers five quantiles, for categories their shares."""
        import pandas as pd

        rows: list[dict[str, object]] = []
        for feature in self.features:
            if feature.is_number:
                quartiles = dict(zip(("low", "q25", "median", "q75", "high"), feature.quantiles[::25], strict=True))
                kind = "number" if feature.cycle is None else "cyclic"
                kind = kind if feature.origin is None else f"days since {feature.origin}"
                rows.append({"feature": feature.name, "kind": kind, **quartiles})
            else:
                rows.append({"feature": feature.name, "kind": "category", "shares": feature.shares})
        return pd.DataFrame(rows, columns=["feature", "kind", "low", "q25", "median", "q75", "high", "shares"])


def _check_complete(found: Sequence[NDArray[Any]], names: Sequence[str], what: str) -> None:
    """Raise if values are missing: a row without a context has no graph."""
    holes = [
        np.isnan(column) if column.dtype.kind in "biufmM" else np.array([is_missing(value) for value in column], dtype=bool)
        for column in found
    ]
    missing = {name: int(hole.sum()) for name, hole in zip(names, holes, strict=True) if hole.any()}
    if missing:
        rows, n = int(np.logical_or.reduce(holes).sum()), len(holes[0])
        X = what.replace("Z", "X")
        check_complete(
            missing,
            n,
            what,
            f"{rows} of {n} rows lack a context, without which a row has no graph. Fill it in, or drop these rows; in "
            f"pandas: known = {what}.notna().all(axis=1), then {X}[known] and {what}[known].",
        )


def _refuse_times(column: NDArray[Any], name: str) -> None:
    if is_date(column):
        raise InvalidInputError(
            f"Context column '{name}' holds times of day or spans of time. Code it as a number: a span as days or seconds, "
            f"Z['{name}'].dt.total_seconds(); a time of day as its hour with a period, cyclic={{'hour': 24}}."
        )
