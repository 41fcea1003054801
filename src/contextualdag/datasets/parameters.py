"""What the parameters of the simulated designs may be."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contextualdag.datasets.skeletons import SKELETONS
from contextualdag.errors import InvalidParameterError


def check_design(function: str, *, n_nodes: Any, n_edges: Any, **others: Any) -> None:
    """Raise, with one sentence, at the first parameter of `function` that is not as it should be."""

    def require(holds: bool, name: str, expected: str, got: Any) -> None:
        if not holds:
            raise InvalidParameterError(f"The '{name}' parameter of {function} must be {expected}. Got {got!r} instead.")

    for name, value in {"n_nodes": n_nodes, **others}.items():
        holds, expected = RULES[name]
        require(holds(value), name, expected, value)
    n_pairs = n_nodes * (n_nodes - 1) // 2
    known = _is_integer(n_edges) and 0 <= n_edges <= n_pairs
    require(known, "n_edges", f"from 0 to {n_pairs}, the pairs of {n_nodes} nodes", n_edges)
    if others["standardise"] and others["n_samples"] == 1:
        require(False, "n_samples", "at least 2 where X is standardised", 1)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_integer(value) and bool(value >= 1)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_weakness(value: Any) -> bool:
    # An integer is refused: 1 could be meant as True or as 1.0.
    return _is_flag(value) or (isinstance(value, float | np.floating) and 0 < float(value) <= 1)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _is_noise_scale(value: Any) -> bool:
    if isinstance(value, str):
        return value == "equal"
    pair = isinstance(value, Sequence) and len(value) == 2 and all(map(_is_finite, value))
    return pair and 0 < value[0] <= value[1]


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_samples": (_is_count, "an integer of at least 1"),
    "n_nodes": (_is_count, "an integer of at least 1"),
    "n_features": (_is_count, "an integer of at least 1"),
    "active": (lambda value: _is_finite(value) and 0 <= value <= 1, "in [0, 1]"),
    "weight": (lambda value: _is_finite(value) and value != 0, "a finite number other than 0"),
    "graph": (lambda value: isinstance(value, str) and value in SKELETONS, f"one of {sorted(SKELETONS)}"),
    "noise_scale": (_is_noise_scale, "'equal' or a pair (low, high) of numbers with 0 < low <= high"),
    "standardise": (_is_flag, "True or False"),
    "mean_shift": (lambda value: _is_finite(value) and value >= 0, "a finite number of at least 0"),
    "weak_edges": (_is_weakness, "True, False or a float in (0, 1]"),
    "context_correlation": (lambda value: _is_finite(value) and 0 <= value < 1, "a number in [0, 1)"),
}
