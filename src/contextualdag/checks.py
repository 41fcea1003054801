"""Checks of parameters, with one wording for all of them; suggestions for misspelt names; the device to use."""

import difflib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidParameterError

if TYPE_CHECKING:
    import torch


def require(holds: bool, name: str, owner: str, expected: str, got: object) -> None:
    """Raise unless a parameter is as expected.

    Examples
    --------
    >>> from contextualdag.checks import require
    >>> require(False, "patience", "ContextualDAG", "an integer", 0)
    Traceback (most recent call last):
    contextualdag.errors.InvalidParameterError: The 'patience' parameter of ContextualDAG must be an integer. Got 0 instead.
    """
    if not holds:
        raise InvalidParameterError(f"The '{name}' parameter of {owner} must be {expected}. Got {got!r} instead.")


def is_integer(value: Any) -> bool:
    """Whether a value is an integer; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Whether a value is an integer of at least 1."""
    return is_integer(value) and bool(value >= 1)


def is_flag(value: Any) -> bool:
    """Whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def is_number(
    value: Any, low: float = -math.inf, high: float = math.inf, *, low_open: bool = False, high_open: bool = False
) -> bool:
    """Whether a value is a number from `low` to `high`; NaN and booleans are not, open ends are excluded."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or np.iscomplexobj(value):
        return False
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        return False
    return (low < number if low_open else low <= number) and (number < high if high_open else number <= high)


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_number(value, low_open=True, high_open=True)


def is_one_of(value: Any, names: Any) -> bool:
    """Whether a value is one of some names."""
    return isinstance(value, str) and value in names


def did_you_mean(name: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    """A sentence that suggests the nearest known name, with a space in front; empty if none is near.

    Examples
    --------
    >>> from contextualdag.checks import did_you_mean
    >>> did_you_mean("Agee", ["age", "site"])
    " Did you mean 'age'?"
    """
    lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)
    return f" Did you mean '{lower[near[0]]}'?" if near else ""


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in quotes and separated by commas, and a count of those beyond `most`."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def find_device(name: str) -> "torch.device":
    """The device of that name; "auto" is CUDA if it is available, else the CPU."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InvalidParameterError(
            f"There is no device '{name}'. Expected 'auto', 'cpu', 'cuda' or another device of PyTorch."
        ) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidParameterError(
            f"The device '{name}' was requested, but PyTorch finds no CUDA device. Use 'cpu' or 'auto'."
        )
    return device
