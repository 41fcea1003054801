"""Cyclic features of contexts, such as the hour or the month: their periods, and how networks see them."""

import math
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.checks import did_you_mean, listed
from contextualdag.errors import ContextualDAGWarning, InvalidInputError, InvalidParameterError
from contextualdag.tables import Array, check_finite

DIGITS = 12  # of sine and cosine, so that the sine of half a period is zero


def learn_cycles(
    cyclic: Mapping[str, float],
    found: Mapping[str, NDArray[Any]],
    kinds: Mapping[str, tuple[str, ...] | None],
    dates: Collection[str],
) -> dict[str, tuple[float, float]]:
    """Start and period of each cyclic column, with a warning if numbers go beyond one period; dates may."""
    cycles = {}
    for name, period in cyclic.items():
        if name not in found:
            raise InvalidParameterError(
                f"The 'cyclic' parameter names '{name}', which is no context feature.{did_you_mean(name, list(found))} "
                f"Those of Z are: {listed(list(found))}."
            )
        if kinds[name] is not None:
            raise InvalidInputError(f"Context column '{name}' is cyclic, so it must hold numbers. It holds categories.")
        values = found[name].astype(np.float64)
        values = values[np.isfinite(values)]
        low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
        if high > low + period and name not in dates:  # both ends of a circle may be there, such as -180 and 180 degrees
            warnings.warn(
                f"Context column '{name}' goes from {low:g} to {high:g}, beyond one period of {period:g}, as the 'cyclic' "
                f"parameter has it: {low:g} and {low + period:g} count as the same. If that is meant, pass the remainder, "
                f"Z['{name}'] % {period:g}; otherwise correct the period.",
                ContextualDAGWarning,
                stacklevel=7,
            )
        # Months are seen as 1 to 12 and angles as -180 to 180, if that is how they come.
        from_zero = (low >= 0 and high < period) or high - low > period
        cycles[name] = (0.0 if from_zero else float(low), float(period))
    return cycles


def wrapped(values: Array, cycle: tuple[float, float]) -> Array:
    """Cyclic values within one period, without the rounding errors of sines."""
    start, period = cycle
    digits = 9 - math.floor(math.log10(period))
    inside = np.round(start + np.mod(values - start, period), digits)
    wrapped: Array = np.where(inside >= start + period, start, inside) + 0.0
    return wrapped


def sine_and_cosine(values: Array, name: str, what: str, period: float) -> list[NDArray[Any]]:
    """The two columns that networks see of a cyclic one."""
    check_finite(values[:, None], [name], what)
    angle = 2 * np.pi * (np.mod(values, period) / period)
    return [np.round(np.sin(angle), DIGITS), np.round(np.cos(angle), DIGITS)]
