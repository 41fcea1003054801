"""What stands above a graph: its context, its number of edges, and a warning outside the training range."""

from typing import Any

from dash import html

from contextualdag.explorer.features import number
from contextualdag.explorer.fitted_graphs import FittedGraphs
from contextualdag.explorer.view import View, varying


def caption(graphs: FittedGraphs, view: View, which: int, n_edges: int, left_out: int = 0) -> list[Any]:
    """Of the first or the second graph of a view; of its edges some may be left out of the picture."""
    values = view.contexts[which]
    free = varying(graphs.features)
    shown = (values[position] for position in free)
    context = ", ".join(
        f"{graphs.features[position].name} = {value if isinstance(value, str) else number(value)}"
        for position, value in zip(free, shown, strict=True)
    )
    count = f"{n_edges} edge" + "s" * (n_edges != 1) + (f", {left_out} weaker ones not drawn" if left_out else "")
    letter = [html.Strong("AB"[which])] if view.comparing else []
    line = [*letter, html.Span(context), html.Span(count, className="soft")]
    sentences = [said for position in free if (said := graphs.features[position].outside(values[position])) is not None]
    warning = []
    if sentences:
        warning = [
            html.P(["⚠ Outside the training range: ", " ".join(sentences), " This graph is a guess."], className="outside")
        ]
    return [html.P(line), *warning]
