"""Edges as curves that go around nodes."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BENDS = (0.08, -0.08, 0.2, -0.2, 0.33, -0.33, 0.5, -0.5)  # of the length of an edge, the gentlest first
ALONG = np.linspace(0.1, 0.9, 17)[:, None]
LINES: dict[str, Any] = {
    "solid": "solid",
    "dashed": (0, (4, 2)),
    "dotted": (0, (1, 1.6)),
    "dashdot": (0, (6, 1.5, 1.5, 1.5)),
}


def bend_around(start: int, end: int, places: np.ndarray, sizes: np.ndarray) -> float:
    """The gentlest bend of an edge from node `start` to node `end` that keeps clear of all other nodes and stays among them.

    Parameters
    ----------
    start, end : int
        Nodes.
    places, sizes : array of shape (p, 2)
        Middles of nodes, and their widths and heights, in points.

    Returns
    -------
    float
        For matplotlib's connection style ``arc3``.
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
        cost = depth + 0.1 * abs(bend) + 0.2 * float(beyond)  # a bend is worth it only against a node
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
) -> None:
    """Draw an arrow between two nodes; `data` are their places in data coordinates, `places` and `sizes` in points."""
    from matplotlib.patches import FancyArrowPatch

    bend = bend_around(start, end, places, sizes)
    curve = _curve(places[start], places[end], bend)
    shape: dict[str, Any] = {
        "posA": tuple(data[start]),
        "posB": tuple(data[end]),
        "connectionstyle": f"arc3,rad={bend}",
        "shrinkA": _radius(curve[0] - places[start], sizes[start]),
        "shrinkB": _radius(curve[-1] - places[end], sizes[end]) + 1.5,
        "mutation_scale": 1,
        "zorder": zorder,
        "color": color,
        "joinstyle": "miter",
    }
    broken = line != "solid"
    # A solid head has an outline as wide as the line; one that stands alone is drawn larger instead.
    extra = width if broken else 0.0
    head = f"-|>,head_length={2.5 + 1.1 * width + extra},head_width={1.2 + 0.7 * width + extra / 2}"
    arrow = FancyArrowPatch(**shape, arrowstyle="-" if broken else head, linewidth=width, linestyle=LINES[line])
    arrow.set_gid(f"edge-{start}-{end}")
    ax.add_patch(arrow)
    if broken:  # a head of its own, since dots would gnaw at its outline
        ax.add_patch(FancyArrowPatch(**shape, arrowstyle=head, linewidth=0))


def _radius(direction: np.ndarray, size: np.ndarray) -> float:
    """From the middle of a node to its border in a direction."""
    unit = np.abs(direction) / max(float(np.linalg.norm(direction)), 1e-9)
    return float(np.min(size / 2 / np.maximum(unit, 1e-9)))
