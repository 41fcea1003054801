"""Pictures of what changes with the context: the difference between two contexts, and edges that reverse."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import is_count, require
from contextualdag.differences import edge_changes
from contextualdag.plotting.canvas import Canvas, joined, new_axes, palette_of, plain, size_in_points, title
from contextualdag.plotting.contexts import (
    GraphModel,
    context_text,
    drawn_contexts,
    read_context,
    read_contexts,
    standardised,
)
from contextualdag.plotting.graph import MOST_EDGES, OUTSIDE, STRIP, explain, strongest, undirected_pairs

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


def plot_difference(
    model: GraphModel,
    z1: Any,
    z2: Any,
    *,
    places: np.ndarray | None = None,
    max_edges: int = MOST_EDGES,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what changes from one context to another: edges gained, lost, reversed, stronger and weaker.

    Parameters
    ----------
    model : estimator
        Fitted model.
    z1, z2 : array, DataFrame of one row or mapping
        Contexts before and after.
    places : array of shape (p, 2), optional
        Places of the nodes; by default those of `layered_layout` for both graphs.
    max_edges : int, default=100
        Maximum number of edges to draw, those that change most first; the legend says how many are left out.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_difference
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> ax = plot_difference(FixedDAG(random_state=0).fit(data.X, data.Z), data.Z[0], data.Z[1])
    """
    require(is_count(max_edges), "max_edges", "plot_difference", "an integer of at least 1", max_edges)
    contexts = [read_context(model, z) for z in (z1, z2)]
    W = standardised(model, np.concatenate([model.adjacency(context) for context in contexts]))
    ax = new_axes(len(model.names_)) if ax is None else ax
    colors = palette_of(ax)
    _title(ax, model, contexts)
    changes = edge_changes(W[0], W[1])
    every = np.any(list(changes.values()), axis=0)
    # Edges that stay the same rank last but still count.
    change = np.where(every, np.abs(W[1] - W[0]) + 1e-6 * np.abs(W).max(0), 0)
    shown = strongest(change[None], max_edges)
    canvas = Canvas.prepare(ax, model.names_, W * (shown | shown.T), places, strip=STRIP)
    stronger = np.abs(W[1]) > np.abs(W[0])
    styles = {
        "same": (changes["same"], colors.faint, "solid"),
        "weaker": (changes["changed"] & ~stronger, colors.positive, "dashed"),
        "stronger": (changes["changed"] & stronger, colors.positive, "solid"),
        "lost": (changes["lost"], colors.lost, "dotted"),
        "gained": (changes["gained"], colors.gained, "solid"),
        "reversed": (changes["reversed"], colors.reversed, "dashdot"),
    }
    largest = float(np.abs(W).max()) or 1.0
    undirected = undirected_pairs(model)
    for zorder, (kind, (edges, color, line)) in enumerate(styles.items()):
        # The width is the change of an edge that both graphs have, and the weight of any other.
        size = np.abs(W[1] - W[0]) if kind in ("weaker", "stronger") else np.abs(W).max(0)
        for j, k in zip(*np.nonzero(edges & shown), strict=True):
            width, directed = 0.1 if kind == "same" else size[j, k] / largest, not undirected[j, k]
            canvas.edge(int(j), int(k), width, color, line, 2 + zorder / 10, directed)
    canvas.nodes(joined((W != 0).any(0)))
    labels = {kind: (color, line, f"{kind} ({int(edges.sum())})") for kind, (edges, color, line) in styles.items()}
    always = ("gained", "lost", "reversed")
    kinds = [kind for kind in (*always, "stronger", "weaker", "same") if kind in always or styles[kind][0].any()]
    explain(ax, [labels[kind] for kind in kinds], left_out=int((every & ~shown).sum()))
    return ax


