"""The page: controls on the left, graphs in the middle, details on the right."""

from collections.abc import Sequence
from typing import Any

import dash_cytoscape as cyto
from dash import dcc, html

from contextualdag.estimators.summary import EXPLAINED
from contextualdag.explorer.elements import UNSURE
from contextualdag.explorer.features import Control, Value, density_picture
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.view import FARTHEST, View, varying
from contextualdag.plotting.contexts import value_text
from contextualdag.printable import printable
from contextualdag.report.page import NO_PROOF

SIDES = ("a", "b")
NO_TOOLS: Any = {"displayModeBar": False}
SPOKEN: dict[str, Any] = {"aria-live": "polite"}
ONE_GRAPH = "This model has one graph for all contexts."
MANY = 30  # nodes that need more room on a narrow screen
UNSURE_WORDS = f"probability below {UNSURE:g}"
FORMATS = ("PNG", "SVG", "GraphML", "CSV")


def page(graphs: FittedGraphs) -> Any:
    """All components of the page; callbacks fill them.

    Parameters
    ----------
    graphs : FittedGraphs
        Graphs of the model.

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
            *(html.P(f"⚠ {printable(sentence)}", className="outside") for sentence in graphs.poor_fit),
            *_summary(graphs),
            *([] if graphs.vary else [html.P(ONE_GRAPH, className="soft")]),
            html.Details([html.Summary("About this model"), *(html.P(remark) for remark in graphs.remarks)], id="about"),
            html.Main([_controls(graphs), _graphs(graphs), _more(graphs)]),
            html.Footer(NO_PROOF),
        ],
        id="page",
    )


def control_id(side: str, position: Any) -> dict[str, Any]:
    """Identifier of the control of a feature; `position` may be one of Dash's wildcards."""
    return {"type": f"value-{side}", "feature": position}


def _summary(graphs: FittedGraphs) -> list[Any]:
    """What changes with the context: a sentence, and a table that can be opened."""
    sentence, rows = graphs.summary
    if not sentence:
        return []
    head, *body = rows
    table = html.Table(
        [
            html.Thead(html.Tr([html.Th(cell) for cell in head])),
            html.Tbody([html.Tr([html.Td(printable(cell)) for cell in row]) for row in body]),
        ]
    )
    shown = html.Details([html.Summary("Edge by edge"), html.Div(table, className="edges"), html.P(EXPLAINED)])
    return [html.Div([html.P(printable(sentence)), shown], id="summary")]


def _controls(graphs: FittedGraphs) -> Any:
    view, levels = graphs.default, graphs.levels
    marks = {0: _mark(levels[0].n_edges), len(levels) - 1: _mark(levels[-1].n_edges), graphs.selected: "★"}
    stars = "★ selected by the fit"
    if levels[view.level].explained:
        marks[view.level] = "☆"
        stars += "; ☆ fewer, which explain nine tenths of that"
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
            html.P(stars, className="soft"),
        ],
        className="feature",
    )
    compare = dcc.Checklist([{"label": "Compare with a second context, B", "value": "on"}], [], id="comparing")
    return html.Section(
        [html.H2("Context"), compare, *_feature_controls(graphs.features, view), sparsity, _least(graphs)],
        id="controls",
        **_named("Context"),
    )


def _least(graphs: FittedGraphs) -> Any:
    """A slider that hides edges of a lower probability; hidden itself if the model tells none."""
    slider = dcc.Slider(
        min=0,
        max=1,
        step=0.05,
        value=0,
        marks={0: "0", 0.5: "0.5", 1: "1"},
        updatemode="drag",
        included=False,
        allow_direct_input=False,
        id="least",
    )
    return html.Fieldset(
        [
            html.Legend("Probability"),
            html.P(id="least-label", className="soft"),
            html.Div(slider, className="control"),
        ],
        className="feature" if graphs.tells_probabilities else "feature hidden",
    )


def _feature_controls(features: Sequence[Control], view: View) -> list[Any]:
    """A slider or a menu for each feature that varies, with the distribution of the training data."""
    return [
        html.Fieldset(
            [html.Legend(features[position].label), *_block(position, features[position], view)], className="feature"
        )
        for position in varying(features)
    ]


