"""Graphs as the elements that Cytoscape draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.explorer.differences import Difference
from contextualdag.explorer.features import number
from contextualdag.explorer.placement import Placement
from contextualdag.explorer.view import Picked

if TYPE_CHECKING:
    from contextualdag.estimators.tables import Array

THINNEST, WIDEST = 0.1, 0.42  # width of edges as a share of the height of letters
ROOM_FOR_LABEL = 20_000  # square pixels for each edge; with less, labels would be a thicket
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

    Returns
    -------
    list of dict
    """
    found = [_node(position, name, placement, picked, W) for position, name in enumerate(names)]
    remarks = {(one.source, one.target): CLASSES.get(one.kind, "") for one in compared}
    present = list(zip(*np.nonzero(W), strict=True))
    few = len(present) * ROOM_FOR_LABEL <= float(placement.size.prod())
    for j, k in present:
        w = float(W[j, k])
        classes = ["positive" if w > 0 else "negative", remarks.get((j, k), "")]
        classes += ["labelled"] * (few and placement.has_room_for_label(j, k))
        classes += ["picked"] * (picked == Picked(int(j), int(k)))
        if picked is not None and picked.target is None and picked.node not in (j, k):
            classes.append("faded")
        width = placement.font * (THINNEST + (WIDEST - THINNEST) * min(abs(w) / widest, 1))
        found.append(_edge(int(j), int(k), classes, placement, round(width, 2), signed(w)))
    for one in compared:
        # A turned edge has no ghost: it would lie on top of the edge that it became.
        if W[one.source, one.target] == 0 and W[one.target, one.source] == 0:
            classes = ["ghost"] + ["picked"] * (picked == Picked(one.source, one.target))
            found.append(_edge(one.source, one.target, classes, placement, 1.3, ""))
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


def _edge(j: int, k: int, classes: list[str], placement: Placement, width: float, label: str) -> dict[str, Any]:
    data: dict[str, Any] = {"id": f"edge-{j}-{k}", "source": f"node-{j}", "target": f"node-{k}"}
    data |= {"width": width, "label": label, "bend": placement.bend(j, k)}
    return {"group": "edges", "data": data, "classes": " ".join(one for one in classes if one)}
