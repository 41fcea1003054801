"""Pairs of variables whose edge turns round with the context."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.plotting.colours import palette_of
from contextualdag.plotting.contexts import GraphModel, drawn_contexts, read_contexts
from contextualdag.plotting.drawing import size_in_points

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


def order_flips(model: GraphModel, Z: Any = None) -> "pandas.DataFrame":
    """Pairs that are joined one way in some contexts and the other way in others, as a table.

    Parameters
    ----------
    model : estimator
        A fitted one.
    Z : array or DataFrame of shape (n, m), optional
        Contexts to look at; by default five hundred that are drawn, feature by feature, as the model remembers them.

    Returns
    -------
    DataFrame
        Columns first, second, forward (share of contexts with first → second), backward (second → first) and neither; the
        pair that turns most often first. The more frequent direction is forward.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.plotting import order_flips
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> len(order_flips(FixedDAG(random_state=0).fit(data.X, data.Z)))  # one graph for all turns nowhere
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
    """Draw the pairs whose direction changes with the context: in which share of contexts they point each way.

    Parameters
    ----------
    model : estimator
        A fitted one.
    Z : array or DataFrame of shape (n, m), optional
        Contexts to look at; by default as for `order_flips`.
    n_pairs : int, default=15
        Draw at most this many pairs, those that turn most often.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

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
    'No edge turns round.'
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
        ax.text(0.5, 0.5, "No edge turns round.", ha="center", va="center", transform=ax.transAxes, color=colors.text)
        ax.set_axis_off()
        return ax
    rows = np.arange(len(shown))
    ax.barh(rows, shown["forward"], color=colors.positive, height=0.6)
    ax.barh(rows, shown["neither"], left=shown["forward"], color=colors.faint, alpha=0.3, height=0.6)
    ax.barh(rows, shown["backward"], left=1 - shown["backward"], color=colors.negative, height=0.6)
    _name_pairs(ax, list(shown["first"]), list(shown["second"]))
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    left_out = f"\n({len(table) - len(shown)} more pairs turn less often)" if len(table) > len(shown) else ""
    ax.set_xlabel(f"share of contexts; grey: no edge{left_out}", fontsize=9)
    return ax


def _name_pairs(ax: "Axes", first: list[str], second: list[str]) -> None:
    """Beside the bars where names are short for the width of the picture, else above them."""
    colors = palette_of(ax)
    width, height = size_in_points(ax)
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
