"""What the page tells about a picked edge or node, and the table of all edges."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from contextualdag.explorer.charts import edge_over_features
from contextualdag.explorer.differences import Difference, differences
from contextualdag.explorer.effects import total_effects
from contextualdag.explorer.fitted_graphs import FittedGraphs
from contextualdag.explorer.graph_elements import signed
from contextualdag.explorer.view import Picked, View, varying

if TYPE_CHECKING:
    from contextualdag.tables import Array

MOST_ROWS = 60
NO_TOOLS: Any = {"displayModeBar": False}
NOTHING = "Click a node or an edge, or choose one above, to learn more about it."


def details(graphs: FittedGraphs, view: View) -> Any:
    """About what is picked, in words and numbers."""
    if view.picked is None:
        return html.P(NOTHING, className="soft")
    if view.picked.target is None:
        return _of_node(graphs, view, view.picked.node)
    return _of_edge(graphs, view, (view.picked.node, view.picked.target))


def curves(graphs: FittedGraphs, view: View, dark: bool) -> dict[str, Any] | None:
    """The weight of a picked edge along each feature, if an edge is picked and some feature varies."""
    if view.picked is None or view.picked.target is None or not varying(graphs.features):
        return None
    shown = [(letter, values, graphs.along(view.level, values)) for letter, values in zip("AB", view.contexts, strict=False)]
    return edge_over_features(graphs.features, shown, (view.picked.node, view.picked.target), graphs.names, dark)


def edge_table(names: Sequence[str], shown: "Sequence[Array]") -> Any:
    """All edges of one graph, or of two with their differences."""
    if len(shown) == 1:
        (W,) = shown
        present = sorted(zip(*np.nonzero(W), strict=True), key=lambda edge: -abs(W[edge]))
        rows = [[_arrow(names, j, k), signed(float(W[j, k]))] for j, k in present]
        return _table(["edge", "weight"], rows, "This graph has no edges.")
    found: list[Difference] = differences(*shown)
    rows = [[_arrow(names, one.source, one.target), _or_none(one.a), _or_none(one.b), one.kind] for one in found]
    return _table(["edge", "A", "B", ""], rows, "Neither graph has edges.")


def options(names: Sequence[str], picked: Picked | None, shown: "Sequence[Array]") -> list[dict[str, str]]:
    """What the menu of nodes and edges offers: the nodes, the edges that are there, and what is picked."""
    there = {(int(j), int(k)) for W in shown for j, k in zip(*np.nonzero(W), strict=True)}
    if picked is not None and picked.target is not None:
        there.add((picked.node, picked.target))
    edges = [{"label": _arrow(names, j, k), "value": Picked(j, k).key} for j, k in sorted(there)]
    return [{"label": name, "value": Picked(position).key} for position, name in enumerate(names)] + edges


def _of_edge(graphs: FittedGraphs, view: View, edge: tuple[int, int]) -> Any:
    j, k = edge
    parts: list[Any] = [html.H3(_arrow(graphs.names, j, k))]
    for letter, values in zip("AB", view.contexts, strict=False):
        W = graphs.graph(view.level, values)
        here = "" if len(view.contexts) == 1 else f"In {letter}: "
        if W[j, k]:
            parts.append(html.P(f"{here}weight {signed(float(W[j, k]))}."))
        elif W[k, j]:
            parts.append(html.P(f"{here}the other way round, with weight {signed(float(W[k, j]))}."))
        else:
            parts.append(html.P(f"{here}no such edge in this context."))
    if varying(graphs.features):
        explained = "Below, its weight along each feature with the others held where they are. Zero is no edge."
        parts.append(html.P(explained, className="soft"))
    return html.Div(parts)


def _of_node(graphs: FittedGraphs, view: View, node: int) -> Any:
    shown = [graphs.graph(view.level, values) for values in view.contexts]
    totals = [total_effects(W) for W in shown]
    parts: list[Any] = [html.H3(graphs.names[node])]
    for title, columns, none in (
        ("Parents", [W[:, node] for W in shown], "No parents."),
        ("Children", [W[node] for W in shown], "No children."),
        ("Total effect on", [T[node] for T in totals], "It moves nothing."),
        ("Total effect of", [T[:, node] for T in totals], "Nothing moves it."),
    ):
        parts += [html.H4(title), _effects(graphs.names, columns, none)]
    explained = "A total effect sums over all directed ways: by how much one unit more of the one moves the other."
    framed = "In the graph its parents have dashed frames, its children full ones."
    return html.Div([*parts, html.P(f"{explained} {framed}", className="soft")])


def _effects(names: Sequence[str], columns: "Sequence[Array]", none: str) -> Any:
    """One row for each variable with an effect in some context, the largest first."""
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
    left_out = [html.P(f"And {more} more, smaller ones; the CSV has all of them.", className="soft")] if more > 0 else []
    return html.Div([table, *left_out])


def _arrow(names: Sequence[str], j: int, k: int) -> str:
    return f"{names[j]} → {names[k]}"


def _or_none(w: float) -> str:
    return signed(w) if w else "–"  # noqa: RUF001 - a dash for nothing
