"""What the parameters of the estimators may be, and the settings that they become."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import is_count, is_flag, is_integer, is_number, is_one_of, require, shown
from contextualdag.errors import InvalidParameterError
from contextualdag.estimators.imputation import MISSING
from contextualdag.network import ACTIVATIONS
from contextualdag.projection import LogDet, Order
from contextualdag.projection.ordering import TRAINING_STARTS
from contextualdag.training.path import BUDGETS
from contextualdag.training.problem import GroupSettings, NetworkSettings
from contextualdag.training.selection import NEARLY_ALL
from contextualdag.training.trainer import TrainingSettings
from contextualdag.transforms import NONE, check_transform

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator
    from contextualdag.estimators.contextual import ContextualDAG
    from contextualdag.estimators.sorted import SortedDAG

MEMBERS, MANY_MEMBERS, FEW_ROWS = 3, 5, 1000  # of an ensemble, and the number of rows below which there are more
NOISES = ("auto", "equal", "unequal")
INTERCEPTS = ("contextual", "constant", "none")
EXPLAINED = "explained"
SELECTIONS = ("relaxed", "min", "1se", EXPLAINED)
Selection = str | float | tuple[str, float]  # as a parameter
# In training one start recovers graphs as well as the three of the layer alone, at half the cost.
ACYCLICITIES: dict[str, Order | LogDet] = {"order": Order(starts=TRAINING_STARTS), "logdet": LogDet()}

PAPER_NETWORK: dict[str, Any] = {
    "selection": "min",
    "n_members": 1,
    "cross_fit": False,
    "structure": "varying",
    "activation": "relu",
    "dropout": 0.0,
    "intercept": "none",
    "noise": "equal",
    "robust": False,
    "transform": NONE,
    "budgets": "equispaced",
    "n_budgets": 20,
    "learning_rate": 1e-3,
    "batch_size": None,
}
PAPER_CUT = 0.1
PAPER_PENALTIES = tuple(10 ** (-3 * step / 19) for step in range(20))
PAPER_GROUPS: dict[str, Any] = {
    "selection": "min",
    "intercept": "none",
    "noise": "equal",
    "robust": False,
    "transform": NONE,
    "penalties": PAPER_PENALTIES,
    "cut": PAPER_CUT,
}


def check(model: "GraphEstimator", holds: bool, name: str, expected: str, known: Sequence[str] = ()) -> None:
    """Raise unless a parameter of an estimator is as expected; of `known` names the nearest is suggested."""
    require(holds, name, type(model).__name__, expected, getattr(model, name), known)


def check_name(model: "GraphEstimator", name: str, known: Iterable[str]) -> None:
    """Raise unless a parameter of an estimator is one of the known names."""
    names = list(known)
    check(model, is_one_of(getattr(model, name), names), name, f"one of {names}", names)


def check_shared_parameters(model: "GraphEstimator") -> None:
    """Check the parameters that all estimators have."""
    selected = is_one_of(model.selection, SELECTIONS) or is_number(model.selection, 0) or _is_share(model.selection)
    expected = (
        "'relaxed', 'min', '1se', 'explained', ('explained', share) with a share above 0, up to 1, or a number of edges"
    )
    check(model, selected, "selection", expected, SELECTIONS)
    check_name(model, "intercept", INTERCEPTS)
    check_name(model, "noise", NOISES)
    check(model, is_flag(model.robust), "robust", "True or False")
    _check_periods(model)
    check_name(model, "missing", MISSING)
    check_transform(model.get_params(deep=False)["transform"], type(model).__name__)
    seed = model.random_state
    check(model, seed is None or (is_integer(seed) and seed >= 0), "random_state", "None or an integer of at least 0")
    check(model, isinstance(model.device, str), "device", "'auto' or the name of a device")
    share = is_number(model.validation_fraction, 0, 1, low_open=True, high_open=True)
    check(model, share, "validation_fraction", "a float in (0, 1)")


def _is_share(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2 and value[0] == EXPLAINED
    return pair and is_number(value[1], 0, 1, low_open=True)


def share_to_explain(selection: Selection) -> float | None:
    """The share that a parameter `selection` wants explained; None if that is not what it asks for."""
    if isinstance(selection, tuple):
        return float(selection[1])
    return NEARLY_ALL if selection == EXPLAINED else None


def selection_settings(selection: Selection) -> dict[str, Any]:
    """A parameter `selection` as the recipe takes it."""
    share = share_to_explain(selection)
    return {"selection": selection} if share is None else {"selection": EXPLAINED, "explained": share}


def _check_periods(model: "GraphEstimator") -> None:
    is_dict = isinstance(model.cyclic, Mapping) and all(isinstance(name, str) for name in model.cyclic)
    expected = "None or a dict of names of context features and positive periods, such as {'hour': 24}"
    if isinstance(model.cyclic, Mapping) and not is_dict:
        name = next(name for name in model.cyclic if not isinstance(name, str))
        raise InvalidParameterError(
            f"The 'cyclic' parameter of {type(model).__name__} must name context features by text, not by position. Got "
            f"{shown(name)} as a name. The columns of an array are 'z1', 'z2' and so on."
        )
    check(model, model.cyclic is None or is_dict, "cyclic", expected)
    for name, period in (model.cyclic or {}).items():
        holds = is_number(period, 0, low_open=True, high_open=True)
        require(holds, "cyclic", type(model).__name__, f"{expected}, with a positive number for '{name}'", period)


def check_network_parameters(model: "ContextualDAG | SortedDAG", structures: Sequence[str]) -> None:
    """Check the parameters of estimators with networks."""
    check_shared_parameters(model)
    check_name(model, "structure", structures)
    widths = isinstance(model.hidden_layers, Sequence) and all(is_count(width) for width in model.hidden_layers)
    check(model, widths, "hidden_layers", "a sequence of positive integers")
    check_name(model, "activation", sorted(ACTIVATIONS))
    share = model.dropout == "auto" if isinstance(model.dropout, str) else is_number(model.dropout, 0, 1, high_open=True)
    check(model, share, "dropout", "'auto' or a number in [0, 1)")
    check_name(model, "budgets", sorted(BUDGETS))
    members = model.n_members == "auto" if isinstance(model.n_members, str) else is_count(model.n_members)
    check(model, members, "n_members", "'auto' or an integer of at least 1")
    for name in ("n_budgets", "max_epochs", "patience"):
        check(model, is_count(getattr(model, name)), name, "an integer of at least 1")
    size = (
        model.batch_size == "auto"
        if isinstance(model.batch_size, str)
        else model.batch_size is None or is_count(model.batch_size)
    )
    check(model, size, "batch_size", "'auto', None or an integer of at least 1")
    for name in ("verbose", "cross_fit"):
        check(model, is_flag(getattr(model, name)), name, "True or False")
    rate = is_number(model.learning_rate, 0, low_open=True, high_open=True)
    check(model, rate, "learning_rate", "a positive number")


def check_group_parameters(model: Any) -> None:
    """Check the parameters of estimators without networks."""
    check_shared_parameters(model)
    check(model, is_count(model.n_penalties), "n_penalties", "an integer of at least 1")
    check_cut(model)
    known = model.penalties is None or (
        isinstance(model.penalties, Sequence | np.ndarray)
        and len(model.penalties) > 0
        and all(is_number(value, 0, math.inf, high_open=True) for value in model.penalties)
    )
    check(model, known, "penalties", "None or a sequence of numbers of at least 0")


def check_cut(model: Any) -> None:
    """Check the parameter `cut`."""
    check(model, is_number(model.cut, 0, high_open=True), "cut", "a number of at least 0")


def network_settings(model: "ContextualDAG | SortedDAG", acyclicity: Order | LogDet, n_rows: int | None) -> NetworkSettings:
    """The parameters of estimators with networks, as the recipe takes them, for so many rows; None if they are grouped."""
    has_few_rows = n_rows is not None and n_rows < FEW_ROWS
    return NetworkSettings(
        acyclicity=acyclicity,
        **selection_settings(model.selection),
        n_members=(MANY_MEMBERS if has_few_rows else MEMBERS) if isinstance(model.n_members, str) else model.n_members,
        cross_fit=bool(model.cross_fit),
        structure=model.structure,
        hidden_layers=tuple(model.hidden_layers),
        activation=model.activation,
        dropout=model.dropout,
        budgets=model.budgets,
        n_budgets=model.n_budgets,
        training=TrainingSettings(model.learning_rate, model.max_epochs, model.patience, model.batch_size),
    )


def group_settings(model: Any, x_scale: float, **clusters: Any) -> GroupSettings:
    """The parameters of estimators without networks, as the recipe takes them, for X divided by `x_scale`."""
    penalties = None
    if model.penalties is not None:
        penalties = tuple(float(value) / x_scale**2 for value in sorted(model.penalties, reverse=True))
    return GroupSettings(
        **selection_settings(model.selection),
        penalties=penalties,
        n_penalties=model.n_penalties,
        cut=float(model.cut),
        **clusters,
    )
