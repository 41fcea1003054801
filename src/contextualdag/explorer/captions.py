"""What stands above a graph: its context, its number of edges, and a warning outside the training range."""

from typing import TYPE_CHECKING, Any

from dash import html

from contextualdag.explorer.features import number
from contextualdag.explorer.fitted_graphs import FittedGraphs
from contextualdag.explorer.view import View, varying

if TYPE_CHECKING:
    from contextualdag.estimators.tables import Array


def caption(graphs: FittedGraphs, view: View, which: int, W: "Array") -> list[Any]:
    """Of the first or the second graph of a view."""
    values = view.contexts[which]
    free = varying(graphs.features)
    shown = (values[position] for position in free)
    context = ", ".join(
        f"{graphs.features[position].name} = {value if isinstance(value, str) else number(value)}"
        for position, value in zip(free, shown, strict=True)
    )
    n_edges = int((W != 0).sum())
    letter = [html.Strong("AB"[which])] if view.comparing else []
    line = [*letter, html.Span(context), html.Span(f"{n_edges} edge" + "s" * (n_edges != 1), className="soft")]
    sentences = [said for position in free if (said := graphs.features[position].outside(values[position])) is not None]
    warning = []
    if sentences:
        warning = [
            html.P(["⚠ Outside the training range: ", " ".join(sentences), " This graph is a guess."], className="outside")
        ]
    return [html.P(line), *warning]
