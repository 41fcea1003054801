"""Which parameters a simulated design may have."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from contextualdag.checks import is_count, is_finite, is_flag, is_integer, is_number, is_one_of, require
from contextualdag.datasets.observed import MOST_BY_VALUE
from contextualdag.datasets.skeletons import SKELETONS
from contextualdag.errors import InvalidParameterError

if TYPE_CHECKING:
    from contextualdag.datasets.synthetic import Dataset

Parameters = ParamSpec("Parameters")


def finite(make: Callable[Parameters, "Dataset"]) -> Callable[Parameters, "Dataset"]:
    """Raise where parameters are so extreme that numbers are not finite or matrices singular to the computer."""

    @functools.wraps(make)
    def checked(*arguments: Parameters.args, **named: Parameters.kwargs) -> "Dataset":
        try:
            with np.errstate(all="ignore"):
                data = make(*arguments, **named)
            there = data.X[~np.isnan(data.X)] if named.get("missing") else data.X
            problem = "" if np.isfinite(there).all() and np.isfinite(data.W).all() else "numbers are not finite"
        except InvalidParameterError:
            raise
        except (
            np.linalg.LinAlgError,
            OverflowError,
            MemoryError,
            ValueError,
        ) as error:  # the last two from NumPy, for sizes
            problem = str(error).rstrip(".")
        if problem:
            raise InvalidParameterError(f"{make.__name__} cannot simulate with parameters this extreme: {problem}.")
        return data

    return checked


def _is_noise_scale(value: Any) -> bool:
    if isinstance(value, str):
        return value == "equal"
    pair = isinstance(value, Sequence) and len(value) == 2 and all(map(is_finite, value))
    return pair and 0 < value[0] <= value[1]


def _is_weakness(value: Any) -> bool:
    # An integer is refused: 1 could mean True or 1.0.
    return is_flag(value) or (isinstance(value, float | np.floating) and is_number(value, 0, 1, low_open=True))


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_samples": (is_count, "an integer of at least 1"),
    "n_nodes": (is_count, "an integer of at least 1"),
    "n_features": (is_count, "an integer of at least 1"),
    "active": (lambda value: is_number(value, 0, 1), "in [0, 1]"),
    "weight": (lambda value: is_finite(value) and value != 0, "a finite number other than 0"),
    "graph": (lambda value: is_one_of(value, SKELETONS), f"one of {sorted(SKELETONS)}"),
    "noise_scale": (_is_noise_scale, "'equal' or a pair (low, high) of numbers with 0 < low <= high"),
    "standardise": (is_flag, "True or False"),
    "mean_shift": (lambda value: is_number(value, 0, math.inf, high_open=True), "a finite number of at least 0"),
    "weak_edges": (_is_weakness, "True, False or a float in (0, 1]"),
    "context_correlation": (lambda value: is_number(value, 0, 1, high_open=True), "a number in [0, 1)"),
    "degrees_of_freedom": (lambda value: is_number(value, 0, math.inf, low_open=True), "a number above 0, or infinity"),
    "units": (lambda value: is_number(value, 0, 100), "a number in [0, 100]"),
    "outliers": (lambda value: is_number(value, 0, 1, high_open=True), "a number in [0, 1)"),
    "binary": (lambda value: is_number(value, 0, 1), "in [0, 1]"),
    "counts": (lambda value: is_number(value, 0, 1), "in [0, 1]"),
    "missing": (lambda value: is_number(value, 0, 1, high_open=True), "a number in [0, 1)"),
    "missing_by_value": (is_flag, "True or False"),
    "interventions": (lambda value: is_number(value, 0, 1), "in [0, 1]"),
    "group_size": (is_count, "an integer of at least 1"),
    "reversals": (lambda value: is_flag(value) or is_number(value, 0, 1), "True, False or a number in [0, 1]"),
}


def check_design(function: str, *, n_nodes: Any, n_edges: Any, **others: Any) -> None:
    """Raise at the first parameter of `function` that is not as it should be."""
    for name, value in {"n_nodes": n_nodes, **others}.items():
        holds, expected = _RULES[name]
        require(holds(value), name, function, expected, value)
    n_pairs = n_nodes * (n_nodes - 1) // 2
    known = is_integer(n_edges) and 0 <= n_edges <= n_pairs
    require(known, "n_edges", function, f"from 0 to {n_pairs}, the pairs of {n_nodes} nodes", n_edges)
    if others.get("binary", 0) + others.get("counts", 0) > 1:
        require(
            False,
            "counts",
            function,
            f"at most {1 - others['binary']:g} where binary is {others['binary']:g}",
            others["counts"],
        )
    if others.get("missing_by_value") and others["missing"] > MOST_BY_VALUE:
        require(False, "missing", function, f"at most {MOST_BY_VALUE} with missing_by_value", others["missing"])
    if others["standardise"] and others["n_samples"] == 1:
        require(False, "n_samples", function, "at least 2 where X is standardised", 1)
