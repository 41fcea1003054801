"""A canvas for graphs on a matplotlib Axes: nodes with names that fit, and edges that curve around nodes."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import shown
from contextualdag.colours import DARK, LIGHT, Palette
from contextualdag.errors import InvalidInputError
from contextualdag.plotting.layout import layered_layout
from contextualdag.printable import printable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST, SMALLEST = 10.0, 5.0  # font size in points
LONGEST_LINE = 11  # characters; longer names are broken at a space, hyphen, slash or underscore
SHARE = 0.2  # largest fraction of the picture that nodes may cover
ACROSS = 0.4  # largest fraction of the width of the picture for one node
BENDS = (0.08, -0.08, 0.2, -0.2, 0.33, -0.33, 0.5, -0.5)  # as fractions of the length of an edge, the smallest first
ALONG = np.linspace(0.1, 0.9, 17)[:, None]
LINES: dict[str, Any] = {
    "solid": "solid",
    "dashed": (0, (4, 2)),
    "dotted": (0, (1, 1.6)),
    "dashdot": (0, (6, 1.5, 1.5, 1.5)),
}


@dataclass
class Canvas:
    """An Axes prepared for the nodes of a graph; `data` and `points` are their places in data coordinates and in points."""

    ax: "Axes"
    labels: "Labels"
    data: np.ndarray
    points: np.ndarray
    widest: float

    @classmethod
    def prepare(
        cls, ax: "Axes", names: Sequence[str], graphs: np.ndarray, places: np.ndarray | None = None, strip: float = 0
    ) -> "Canvas":
        """Fit labels and places to the current size of an Axes; `strip` points at the bottom stay free."""
        width, height = size_in_points(ax)
        height -= strip
        labels = fit_labels(names, width, height)
        if places is None:
            places = layered_layout(graphs, aspect=width / height, sizes=labels.sizes / (width, height))
        try:
            places = np.asarray(places, dtype=float)
        except (TypeError, ValueError):
            raise InvalidInputError(f"places must hold numbers. Got {shown(places)} instead.") from None
        if places.shape != (len(names), 2):
            raise InvalidInputError(f"places must have the shape ({len(names)}, 2). Got {places.shape} instead.")
        if not np.isfinite(places).all():
            raise InvalidInputError(f"places must be finite. Got {shown(places.tolist(), 80)} instead.")
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

    def edge(
        self,
        start: int,
        end: int,
        strength: float,
        color: str,
        line: str = "solid",
        zorder: float = 2,
        directed: bool = True,
    ) -> None:
        """Draw an edge; `strength` from 0 to 1 gives its width. One that is not directed has no head."""
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
            directed=directed,
        )

    def nodes(self, important: np.ndarray) -> None:
        """Draw all nodes; those that are not `important` are pale."""
        colors = palette_of(self.ax)
        for text, place, strong, size in zip(self.labels.texts, self.data, important, self.labels.sizes, strict=True):
            self._box(place, size, colors.node, colors.border if strong else colors.faint, strong)
            self.ax.annotate(
                without_formulas(text),
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
        # A marker, like text, has its size in points whatever the limits of the Axes.
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


def new_axes(p: int) -> "Axes":
    """An Axes on a new figure whose size grows with the number of nodes."""
    from matplotlib import pyplot as plt

    size = float(np.clip(5.5 + 0.12 * p, 6, 12))
    _, ax = plt.subplots(figsize=(size, 0.75 * size), layout="constrained")
    return ax


def size_in_points(ax: "Axes") -> tuple[float, float]:
    """Current width and height of an Axes in points."""
    figure = ax.get_figure(root=True)
    inches = ax.get_window_extent().transformed(figure.dpi_scale_trans.inverted())  # type: ignore[union-attr]
    return max(72 * inches.width, 40.0), max(72 * inches.height, 40.0)


def plain(text: str, most: int = 40) -> str:
    """A name as matplotlib shall draw it, letter by letter: no formula, no hidden characters, and `most` letters."""
    return without_formulas(shortened(printable(text), most))


def without_formulas(text: str) -> str:
    """A text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")


