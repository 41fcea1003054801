"""Contextual features: how columns become numbers, and what a model remembers of the contexts it was fitted on.

It remembers quantiles of every numeric feature and shares of every category, and no row of the data.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.errors import InvalidInputError
from contextualdag.tables import Array, check_finite, columns, has_names, is_numeric

if TYPE_CHECKING:
    import pandas

N_QUANTILES = 101


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
    """

    name: str
    quantiles: tuple[float, ...]
    shares: dict[str, float]

    @property
    def is_number(self) -> bool:
        """Whether it is a number and not a category."""
        return bool(self.quantiles)

    @property
    def low(self) -> float:
        """Smallest value in the data; NaN for categories."""
        return self.quantiles[0] if self.is_number else math.nan

    @property
    def high(self) -> float:
        """Largest value in the data; NaN for categories."""
        return self.quantiles[-1] if self.is_number else math.nan

    @property
    def varies(self) -> bool:
        """Whether the data have more than one value of it."""
        return self.high > self.low if self.is_number else len(self.shares) > 1

    def typical(self, quantile: float) -> float | str:
        """A quantile of a number, the most frequent of categories."""
        if self.is_number:
            return float(np.interp(quantile, np.linspace(0, 1, N_QUANTILES), self.quantiles))
        return max(self.shares, key=lambda category: self.shares[category])


@dataclass(frozen=True)
class ContextEncoder:
    """How context columns become numbers: numeric ones as they are, the others as one indicator for each category.

    A model without a context has one without columns, which encodes anything of n rows as an array (n, 0).
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]  # None for a numeric column

    @classmethod
    def learn(cls, Z: Any) -> "ContextEncoder":
        """Take names and categories from the training data."""
        found, names = columns(Z, "Z", "z")
        kinds: list[tuple[str, ...] | None] = []
        for name, column in zip(names, found, strict=True):
            if is_numeric(column):
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

    @property
    def columns_of_features(self) -> dict[str, tuple[int, ...]]:
        """The encoded columns of each feature."""
        found, first = {}, 0
        for name, categories in zip(self.names, self.categories, strict=True):
            width = 1 if categories is None else len(categories)
            found[name] = tuple(range(first, first + width))
            first += width
        return found

    def encode(self, Z: Any) -> Array:
        """Z as an array (n, m) of finite numbers."""
        if not self.names:
            return np.zeros((len(Z), 0))
        found, names = columns(Z, "Z", "z")
        if has_names(Z):
            missing = [name for name in self.names if name not in names]
            if missing:
                raise InvalidInputError(
                    f"Z lacks the context columns {missing}. The model was fitted on {list(self.names)}."
                )
            found = [found[names.index(name)] for name in self.names]
        elif len(found) != len(self.names):
            raise InvalidInputError(
                f"Z has {len(found)} columns; the model was fitted on {len(self.names)}: {list(self.names)}."
            )
        encoded = []
        for name, categories, column in zip(self.names, self.categories, found, strict=True):
            encoded += [_number(column, name)] if categories is None else _indicators(column, name, categories)
        array = np.stack(encoded, axis=1)
        check_finite(array, self.feature_names, "Z")
        return array


@dataclass(frozen=True)
class ContextSummary:
    """Quantiles (101, m) of the encoded training contexts, from the smallest value to the largest, and their means (m,)."""

    encoder: ContextEncoder
    quantiles: Array
    means: Array

    @classmethod
    def learn(cls, encoder: ContextEncoder, Z: Array) -> "ContextSummary":
        """From encoded contexts."""
        return cls(encoder, np.quantile(Z, np.linspace(0, 1, N_QUANTILES), axis=0), Z.mean(0))

    @property
    def features(self) -> tuple[ContextFeature, ...]:
        """The features, in the order of the columns."""
        found, first = [], 0
        for name, categories in zip(self.encoder.names, self.encoder.categories, strict=True):
            count = 1 if categories is None else len(categories)
            if categories is None:
                found.append(ContextFeature(name, tuple(map(float, self.quantiles[:, first])), {}))
            else:
                shares = map(float, self.means[first : first + count])
                found.append(ContextFeature(name, (), dict(zip(categories, shares, strict=True))))
            first += count
        return tuple(found)

    def outside(self, Z: Array) -> Array:
        """Which encoded contexts lie outside the training range in some feature, (n,)."""
        beyond: Array = (np.clip(Z, self.quantiles[0], self.quantiles[-1]) != Z).any(1)
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
                rows.append({"feature": feature.name, "kind": "number", **quartiles})
            else:
                rows.append({"feature": feature.name, "kind": "category", "shares": feature.shares})
        return pd.DataFrame(rows, columns=["feature", "kind", "low", "q25", "median", "q75", "high", "shares"])


def _check_complete(column: NDArray[Any], name: str) -> None:
    missing = sum(value is None or value != value for value in column)
    if missing:
        raise InvalidInputError(f"Z must be complete. Column '{name}' has {missing} missing values. Drop or impute them.")


def _number(column: NDArray[Any], name: str) -> Array:
    if not is_numeric(column):
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
