"""What the parameters of the estimators may be."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contextualdag.errors import InvalidParameterError
from contextualdag.network import ACTIVATIONS
from contextualdag.projection import LogDet, Order
from contextualdag.training.path import equispaced_budgets, geometric_budgets

if TYPE_CHECKING:
    from contextualdag.estimators.contextual import ContextualDAG
    from contextualdag.estimators.path_estimator import PathEstimator

BUDGETS = {"geometric": geometric_budgets, "equispaced": equispaced_budgets}
INTERCEPTS = ("contextual", "constant", "none")
SELECTIONS = ("relaxed", "min", "1se")
# One start keeps a little less weight than three and recovers graphs as well, at half the cost.
ACYCLICITIES: dict[str, Order | LogDet] = {"order": Order(starts=1), "logdet": LogDet()}
PAPER: dict[str, Any] = {
    "acyclicity": "logdet",
    "selection": "min",
    "n_members": 1,
    "cross_fit": False,
    "consider_constant": False,
    "activation": "relu",
    "dropout": 0.0,
    "intercept": "none",
    "budgets": "equispaced",
    "n_budgets": 20,
}


PAPER_CUT = 0.1
PAPER_PENALTIES = tuple(10 ** (-3 * step / 19) for step in range(20))


def require(model: "PathEstimator", holds: bool, name: str, expected: str) -> None:
    """Raise, with one sentence, unless a parameter is as expected."""
    if not holds:
        raise InvalidParameterError(
            f"The '{name}' parameter of {type(model).__name__} must be {expected}. Got {getattr(model, name)!r} instead."
        )


def check_shared_parameters(model: "PathEstimator") -> None:
    """Those that all estimators with a path have."""
    chosen = _is_one_of(model.selection, SELECTIONS) or _in(model.selection, 0, math.inf)
    require(model, chosen, "selection", "'relaxed', 'min', '1se' or a number of edges")
    require(model, _is_one_of(model.intercept, INTERCEPTS), "intercept", f"one of {list(INTERCEPTS)}")
    seed, share = model.random_state, model.validation_fraction
    known = seed is None or is_count(seed) or (isinstance(seed, int) and seed == 0)
    require(model, known, "random_state", "None or an integer of at least 0")
    require(model, isinstance(model.device, str), "device", "'auto' or the name of a device")
    require(model, _in(share, 0, 1) and 0 < share < 1, "validation_fraction", "a float in (0, 1)")


def check_parameters(model: "ContextualDAG") -> None:
    """Those of ContextualDAG."""
    check_shared_parameters(model)
    known = isinstance(model.acyclicity, Order | LogDet) or _is_one_of(model.acyclicity, ACYCLICITIES)
    require(model, known, "acyclicity", "'order', 'logdet', an Order or a LogDet")
    widths = isinstance(model.hidden_layers, Sequence) and all(is_count(width) for width in model.hidden_layers)
    require(model, widths, "hidden_layers", "a sequence of positive integers")
    require(model, _is_one_of(model.activation, ACTIVATIONS), "activation", f"one of {sorted(ACTIVATIONS)}")
    known = model.dropout == "auto" if isinstance(model.dropout, str) else _in(model.dropout, 0, 1) and model.dropout < 1
    require(model, known, "dropout", "'auto' or a number in [0, 1)")
    require(model, _is_one_of(model.budgets, BUDGETS), "budgets", f"one of {sorted(BUDGETS)}")
    for name in ("n_members", "n_budgets", "max_epochs", "patience"):
        require(model, is_count(getattr(model, name)), name, "an integer of at least 1")
    size, rate = model.batch_size, model.learning_rate
    require(model, size is None or is_count(size), "batch_size", "None or an integer of at least 1")
    for name in ("verbose", "cross_fit", "consider_constant"):
        require(model, isinstance(getattr(model, name), bool | np.bool_), name, "True or False")
    require(model, _in(rate, 0, math.inf) and 0 < rate < math.inf, "learning_rate", "a positive number")


def check_cut(model: Any) -> None:
    """The parameter `cut` of those who have it."""
    require(model, _in(model.cut, 0, math.inf) and model.cut < math.inf, "cut", "a number of at least 0")


def check_device(model: "PathEstimator") -> torch.device:
    """The device to use; "auto" is CUDA where there is a device."""
    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if model.device == "auto" else model.device)


def check_n_edges(model: "PathEstimator", n_nodes: int) -> None:
    """Raise if more edges are asked for than a graph of so many nodes can have."""
    most = n_nodes * (n_nodes - 1) // 2
    if not isinstance(model.selection, str) and model.selection > most:
        raise InvalidParameterError(
            f"The 'selection' parameter of {type(model).__name__} asks for {model.selection:g} edges, but a graph of "
            f"{n_nodes} variables has {most} at most."
        )


def _is_one_of(value: Any, names: Any) -> bool:
    return isinstance(value, str) and value in names


def _in(value: Any, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and low <= float(value) <= high


def is_count(value: Any) -> bool:
    """Whether a value is an integer of at least one."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)