def title(ax: "Axes", words: str, *, warn: bool = False) -> None:
    """Set a small title, broken into lines that fit the width of the Axes."""
    colors, width = palette_of(ax), size_in_points(ax)[0]
    size = 10.0 if width > 250 else 8.0
    parts = [printable(part) for part in words.split("\n")]
    lines = [line for part in parts for line in textwrap.wrap(part, max(int(width / (0.52 * size)), 12))]
    ax.set_title(without_formulas("\n".join(lines)), fontsize=size, color=colors.warning if warn else colors.text)


def edges_by_strength(W: np.ndarray) -> list[tuple[int, int]]:
    """Edges of a graph, the weakest first, so that the strongest are drawn on top."""
    sources, targets = np.nonzero(W)
    order = np.argsort(np.abs(W[sources, targets]), kind="stable")
    return [(int(sources[i]), int(targets[i])) for i in order]


def joined(edges: np.ndarray) -> np.ndarray:
    """Which nodes have an edge, as an array (p,)."""
    found: np.ndarray = (edges != 0).any(0) | (edges != 0).any(1)
    return found


def palette_of(ax: "Axes") -> Palette:
    """The palette for the background of an Axes: its own, or that of its figure if it is transparent."""
    from matplotlib.colors import to_hex, to_rgba

    color = to_rgba(ax.get_facecolor())
    if color[3] < 0.5 or not ax.axison:  # an Axes that is switched off does not paint its background
        color = to_rgba(ax.get_figure(root=True).get_facecolor())  # type: ignore[union-attr]
        if color[3] < 0.5:
            color = (1.0, 1.0, 1.0, 1.0)
    brightness = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]
    return replace(LIGHT if brightness > 0.5 else DARK, background=to_hex(color))


@dataclass(frozen=True)
class Labels:
    """Names of nodes as written, their font size, and the sizes (p, 2) of the nodes in points."""

    texts: list[str]
    fontsize: float
    sizes: np.ndarray


def fit_labels(names: Sequence[str], width: float, height: float) -> Labels:
    """Choose the largest font with which the names leave room for the edges in a picture of this size in points."""
    texts = [_broken(shortened(printable(str(name)))) for name in names]
    padding = 0.4  # around the text, as a multiple of the font size
    while True:
        extents = np.array([_extent(text) for text in texts])
        for fontsize in np.arange(LARGEST, SMALLEST - 0.1, -0.5):
            sizes = fontsize * (extents + 2 * padding)
            sizes[:, 0] = np.maximum(sizes[:, 0], sizes[:, 1])  # short names make round nodes
            if sizes.prod(1).sum() <= SHARE * width * height and sizes[:, 0].max() <= ACROSS * width:
                return Labels(texts, float(fontsize), sizes)
        if padding > 0.2:
            padding = 0.2
            continue
        shorter = [_shortened(text, int(max(len(line) for line in text.split("\n")) * 0.85)) for text in texts]
        if shorter == texts:
            return Labels(texts, SMALLEST, sizes)
        texts = shorter


def _broken(name: str) -> str:
    """A long name on two lines, broken as near to its middle as possible."""
    if len(name) <= LONGEST_LINE:
        return name
    gaps = [i for i, letter in enumerate(name) if letter in " _-/" and 0 < i < len(name) - 1]
    if not gaps:
        return name
    at = min(gaps, key=lambda i: abs(i - (len(name) - 1) / 2))
    first = name[:at] if name[at] == " " else name[: at + 1]
    return f"{first}\n{name[at + 1 :]}"


def _shortened(text: str, n: int) -> str:
    """Every line with at most `n` characters, four at least."""
    n = max(n, 4)
    return "\n".join(line if len(line) <= n else f"{line[: n - 1]}…" for line in text.split("\n"))


