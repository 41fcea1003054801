"""The weight of an edge along a feature of the context."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidInputError
from contextualdag.plotting.colours import palette_of
from contextualdag.plotting.contexts import GraphModel, contexts_along, find_name, values_along, varying_features
from contextualdag.plotting.drawing import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESOLUTION = 101


def plot_edge(
    model: GraphModel, source: str, target: str, feature: str | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the weight of an edge, in both directions, along one context feature, all others at typical values.

    Parameters
    ----------
    model : estimator
        A fitted one.
    source, target : str
        Variables.
    feature : str, optional
        A number or a category; by default the feature along which the edge varies most.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The training range is shaded; beyond it the weight is a guess.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_edge
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> ax = plot_edge(FixedDAG(random_state=0).fit(data.X, data.Z), "x1", "x2", "z1")
    >>> ax.get_xlabel()
    'z1'
    """
    j, k = (model.names_.index(find_name(name, model.names_, "variable")) for name in (source, target))
    if j == k:
        raise InvalidInputError(f"source and target must be two variables. Got '{source}' twice.")
    if feature is None:
        feature = _liveliest(model, j, k)
    find_name(feature, list(model.context_summary_["feature"]), "context feature")
    values = values_along(model, feature, RESOLUTION)
    contexts = contexts_along(model, {feature: values})
    W, outside = model.adjacency(contexts), model.is_outside(contexts)
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    colors = palette_of(ax)
    lines = {f"{source} → {target}": (W[:, j, k], colors.positive), f"{target} → {source}": (W[:, k, j], colors.negative)}
    if isinstance(values[0], str):
        _bars(ax, values, lines)
    else:
        _lines(ax, np.array(values), lines, outside)
    ax.axhline(0, color=colors.faint, linewidth=0.8, zorder=1)
    ax.set_xlabel(feature)
    ax.set_ylabel("weight (0: no edge)")
    ax.legend(fontsize=8, frameon=False, loc="best")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _liveliest(model: GraphModel, j: int, k: int) -> str:
    """The feature along which either direction varies most within the training range."""
    features = varying_features(model)
    if not features:
        raise InvalidInputError("No context feature varies, so there is nothing to draw an edge along.")
    ranges = []
    for feature in features:
        contexts = contexts_along(model, {feature: values_along(model, feature, 31)})
        W = model.adjacency(contexts)[~model.is_outside(contexts)]
        ranges.append(float(np.ptp(W[:, j, k]) + np.ptp(W[:, k, j])) if len(W) else 0.0)
    return features[int(np.argmax(ranges))]


def _lines(ax: "Axes", values: np.ndarray, lines: dict[str, Any], outside: np.ndarray) -> None:
    """Solid within the training range, dotted beyond it."""
    colors = palette_of(ax)
    for label, (weights, color) in lines.items():
        # A step where an edge comes or goes is a step, not a slope: no line is drawn across.
        jumps = (weights[1:] != 0) != (weights[:-1] != 0)
        broken = np.insert(weights.astype(float), np.nonzero(jumps)[0] + 1, np.nan)
        at = np.insert(values, np.nonzero(jumps)[0] + 1, values[:-1][jumps])
        beyond = np.insert(outside, np.nonzero(jumps)[0] + 1, outside[:-1][jumps])
        ax.plot(at, broken, color=color, linewidth=1.2, linestyle=(0, (1, 1.5)), alpha=0.8)
        ax.plot(at, np.where(beyond, np.nan, broken), color=color, linewidth=2.2, label=label)
    if not outside.all():
        inside = values[~outside]
        ax.axvspan(inside[0], inside[-1], color=colors.faint, alpha=0.2, linewidth=0, zorder=0)
    ax.set_xlim(values[0], values[-1])
    if outside.any():
        title(ax, "dotted: outside the range of the data, a guess")


def _bars(ax: "Axes", values: list[str], lines: dict[str, Any]) -> None:
    places = np.arange(len(values))
    for shift, (label, (weights, color)) in zip((-0.2, 0.2), lines.items(), strict=True):
        ax.bar(places + shift, weights, 0.36, color=color, label=label)
    ax.set_xticks(places, values)
