"""Pictures of one graph, and of several with every node in the same place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import is_count, require
from contextualdag.errors import InvalidInputError
from contextualdag.plotting.canvas import (
    LINES,
    Canvas,
    edges_by_strength,
    joined,
    new_axes,
    palette_of,
    size_in_points,
    title,
)
from contextualdag.plotting.contexts import GraphModel, context_text, read_context, read_contexts, standardised

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTSIDE = "outside the range of the data: a guess"
STRIP = 16.0  # points for the legend
MOST_EDGES = 100


def draw_graph(
    W: np.ndarray,
    names: Sequence[str],
    *,
    places: np.ndarray | None = None,
    truth: np.ndarray | None = None,
    largest: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one graph: blue edges are positive, orange ones negative, and stronger ones are wider.

    Parameters
    ----------
    W : array of shape (p, p)
        ``W[j, k]`` is the effect of j on k.
    names : sequence of str
        Names of the nodes.
    places : array of shape (p, 2), optional
        Places of the nodes; by default those of `layered_layout`.
    truth : array of shape (p, p), optional
        Graph to compare with: edges that `W` lacks are dotted, edges that only `W` has are dashed.
    largest : float, optional
        Weight that is drawn widest; by default the largest in `W`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting import draw_graph
    >>> W = np.zeros((3, 3))
    >>> W[0, 1], W[1, 2] = 1.0, -0.5
    >>> ax = draw_graph(W, ["age", "sleep", "mood"])
    >>> len(ax.patches)
    2
    """
    W = np.asarray(W, dtype=float)
    if W.shape != (len(names), len(names)):
        raise InvalidInputError(f"W must have the shape {(len(names),) * 2}, one row for each name. Got {W.shape}.")
    ax = new_axes(len(names)) if ax is None else ax
    picture = Canvas.prepare(ax, names, W if truth is None else np.stack([W, truth]), places)
    colors = palette_of(ax)
    largest = largest or float(np.abs(W).max()) or 1.0
    for j, k in edges_by_strength(W):
        dashed = truth is not None and truth[j, k] == 0
        color = colors.positive if W[j, k] > 0 else colors.negative
        picture.edge(j, k, abs(W[j, k]) / largest, color, "dashed" if dashed else "solid")
    missed = np.zeros(W.shape, dtype=bool) if truth is None else (np.asarray(truth) != 0) & (W == 0)
    for j, k in zip(*np.nonzero(missed), strict=True):
        picture.edge(j, k, 0.2, colors.missing, "dotted")
    picture.nodes(joined((W != 0) | missed))
    return ax