def order_flips(model: GraphModel, Z: Any = None) -> "pandas.DataFrame":
    """Pairs of variables whose edge has one direction in some contexts and the other in others, as a table.

    Parameters
    ----------
    model : estimator
        Fitted model.
    Z : array or DataFrame of shape (n, m), optional
        Contexts to count over; by default 500, drawn from the distribution of each feature in the training data.

    Returns
    -------
    DataFrame
        Columns first, second, forward (share of contexts with first → second), backward (second → first) and neither,
        sorted by falling share of backward. The more frequent direction is forward.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import order_flips
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> len(order_flips(FixedDAG(random_state=0).fit(data.X, data.Z)))  # one graph for all contexts
    0
    """
    import pandas as pd

    contexts = drawn_contexts(model) if Z is None else read_contexts(model, Z)
    share = (model.adjacency(contexts) != 0).mean(0)
    rows = []
    for j, k in zip(*np.nonzero(np.triu((share > 0) & (share.T > 0))), strict=True):
        j, k = (j, k) if share[j, k] >= share[k, j] else (k, j)
        rows.append(
            {
                "first": model.names_[j],
                "second": model.names_[k],
                "forward": float(share[j, k]),
                "backward": float(share[k, j]),
                "neither": max(float(1 - share[j, k] - share[k, j]), 0.0),
            }
        )
    table = pd.DataFrame(rows, columns=["first", "second", "forward", "backward", "neither"])
    return table.sort_values(["backward", "forward"], ascending=False, kind="stable", ignore_index=True)


def plot_order_flips(model: GraphModel, Z: Any = None, *, n_pairs: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Draw the pairs whose direction changes with the context: the share of contexts with each direction.

    Parameters
    ----------
    model : estimator
        Fitted model.
    Z : array or DataFrame of shape (n, m), optional
        Contexts to count over; by default those of `order_flips`.
    n_pairs : int, default=15
        Maximum number of pairs, those that reverse most often first.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import plot_order_flips
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> ax = plot_order_flips(FixedDAG(random_state=0).fit(data.X, data.Z))
    >>> ax.texts[0].get_text()
    'No edge is reversed.'
    """
    table = order_flips(model, Z)
    shown = table.head(n_pairs).iloc[::-1]
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 1.3 + 0.28 * max(len(shown), 4)), layout="constrained")
    colors = palette_of(ax)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    if not len(shown):
        ax.text(0.5, 0.5, "No edge is reversed.", ha="center", va="center", transform=ax.transAxes, color=colors.text)
        ax.set_axis_off()
        return ax
    rows = np.arange(len(shown))
    ax.barh(rows, shown["forward"], color=colors.positive, height=0.6)
    ax.barh(rows, shown["neither"], left=shown["forward"], color=colors.faint, alpha=0.3, height=0.6)
    ax.barh(rows, shown["backward"], left=1 - shown["backward"], color=colors.negative, height=0.6)
    _name_pairs(ax, list(shown["first"]), list(shown["second"]))
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    left_out = f"\n({len(table) - len(shown)} more pairs reverse less often)" if len(table) > len(shown) else ""
    ax.set_xlabel(f"share of contexts; grey: no edge{left_out}", fontsize=9)
    return ax


def _title(ax: "Axes", model: GraphModel, contexts: list[Any]) -> None:
    lines = []
    outside = [bool(model.is_outside(context)[0]) for context in contexts]
    for word, context, far in zip(("from", "to"), contexts, outside, strict=True):
        words = context_text(model, context)
        lines += [*([f"{word} {words}"] if words else []), *([f"({OUTSIDE})"] if far else [])]
    title(ax, "\n".join(lines), warn=any(outside))


def _name_pairs(ax: "Axes", first: list[str], second: list[str]) -> None:
    """Write the names beside the bars if they are short enough for the picture, else above them."""
    colors = palette_of(ax)
    width, height = size_in_points(ax)
    first, second = [plain(name, 20) for name in first], [plain(name, 20) for name in second]
    forward = [f"{a} → {b}" for a, b in zip(first, second, strict=True)]
    rows, letters = np.arange(len(first)), max(len(words) for words in forward)
    size = float(np.clip(height / len(first) / 2, 5, 9))
    if 2 * 0.6 * size * letters < 0.6 * width:
        ax.set_yticks(rows, forward, fontsize=size, color=colors.positive)
        other = ax.secondary_yaxis("right")
        other.set_yticks(
            rows, [f"{b} → {a}" for a, b in zip(first, second, strict=True)], fontsize=size, color=colors.negative
        )
        for axis in (ax, other):
            axis.tick_params(axis="y", length=0)
        other.spines["right"].set_visible(False)
        return
    ax.set_yticks([])
    size = float(np.clip(min(0.4 * height / len(first), width / (0.65 * letters)), 4, 9))
    for row, words in zip(rows, forward, strict=True):
        ax.text(0, row + 0.32, words, fontsize=size, color=colors.positive, ha="left", va="bottom")
        ax.text(1, row + 0.32, "←", fontsize=size, color=colors.negative, ha="right", va="bottom")
    ax.set_ylim(-0.5, len(first) - 0.1)
