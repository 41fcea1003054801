"""What the page says about graphs: captions, details of a picked node or edge, effects of a cause, the table of edges."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import html

from contextualdag.differences import differences
from contextualdag.effects import total_effects
from contextualdag.explorer.charts import edge_over_features
from contextualdag.explorer.elements import signed
from contextualdag.explorer.graphs import LEVEL, FittedGraphs
from contextualdag.explorer.response import Response
from contextualdag.explorer.view import Picked, View, varying
from contextualdag.export import edge_text
from contextualdag.plotting.contexts import value_text
from contextualdag.printable import printable
from contextualdag.tables import Array, Flags

MOST_ROWS = 60
NO_CAUSE = "Choose a cause to see what it reaches, and move it to see how means respond."
NOTHING = "Click a node or an edge, or choose one above, to see its details."


def caption(graphs: FittedGraphs, view: View, which: int, n_edges: int, left_out: int = 0, unsure: int = 0) -> list[Any]:
    """Caption of one graph of a view: context, number of edges, and a warning outside the training range."""
    values = view.contexts[which]
    free = varying(graphs.features)
    context = ", ".join(
        f"{graphs.features[position].label} = {printable(value_text(values[position]))}" for position in free
    )
    count = f"{n_edges} edge" + "s" * (n_edges != 1) + (f", {left_out} weaker ones not drawn" if left_out else "")
    count += f", {unsure} less sure hidden" if unsure else ""
    letter = [html.Strong("AB"[which])] if view.comparing else []
    line = [*letter, html.Span(context), html.Span(count, className="soft")]
    found = [graphs.features[position].outside(values[position]) for position in free]
    sentences = " ".join(sentence for sentence in found if sentence is not None)
    warning = html.P(f"⚠ Outside the training range: {sentences} This graph is a guess.", className="outside")
    return [html.P(line), *([warning] if sentences else [])]


def details(graphs: FittedGraphs, view: View) -> Any:
    """Details of the picked node or edge."""
    if view.picked is None:
        return html.P(NOTHING, className="soft")
    if view.picked.target is None:
        return _of_node(graphs, view, view.picked.node)
    return _of_edge(graphs, view, _as_drawn(graphs, view, view.picked.node, view.picked.target))


def curves(graphs: FittedGraphs, view: View, dark: bool) -> dict[str, Any] | None:
    """The weight of a picked edge along each feature, if an edge is picked and some feature varies."""
    if view.picked is None or view.picked.target is None or not varying(graphs.features):
        return None
    shown = [(letter, values, graphs.along(view.level, values)) for letter, values in zip("AB", view.contexts, strict=False)]
    edge = _as_drawn(graphs, view, view.picked.node, view.picked.target)
    directed = not graphs.undirected(view.level)[edge]
    return edge_over_features(graphs.features, shown, edge, graphs.labels, dark, directed)


def edge_table(
    names: Sequence[str],
    shown: Sequence[Array],
    undirected: Flags,
    probabilities: Sequence[Array] = (),
    sure: Sequence[Flags] = (),
    units: Array | None = None,
) -> Any:
    """All edges of one graph, or of two with their differences; if it is told, those that are sure enough in one of them.

    They are sorted by their weights times `units`.
    """

    def is_kept(j: int, k: int) -> bool:
        return not sure or any(W[j, k] and own[j, k] for W, own in zip(shown, sure, strict=True))

    def likely(which: int, j: int, k: int) -> list[str]:
        return [f"{P[j, k]:.2f}" if shown[which][j, k] else "" for P in probabilities[which : which + 1]]

    head = ["probability"] * bool(probabilities)
    none = "No edge is so sure." if any(W.any() for W in shown) else "This graph has no edges."
    if len(shown) == 1:
        (W,) = shown
        sizes = np.abs(W) if units is None else np.abs(W * units)
        present = sorted(zip(*np.nonzero(W), strict=True), key=lambda edge: -sizes[edge])
        rows = [
            [_words(names, j, k, undirected), signed(float(W[j, k])), *likely(0, j, k)] for j, k in present if is_kept(j, k)
        ]
        return _table(["edge", "weight", *head], rows, none)
    rows = []
    for one in differences(shown[0], shown[1], units):
        j, k = one.source, one.target
        if is_kept(j, k):
            both = [_or_none(one.a), *likely(0, j, k), _or_none(one.b), *likely(1, j, k)]
            rows.append([_words(names, j, k, undirected), *both, one.kind])
    none = none.replace("This graph has no", "Neither graph has")
    return _table(["edge", "A", *head, "B", *head, ""], rows, none)


def options(names: Sequence[str], picked: Picked | None, shown: Sequence[Array], undirected: Flags) -> list[dict[str, str]]:
    """Options of the menu of nodes and edges: all nodes, the edges that are shown, and the picked edge."""
    there = {(int(j), int(k)) for W in shown for j, k in zip(*np.nonzero(W), strict=True)}
    if picked is not None and picked.target is not None:
        there.add((picked.node, picked.target))
    edges = [{"label": _words(names, j, k, undirected), "value": Picked(j, k).key} for j, k in sorted(there)]
    return [{"label": name, "value": Picked(position).key} for position, name in enumerate(names)] + edges


def responses(graphs: FittedGraphs, view: View) -> Any:
    """What the cause of a view affects: total effects, and means without and with the intervention."""
    shown = [graphs.response(view, values) for values in view.contexts]
    parts: list[Any] = []
    for letter, values, response in zip("AB", view.contexts, shown, strict=False):
        if response is None:
            return html.P(NO_CAUSE, className="soft")
        parts += [html.H4(letter)] if view.comparing else []
        bounds = graphs.effect_intervals(view.level, values) if graphs.tells_probabilities else None
        parts.append(_of_response(graphs.labels, response, bounds))
    interval = f" In brackets its {100 * LEVEL:.0f} % interval." if graphs.tells_probabilities else ""
    said = "Effect: change of the mean for one unit more of the cause, over all directed paths." + interval
    at_nodes = "changes of means" if view.shift else "effects"
    said += f" The graph has {at_nodes} at the nodes, blue upwards and orange downwards; what is not reached is faint."
    if graphs.undirected(view.level).any():
        said += " They hold for one of the possible graphs, since the data do not tell all directions."
    return html.Div([*parts, html.P(said, className="soft")])


def shift_label(shift: float) -> str:
    """How far a cause is moved, in words."""
    if not shift:
        return "at its mean"
    count = value_text(abs(shift))
    return f"{count} spread{'' if count == '1' else 's'} {'above' if shift > 0 else 'below'} its mean"


def _of_response(names: Sequence[str], response: Response, bounds: tuple[Array, Array] | None) -> Any:
    """The cause and all that it reaches, the strongest first; effects with their bounds (p, p), if there are any."""
    order = [int(k) for k in np.argsort(-np.abs(response.strengths), kind="stable") if response.reached[k]]
    if not order:
        return html.P(f"{names[response.cause]} affects nothing here.", className="soft")
    means, after, effects = response.before, response.after, response.effects

    def effect(k: int) -> str:
        if not effects[k]:
            return ""
        within = "" if bounds is None else f" ({' to '.join(signed(float(bound[response.cause, k])) for bound in bounds)})"
        return f"{signed(float(effects[k]))}{within}"

    rows = [[names[k], effect(k), signed(float(means[k])), signed(float(after[k]))] for k in (response.cause, *order)]
    return _table(["", "effect", "mean", "then"], rows, "")


def _as_drawn(graphs: FittedGraphs, view: View, j: int, k: int) -> tuple[int, int]:
    """The edge j -> k; if it has no direction, then in the order in which the graph has it."""
    return (k, j) if graphs.undirected(view.level)[j, k] and not graphs.graph(view.level, view.a)[j, k] else (j, k)


def _of_edge(graphs: FittedGraphs, view: View, edge: tuple[int, int]) -> Any:
    j, k = edge
    undirected = graphs.undirected(view.level)
    parts: list[Any] = [html.H3(_words(graphs.labels, j, k, undirected))]
    for letter, values in zip("AB", view.contexts, strict=False):
        W = graphs.graph(view.level, values)
        here = "" if len(view.contexts) == 1 else f"In {letter}: "
        P = graphs.probabilities(view.level, values)
        if W[j, k]:
            parts.append(html.P(f"{here}weight {signed(float(W[j, k]))}{_likely(P, j, k)}."))
        elif W[k, j]:
            parts.append(html.P(f"{here}reversed, with weight {signed(float(W[k, j]))}{_likely(P, k, j)}."))
        else:
            parts.append(html.P(f"{here}no such edge in this context{_likely(P, j, k)}."))
        if P is not None and (W[j, k] or W[k, j]):
            at = (j, k) if W[j, k] else (k, j)
            low, high = (signed(float(bound[at])) for bound in graphs.intervals(view.level, values))
            parts.append(html.P(f"{100 * LEVEL:.0f} % interval of the weight: {low} to {high}.", className="soft"))
    if undirected[j, k]:
        weight = f"The weight is that of {edge_text(graphs.labels[j], graphs.labels[k])}."
        parts.append(html.P(f"The data do not tell the direction of this edge. {weight}", className="soft"))
    if varying(graphs.features):
        explained = "Below: its weight along each feature, with the others held. Zero means no edge."
        parts.append(html.P(explained, className="soft"))
    return html.Div(parts)


def _of_node(graphs: FittedGraphs, view: View, node: int) -> Any:
    shown = [graphs.graph(view.level, values) for values in view.contexts]
    totals = [total_effects(W[None])[0] for W in shown]
    undirected = graphs.undirected(view.level)
    lines = undirected[node]
    parts: list[Any] = [html.H3(graphs.labels[node])]
    if lines.any():
        joined = [(W[:, node] + W[node]) * lines for W in shown]
        parts += [html.H4("Neighbours, direction unknown"), _effects(graphs.labels, joined, "")]
    for title, columns, none in (
        ("Parents", [W[:, node] * ~lines for W in shown], "No parents."),
        ("Children", [W[node] * ~lines for W in shown], "No children."),
        ("Total effect on", [T[node] for T in totals], "It affects nothing."),
        ("Total effect of", [T[:, node] for T in totals], "Nothing affects it."),
    ):
        parts += [html.H4(title), _effects(graphs.labels, columns, none)]
    explained = "A total effect is the sum over all directed paths: the change of one variable per unit of the other."
    if undirected.any():
        explained += " Here it holds for one of the possible graphs, since the data do not tell all directions."
    dotted = ", neighbours dotted ones" if lines.any() else ""
    framed = f"In the graph, parents have dashed borders and children solid ones{dotted}."
    return html.Div([*parts, html.P(f"{explained} {framed}", className="soft")])


def _likely(P: Array | None, j: int, k: int) -> str:
    return "" if P is None else f", probability {P[j, k]:.2f}"


def least_label(least: float) -> str:
    """Which edges are shown, in words."""
    return f"edges of at least {least:.2f}" if least else "all edges"


def _effects(names: Sequence[str], columns: Sequence[Array], none: str) -> Any:
    """A row for each variable with an effect in some context, the largest first."""
    size = np.abs(np.stack(columns)).max(0)
    order = [int(position) for position in np.argsort(-size, kind="stable") if size[position] > 0]
    rows = [[names[position], *(_or_none(float(column[position])) for column in columns)] for position in order]
    return _table([] if len(columns) == 1 else ["", "A", "B"], rows, none)


def _table(head: list[str], rows: list[list[str]], none: str) -> Any:
    if not rows:
        return html.P(none, className="soft")
    body = [html.Tr([html.Td(cell) for cell in row]) for row in rows[:MOST_ROWS]]
    table = html.Table(([html.Thead(html.Tr([html.Th(cell) for cell in head]))] if head else []) + [html.Tbody(body)])
    more = len(rows) - MOST_ROWS
    left_out = html.P(f"{more} smaller ones are not shown; the CSV file has all of them.", className="soft")
    return html.Div([table, *([left_out] if more > 0 else [])])


def _words(names: Sequence[str], j: int, k: int, undirected: Flags) -> str:
    return edge_text(names[j], names[k], not undirected[j, k])


def _or_none(w: float) -> str:
    return signed(w) if w else "–"  # noqa: RUF001 - a dash for nothing