def plot_graph(
    model: GraphModel,
    z: Any = None,
    *,
    places: np.ndarray | None = None,
    max_edges: int = MOST_EDGES,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the graph of one context: parents above children, stronger edges wider, colours by sign.

    Widths follow weights in standard deviations of both variables, so that units do not matter. Edges whose direction the
    data do not tell (`undirected_edges_`) have no arrowhead.

    Parameters
    ----------
    model : estimator
        Fitted model.
    z : array, DataFrame of one row or mapping, optional
        The context; by default a typical one. Features that a mapping leaves out are typical.
    places : array of shape (p, 2), optional
        Places of the nodes; by default those of `layered_layout`.
    max_edges : int, default=100
        Maximum number of edges to draw, the strongest first; the legend says how many are left out.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The title marks a context outside the training range.

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
    require(is_count(max_edges), "max_edges", "plot_graph", "an integer of at least 1", max_edges)
    context = read_context(model, z)
    ax = new_axes(len(model.names_)) if ax is None else ax
    title_context(ax, model, context)
    W = model.adjacency(context)
    _draw(ax, model, W[0], W, strongest(standardised(model, W), max_edges), places)
    return ax


def plot_graphs(model: GraphModel, Z: Any, *, max_edges: int = MOST_EDGES, ax: "Sequence[Axes] | None" = None) -> np.ndarray:
    """Draw the graphs of several contexts, with nodes in the same places and weights on one scale.

    Parameters
    ----------
    model : estimator
        Fitted model.
    Z : array or DataFrame of shape (n, m)
        Contexts to draw.
    max_edges : int, default=100
        Number of strongest edges of each graph; all graphs show those of any. Legends say how many are left out.
    ax : sequence of n matplotlib.axes.Axes, optional
        Axes to draw on, preferably of one size; by default on a new figure.

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
    require(is_count(max_edges), "max_edges", "plot_graphs", "an integer of at least 1", max_edges)
    contexts = read_contexts(model, Z)
    axes = _several(len(contexts), len(model.names_)) if ax is None else np.array(ax, dtype=object).ravel()
    if len(axes) != len(contexts):
        raise InvalidInputError(f"ax must hold one Axes for each of the {len(contexts)} contexts. Got {len(axes)} instead.")
    W = model.adjacency(contexts)
    for i, one in enumerate(axes):
        title_context(one, model, contexts.iloc[[i]])
    shown, places = strongest(standardised(model, W), max_edges), None
    for one, graph in zip(axes, W, strict=True):
        places = _draw(one, model, graph, W, shown, places).data
    return axes


def strongest(W: np.ndarray, most: int = MOST_EDGES) -> np.ndarray:
    """Edges that are among the `most` strongest of at least one graph.

    Pictures draw the same edges of all graphs, so that no edge seems to vanish only because it is weaker in one of them.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Graphs.
    most : int, default=100
        Number of edges from each graph.

    Returns
    -------
    array of bool of shape (p, p)

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting.graph import strongest
    >>> int(strongest(np.array([[[0.0, 1.0, -2.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]]), most=2).sum())
    2
    """
    sizes = np.abs(W).reshape(len(W), -1)
    first = np.argsort(-sizes, axis=1, kind="stable")[:, :most]
    kept = np.zeros(sizes.shape, dtype=bool)
    np.put_along_axis(kept, first, True, axis=1)
    found: np.ndarray = (kept & (sizes > 0)).any(0).reshape(W.shape[1:])
    return found


def undirected_pairs(model: GraphModel) -> np.ndarray:
    """Pairs (p, p), in both orders, whose edge has no direction."""
    found = np.zeros((len(model.names_),) * 2, dtype=bool)
    for a, b in getattr(model, "undirected_edges_", ()):
        j, k = model.names_.index(a), model.names_.index(b)
        found[j, k] = found[k, j] = True
    return found


def title_context(ax: "Axes", model: GraphModel, context: Any) -> None:
    """Set a title with the context, and a warning if it lies outside the training range."""
    outside = bool(model.is_outside(context)[0])
    words = context_text(model, context)
    title(ax, f"{words}\n({OUTSIDE})" if outside else words, warn=outside)


def _draw(
    ax: "Axes", model: GraphModel, W: np.ndarray, graphs: np.ndarray, shown: np.ndarray, places: np.ndarray | None
) -> Canvas:
    """Draw those edges of one of several graphs that are shown; the legend counts all of them."""
    names, W, graphs = model.names_, standardised(model, W), standardised(model, graphs)
    canvas = Canvas.prepare(ax, names, graphs * shown, places, strip=STRIP)
    colors, largest = palette_of(ax), float(np.abs(graphs).max()) or 1.0
    undirected = undirected_pairs(model)
    for j, k in edges_by_strength(W * shown):
        color = colors.positive if W[j, k] > 0 else colors.negative
        canvas.edge(j, k, abs(W[j, k]) / largest, color, directed=not undirected[j, k])
    canvas.nodes(joined(W))
    kinds = {f"positive ({int((W > 0).sum())})": colors.positive, f"negative ({int((W < 0).sum())})": colors.negative}
    explain(ax, [(color, "solid", label) for label, color in kinds.items()], left_out=int(((W != 0) & ~shown).sum()))
    return canvas


def explain(ax: "Axes", kinds: Sequence[tuple[str, str, str]], left_out: int = 0) -> None:
    """Add a legend at the bottom for kinds of edges, (colour, line, label), and the number of edges left out."""
    from matplotlib.lines import Line2D

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
