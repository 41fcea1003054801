"""The context features of a model, as controls and axes need them."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.errors import InvalidInputError

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator
    from contextualdag.tables import Array

Value = float | str
BEYOND = 0.15  # how far a slider goes past the training range on either side, as a share of that range


@dataclass(frozen=True)
class Feature:
    """One context feature; a number with quantiles of the training data, or a category with their shares.

    Attributes
    ----------
    name : str
        As in the data.
    quantiles : tuple of float
        Of the training data, from the smallest to the largest; empty for categories.
    shares : dict of str to float
        Share of each category in the training data; empty for numbers.
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
        """Smallest value in training."""
        return self.quantiles[0]

    @property
    def high(self) -> float:
        """Largest value in training."""
        return self.quantiles[-1]

    @property
    def varies(self) -> bool:
        """Whether training saw more than one value, so that there is something to choose."""
        return self.high > self.low if self.is_number else len(self.shares) > 1

    @property
    def step(self) -> float:
        """Step of a slider: a power of ten, at least a hundred steps; 1 for whole numbers."""
        values = np.array(self.quantiles)
        if self.high - self.low >= 3 and (values == values.round()).mean() > 0.8:
            return 1.0
        return float(10.0 ** math.floor(math.log10((self.high - self.low) / 100)))

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of a slider, whole steps a little outside the training range."""
        margin = BEYOND * (self.high - self.low)
        low, high = (self.low - margin) / self.step, (self.high + margin) / self.step
        return self.tidy(math.floor(low) * self.step), self.tidy(math.ceil(high) * self.step)

    def rounded(self, value: float) -> float:
        """The nearest whole step within the training range, as near to it as whole steps come."""
        steps = round(value / self.step)
        steps = min(max(steps, math.ceil(self.low / self.step)), math.floor(self.high / self.step))
        return self.tidy(steps * self.step)

    def grid(self, count: int) -> list[Value]:
        """Values from end to end: `count` numbers over the slider, or all categories."""
        return [float(value) for value in np.linspace(*self.bounds, count)] if self.is_number else list(self.shares)

    def checked(self, value: object) -> Value:
        """A value that came from outside, as a value of this feature; raises where it is none."""
        if not self.is_number:
            if isinstance(value, str) and value in self.shares:
                return value
            known = ", ".join(repr(category) for category in list(self.shares)[:8])
            raise InvalidInputError(f"'{self.name}' must be one of {known}. Got {_shown(value)}.")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InvalidInputError(f"'{self.name}' must be a number. Got {_shown(value)}.")
        low, high = self.bounds if self.varies else (self.low, self.high)
        if not low <= value <= high:
            raise InvalidInputError(f"'{self.name}' must be from {low:g} to {high:g} here. Got {value:g}.")
        return float(value)

    def outside(self, value: Value) -> str | None:
        """A sentence where a value lies outside the training range."""
        if not isinstance(value, str) and self.is_number:
            if value < self.low:
                return f"{self.name} = {number(value)} is below the training data, which begin at {number(self.low)}."
            if value > self.high:
                return f"{self.name} = {number(value)} is above the training data, which end at {number(self.high)}."
        return None

    def tidy(self, value: float) -> float:
        """A whole step without the dust of binary fractions."""
        return round(value, max(0, -math.floor(math.log10(self.step)))) + 0.0


def read_features(model: "GraphEstimator") -> tuple[Feature, ...]:
    """All context features of a fitted model, in its order."""
    found, first = [], 0
    quantiles: Array = model._summary.quantiles
    for name, categories in zip(model.encoder_.names, model.encoder_.categories, strict=True):
        if categories is None:
            found.append(Feature(name, tuple(float(value) for value in quantiles[:, first]), {}))
            first += 1
        else:
            means = model._summary.means[first : first + len(categories)]
            found.append(Feature(name, (), {c: float(share) for c, share in zip(categories, means, strict=True)}))
            first += len(categories)
    return tuple(found)


def number(value: float) -> str:
    """A number for people: three significant digits at least, no exponent in the usual range, a real minus sign."""
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-3:
        text = f"{value:.3g}"
    else:
        text = f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "\N{MINUS SIGN}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
