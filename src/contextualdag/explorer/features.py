"""Context features as controls of the page: values of sliders and menus, and the distribution drawn above a slider."""

import math
from functools import cached_property
from urllib.parse import quote

import numpy as np

from contextualdag.checks import is_finite
from contextualdag.colours import DARK, LIGHT
from contextualdag.contexts import ContextFeature
from contextualdag.errors import InvalidInputError
from contextualdag.plotting.contexts import BEYOND, value_text
from contextualdag.printable import printable
from contextualdag.tables import Array

Value = float | str
WIDTH, HEIGHT = 240, 40  # of the picture of a distribution
POINTS = 121
# An <img> applies the colour scheme of the reader's system too.
STYLE = (
    f"path{{fill:{LIGHT.scale[1]}}}rect{{fill:{LIGHT.missing};opacity:.2}}"
    f"@media(prefers-color-scheme:dark){{path{{fill:{DARK.scale[1]}}}rect{{fill:{DARK.missing};opacity:.2}}}}"
)


class Control(ContextFeature):
    """A context feature with the arithmetic of its slider, or its menu of categories."""

    @property
    def label(self) -> str:
        """Its name as the page shows it, with the day since which days of a date are counted."""
        return printable(self.name if self.origin is None else f"{self.name} (days since {self.origin})")

    @cached_property
    def step(self) -> float:
        """Step of the slider: a power of ten that gives at least a hundred steps, or 1 for whole numbers."""
        values = np.array(self.quantiles)
        if self.high - self.low >= 3 and (values == values.round()).mean() > 0.8:
            return 1.0
        return float(10.0 ** math.floor(math.log10((self.high - self.low) / 100)))

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Ends of the slider: multiples of the step, a little outside the training range; one period if it is cyclic."""
        low, high = (end / self.step for end in self.beyond(BEYOND))
        return self._tidy(math.floor(low) * self.step), self._tidy(math.ceil(high) * self.step)

    def rounded(self, value: float) -> float:
        """The nearest multiple of the step within the training range."""
        steps = round(value / self.step)
        steps = min(max(steps, math.ceil(self.low / self.step)), math.floor(self.high / self.step))
        return self._tidy(steps * self.step)

    def grid(self, count: int) -> list[Value]:
        """Values from end to end: `count` numbers over the slider, or all categories."""
        return [float(value) for value in np.linspace(*self.bounds, count)] if self.is_number else list(self.shares)

    def checked(self, value: object) -> Value:
        """A value sent by a page, or an error that says what was expected."""
        if not self.is_number:
            if isinstance(value, str) and value in self.shares:
                return value
            known = ", ".join(repr(category) for category in list(self.shares)[:8])
            raise InvalidInputError(f"'{self.name}' must be one of {known}. Got {_shortened(value)}.")
        number = self._number(value)
        low, high = self.bounds if self.varies else (self.low, self.high)
        if not low <= number <= high:
            raise InvalidInputError(f"'{self.name}' must be from {low:g} to {high:g} here. Got {number:g}.")
        return number

    def clicked(self, value: object) -> Value:
        """A point of an axis as a value: the nearest category or multiple of the step."""
        if not self.is_number:
            return self.checked(value)
        low, high = self.bounds
        return min(max(self._tidy(round(self._number(value) / self.step) * self.step), low), high)

    def outside(self, value: Value) -> str | None:
        """A sentence if a value lies outside the training range."""
        if isinstance(value, str) or self.contains(value):
            return None
        where = "below the training data, which begin at" if value < self.low else "above the training data, which end at"
        return f"{self.label} = {value_text(value)} is {where} {value_text(min(max(value, self.low), self.high))}."

    def _number(self, value: object) -> float:
        if not isinstance(value, int | float) or not is_finite(value):
            raise InvalidInputError(f"'{self.name}' must be a number. Got {_shortened(value)}.")
        return float(value)

    def _tidy(self, value: float) -> float:
        """A multiple of the step without rounding errors of binary fractions."""
        return round(value, max(0, -math.floor(math.log10(self.step)))) + 0.0


def density(feature: ContextFeature, at: Array) -> Array:
    """Density of the training data at given values, estimated from its 101 quantiles.

    Each of the hundred intervals between quantiles holds a hundredth of the data. They are smoothed with a Gaussian
    kernel, with the bandwidth of Silverman's rule.

    Parameters
    ----------
    feature : ContextFeature
        A numeric feature.
    at : array of shape (n,)
        Values.

    Returns
    -------
    array of shape (n,)
    """
    quantiles = np.array(feature.quantiles)
    middles = (quantiles[1:] + quantiles[:-1]) / 2
    spread = min(quantiles[1:-1].std(), (quantiles[75] - quantiles[25]) / 1.34) or quantiles[1:-1].std()
    bandwidth = max(0.9 * spread * len(middles) ** -0.2, (feature.high - feature.low) / 100)
    bumps = np.exp(-0.5 * ((at[:, None] - middles[None]) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
    heights: Array = bumps.mean(1)
    return heights


def density_picture(feature: Control) -> str:
    """The density over the slider as an SVG in a data URI; values outside the training range are shaded."""
    low, high = feature.bounds
    at = np.linspace(low, high, POINTS)
    heights = density(feature, at)
    # The kernel extends beyond the data; the curve ends with them.
    inside = (at >= feature.low) & (at <= feature.high)
    at, heights = at[inside], heights[inside]

    def across(value: float) -> float:
        return (value - low) / (high - low) * WIDTH

    tops = HEIGHT - heights / heights.max() * (HEIGHT - 3)
    line = " ".join(f"L{across(x):.1f},{y:.1f}" for x, y in zip(at, tops, strict=True))
    path = f"M{across(at[0]):.1f},{HEIGHT} {line} L{across(at[-1]):.1f},{HEIGHT}Z"
    left, right = across(feature.low), across(feature.high)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
        f'<style>{STYLE}</style><rect width="{left:.1f}" height="{HEIGHT}"/>'
        f'<rect x="{right:.1f}" width="{WIDTH - right:.1f}" height="{HEIGHT}"/><path d="{path}"/></svg>'
    )
    return "data:image/svg+xml," + quote(svg)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
