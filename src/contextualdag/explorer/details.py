"""What the page says about graphs: captions, details of a picked node or edge, and the table of edges."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import html

from contextualdag.differences import differences
from contextualdag.explorer.charts import edge_over_features
from contextualdag.explorer.elements import signed
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.view import Picked, View, varying
from contextualdag.export import edge_text
from contextualdag.plotting.contexts import value_text
from contextualdag.tables import Array, Flags

MOST_ROWS = 60
NOTHING = "Click a node or an edge, or choose one above, to see its details."


def caption(graphs: FittedGraphs, view: View, which: int, n_edges: int, left_out: int = 0) -> list[Any]:
    """Caption of one graph of a view: context, number of edges, and a warning outside the training range."""
    values = view.contexts[which]
    free = varying(graphs.features)
    context = ", ".join(f"{graphs.features[position].name} = {value_text(values[position])}" for position in free)
    count = f"{n_edges} edge" + "s" * (n_edges != 1) + (f", {left_out} weaker ones not drawn" if left_out else "")
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
    return edge_over_features(graphs.features, shown, edge, graphs.names, dark, directed)


def edge_table(names: Sequence[str], shown: Sequence[Array], undirected: Flags) -> Any:
    """All edges of one graph, or of two with their differences."""
    if len(shown) == 1:
        (W,) = shown
        present = sorted(zip(*np.nonzero(W), strict=True), key=lambda edge: -abs(W[edge]))
        rows = [[_words(names, j, k, undirected), signed(float(W[j, k]))] for j, k in present]
        return _table(["edge", "weight"], rows, "This graph has no edges.")
    rows = [
        [_words(names, one.source, one.target, undirected), _or_none(one.a), _or_none(one.b), one.kind]
        for one in differences(*shown)
    ]
    return _table(["edge", "A", "B", ""], rows, "Neither graph has edges.")


def options(names: Sequence[str], picked: Picked | None, shown: Sequence[Array], undirected: Flags) -> list[dict[str, str]]:
    """Options of the menu of nodes and edges: all nodes, the edges that are shown, and the picked edge."""
    there = {(int(j), int(k)) for W in shown for j, k in zip(*np.nonzero(W), strict=True)}
    if picked is not None and picked.target is not None:
        there.add((picked.node, picked.target))
    edges = [{"label": _words(names, j, k, undirected), "value": Picked(j, k).key} for j, k in sorted(there)]
    return [{"label": name, "value": Picked(position).key} for position, name in enumerate(names)] + edges


def total_effects(W: Array) -> Array:
    """Total effects: the sum over all directed paths of the product of their weights.

    In x = Wᵀx + ε, an increase of ε by one in variable j changes variable k by ``total_effects(W)[j, k]``. For acyclic W
    this is (I - W)⁻¹ - I, a finite sum of powers of W.

    Parameters
    ----------
    W : array of shape (p, p)
        ``W[j, k]`` is the direct effect of j on k; acyclic.

    Returns
    -------
    array of shape (p, p)

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.explorer.details import total_effects
    >>> total_effects(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]))
    array([[0., 2., 7.],
           [0., 0., 3.],
           [0., 0., 0.]])
    """
    identity = np.eye(len(W))
    totals = np.linalg.inv(identity - W) - identity
    # Without a path the effect is exactly zero, whatever rounding error the inverse has left.
    reaches = W != 0
    for _ in range(len(W).bit_length()):
        reaches = reaches | ((reaches.astype(np.float64) @ reaches) > 0)
    cleaned: Array = np.where(reaches, totals, 0.0)
    return cleaned


def _as_drawn(graphs: FittedGraphs, view: View, j: int, k: int) -> tuple[int, int]:
    """The edge j -> k; if it has no direction, then in the order in which the graph has it."""
    return (k, j) if graphs.undirected(view.level)[j, k] and not graphs.graph(view.level, view.a)[j, k] else (j, k)


def _of_edge(graphs: FittedGraphs, view: View, edge: tuple[int, int]) -> Any:
    j, k = edge
    undirected = graphs.undirected(view.level)
    parts: list[Any] = [html.H3(_words(graphs.names, j, k, undirected))]
    for letter, values in zip("AB", view.contexts, strict=False):
        W = graphs.graph(view.level, values)
        here = "" if len(view.contexts) == 1 else f"In {letter}: "
        if W[j, k]:
            parts.append(html.P(f"{here}weight {signed(float(W[j, k]))}."))
        elif W[k, j]:
            parts.append(html.P(f"{here}reversed, with weight {signed(float(W[k, j]))}."))
        else:
            parts.append(html.P(f"{here}no such edge in this context."))
    if undirected[j, k]:
        weight = f"The weight is that of {edge_text(graphs.names[j], graphs.names[k])}."
        parts.append(html.P(f"The data do not tell the direction of this edge. {weight}", className="soft"))
    if varying(graphs.features):
        explained = "Below: its weight along each feature, with the others held. Zero means no edge."
        parts.append(html.P(explained, className="soft"))
    return html.Div(parts)


def _of_node(graphs: FittedGraphs, view: View, node: int) -> Any:
    shown = [graphs.graph(view.level, values) for values in view.contexts]
    totals = [total_effects(W) for W in shown]
    undirected = graphs.undirected(view.level)
    lines = undirected[node]
    parts: list[Any] = [html.H3(graphs.names[node])]
    if lines.any():
        joined = [(W[:, node] + W[node]) * lines for W in shown]
        parts += [html.H4("Neighbours, direction unknown"), _effects(graphs.names, joined, "")]
    for title, columns, none in (
        ("Parents", [W[:, node] * ~lines for W in shown], "No parents."),
        ("Children", [W[node] * ~lines for W in shown], "No children."),
        ("Total effect on", [T[node] for T in totals], "It affects nothing."),
        ("Total effect of", [T[:, node] for T in totals], "Nothing affects it."),
    ):
        parts += [html.H4(title), _effects(graphs.names, columns, none)]
    explained = "A total effect is the sum over all directed paths: the change of one variable per unit of the other."
    if undirected.any():
        explained += " Here it holds for one of the possible graphs, since the data do not tell all directions."
    dotted = ", neighbours dotted ones" if lines.any() else ""
    framed = f"In the graph, parents have dashed borders and children solid ones{dotted}."
    return html.Div([*parts, html.P(f"{explained} {framed}", className="soft")])


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
