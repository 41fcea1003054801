"""What the parameters of ContextualDAG may be."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidParameterError
from contextualdag.network import ACTIVATIONS
from contextualdag.projection import LogDet, Order
from contextualdag.training.path import equispaced_budgets, geometric_budgets

if TYPE_CHECKING:
    from contextualdag.estimators.contextual import ContextualDAG

BUDGETS = {"geometric": geometric_budgets, "equispaced": equispaced_budgets}
INTERCEPTS = ("contextual", "constant", "none")
SELECTIONS = ("relaxed", "min", "1se")
# One start keeps a little less weight than three and recovers graphs as well, at half the cost.
ACYCLICITIES: dict[str, Order | LogDet] = {"order": Order(starts=1), "logdet": LogDet()}
PAPER: dict[str, Any] = {
    "acyclicity": "logdet",
    "selection": "min",
    "activation": "relu",
    "dropout": 0.0,
    "intercept": "none",
    "budgets": "equispaced",
    "n_budgets": 20,
}


def check_parameters(model: "ContextualDAG") -> None:
    """Raise, with one sentence, at the first parameter that is not as it should be."""

    def require(holds: bool, name: str, expected: str) -> None:
        if not holds:
            raise InvalidParameterError(
                f"The '{name}' parameter of ContextualDAG must be {expected}. Got {getattr(model, name)!r} instead."
            )

    known = isinstance(model.acyclicity, Order | LogDet) or _is_one_of(model.acyclicity, ACYCLICITIES)
    require(known, "acyclicity", "'order', 'logdet', an Order or a LogDet")
    chosen = _is_one_of(model.selection, SELECTIONS) or _in(model.selection, 0, math.inf)
    require(chosen, "selection", "'relaxed', 'min', '1se' or a number of edges")
    widths = isinstance(model.hidden_layers, Sequence) and all(_is_count(width) for width in model.hidden_layers)
    require(widths, "hidden_layers", "a sequence of positive integers")
    require(_is_one_of(model.activation, ACTIVATIONS), "activation", f"one of {sorted(ACTIVATIONS)}")
    require(_in(model.dropout, 0, 1) and model.dropout < 1, "dropout", "a number in [0, 1)")
    require(_is_one_of(model.intercept, INTERCEPTS), "intercept", f"one of {list(INTERCEPTS)}")
    require(_is_one_of(model.budgets, BUDGETS), "budgets", f"one of {sorted(BUDGETS)}")
    for name in ("n_budgets", "max_epochs", "patience"):
        require(_is_count(getattr(model, name)), name, "an integer of at least 1")
    seed = model.random_state
    known = seed is None or _is_count(seed) or (isinstance(seed, int) and seed == 0)
    require(known, "random_state", "None or an integer of at least 0")
    size = model.batch_size
    require(size is None or _is_count(size), "batch_size", "None or an integer of at least 1")
    require(isinstance(model.verbose, bool | np.bool_), "verbose", "True or False")
    require(isinstance(model.device, str), "device", "'auto' or the name of a device")
    rate, share = model.learning_rate, model.validation_fraction
    require(_in(rate, 0, math.inf) and 0 < rate < math.inf, "learning_rate", "a positive number")
    require(_in(share, 0, 1) and 0 < share < 1, "validation_fraction", "a float in (0, 1)")


def check_n_edges(model: "ContextualDAG", n_nodes: int) -> None:
    """Raise if more edges are asked for than a graph of so many nodes can have."""
    most = n_nodes * (n_nodes - 1) // 2
    if not isinstance(model.selection, str) and model.selection > most:
        raise InvalidParameterError(
            f"The 'selection' parameter of ContextualDAG asks for {model.selection:g} edges, but a graph of {n_nodes} "
            f"variables has {most} at most."
        )


def _is_one_of(value: Any, names: Any) -> bool:
    return isinstance(value, str) and value in names


def _in(value: Any, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and low <= float(value) <= high


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)
