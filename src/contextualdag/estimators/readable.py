"""Graphs that people can read: where there are many edges, the strongest, which explain nearly as much."""

from typing import TYPE_CHECKING

from contextualdag.estimators.bootstrap import BootstrapDAG

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
    return f"{_count(model)} edges predict best; the {_count(fewer)} strongest explain nine tenths of it"


def _count(model: "GraphEstimator") -> str:
    """The number of edges, on average over the contexts."""
    if model.varies_:
        return f"{model.chosen_['n_edges']:.3g}"
    fitted = model.estimator_ if isinstance(model, BootstrapDAG) else model
    return str(len(fitted.edges(fitted.typical_context())))
