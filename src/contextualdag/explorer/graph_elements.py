"""Graphs as the elements that Cytoscape draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.explorer.differences import Difference
from contextualdag.explorer.features import number
from contextualdag.explorer.placement import Placement
from contextualdag.explorer.view import Picked
from contextualdag.plotting.strongest import strongest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contextualdag.tables import Array

THINNEST, WIDEST = 0.1, 0.34  # width of edges as a share of the height of letters
ROOM_FOR_LABEL = 20_000  # square pixels for each edge; with less, labels would be a thicket
LABEL_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # along an edge, the middle first
ALONG = tuple(np.linspace(0, 1, 41))
CLASSES = {"turned": "turned", "only in A": "only", "only in B": "only", "other sign": "sign"}


def widest_weight(W: "Array") -> float:
    """The weight that is drawn widest: among the largest of many graphs (n, p, p), so that all are drawn to one scale."""
    sizes = np.abs(W[W != 0])
    return float(np.quantile(sizes, 0.98)) if len(sizes) else 1.0


def elements(
    W: "Array",
    names: Sequence[str],
    placement: Placement,
    widest: float,
    picked: Picked | None = None,
    compared: Sequence[Difference] = (),
    shown: "NDArray[np.bool_] | None" = None,
) -> list[dict[str, Any]]:
    """Nodes and edges of one graph.

    Parameters
    ----------
    W : array of shape (p, p)
        The graph.
    names : sequence of str
        Of the nodes.
    placement : Placement
        Where they are.
    widest : float
        The weight drawn widest.
    picked : Picked, optional
        Node or edge to set off, together with its neighbours.
    compared : sequence of Difference
        Between this graph and another one: edges that only the other has are drawn as ghosts.
    shown : array of bool of shape (p, p), optional
        Edges to draw if they are there; by default all.

    Returns
    -------
    list of dict
    """
    found = [_node(position, name, placement, picked, W) for position, name in enumerate(names)]
    remarks = {(one.source, one.target): CLASSES.get(one.kind, "") for one in compared}
    shown = np.ones(W.shape, dtype=bool) if shown is None else shown
    present = [(int(j), int(k)) for j, k in np.argwhere((W != 0) & shown)]
    faded = {edge for edge in present if picked is not None and picked.target is None and picked.node not in edge}
    labels = _labels(W, present, faded, placement)
    for j, k in present:
        w = float(W[j, k])
        classes = ["positive" if w > 0 else "negative", remarks.get((j, k), "")]
        classes += ["labelled"] * ((j, k) in labels)
        classes += ["picked"] * (picked == Picked(j, k))
        classes += ["faded"] * ((j, k) in faded)
        width = placement.font * (THINNEST + (WIDEST - THINNEST) * min(abs(w) / widest, 1))
        found.append(_edge(j, k, classes, placement, round(width, 2), signed(w), labels.get((j, k), (0, 0))))
    for one in compared:
        # A turned edge has no ghost: it would lie on top of the edge that it became.
        if shown[one.source, one.target] and W[one.source, one.target] == 0 and W[one.target, one.source] == 0:
            classes = ["ghost"] + ["picked"] * (picked == Picked(one.source, one.target))
            found.append(_edge(one.source, one.target, classes, placement, 1.3, "", (0, 0)))
    return found


def shown_edges(shown: "Sequence[Array]", picked: Picked | None) -> "NDArray[np.bool_]":
    """Edges (p, p) that the pictures of some graphs show: the strongest, and all that has to do with what is picked."""
    kept: NDArray[np.bool_] = strongest(np.stack(shown))
    if picked is not None and picked.target is None:
        kept[picked.node] = kept[:, picked.node] = True
    elif picked is not None:
        kept[picked.node, picked.target] = kept[picked.target, picked.node] = True
    return kept


def _labels(
    W: "Array", present: Sequence[tuple[int, int]], faded: set[tuple[int, int]], placement: Placement
) -> dict[tuple[int, int], tuple[float, float]]:
    """Edges that get their weight written on them, and how far from their middle.

    No label lies on another one, and none on another edge where that can be had.
    """
    if len(present) * ROOM_FOR_LABEL > float(placement.size.prod()):
        return {}
    lines = {edge: placement.line(*edge, ALONG) for edge in present}
    found: dict[tuple[int, int], tuple[float, float]] = {}
    taken: list[tuple[Array, Array]] = []
    for edge in sorted(set(present) - faded, key=lambda edge: (-abs(W[edge]), edge)):
        if not placement.has_room_for_label(*edge):
            continue
        half = (np.array([0.6 * len(signed(float(W[edge]))), 1.3]) * placement.label_font + 4) / 2
        others = np.concatenate([line for other, line in lines.items() if other != edge] or [np.empty((0, 2))])
        places = placement.line(*edge, LABEL_PLACES)
        free = [at for at in places if not any((np.abs(at - middle) < half + room).all() for middle, room in taken)]
        clear = [at for at in free if not (np.abs(at - others) < half).all(1).any()]
        if free:
            at = (clear or free)[0]
            taken.append((at, half))
            x, y = (at - places[0]).round(1)
            found[edge] = float(x), float(y)
    return found


def signed(w: float) -> str:
    """A weight for people."""
    return number(round(w, 2) or w)


def _node(position: int, name: str, placement: Placement, picked: Picked | None, W: "Array") -> dict[str, Any]:
    classes = "picked" if picked == Picked(position) else ""
    if picked is not None and picked.target is None and picked.node != position:
        if W[picked.node, position]:
            classes = "child"
        elif W[position, picked.node]:
            classes = "parent"
    x, y = placement.centres[position]
    width = float(placement.widths[position])
    room = int((width - 8) / (placement.font * 0.58))
    label = name if len(name) <= max(room, 2) else name[: max(room - 1, 1)] + "…"
    return {
        "group": "nodes",
        "data": {"id": f"node-{position}", "label": label, "width": round(width, 1), "height": placement.box_height},
        "position": {"x": round(float(x), 1), "y": round(float(y), 1)},
        "classes": classes,
    }


def _edge(
    j: int, k: int, classes: list[str], placement: Placement, width: float, label: str, shift: tuple[float, float]
) -> dict[str, Any]:
    data: dict[str, Any] = {"id": f"edge-{j}-{k}", "source": f"node-{j}", "target": f"node-{k}"}
    data |= {"width": width, "label": label, "bend": placement.bend(j, k), "label_x": shift[0], "label_y": shift[1]}
    return {"group": "edges", "data": data, "classes": " ".join(one for one in classes if one)}
