"""Warnings for the reader of a model's graphs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.estimators.poor_fit import poor_fit
from contextualdag.plotting.contexts import context_text

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

DENSE, FEWEST_NODES = 0.5, 8  # share of pairs with an edge; not unusual in smaller graphs
FEW_ROWS_A_VARIABLE, FEW_ROWS_A_CATEGORY = 20, 50


def find_warnings(model: "GraphEstimator", W: np.ndarray, contexts: Any = None) -> list[str]:
    """Warnings as sentences, the most serious first.

    Parameters
    ----------
    model : estimator
        Fitted model.
    W : array of shape (n, p, p)
        Its graphs at contexts like those of the fit.
    contexts : DataFrame, optional
        Contexts that the user asked for.

    Returns
    -------
    list of str
    """
    return [*poor_fit(model), *_outside(model, contexts), *_empty(W), *_dense(W), *_border(model), *_few(model)]


def _outside(model: "GraphEstimator", contexts: Any) -> list[str]:
    if contexts is None:
        return []
    rows = np.nonzero(model.is_outside(contexts))[0]
    words = [context_text(model, contexts.iloc[[row]], 100) for row in rows]
    return [f"The context {which} lies outside the range of the data; its graph is a guess." for which in words]


def _empty(W: np.ndarray) -> list[str]:
    return [] if W.any() else ["No graph has an edge: the model found no dependence, or the given sparsity is too high."]


def _dense(W: np.ndarray) -> list[str]:
    p = W.shape[1]
    if p < FEWEST_NODES:
        return []
    joined = (W != 0).sum((1, 2)) / (p * (p - 1) / 2)
    if joined.mean() > DENSE:
        return [
            f"The graphs are very dense: {100 * joined.mean():.0f} % of all pairs have an edge on average. Single edges "
            "mean little here; look at a sparser point of the path, with select(n_edges=...) or --edges."
        ]
    if joined.max() > DENSE:
        return [f"In some contexts the graphs are very dense: up to {100 * joined.max():.0f} % of all pairs have an edge."]
    return []


def _border(model: "GraphEstimator") -> list[str]:
    if not hasattr(model, "path_"):
        return []
    selected = model.path_["selected"].to_numpy()
    if len(selected) > 1 and selected[0]:
        return [
            "The selected point is the densest of the path, so hardly any sparsity was needed. Look at the picture of the "
            "path before you trust the weakest edges."
        ]
    return []


def _few(model: "GraphEstimator") -> list[str]:
    found = []
    rows, p = model.n_samples_, len(model.names_)
    if rows < FEW_ROWS_A_VARIABLE * p:
        found.append(f"There were {rows} rows for {p} variables; with so few, edges differ from sample to sample.")
    for feature in model.context_features_:
        rare = [category for category, share in feature.shares.items() if share * rows < FEW_ROWS_A_CATEGORY]
        if rare:
            found.append(
                f"Few rows have {feature.name} = {' or '.join(rare)}; the graphs there rely on those of other categories."
            )
    return found
