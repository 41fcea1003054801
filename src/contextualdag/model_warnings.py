"""What a reader of a model's graphs should be warned of."""

from typing import Any

import numpy as np

from contextualdag.plotting.contexts import context_words

DENSE, FEWEST_NODES = 0.5, 8  # of all pairs joined; in smaller graphs that is nothing unusual
FEW_ROWS_A_VARIABLE, FEW_ROWS_A_CATEGORY = 20, 50


def find_warnings(model: Any, W: np.ndarray, contexts: Any = None) -> list[str]:
    """Sentences, the most serious first; none where there is nothing to say.

    Parameters
    ----------
    model : estimator
        A fitted one.
    W : array of shape (n, p, p)
        Its graphs at contexts like those of the fit.
    contexts : DataFrame, optional
        Contexts that were asked for.

    Returns
    -------
    list of str
    """
    return [*_outside(model, contexts), *_empty(W), *_dense(W), *_border(model), *_few(model)]


def _outside(model: Any, contexts: Any) -> list[str]:
    if contexts is None:
        return []
    rows = np.nonzero(model.is_outside(contexts))[0]
    words = [context_words(model, contexts.iloc[[row]], 100) for row in rows]
    return [f"The context {which} lies outside the range of the data; its graph is a guess." for which in words]


def _empty(W: np.ndarray) -> list[str]:
    return [] if W.any() else ["No graph has an edge: the model found no dependence, or was told to be too sparse."]


def _dense(W: np.ndarray) -> list[str]:
    p = W.shape[1]
    if p < FEWEST_NODES:
        return []
    joined = (W != 0).sum((1, 2)) / (p * (p - 1) / 2)
    if joined.mean() > DENSE:
        return [
            f"The graphs are very dense: {100 * joined.mean():.0f} % of all pairs are joined on average. Single edges mean "
            "little here; look at a sparser point of the path, with select(n_edges=...) or --edges."
        ]
    if joined.max() > DENSE:
        return [f"In some contexts the graphs are very dense: up to {100 * joined.max():.0f} % of all pairs are joined."]
    return []


def _border(model: Any) -> list[str]:
    if not hasattr(model, "path_"):
        return []
    selected = model.path_["selected"].to_numpy()
    if len(selected) > 1 and selected[0]:
        return [
            "The chosen point is the densest of the path, so the data asked for hardly any sparsity. Look at the picture of "
            "the path before you trust the weakest edges."
        ]
    return []


def _few(model: Any) -> list[str]:
    found = []
    rows = model.n_samples_
    p = len(model.names_)
    if rows < FEW_ROWS_A_VARIABLE * p:
        found.append(f"There were {rows} rows for {p} variables; with so few, edges differ from sample to sample.")
    summary = model.context_summary_
    for feature, kind, shares in zip(summary["feature"], summary["kind"], summary["shares"], strict=True):
        if kind == "category":
            rare = [name for name, share in shares.items() if share * rows < FEW_ROWS_A_CATEGORY]
            if rare:
                found.append(f"Few rows have {feature} = {' or '.join(rare)}; graphs there lean on those of the others.")
    return found
