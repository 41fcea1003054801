"""The page: controls to the left, graphs in the middle, what is known about them to the right."""

from typing import Any

import dash_cytoscape as cyto
from dash import dcc, html

from contextualdag.explorer.context_controls import context_controls
from contextualdag.explorer.details import NO_TOOLS
from contextualdag.explorer.fitted_graphs import FittedGraphs

SPOKEN: dict[str, Any] = {"aria-live": "polite"}
ONE_GRAPH = "This model has one graph for all contexts, so nothing changes from one context to another."
MANY = 30  # nodes that need more room on a narrow screen
FORMATS = ("PNG", "SVG", "GraphML", "CSV")


def page(graphs: FittedGraphs) -> Any:
    """Everything that can be on the page; callbacks fill it.

    Parameters
    ----------
    graphs : FittedGraphs
        The model.

    Returns
    -------
    dash component
    """
    return html.Div(
        [
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="screen"),
            dcc.Download(id="file"),
            html.Header(
                [
                    html.H1("One graph for every context"),
                    html.Div(
                        [
                            html.A("Link to this view", id="link", href="?"),
                            dcc.Clipboard(id="copy", title="Copy the link", className="copy"),
                            html.Button("Start again", id="reset", type="button"),
                        ],
                        className="links",
                    ),
                ]
            ),
            html.P(id="message", role="status"),
            *([] if graphs.vary else [html.P(ONE_GRAPH, className="soft")]),
            html.Main([_controls(graphs), _graphs(len(graphs.names)), _more(graphs)]),
            html.Footer("A graph shows dependence as the model sees it; it is no proof of cause."),
        ],
        id="page",
    )


def _controls(graphs: FittedGraphs) -> Any:
    view, levels = graphs.default, graphs.levels
    marks = {0: _mark(levels[0].n_edges), len(levels) - 1: _mark(levels[-1].n_edges), view.level: "★"}
    sparsity = html.Fieldset(
        [
            html.Legend("Sparsity"),
            html.P(id="level-label", className="soft"),
            html.Div(
                dcc.Slider(
                    min=0,
                    max=max(len(levels) - 1, 1),
                    step=1,
                    value=view.level,
                    marks=marks,
                    updatemode="drag",
                    included=False,
                    allow_direct_input=False,
                    id="level",
                ),
                className="control",
            ),
            html.P("★ the choice of the fit", className="soft"),
        ],
        className="feature",
    )
    compare = dcc.Checklist([{"label": "Compare with a second context, B", "value": "on"}], [], id="comparing")
    return html.Section(
        [html.H2("Context"), compare, *context_controls(graphs.features, view), sparsity],
        id="controls",
        **_named("Context"),
    )


def _graphs(n_nodes: int) -> Any:
    panels = [
        html.Div(
            [
                html.Div(id=f"caption-{side}", className="caption", **SPOKEN),
                html.Div(
                    cyto.Cytoscape(
                        id=f"graph-{side}",
                        layout={"name": "preset", "fit": False},
                        elements=[],
                        style={"width": "100%", "height": "100%"},
                        autoRefreshLayout=False,
                        autounselectify=True,
                        minZoom=0.3,
                        maxZoom=5,
                    ),
                    className="canvas",
                    role="img",
                    **_named(f"Graph of context {side.upper()}; the table below lists its edges"),
                ),
                html.Div(
                    [
                        html.Span("Download "),
                        *(html.Button(one, id={"save": one, "side": side}, type="button") for one in FORMATS),
                    ],
                    className="downloads",
                ),
            ],
            id=f"panel-{side}",
            className="panel",
        )
        for side in ("a", "b")
    ]
    key = [
        html.Span([html.I(className="stroke positive"), "positive"]),
        html.Span([html.I(className="stroke negative"), "negative; wider is stronger"]),
        html.Span([html.I(className="stroke only"), "only here"], className="side-b"),
        html.Span([html.I(className="stroke turned"), "turned round"], className="side-b"),
        html.Span([html.I(className="stroke sign"), "other sign"], className="side-b"),
        html.Span([html.I(className="stroke ghost"), "only in the other"], className="side-b"),
        html.Button("Reset zoom", id="zoom", type="button"),
    ]
    return html.Section(
        [
            html.Div(panels, className="panels many" if n_nodes > MANY else "panels"),
            html.Div(key, className="key"),
            html.Div(id="edges", className="edges"),
        ],
        id="graphs",
        **_named("Graphs"),
    )


def _more(graphs: FittedGraphs) -> Any:
    axes = graphs.default.axes
    free = [{"label": feature.name, "value": position} for position, feature in enumerate(graphs.features) if feature.varies]
    menus = [
        dcc.Dropdown(
            free,
            axes[place] if place < len(axes) else None,
            id=f"map-{letter}",
            clearable=False,
            searchable=len(free) > 10,
        )
        for place, letter in enumerate("xy")
    ]
    chart = dcc.Graph(id="map", config=NO_TOOLS, responsive=True, style={"height": "290px"})
    goes = dcc.RadioItems([{"label": "A", "value": "a"}, {"label": "B", "value": "b"}], "a", id="map-side", inline=True)
    return html.Section(
        [
            html.H2("Node or edge"),
            dcc.Dropdown([], None, id="picked", placeholder="Choose a node or an edge"),
            html.Div(id="details", **SPOKEN),
            html.Div(dcc.Graph(id="curves", config=NO_TOOLS, responsive=True), id="curves-box", className="hidden"),
            html.Div(
                [
                    html.H2("Number of edges"),
                    html.P("Click to go there.", className="soft"),
                    html.Div(["Move ", goes], className="side-b"),
                    chart,
                    html.Div(menus, className="axes" if len(axes) > 1 else "axes hidden"),
                ],
                className="" if axes else "hidden",
            ),
        ],
        id="more",
        **_named("More about the graph"),
    )


def _mark(n_edges: float) -> str:
    return f"{n_edges:.0f}"


def _named(name: str) -> dict[str, Any]:
    """For readers that hear the page."""
    return {"aria-label": name}
