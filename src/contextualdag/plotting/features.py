"""Pictures along context features: the weight of an edge or an effect along one, the number of edges over two."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import is_integer, require
from contextualdag.contexts import ContextFeature
from contextualdag.effects import effects_of
from contextualdag.errors import InvalidInputError
from contextualdag.plotting.canvas import palette_of, plain, title
from contextualdag.plotting.contexts import (
    GraphModel,
    contexts_along,
    find_feature,
    find_name,
    values_along,
    varying_features,
)
from contextualdag.tables import varying

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESOLUTION = 101  # points of a curve
SHORT = 20  # letters of a name where there is little room
ROWS_AT_ONCE = 1000
LEVEL = 0.9
INTERVAL = f"{100 * LEVEL:.0f} % interval of the total"
BESIDE = (-0.2, 0.2)  # places of two bars
TwoLines = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Line = tuple[str, np.ndarray, str]  # label, weights and colour


def plot_edge(
    model: GraphModel, source: str, target: str, feature: str | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the weight of an edge, in both directions, along one context feature with all others at typical values.

    Parameters
    ----------
    model : estimator
        Fitted model.
    source, target : str
        Variables of the edge.
    feature : str, optional
        Context feature, a number or a category; by default the one along which the edge varies most.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The training range is shaded; outside it the weight is a guess.

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
    j, k = _pair(model, source, target)
    along = find_feature(model, _most_varying(model, _both_weights(j, k)) if feature is None else feature)
    first, second = plain(source, SHORT), plain(target, SHORT)
    labels = f"{first} → {second}", f"{second} → {first}"
    return _draw_along(model, along, labels, _both_weights(j, k), "weight (0: no edge)", ax)


def plot_effect(
    model: GraphModel, source: str, target: str, feature: str | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the total effect of a variable on another along one context feature with all others at typical values.

    Parameters
    ----------
    model : estimator
        Fitted model.
    source, target : str
        The variable that is set, and the one that follows.
    feature : str, optional
        Context feature, a number or a category; by default the one along which the effect varies most.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The direct effect, which is the weight of the edge, is drawn as well, and of a `BootstrapDAG` the 90 % interval of
        the total effect. The training range is shaded; outside it all are guesses.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_effect
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> ax = plot_effect(FixedDAG(random_state=0).fit(data.X, data.Z), "x1", "x2", "z1")
    >>> ax.get_ylabel()
    'effect of x1 on x2'
    """
    j, k = _pair(model, source, target)

    def both(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return effects_of(W, j)[:, k], W[:, j, k]

    along = find_feature(model, _most_varying(model, both) if feature is None else feature)
    words = f"effect of {plain(source, SHORT)} on {plain(target, SHORT)}"
    ax = _draw_along(model, along, ("total", "direct"), both, words, ax)
    if hasattr(model, "effect_intervals"):
        values = values_along(along, RESOLUTION)
        low, high = (bound[:, j, k] for bound in model.effect_intervals(contexts_along(model, {along.name: values}), LEVEL))
        colors = palette_of(ax)
        if along.is_number:
            ax.fill_between(values, low, high, color=colors.positive, alpha=0.2, linewidth=0, zorder=1, label=INTERVAL)
        else:
            places = np.arange(len(values)) + BESIDE[0]
            ax.vlines(places, low, high, color=colors.text, linewidth=1.2, label=INTERVAL)
        ax.legend(fontsize=8, frameon=False, loc="best")
    return ax


def _pair(model: GraphModel, source: str, target: str) -> tuple[int, int]:
    j, k = (model.names_.index(find_name(name, model.names_, "variable")) for name in (source, target))
    if j == k:
        raise InvalidInputError(f"source and target must be two variables. Got '{source}' twice.")
    return j, k


def _both_weights(j: int, k: int) -> TwoLines:
    """Weights of an edge and of its reverse."""
    return lambda W: (W[:, j, k], W[:, k, j])


def _draw_along(
    model: GraphModel, along: ContextFeature, labels: tuple[str, str], both: TwoLines, what: str, ax: "Axes | None"
) -> "Axes":
    """Draw two numbers of every graph along a feature."""
    values = values_along(along, RESOLUTION)
    contexts = contexts_along(model, {along.name: values})
    W, outside = model.adjacency(contexts), model.is_outside(contexts)
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    colors = palette_of(ax)
    lines = list(zip(labels, both(W), (colors.positive, colors.negative), strict=True))
    if along.is_number:
        _lines(ax, np.array(values), lines, outside)
    else:
        _bars(ax, values, lines)
    ax.axhline(0, color=colors.faint, linewidth=0.8, zorder=1)
    ax.set_xlabel(plain(along.name))
    ax.set_ylabel(what)
    ax.legend(fontsize=8, frameon=False, loc="best")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def plot_sparsity(
    model: GraphModel,
    feature_a: str | None = None,
    feature_b: str | None = None,
    *,
    resolution: int = 30,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the number of edges over two context features, with all others at typical values.

    Parameters
    ----------
    model : estimator
        Fitted model.
    feature_a, feature_b : str, optional
        Features of the horizontal and of the vertical axis; by default the first two that vary.
    resolution : int, default=30
        Number of contexts along each feature.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Contexts outside the training range are hatched; their graphs are guesses.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_sparsity
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, n_features=2, random_state=0)
    >>> ax = plot_sparsity(FixedDAG(random_state=0).fit(data.X, data.Z), "z1", "z2")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('z1', 'z2')
    """
    is_valid = is_integer(resolution) and resolution >= 2
    require(is_valid, "resolution", "plot_sparsity", "an integer of at least 2", resolution)
    across, up = _two_features(model, feature_a, feature_b)
    along = [values_along(feature, resolution) for feature in (across, up)]
    counts, outside = _counts(model, across, up, along)
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
    edges = [_borders(values) for values in along]
    # Outside the training range graphs may be far denser; without a limit they would take up the colour scale.
    most = max(float(counts[~outside].max(initial=0)), 1.0)
    least = min(float(counts.min()), most - 1)
    mesh = ax.pcolormesh(*edges, counts, cmap="viridis", vmin=least, vmax=most, rasterized=True)
    if outside.any():
        _hatch(ax, edges, [_range(feature, cells) for feature, cells in zip((across, up), edges, strict=True)])
    for axis, feature, values in ((ax.xaxis, across, along[0]), (ax.yaxis, up, along[1])):
        axis.set_label_text(plain(feature.name))
        if not feature.is_number:
            axis.set_ticks(np.arange(len(values)), _categories(values))
    _colour_bar(ax, mesh, clipped=bool(counts.max() > most))
    if outside.any():
        title(ax, "hatched: outside the range of the data, a guess")
    return ax


def _most_varying(model: GraphModel, both: TwoLines) -> str:
    """The feature along which two numbers of a graph vary most within the training range."""
    features = varying_features(model)
    if not features:
        raise InvalidInputError("No context feature varies, so there is none to draw an edge along.")
    ranges = []
    for feature in features:
        contexts = contexts_along(model, {feature: values_along(find_feature(model, feature), 31)})
        W = model.adjacency(contexts)[~model.is_outside(contexts)]
        ranges.append(float(sum(np.ptp(line) for line in both(W))) if len(W) else 0.0)
    return features[int(np.argmax(ranges))]


def _lines(ax: "Axes", values: np.ndarray, lines: list[Line], outside: np.ndarray) -> None:
    """Solid within the training range, dotted beyond it."""
    colors = palette_of(ax)
    for label, weights, color in lines:
        # Where an edge appears or vanishes the line is interrupted, not drawn as a slope.
        jumps = (weights[1:] != 0) != (weights[:-1] != 0)
        broken = np.insert(weights.astype(float), np.nonzero(jumps)[0] + 1, np.nan)
        at = np.insert(values, np.nonzero(jumps)[0] + 1, values[:-1][jumps])
        beyond = np.insert(outside, np.nonzero(jumps)[0] + 1, outside[:-1][jumps])
        ax.plot(at, broken, color=color, linewidth=1.2, linestyle=(0, (1, 1.5)), alpha=0.8)
        ax.plot(at, np.where(beyond, np.nan, broken), color=color, linewidth=2.2, label=label)
    if not outside.all():
        inside = values[~outside]
        ax.axvspan(inside[0], inside[-1], color=colors.faint, alpha=0.2, linewidth=0, zorder=0)
    if varying(values[:, None])[0]:
        ax.set_xlim(values[0], values[-1])
    if outside.any():
        title(ax, "dotted: outside the range of the data, a guess")


def _bars(ax: "Axes", values: list[str], lines: list[Line]) -> None:
    places = np.arange(len(values))
    for shift, (label, weights, color) in zip(BESIDE, lines, strict=True):
        ax.bar(places + shift, weights, 0.36, color=color, label=label)
    ax.set_xticks(places, _categories(values))


def _categories(values: list[str]) -> list[str]:
    """Categories as labels of an axis, which are the shorter the more there are."""
    return [plain(value, max(6, 60 // len(values))) for value in values]


def _colour_bar(ax: "Axes", mesh: Any, clipped: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    figure = ax.get_figure(root=True)
    bar = figure.colorbar(mesh, ax=ax, label="number of edges", extend="max" if clipped else "neither")  # type: ignore[union-attr]
    bar.outline.set_edgecolor(palette_of(ax).faint)
    bar.locator = MaxNLocator(integer=True, nbins=6)
    bar.update_ticks()


def _two_features(model: GraphModel, feature_a: str | None, feature_b: str | None) -> tuple[ContextFeature, ContextFeature]:
    given = [find_feature(model, name).name for name in (feature_a, feature_b) if name is not None]
    free = [name for name in varying_features(model) if name not in given]
    while len(given) < 2:
        if not free:
            raise InvalidInputError("plot_sparsity needs two context features that vary; use plot_edge for one.")
        given.append(free.pop(0))
    if given[0] == given[1]:
        raise InvalidInputError(f"plot_sparsity needs two different features. Got '{given[0]}' twice.")
    if feature_a is None and feature_b is not None:
        given.reverse()
    return find_feature(model, given[0]), find_feature(model, given[1])


def _counts(
    model: GraphModel, across: ContextFeature, up: ContextFeature, along: list[list[Any]]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of edges, and which contexts lie outside the training range: one row for each value of `up`."""
    columns = {across.name: along[0] * len(along[1]), up.name: [value for value in along[1] for _ in along[0]]}
    contexts = contexts_along(model, columns)
    shape = (len(along[1]), len(along[0]))
    parts = [contexts.iloc[first : first + ROWS_AT_ONCE] for first in range(0, len(contexts), ROWS_AT_ONCE)]
    counts = np.concatenate([(model.adjacency(part) != 0).sum((1, 2)) for part in parts])
    return counts.reshape(shape), model.is_outside(contexts).reshape(shape)


def _borders(values: list[Any]) -> np.ndarray:
    """Borders of the cells around values; categories are at 0, 1, 2 and so on."""
    places = np.arange(len(values), dtype=float) if isinstance(values[0], str) else np.array(values)
    step = places[1] - places[0] if len(places) > 1 else 1.0
    return np.append(places - step / 2, places[-1] + step / 2)


def _range(feature: ContextFeature, cells: np.ndarray) -> tuple[float, float]:
    """Ends of the training range on an axis; all categories are within it."""
    return (feature.low, feature.high) if feature.is_number else (float(cells[0]), float(cells[-1]))


def _hatch(ax: "Axes", edges: list[np.ndarray], inside: list[tuple[float, float]]) -> None:
    """Hatch what lies outside the training range, and draw a line around the rest."""
    from matplotlib.patches import Rectangle

    (left, right), (low, high) = (edges[0][[0, -1]], edges[1][[0, -1]])
    x, y = inside
    ax.add_patch(Rectangle((x[0], y[0]), x[1] - x[0], y[1] - y[0], fill=False, edgecolor="white", linewidth=1.5))
    around = ((left, low, x[0], high), (x[1], low, right, high), (x[0], low, x[1], y[0]), (x[0], y[1], x[1], high))
    for x0, y0, x1, y1 in around:
        if x1 > x0 and y1 > y0:
            veil = Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor=(0.5, 0.5, 0.5, 0.35), hatch="///", linewidth=0)
            veil.set_edgecolor((1, 1, 1, 0.6))
            ax.add_patch(veil)
