"""How dense the graphs are over two features of the context."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.plotting.colours import palette_of
from contextualdag.plotting.contexts import (
    GraphModel,
    contexts_along,
    find_name,
    value_words,
    values_along,
    varying_features,
)
from contextualdag.plotting.drawing import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_sparsity(
    model: GraphModel,
    feature_a: str | None = None,
    feature_b: str | None = None,
    *,
    resolution: int = 30,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the number of edges over two context features, all others at typical values.

    Parameters
    ----------
    model : estimator
        A fitted one.
    feature_a, feature_b : str, optional
        Across and up; by default the first two that vary. Numbers or categories.
    resolution : int, default=30
        Contexts along each feature.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        What lies outside the training range is hatched; there the graphs are guesses.

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
    across, up = _two_features(model, feature_a, feature_b)
    if not resolution >= 2:
        raise InvalidParameterError(f"resolution must be an integer of at least 2. Got {resolution!r} instead.")
    along = [values_along(model, feature, resolution) for feature in (across, up)]
    counts, outside = _counts(model, across, up, along)
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
    colors = palette_of(ax)
    edges = [_borders(values) for values in along]
    # Where nobody is, graphs can get far denser than anywhere else; without a limit they would take all the colours.
    most = max(float(counts[~outside].max(initial=0)), 1.0)
    least = min(float(counts.min()), most - 1)
    mesh = ax.pcolormesh(*edges, counts, cmap="viridis", vmin=least, vmax=most, rasterized=True)
    if outside.any():
        _hatch(ax, edges, [_range(model, feature, cells) for feature, cells in zip((across, up), edges, strict=True)])
    for axis, feature, values in ((ax.xaxis, across, along[0]), (ax.yaxis, up, along[1])):
        axis.set_label_text(feature)
        if isinstance(values[0], str):
            axis.set_ticks(np.arange(len(values)), [value_words(value) for value in values])
    figure = ax.get_figure(root=True)
    bar = figure.colorbar(mesh, ax=ax, label="number of edges", extend="max" if counts.max() > most else "neither")  # type: ignore[union-attr]
    bar.outline.set_edgecolor(colors.faint)
    bar.locator = _whole_numbers()
    bar.update_ticks()
    if outside.any():
        title(ax, "hatched: outside the range of the data, a guess")
    return ax


def _two_features(model: GraphModel, feature_a: str | None, feature_b: str | None) -> tuple[str, str]:
    known = list(model.context_summary_["feature"])
    given = [find_name(name, known, "context feature") for name in (feature_a, feature_b) if name is not None]
    free = [name for name in varying_features(model) if name not in given]
    while len(given) < 2:
        if not free:
            raise InvalidInputError("plot_sparsity needs two context features that vary; use plot_edge for one.")
        given.append(free.pop(0))
    if given[0] == given[1]:
        raise InvalidInputError(f"plot_sparsity needs two different features. Got '{given[0]}' twice.")
    if feature_a is None and feature_b is not None:
        given.reverse()
    return given[0], given[1]


def _counts(model: GraphModel, across: str, up: str, along: list[list[Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of edges, and which contexts lie outside, one row for each value upwards."""
    columns = {across: along[0] * len(along[1]), up: [value for value in along[1] for _ in along[0]]}
    contexts = contexts_along(model, columns)
    shape = (len(along[1]), len(along[0]))
    parts = [contexts.iloc[first : first + 1000] for first in range(0, len(contexts), 1000)]
    counts = np.concatenate([(model.adjacency(part) != 0).sum((1, 2)) for part in parts])
    return counts.reshape(shape), model.is_outside(contexts).reshape(shape)


def _borders(values: list[Any]) -> np.ndarray:
    """Borders of the cells around values; categories stand at 0, 1, 2 and so on."""
    places = np.arange(len(values), dtype=float) if isinstance(values[0], str) else np.array(values)
    step = places[1] - places[0] if len(places) > 1 else 1.0
    return np.append(places - step / 2, places[-1] + step / 2)


def _range(model: GraphModel, feature: str, cells: np.ndarray) -> tuple[float, float]:
    """Where the training range begins and ends; categories lie within it, all of them."""
    row = model.context_summary_.set_index("feature").loc[feature]
    return (float(cells[0]), float(cells[-1])) if row["kind"] == "category" else (float(row["low"]), float(row["high"]))


def _hatch(ax: "Axes", edges: list[np.ndarray], inside: list[tuple[float, float]]) -> None:
    """Hatch what is outside, and draw a line around what is not."""
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


def _whole_numbers() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True, nbins=6)
