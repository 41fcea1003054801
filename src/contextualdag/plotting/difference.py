"""What differs between the graphs of two contexts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.plotting.colours import palette_of
from contextualdag.plotting.contexts import GraphModel, context_words, read_context
from contextualdag.plotting.drawing import Canvas, joined, new_axes, title
from contextualdag.plotting.graph import OUTSIDE, STRIP, explain
from contextualdag.plotting.strongest import MOST_EDGES, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 0.1  # of the largest weight of the two graphs: smaller changes are none


def edge_changes(W1: np.ndarray, W2: np.ndarray, small: float = SMALL) -> dict[str, np.ndarray]:
    """Sort the edges of two graphs by what becomes of them.

    Parameters
    ----------
    W1, W2 : array of shape (p, p)
        Before and after.
    small : float, default=0.1
        Changes of a weight by less than this share of the largest weight count as none.

    Returns
    -------
    dict of str to array of bool, shape (p, p)
        "gained", "lost", "turned" (in its new direction), "changed" and "same": every edge is in one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting import edge_changes
    >>> before, after = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.5, 0.0]])
    >>> {kind: int(edges.sum()) for kind, edges in edge_changes(before, after).items()}
    {'gained': 0, 'lost': 0, 'turned': 1, 'changed': 0, 'same': 0}
    """
    before, after = np.asarray(W1) != 0, np.asarray(W2) != 0
    turned = after & before.T & ~before
    differs = np.abs(W2 - W1) > small * max(float(np.abs(W1).max()), float(np.abs(W2).max()))
    differs |= np.sign(W1) != np.sign(W2)
    both = before & after
    return {
        "gained": after & ~before & ~turned,
        "lost": before & ~after & ~turned.T,
        "turned": turned,
        "changed": both & differs,
        "same": both & ~differs,
    }


def plot_difference(
    model: GraphModel,
    z1: Any,
    z2: Any,
    *,
    places: np.ndarray | None = None,
    max_edges: int = MOST_EDGES,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what changes from one context to another: edges gained, lost, turned round, and stronger or weaker.

    Parameters
    ----------
    model : estimator
        A fitted one.
    z1, z2 : array, DataFrame of one row or mapping
        Before and after.
    places : array of shape (p, 2), optional
        Where to draw the nodes; by default as `layered_layout` says for both graphs.
    max_edges : int, default=100
        Draw at most this many edges, those that change most; the legend says how many are left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

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
    contexts = [read_context(model, z) for z in (z1, z2)]
    W = np.concatenate([model.adjacency(context) for context in contexts])
    ax = new_axes(len(model.names_)) if ax is None else ax
    colors = palette_of(ax)
    _title(ax, model, contexts)
    changes = edge_changes(W[0], W[1])
    every = np.any(list(changes.values()), axis=0)
    # Edges that stay as they are come last, but they come.
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
        "turned": (changes["turned"], colors.turned, "dashdot"),
    }
    largest = float(np.abs(W).max()) or 1.0
    for zorder, (kind, (edges, color, line)) in enumerate(styles.items()):
        # Where an edge stays, the change is the message; where it comes, goes or turns, its weight.
        size = np.abs(W[1] - W[0]) if kind in ("weaker", "stronger") else np.abs(W).max(0)
        for j, k in zip(*np.nonzero(edges & shown), strict=True):
            canvas.edge(int(j), int(k), 0.1 if kind == "same" else size[j, k] / largest, color, line, 2 + zorder / 10)
    canvas.nodes(joined((W != 0).any(0)))
    labels = {kind: (color, line, f"{kind} ({int(edges.sum())})") for kind, (edges, color, line) in styles.items()}
    always = ("gained", "lost", "turned")
    kinds = [kind for kind in (*always, "stronger", "weaker", "same") if kind in always or styles[kind][0].any()]
    explain(ax, [labels[kind] for kind in kinds], left_out=int((every & ~shown).sum()))
    return ax


def _title(ax: "Axes", model: GraphModel, contexts: list[Any]) -> None:
    lines = []
    outside = [bool(model.is_outside(context)[0]) for context in contexts]
    for word, context, far in zip(("from", "to"), contexts, outside, strict=True):
        lines += [f"{word} {context_words(model, context)}", *([f"({OUTSIDE})"] if far else [])]
    title(ax, "\n".join(lines), warn=any(outside))