@lru_cache(maxsize=4096)
def _extent(text: str) -> tuple[float, float]:
    """Width and height of a text as multiples of its font size."""
    from matplotlib.textpath import TextPath

    lines = text.split("\n")
    widths = [TextPath((0, 0), without_formulas(line), size=100).get_extents().width / 100 for line in lines if line.strip()]
    return max(widths, default=0.5), 0.75 + 1.2 * (len(lines) - 1)


def bend_around(start: int, end: int, places: np.ndarray, sizes: np.ndarray) -> float:
    """The smallest bend of an edge between two nodes that avoids all other nodes and stays within the graph.

    Parameters
    ----------
    start, end : int
        Nodes of the edge.
    places, sizes : array of shape (p, 2)
        Centres of the nodes, and their widths and heights, in points.

    Returns
    -------
    float
        Parameter ``rad`` of matplotlib's connection style ``arc3``.
    """
    others = np.ones(len(places), dtype=bool)
    others[[start, end]] = False
    low, high = (places - sizes / 2).min(0), (places + sizes / 2).max(0)
    best, least = BENDS[0], np.inf
    for bend in BENDS:
        curve = _curve(places[start], places[end], bend)
        beside = np.abs(curve[:, None] - places[others]) / (sizes[others] / 2 + 3)
        depth = np.maximum(1 - beside.max(-1), 0).max(0).sum() if others.any() else 0.0
        beyond = np.maximum(low - curve, 0).max() + np.maximum(curve - high, 0).max()
        cost = depth + 0.1 * abs(bend) + 0.2 * float(beyond)  # so that edges bend only around nodes
        if cost < least - 1e-9:
            best, least = bend, cost
    return best


def _curve(start: np.ndarray, end: np.ndarray, bend: float) -> np.ndarray:
    """Points of the quadratic curve that ``arc3`` draws."""
    along = end - start
    middle = (start + end) / 2 + bend * np.array([along[1], -along[0]])
    curve: np.ndarray = (1 - ALONG) ** 2 * start + 2 * ALONG * (1 - ALONG) * middle + ALONG**2 * end
    return curve


def draw_edge(
    ax: "Axes",
    start: int,
    end: int,
    data: np.ndarray,
    places: np.ndarray,
    sizes: np.ndarray,
    *,
    width: float,
    color: str,
    line: str = "solid",
    zorder: float = 2,
    directed: bool = True,
) -> None:
    """Draw an arrow, or a line, between two nodes; `data` are their places in data coordinates, the others are in points."""
    from matplotlib.patches import FancyArrowPatch

    bend = bend_around(start, end, places, sizes)
    curve = _curve(places[start], places[end], bend)
    shape: dict[str, Any] = {
        "posA": tuple(data[start]),
        "posB": tuple(data[end]),
        "connectionstyle": f"arc3,rad={bend}",
        "shrinkA": _radius(curve[0] - places[start], sizes[start]),
        "shrinkB": _radius(curve[-1] - places[end], sizes[end]) + (1.5 if directed else 0.0),
        "mutation_scale": 1,
        "zorder": zorder,
        "color": color,
        "joinstyle": "miter",
    }
    broken = line != "solid"
    # The head of a solid line has an outline as wide as the line; a separate head has none and is larger instead.
    extra = width if broken else 0.0
    head = f"-|>,head_length={2.5 + 1.1 * width + extra},head_width={1.2 + 0.7 * width + extra / 2}"
    style = "-" if broken or not directed else head
    arrow = FancyArrowPatch(**shape, arrowstyle=style, linewidth=width, linestyle=LINES[line])
    arrow.set_gid(f"edge-{start}-{end}")
    ax.add_patch(arrow)
    if broken and directed:  # a separate head, since dots would break its outline
        ax.add_patch(FancyArrowPatch(**shape, arrowstyle=head, linewidth=0))


def _radius(direction: np.ndarray, size: np.ndarray) -> float:
    """Distance from the centre of a node to its border in a direction."""
    unit = np.abs(direction) / max(float(np.linalg.norm(direction)), 1e-9)
    return float(np.min(size / 2 / np.maximum(unit, 1e-9)))
