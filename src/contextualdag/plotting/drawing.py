"""One graph on one Axes, from arrays."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.errors import InvalidInputError
from contextualdag.plotting.colours import palette_of
from contextualdag.plotting.curves import draw_edge
from contextualdag.plotting.labels import Labels, fit_labels
from contextualdag.plotting.layout import layered_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_graph(
    W: np.ndarray,
    names: Sequence[str],
    *,
    places: np.ndarray | None = None,
    truth: np.ndarray | None = None,
    largest: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one graph: edges as wide as they are strong, blue where positive, orange where negative.

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
    _check(W, names)
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


@dataclass
class Canvas:
    """An Axes with room made for nodes at their places: what all pictures of graphs draw on."""

    ax: "Axes"
    labels: Labels
    data: np.ndarray
    points: np.ndarray
    widest: float

    @classmethod
    def prepare(
        cls, ax: "Axes", names: Sequence[str], graphs: np.ndarray, places: np.ndarray | None = None, strip: float = 0
    ) -> "Canvas":
        """Fit labels and places to the size that an Axes has now; `strip` points at the bottom stay free."""
        width, height = size_in_points(ax)
        height -= strip
        labels = fit_labels(names, width, height)
        if places is None:
            places = layered_layout(graphs, aspect=width / height, sizes=labels.sizes / (width, height))
        places = np.asarray(places, dtype=float)
        if places.shape != (len(names), 2):
            raise InvalidInputError(f"places must have the shape ({len(names)}, 2). Got {places.shape} instead.")
        low, high = places.min(0), places.max(0)
        share = np.minimum((labels.sizes.max(0) / 2 + 6) / (width, height), 0.45)
        span = np.where(high > low, high - low, 1.0)
        margin = np.where(high > low, span * share / (1 - 2 * share), 0.5)
        low, high = low - margin, high + margin
        scale = (width, height) / (high - low)
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1] - strip / scale[1], high[1])
        ax.set_axis_off()
        return cls(ax, labels, places, (places - low) * scale, float(np.clip(0.27 * labels.sizes[:, 1].min(), 1.6, 4)))

    def edge(self, start: int, end: int, strength: float, color: str, line: str = "solid", zorder: float = 2) -> None:
        """An arrow; `strength` from 0 to 1 is its width."""
        width = 0.6 + (self.widest - 0.6) * min(strength, 1)
        draw_edge(
            self.ax,
            start,
            end,
            self.data,
            self.points,
            self.labels.sizes,
            width=width,
            color=color,
            line=line,
            zorder=zorder,
        )

    def nodes(self, important: np.ndarray) -> None:
        """All nodes; those without an edge are pale."""
        colors = palette_of(self.ax)
        for text, place, strong, size in zip(self.labels.texts, self.data, important, self.labels.sizes, strict=True):
            self._box(place, size, colors.node, colors.border if strong else colors.faint, strong)
            self.ax.annotate(
                text.replace("$", r"\$"),
                tuple(place),
                ha="center",
                va="center",
                fontsize=self.labels.fontsize,
                linespacing=1.0,
                color=colors.text if strong else colors.faint,
                zorder=4,
            )

    def _box(self, place: np.ndarray, size: np.ndarray, face: str, border: str, strong: bool) -> None:
        from matplotlib.patches import BoxStyle

        width, height = size
        is_round = width <= 1.05 * height
        pill: Any = BoxStyle.Round(pad=0, rounding_size=(0.5 if is_round else 0.35) * height)
        # A marker keeps its size in points whatever the limits of the Axes, as the text on it does.
        self.ax.plot(
            *place,
            marker=pill(-width / 2, -height / 2, width, height, 1),
            markersize=float(size.max()),
            markerfacecolor=face,
            markeredgecolor=border,
            markeredgewidth=1.0 if strong else 0.5,
            linestyle="none",
            zorder=3,
        )


def new_axes(p: int, width: float = 1.0) -> "Axes":
    """An Axes on a new figure that is larger for more nodes."""
    from matplotlib import pyplot as plt

    size = float(np.clip(5.5 + 0.12 * p, 6, 12))
    _, ax = plt.subplots(figsize=(size * width, 0.75 * size), layout="constrained")
    return ax


def size_in_points(ax: "Axes") -> tuple[float, float]:
    """Width and height of an Axes as it stands."""
    figure = ax.get_figure(root=True)
    inches = ax.get_window_extent().transformed(figure.dpi_scale_trans.inverted())  # type: ignore[union-attr]
    return max(72 * inches.width, 40.0), max(72 * inches.height, 40.0)


def title(ax: "Axes", words: str, *, warn: bool = False) -> None:
    """A small title, on as many lines as the width of the Axes asks for."""
    colors, width = palette_of(ax), size_in_points(ax)[0]
    size = 10.0 if width > 250 else 8.0
    lines = [line for part in words.split("\n") for line in textwrap.wrap(part, max(int(width / (0.52 * size)), 12))]
    ax.set_title("\n".join(lines), fontsize=size, color=colors.warning if warn else colors.text)


def edges_by_strength(W: np.ndarray) -> list[tuple[int, int]]:
    """Edges of a graph, the weakest first, so that the strongest are drawn on top."""
    sources, targets = np.nonzero(W)
    order = np.argsort(np.abs(W[sources, targets]), kind="stable")
    return [(int(sources[i]), int(targets[i])) for i in order]


def joined(edges: np.ndarray) -> np.ndarray:
    """Which nodes have an edge."""
    found: np.ndarray = (edges != 0).any(0) | (edges != 0).any(1)
    return found


def _check(W: np.ndarray, names: Sequence[str]) -> None:
    p = len(names)
    if W.shape != (p, p):
        raise InvalidInputError(f"W must have the shape ({p}, {p}), one row for each name. Got {W.shape}.")
