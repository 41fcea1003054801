"""The graph of a context, and those of several with every node in the same place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidInputError
from contextualdag.plotting.colours import palette_of
from contextualdag.plotting.contexts import GraphModel, context_words, read_context, read_contexts
from contextualdag.plotting.drawing import Canvas, edges_by_strength, joined, new_axes, size_in_points, title
from contextualdag.plotting.strongest import MOST_EDGES, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTSIDE = "outside the range of the data: a guess"
STRIP = 16.0  # points for the legend


def plot_graph(
    model: GraphModel,
    z: Any = None,
    *,
    places: np.ndarray | None = None,
    max_edges: int = MOST_EDGES,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the graph of one context: parents above children, edges as wide as they are strong, colour by sign.

    Parameters
    ----------
    model : estimator
        A fitted one.
    z : array, DataFrame of one row or mapping, optional
        The context; by default a typical one. A mapping may leave features out, which are then typical.
    places : array of shape (p, 2), optional
        Where to draw the nodes; by default as `layered_layout` says.
    max_edges : int, default=100
        Draw at most this many edges, the strongest; the legend says how many are left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A context outside the training range is marked in its title.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_graph
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> ax = plot_graph(FixedDAG(random_state=0).fit(data.X, data.Z), data.Z[0])
    >>> len(ax.texts)
    4
    """
    context = read_context(model, z)
    ax = new_axes(len(model.names_)) if ax is None else ax
    title_context(ax, model, context)
    W = model.adjacency(context)
    _draw(ax, model.names_, W[0], W, strongest(W, max_edges), places)
    return ax


def plot_graphs(model: GraphModel, Z: Any, *, max_edges: int = MOST_EDGES, ax: "Sequence[Axes] | None" = None) -> np.ndarray:
    """Draw the graphs of several contexts, nodes in the same places and weights on one scale, so that differences are seen.

    Parameters
    ----------
    model : estimator
        A fitted one.
    Z : array or DataFrame of shape (n, m)
        Contexts.
    max_edges : int, default=100
        Draw the edges that are among so many strongest in one of the contexts; legends say how many are left out.
    ax : sequence of n matplotlib.axes.Axes, optional
        Where to draw, best of one size; by default on a new figure.

    Returns
    -------
    array of n matplotlib.axes.Axes

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_graphs
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> plot_graphs(FixedDAG(random_state=0).fit(data.X, data.Z), data.Z[:3]).shape
    (3,)
    """
    contexts = read_contexts(model, Z)
    axes = _several(len(contexts), len(model.names_)) if ax is None else np.array(ax, dtype=object).ravel()
    if len(axes) != len(contexts):
        raise InvalidInputError(f"ax must hold one Axes for each of the {len(contexts)} contexts. Got {len(axes)} instead.")
    W = model.adjacency(contexts)
    for i, one in enumerate(axes):
        title_context(one, model, contexts.iloc[[i]])
    shown, places = strongest(W, max_edges), None
    for one, graph in zip(axes, W, strict=True):
        places = _draw(one, model.names_, graph, W, shown, places).data
    return axes


def title_context(ax: "Axes", model: GraphModel, context: Any) -> None:
    """Say above a picture which context it shows, and whether the model has seen its like."""
    outside = bool(model.is_outside(context)[0])
    words = context_words(model, context)
    title(ax, f"{words}\n({OUTSIDE})" if outside else words, warn=outside)


def _draw(
    ax: "Axes", names: list[str], W: np.ndarray, graphs: np.ndarray, shown: np.ndarray, places: np.ndarray | None
) -> Canvas:
    """One graph of several, those of its edges that are to be shown; all count in the legend."""
    canvas = Canvas.prepare(ax, names, graphs * shown, places, strip=STRIP)
    colors, largest = palette_of(ax), float(np.abs(graphs).max()) or 1.0
    for j, k in edges_by_strength(W * shown):
        canvas.edge(j, k, abs(W[j, k]) / largest, colors.positive if W[j, k] > 0 else colors.negative)
    canvas.nodes(joined(W))
    kinds = {f"positive ({int((W > 0).sum())})": colors.positive, f"negative ({int((W < 0).sum())})": colors.negative}
    explain(ax, [(color, "solid", label) for label, color in kinds.items()], left_out=int(((W != 0) & ~shown).sum()))
    return canvas


def explain(ax: "Axes", kinds: Sequence[tuple[str, str, str]], left_out: int = 0) -> None:
    """A legend of colours, lines and labels in one line at the bottom, as large as fits; it says how many are left out."""
    from matplotlib.lines import Line2D

    from contextualdag.plotting.curves import LINES

    handles = [Line2D([], [], color=color, linestyle=LINES[line], linewidth=2, label=label) for color, line, label in kinds]
    if left_out:
        handles.append(Line2D([], [], linestyle="none", label=f"{left_out} weaker not drawn"))
    letters = sum(len(str(handle.get_label())) + 6 for handle in handles)
    size = float(np.clip(size_in_points(ax)[0] / (0.52 * letters), 4.5, 8.5))
    legend = ax.legend(
        handles=handles, loc="lower center", ncols=len(handles), fontsize=size, frameon=False, borderaxespad=0,
        borderpad=0.1, handlelength=1.6, columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_color(palette_of(ax).text)


def _several(n: int, p: int) -> np.ndarray:
    from matplotlib import pyplot as plt

    columns = min(n, 3 if n != 4 else 2)
    rows = -(-n // columns)
    size = float(np.clip(3.4 + 0.05 * p, 3.6, 6))
    figure, axes = plt.subplots(
        rows, columns, figsize=(size * columns, 0.85 * size * rows), squeeze=False, layout="constrained"
    )
    flat = axes.ravel()
    for spare in flat[n:]:
        figure.delaxes(spare)
    found: np.ndarray = flat[:n]
    return found
