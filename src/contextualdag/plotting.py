"""Pictures of graphs: arrays in, matplotlib Axes out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from contextualdag.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that people with the usual colour-vision deficiencies tell apart (Okabe and Ito).
POSITIVE, NEGATIVE, MISSING = "#0072B2", "#D55E00", "#8A8A8A"
NODE_FACE, NODE_EDGE, TEXT = "#F4F4F1", "#4D4D4D", "#1A1A1A"
LINES: dict[str, Any] = {"solid": "solid", "dashed": (0, (4, 2)), "dotted": (0, (1, 2))}
SWEEPS = 8


def layered_layout(W: np.ndarray) -> np.ndarray:
    """Places for nodes, parents above children, that serve all given graphs at once.

    Edges that turn round from graph to graph follow the heavier direction.

    Parameters
    ----------
    W : array of shape (p, p) or (n, p, p)
        One graph or several.

    Returns
    -------
    array of shape (p, 2)
        Horizontal and vertical coordinates; neighbours are at least one apart.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting import layered_layout
    >>> layered_layout(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[ 0.,  0.],
           [ 0., -1.]])
    """
    strength = np.abs(np.asarray(W, dtype=float))
    strength = strength.mean(0) if strength.ndim == 3 else strength
    p = len(strength)
    graph = _heaviest_dag(strength)
    linked = [node for node in graph if graph.degree(node) > 0]
    layers = [sorted(layer) for layer in nx.topological_generations(graph.subgraph(linked))]
    layers = _ordered(layers, graph)
    widest = max([len(layer) for layer in layers], default=1)
    per_row = max(widest, round(1.6 * p**0.5))
    alone = [node for node in range(p) if graph.degree(node) == 0]
    layers += [alone[first : first + per_row] for first in range(0, len(alone), per_row)]
    places = np.zeros((p, 2))
    for depth, layer in enumerate(layers):
        for position, node in enumerate(layer):
            places[node] = position - (len(layer) - 1) / 2, -depth
    return places + 0.0


def draw_graph(
    W: np.ndarray,
    names: Sequence[str],
    *,
    places: np.ndarray | None = None,
    truth: np.ndarray | None = None,
    largest: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one graph: edges as wide as they are strong, blue where positive, red where negative.

    Parameters
    ----------
    W : array of shape (p, p)
        ``W[j, k]`` is the effect of j on k.
    names : sequence of str
        Of the nodes.
    places : array of shape (p, 2), optional
        Where to draw them; by default as `layered_layout` says.
    truth : array of shape (p, p), optional
        A graph to compare with: its edges that `W` lacks are dotted, those of `W` that it lacks are dashed.
    largest : float, optional
        The weight drawn widest; by default the largest in `W`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    W = np.asarray(W, dtype=float)
    p = len(names)
    if W.shape != (p, p):
        raise InvalidInputError(f"W must have the shape ({p}, {p}), one row for each name. Got {W.shape}.")
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots()
    places = layered_layout(W if truth is None else np.stack([W, truth])) if places is None else places
    largest = largest or float(np.abs(W).max()) or 1.0
    span = np.maximum(np.ptp(places, axis=0), 1)
    size = float(np.clip(34 - 2.2 * span.max(), 9, 30))  # diameter of a node in points
    longest = max(len(name) for name in names)
    inside = longest <= 4 and size > 16

    for j, k in zip(*np.nonzero(W), strict=True):
        dashed = truth is not None and truth[j, k] == 0
        color = POSITIVE if W[j, k] > 0 else NEGATIVE
        _draw_edge(
            ax,
            places[j],
            places[k],
            size,
            0.6 + 3.4 * min(abs(W[j, k]) / largest, 1),
            color,
            "dashed" if dashed else "solid",
        )
    if truth is not None:
        for j, k in zip(*np.nonzero((truth != 0) & (W == 0)), strict=True):
            _draw_edge(ax, places[j], places[k], size, 1.2, MISSING, "dotted")
    from matplotlib.patheffects import withStroke

    ax.scatter(places[:, 0], places[:, 1], s=size**2, facecolor=NODE_FACE, edgecolor=NODE_EDGE, linewidth=1, zorder=3)
    for name, place in zip(names, places, strict=True):
        ax.annotate(
            name,
            place,
            xytext=(0, 0) if inside else (0, -size / 2 - 2),
            textcoords="offset points",
            ha="center",
            va="center" if inside else "top",
            fontsize=9 if inside else float(np.clip(11 - span.max() / 2, 5, 9)),
            color=TEXT,
            zorder=4,
            path_effects=[] if inside else [withStroke(linewidth=2.5, foreground="white")],
        )
    ax.set_xlim(places[:, 0].min() - 0.6, places[:, 0].max() + 0.6)
    ax.set_ylim(places[:, 1].min() - 0.6, places[:, 1].max() + 0.5)
    ax.set_axis_off()
    return ax


def _draw_edge(ax: "Axes", start: np.ndarray, end: np.ndarray, size: float, width: float, color: str, line: str) -> None:
    from matplotlib.patches import FancyArrowPatch

    head = f"-|>,head_length={3 + width},head_width={1.5 + 0.6 * width}"
    ax.add_patch(
        FancyArrowPatch(
            tuple(start),
            tuple(end),
            arrowstyle=head,
            connectionstyle="arc3,rad=0.14",
            linewidth=width,
            shrinkA=size / 2,
            shrinkB=size / 2 + 1,
            zorder=2,
            color=color,
            linestyle=LINES[line],
        )
    )


def _heaviest_dag(strength: np.ndarray) -> nx.DiGraph:
    """Edges from the strongest down, unless they close a cycle."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(strength)))
    sources, targets = np.nonzero(strength)
    for edge in np.argsort(-strength[sources, targets], kind="stable"):
        j, k = int(sources[edge]), int(targets[edge])
        if not nx.has_path(graph, k, j):
            graph.add_edge(j, k)
    return graph


def _ordered(layers: list[list[int]], graph: nx.DiGraph) -> list[list[int]]:
    """Each layer sorted by the mean position of neighbours in the layers around it, back and forth a few times."""
    position = {node: i - (len(layer) - 1) / 2 for layer in layers for i, node in enumerate(layer)}
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else layers[::-1]:

            def pull(node: int, downwards: bool = downwards) -> float:
                around = list(graph.predecessors(node) if downwards else graph.successors(node))
                return sum(position[other] for other in around) / len(around) if around else position[node]

            layer.sort(key=lambda node: (pull(node), node))
            for i, node in enumerate(layer):
                position[node] = i - (len(layer) - 1) / 2
    return layers
