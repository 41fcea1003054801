"""Checks of parameters, with one wording for all; suggestions for misspelt names; optional packages; the device to use."""

import difflib
import importlib
import math
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidParameterError, MissingPackageError

if TYPE_CHECKING:
    import torch


def require(holds: bool, name: str, owner: str, expected: str, got: object, known: Sequence[str] = ()) -> None:
    """Raise unless a parameter is as expected. Of `known` names the nearest is suggested.

    Examples
    --------
    >>> from contextualdag.checks import require
    >>> require(False, "patience", "ContextualDAG", "an integer", 0)
    Traceback (most recent call last):
    contextualdag.errors.InvalidParameterError: The 'patience' parameter of ContextualDAG must be an integer. Got 0 instead.
    """
    if not holds:
        near = did_you_mean(got, known)
        raise InvalidParameterError(f"The '{name}' parameter of {owner} must be {expected}. Got {shown(got)} instead.{near}")


def shown(value: object, most: int = 200) -> str:
    """A value as an error message shows it: as Python writes it, cut off if that is long.

    Examples
    --------
    >>> from contextualdag.checks import shown
    >>> shown("a"), shown(list(range(1000)), 20), shown(10**5000)
    ("'a'", '[0, 1, 2, 3, 4, 5, 6…', 'an int')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of thousands of digits
        return f"an {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


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


def generator(random_state: Any, owner: str) -> np.random.Generator:
    """The source of random numbers that a parameter `random_state` names."""
    known = random_state is None or isinstance(random_state, np.random.Generator)
    known = known or (is_integer(random_state) and bool(random_state >= 0))
    require(known, "random_state", owner, "None, an integer of at least 0 or a numpy.random.Generator", random_state)
    return np.random.default_rng(random_state)


def is_one_of(value: Any, names: Any) -> bool:
    """Whether a value is one of some names."""
    return isinstance(value, str) and value in names


def did_you_mean(name: object, known: Sequence[str], cutoff: float = 0.6) -> str:
    """A sentence that suggests the nearest known name, with a space in front; empty if none is near.

    Examples
    --------
    >>> from contextualdag.checks import did_you_mean
    >>> did_you_mean("Agee", ["age", "site"])
    " Did you mean 'age'?"
    """
    if not isinstance(name, str):
        return ""
    lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)
    return f" Did you mean '{lower[near[0]]}'?" if near else ""


def two_meanings(number: int, names: Sequence[str]) -> str:
    """What is unclear about a number that is the position of one variable and the name of another; empty if nothing is.

    Examples
    --------
    >>> from contextualdag.checks import two_meanings
    >>> two_meanings(0, ["10", "0"])
    "0 may be the variable '0' or the position 0, which is '10'. Write '0' or '10', as text."
    >>> two_meanings(0, ["0", "10"]), two_meanings(0, ["a", "b"])
    ('', '')
    """
    name = str(number)
    if name not in names or not 0 <= number < len(names) or names[number] == name:
        return ""
    there = names[number]
    found = f"{name} may be the variable '{name}' or the position {name}, which is '{there}'."
    return f"{found} Write '{name}' or '{there}', as text."


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in quotes and separated by commas, and a count of those beyond `most`."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def in_one_line(text: object) -> str:
    """The text of an error of another package, or of anything else, without line ends."""
    return " ".join(str(text).split())


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
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, NotImplementedError, AssertionError, ImportError) as error:
        reason = str(error).split("\n")[0].split(". ")[0].rstrip(".")
        raise InvalidParameterError(f"PyTorch cannot compute on the device '{name}' here: {reason}. Use 'auto'.") from None
    return device


def optional_module(module: str, package: str, what: str) -> ModuleType:
    """Import a module of a package that is not a dependency; raise with what to install if that fails.

    Examples
    --------
    >>> from contextualdag.checks import optional_module
    >>> optional_module("nowhere.inside", "nowhere", "It")
    Traceback (most recent call last):
    contextualdag.errors.MissingPackageError: It needs the package nowhere, which is not installed. Try: pip install nowhere
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]:
            why, remedy = "is not installed", f"pip install {package}"
        else:  # it is there but too old, or does not get along with other packages
            why, remedy = f"cannot be imported ({error})", f"pip install --upgrade {package}"
        raise MissingPackageError(f"{what} needs the package {package}, which {why}. Try: {remedy}") from error