def _block(position: int, feature: Control, view: View) -> list[Any]:
    both = list(zip(SIDES, (view.a[position], view.b[position]), strict=True))
    if not feature.is_number:
        return [html.Div([_menu(side, position, feature, value) for side, value in both], className="menus")]
    middle = f"half of them between {value_text(feature.quantiles[25])} and {value_text(feature.quantiles[75])}"
    words = f"Distribution of {feature.label} in the training data: {middle}."
    picture = html.Img(src=density_picture(feature), alt=words, title=words, className="density")
    return [html.Div(picture, className="over-slider"), *(_slider(side, position, feature, value) for side, value in both)]


def _slider(side: str, position: int, feature: Control, value: Any) -> Any:
    low, high = feature.bounds
    slider = dcc.Slider(
        min=low,
        max=high,
        step=feature.step,
        value=value,
        marks={feature.low: value_text(feature.low), feature.high: value_text(feature.high)},
        updatemode="drag",
        included=False,
        allow_direct_input=False,
        id=control_id(side, position),
    )
    return html.Div([html.Span(side.upper(), className="letter"), slider], className=f"control side-{side}")


def _menu(side: str, position: int, feature: Control, value: Value) -> Any:
    options = [{"label": _share(category, share), "value": category} for category, share in feature.shares.items()]
    radio = dcc.RadioItems(options, value, id=control_id(side, position), className="menu")
    return html.Div([html.Span(side.upper(), className="letter"), radio], className=f"control side-{side}")


def _share(category: str, share: float) -> Any:
    filled = f"linear-gradient(to right, var(--scale-1) {share:.1%}, transparent {share:.1%})"
    return html.Span(
        [html.Span(printable(category)), html.Small(f"{share:.0%}")], className="share", style={"background": filled}
    )


def _graphs(graphs: FittedGraphs) -> Any:
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
        for side in SIDES
    ]
    key = [
        html.Span([html.I(className="stroke positive"), "positive"]),
        html.Span([html.I(className="stroke negative"), "negative; wider is stronger, in standard deviations"]),
        *([html.Span([html.I(className="stroke unsure"), UNSURE_WORDS])] if graphs.tells_probabilities else []),
        html.Span([html.I(className="stroke only"), "only here"], className="side-b"),
        html.Span([html.I(className="stroke reversed"), "reversed"], className="side-b"),
        html.Span([html.I(className="stroke sign"), "other sign"], className="side-b"),
        html.Span([html.I(className="stroke ghost"), "only in the other"], className="side-b"),
        html.Button("Reset zoom", id="zoom", type="button"),
    ]
    return html.Section(
        [
            html.Div(panels, className="panels many" if len(graphs.names) > MANY else "panels"),
            html.Div(key, className="key"),
            html.P(id="directions", className="soft"),
            html.Div(id="edges", className="edges"),
        ],
        id="graphs",
        **_named("Graphs"),
    )


def _more(graphs: FittedGraphs) -> Any:
    axes = graphs.default.axes
    free = [
        {"label": feature.label, "value": position} for position, feature in enumerate(graphs.features) if feature.varies
    ]
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
            html.Div(_effects(graphs.labels), className="part"),
            html.Div(
                [
                    html.H2("Number of edges"),
                    html.P("Click to go to a context.", className="soft"),
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


def _effects(names: Sequence[str]) -> list[Any]:
    """A menu of causes, a slider that moves the cause, and a place for what follows."""
    ends = {end: value_text(end) for end in (-FARTHEST, 0.0, FARTHEST)}
    slider = dcc.Slider(
        min=-FARTHEST,
        max=FARTHEST,
        step=0.25,
        value=0,
        marks=ends,
        updatemode="drag",
        included=False,
        allow_direct_input=False,
        id="shift",
    )
    causes = [{"label": name, "value": position} for position, name in enumerate(names)]
    return [
        html.H2("Effects"),
        dcc.Dropdown(causes, None, id="cause", placeholder="Choose a cause", searchable=len(names) > 10),
        html.Fieldset(
            [html.Legend("Set it"), html.P(id="shift-label", className="soft"), html.Div(slider, className="control")],
            id="shift-box",
            className="feature hidden",
        ),
        html.Div(id="effects", **SPOKEN),
    ]


def _mark(n_edges: float) -> str:
    return f"{n_edges:.0f}"


def _named(name: str) -> dict[str, Any]:
    """A name for screen readers."""
    return {"aria-label": name}
