"""Graphs as elements and stylesheets of Cytoscape."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.colours import DARK, LIGHT
from contextualdag.differences import Difference
from contextualdag.explorer.placement import LETTER, Placement
from contextualdag.explorer.response import Response
from contextualdag.explorer.view import Picked
from contextualdag.export import edge_text
from contextualdag.plotting.contexts import value_text
from contextualdag.plotting.graph import strongest
from contextualdag.tables import Array, Flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

THINNEST, WIDEST = 0.1, 0.34  # width of edges as a fraction of the font size
ROOM_FOR_LABEL = 20_000  # square pixels for each edge; with less room there are no labels
LABEL_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # along an edge, the middle first
ALONG = tuple(np.linspace(0, 1, 41))
SMALLER = 0.8  # font of nodes with a second line, as a fraction of that of the others
LEGIBLE = 11  # pixels of the font of names below which nodes have no second line
UNSURE = 0.5  # probability below which edges are dashed
PALEST, STRONGEST = 0.12, 0.5  # opacity of the colour of nodes that a cause reaches
CLASSES = {"reversed": "reversed", "only in A": "only", "only in B": "only", "other sign": "sign"}


def widest_weight(W: Array) -> float:
    """The weight that is drawn widest: a high quantile over many graphs (n, p, p), so that all have one scale."""
    sizes = np.abs(W[W != 0])
    return float(np.quantile(sizes, 0.98)) if len(sizes) else 1.0


def elements(
    W: Array,
    names: Sequence[str],
    placement: Placement,
    widest: float,
    picked: Picked | None = None,
    compared: Sequence[Difference] = (),
    shown: "NDArray[np.bool_] | None" = None,
    undirected: Flags | None = None,
    response: Response | None = None,
    probabilities: Array | None = None,
    units: Array | None = None,
) -> list[dict[str, Any]]:
    """Nodes and edges of one graph.

    Parameters
    ----------
    W : array of shape (p, p)
        The graph.
    names : sequence of str
        Names of the nodes.
    placement : Placement
        Places of the nodes.
    widest : float
        Weight that is drawn widest.
    picked : Picked, optional
        Node or edge to highlight, with its neighbours.
    compared : sequence of Difference
        Differences from another graph; edges that only the other has are drawn as ghosts.
    shown : array of bool of shape (p, p), optional
        Edges to draw if they are there; by default all.
    undirected : array of bool of shape (p, p), optional
        Pairs, in both orders, whose edge is drawn without an arrowhead; by default none.
    response : Response, optional
        Effects of a cause: nodes that it reaches are coloured and have a number, all else is faded.
    probabilities : array of shape (p, p), optional
        How sure edges are: those that are less likely than not are dashed, and all have a hint for the pointer.
    units : array of shape (p, p), optional
        What weights are multiplied by for the widths of edges; labels keep them as they are.

    Returns
    -------
    list of dict
    """
    undirected = np.zeros(W.shape, dtype=bool) if undirected is None else undirected
    found = [_node(position, name, placement, picked, W, undirected) for position, name in enumerate(names)]
    if response is not None:
        _show_response(found, names, placement, response)
    remarks = {(one.source, one.target): CLASSES.get(one.kind, "") for one in compared}
    shown = np.ones(W.shape, dtype=bool) if shown is None else shown
    present = [(int(j), int(k)) for j, k in np.argwhere((W != 0) & shown)]
    faded = {edge for edge in present if picked is not None and picked.target is None and picked.node not in edge}
    if response is not None:
        faded |= {(j, k) for j, k in present if j != response.cause and not response.reached[j]}
    sizes = np.abs(W) if units is None else np.abs(W * units)
    labels = _labels(W, sizes, present, faded, placement)
    for j, k in present:
        w = float(W[j, k])
        classes = ["positive" if w > 0 else "negative", remarks.get((j, k), "")]
        classes += ["undirected"] * bool(undirected[j, k])
        classes += ["labelled"] * ((j, k) in labels)
        classes += ["picked"] * (picked == Picked(j, k))
        classes += ["faded"] * ((j, k) in faded)
        classes += ["unsure"] * (probabilities is not None and bool(probabilities[j, k] < UNSURE))
        width = placement.font * (THINNEST + (WIDEST - THINNEST) * min(float(sizes[j, k]) / widest, 1))
        found.append(_edge(j, k, classes, placement, round(width, 2), signed(w), labels.get((j, k), (0, 0))))
        if probabilities is not None:
            words = edge_text(names[j], names[k], not undirected[j, k])
            found[-1]["data"]["hint"] = f"{words}: weight {signed(w)}, probability {probabilities[j, k]:.2f}"
    for one in compared:
        # A reversed edge has no ghost, which would lie on the edge itself.
        if shown[one.source, one.target] and W[one.source, one.target] == 0 and W[one.target, one.source] == 0:
            classes = ["ghost"] + ["picked"] * (picked == Picked(one.source, one.target))
            found.append(_edge(one.source, one.target, classes, placement, 1.3, "", (0, 0)))
    return found


def shown_edges(shown: Sequence[Array], picked: Picked | None) -> "NDArray[np.bool_]":
    """Edges (p, p) that the pictures of some graphs show: the strongest, and those of the picked node or edge."""
    kept: NDArray[np.bool_] = strongest(np.stack(shown))
    if picked is not None and picked.target is None:
        kept[picked.node] = kept[:, picked.node] = True
    elif picked is not None:
        kept[picked.node, picked.target] = kept[picked.target, picked.node] = True
    return kept


def sure_enough(shown: Sequence[Array], probabilities: Sequence[Array], least: float) -> "list[NDArray[np.bool_]]":
    """For each of some graphs, the pairs (p, p) it may show: not its edges of a lower probability, nor ghosts of such."""
    sure = [(W == 0) | (least <= P) for W, P in zip(shown, probabilities, strict=True)]
    return [np.where(W != 0, own, np.logical_and.reduce(sure)) for W, own in zip(shown, sure, strict=True)]


def stylesheet(dark: bool, font: float, label_font: float) -> list[dict[str, Any]]:
    """How Cytoscape draws nodes and edges.

    Parameters
    ----------
    dark : bool
        Whether the page is dark.
    font, label_font : float
        Font sizes of names and of weights in pixels.

    Returns
    -------
    list of dict
    """
    ink, around = DARK if dark else LIGHT, max(round(0.3 * font), 4)

    def rule(selector: str, **style: object) -> dict[str, Any]:
        return {"selector": selector, "style": {name.replace("_", "-"): value for name, value in style.items()}}

    return [
        rule(
            "node",
            shape="round-rectangle",
            width="data(width)",
            height="data(height)",
            label="data(label)",
            font_size=font,
            font_family="system-ui, sans-serif",
            text_valign="center",
            text_halign="center",
            color=ink.text,
            background_color=ink.node,
            border_width=1,
            border_color=ink.border,
        ),
        rule(
            "edge",
            width="data(width)",
            curve_style="unbundled-bezier",
            edge_distances="node-position",
            control_point_distances="data(bend)",
            control_point_weights=0.5,
            target_arrow_shape="triangle",
            arrow_scale=1.1,
            opacity=0.9,
        ),
        rule("edge.undirected", target_arrow_shape="none"),
        *(
            rule(f"edge.{sign}", line_color=colour, target_arrow_color=colour)
            for sign, colour in (("positive", ink.positive), ("negative", ink.negative))
        ),
        rule(
            "edge.labelled",
            label="data(label)",
            font_size=label_font,
            font_family="system-ui, sans-serif",
            color=ink.text,
            text_background_color=ink.background,
            text_background_opacity=0.85,
            text_background_padding=2,
            text_margin_x="data(label_x)",
            text_margin_y="data(label_y)",
        ),
        rule("edge.only", underlay_color=ink.highlight, underlay_opacity=0.55, underlay_padding=around),
        rule("edge.reversed", underlay_color=ink.reversed, underlay_opacity=0.4, underlay_padding=around),
        rule("edge.sign", underlay_color=ink.gained, underlay_opacity=0.4, underlay_padding=around),
        rule(
            "edge.ghost",
            line_color=ink.missing,
            line_style="dashed",
            target_arrow_color=ink.missing,
            target_arrow_shape="vee",
            opacity=0.55,
        ),
        rule("edge.unsure", line_style="dashed", opacity=0.6),
        rule("edge.faded", opacity=0.25),
        rule("node.cause, node.reached", font_size=round(SMALLER * font, 1), text_wrap="wrap"),
        *(
            rule(f"node.{direction}", background_color=colour, background_opacity="data(strength)")
            for direction, colour in (("raised", ink.positive), ("lowered", ink.negative))
        ),
        rule("node.unreached", opacity=0.35),
        rule("node.parent, node.child, node.neighbour", border_color=ink.gained, border_width=2),
        rule("node.parent", border_style="dashed"),
        rule("node.neighbour", border_style="dotted"),
        rule("node.cause", border_color=ink.text, border_width=3),
        rule("node.picked", border_color=ink.gained, border_width=4),
        rule("edge.picked", underlay_color=ink.text, underlay_opacity=0.25, underlay_padding=around, opacity=1, z_index=1),
        rule(":active", overlay_opacity=0.1),
    ]


def _labels(
    W: Array, sizes: Array, present: Sequence[tuple[int, int]], faded: set[tuple[int, int]], placement: Placement
) -> dict[tuple[int, int], tuple[float, float]]:
    """Edges with a label, and the offset of the label from the middle of the edge.

    No label overlaps another one, nor another edge if that can be avoided.
    """
    if len(present) * ROOM_FOR_LABEL > float(placement.size.prod()):
        return {}
    lines = {edge: placement.line(*edge, ALONG) for edge in present}
    found: dict[tuple[int, int], tuple[float, float]] = {}
    taken: list[tuple[Array, Array]] = []
    for edge in sorted(set(present) - faded, key=lambda edge: (-sizes[edge], edge)):
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
    """A weight for people, with two decimal places if they are enough."""
    return value_text(round(w, 2) or w)


def _node(
    position: int, name: str, placement: Placement, picked: Picked | None, W: Array, undirected: Flags
) -> dict[str, Any]:
    classes = "picked" if picked == Picked(position) else ""
    if picked is not None and picked.target is None and picked.node != position:
        if undirected[picked.node, position]:
            classes = "neighbour"
        elif W[picked.node, position]:
            classes = "child"
        elif W[position, picked.node]:
            classes = "parent"
    x, y = placement.centres[position]
    width = float(placement.widths[position])
    label = _shortened(name, width, placement.font)
    return {
        "group": "nodes",
        "data": {"id": f"node-{position}", "label": label, "width": round(width, 1), "height": placement.box_height},
        "position": {"x": round(float(x), 1), "y": round(float(y), 1)},
        "classes": classes,
    }


def _show_response(nodes: list[dict[str, Any]], names: Sequence[str], placement: Placement, response: Response) -> None:
    """Colour the nodes that a cause reaches, add a number to them and to the cause, and fade the others."""
    across = placement.centres[:, 0]
    to_border = 2 * np.minimum(across, placement.size[0] - across) - 4
    room = np.maximum(np.minimum(placement.room(), to_border), placement.widths)
    font = SMALLER * placement.font
    for position, node in enumerate(nodes):
        data, classes = node["data"], node["classes"].split()
        if response.reached[position]:
            strength = float(response.strengths[position])
            classes += ["reached", "raised" if strength > 0 else "lowered"]
            data["strength"] = round(PALEST + (STRONGEST - PALEST) * min(abs(strength), 1), 3)
            number = changed(response.number(position)) if response.shift else signed(response.number(position))
        elif position == response.cause:
            classes.append("cause")
            number = f"= {signed(float(response.after[position]))}" if response.shift else ""
        else:
            classes.append("unreached")
            number = ""
        if number and placement.font >= LEGIBLE:
            wanted = len(number) * font * LETTER + 10
            width = min(max(float(placement.widths[position]), wanted), float(room[position]))
            data |= {"width": round(width, 1), "label": f"{_shortened(names[position], width, font)}\n{number}"}
        node["classes"] = " ".join(classes)


def changed(w: float) -> str:
    """A change for people, with its sign."""
    return f"+{signed(w)}" if w > 0 else signed(w)


def _shortened(name: str, width: float, font: float) -> str:
    """A name as far as it fits into a box."""
    room = int((width - 8) / (font * 0.58))
    return name if len(name) <= max(room, 2) else name[: max(room - 1, 1)] + "…"


def _edge(
    j: int, k: int, classes: list[str], placement: Placement, width: float, label: str, shift: tuple[float, float]
) -> dict[str, Any]:
    data: dict[str, Any] = {"id": f"edge-{j}-{k}", "source": f"node-{j}", "target": f"node-{k}"}
    data |= {"width": width, "label": label, "bend": placement.bend(j, k), "label_x": shift[0], "label_y": shift[1]}
    return {"group": "edges", "data": data, "classes": " ".join(one for one in classes if one)}
