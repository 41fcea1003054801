"""Graphs that people can read: where there are many edges, the strongest, which explain nearly as much."""

import copy
from typing import TYPE_CHECKING

from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.estimators.parameters import share_to_explain

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

SHARE = 0.9  # of what all edges explain
MANY_EDGES, FAR_FEWER = 1.5, 0.7  # edges for each variable; share of them


def readable(model: "GraphEstimator") -> "GraphEstimator | None":
    """The model with its strongest edges only, if it has many and far fewer explain nine tenths of it; else None.

    Only the default selection is meant: who asks for a number of edges gets it.
    """
    fitted = model.estimator if isinstance(model, BootstrapDAG) and model.selection == "estimator" else model
    is_own = fitted.selection == "relaxed" and model._variation is not None
    all_of_them = model.chosen_["n_edges"]
    if not is_own or not model.chosen_["refitted"] or all_of_them < MANY_EDGES * len(model.names_):
        return None
    fewer = model.select(explained=SHARE)
    return fewer if fewer.chosen_["n_edges"] <= FAR_FEWER * all_of_them else None


def in_words(model: "GraphEstimator", fewer: "GraphEstimator") -> str:
    """How many edges predict best, and how many are enough."""
    return f"{_count(model)} edges predict best; the {_count(fewer)} strongest explain {_share(SHARE)} of it"


def cut_in_words(model: "GraphEstimator") -> str:
    """How many edges predict best, of which a model was fitted to have the strongest; empty where it has what predicts best.

    A model for which another point was selected later is not told either.
    """
    fitted = model.estimator_ if isinstance(model, BootstrapDAG) and model.selection == "estimator" else model
    share = None if isinstance(fitted, BootstrapDAG) else share_to_explain(fitted.selection)
    if share in (None, 1) or fitted._variation is None:
        return ""
    whole = copy.copy(fitted)
    whole._solution = fitted._solution.whole()
    best, kept = _count(whole), _count(fitted)
    if best == kept:
        return (
            f"{best} edge{' predicts' if best == '1' else 's predict'} best, and explaining {_share(share)} of it needs all"
        )
    return f"{best} edges predict best; the {kept} strongest, which these graphs have, explain {_share(share)} of it"


def _share(share: float) -> str:
    return "nine tenths" if share == SHARE else f"{100 * share:.3g} %"


def _count(model: "GraphEstimator") -> str:
    """The number of edges, on average over the contexts."""
    if model.varies_:
        return f"{model.chosen_['n_edges']:.3g}"
    fitted = model.estimator_ if isinstance(model, BootstrapDAG) else model
    return str(len(fitted.edges(fitted.typical_context())))
