"""Callbacks of the page: what changes when a control is moved or something is clicked."""

import functools
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update, set_props

from contextualdag.differences import differences
from contextualdag.errors import InvalidInputError
from contextualdag.explorer.charts import sparsity_map
from contextualdag.explorer.details import (
    caption,
    curves,
    details,
    edge_table,
    least_label,
    options,
    responses,
    shift_label,
)
from contextualdag.explorer.elements import elements, shown_edges, stylesheet, sure_enough, widest_weight
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.explorer.layout import SIDES, control_id
from contextualdag.explorer.placement import Placement
from contextualdag.explorer.view import (
    Permalinks,
    Values,
    View,
    checked_axes,
    checked_cause,
    checked_index,
    checked_least,
    checked_picked,
    checked_screen,
    checked_values,
    varying,
)
from contextualdag.export import NamedGraph, as_csv, as_graphml
from contextualdag.plotting import layered_layout

VIEW: list[tuple[Any, str]] = [
    *((control_id(side, ALL), "value") for side in SIDES),
    ("level", "value"),
    ("comparing", "value"),
    ("picked", "value"),
    ("map-x", "value"),
    ("map-y", "value"),
    ("cause", "value"),
    ("shift", "value"),
    ("least", "value"),
]
PICKED = [name for name, _ in VIEW].index("picked")
TAPS = [(f"graph-{side}", f"tap{what}Data") for side in SIDES for what in ("Node", "Edge")]
SCREEN = ("screen", "data")


class Answers:
    """Answers to the requests of the page, as plain functions of what it sends.

    Parameters
    ----------
    graphs : FittedGraphs
        Graphs of the model.
    """

    def __init__(self, graphs: FittedGraphs) -> None:
        self.graphs = graphs
        self.links = Permalinks(
            graphs.features, graphs.levels, graphs.names, graphs.default, with_least=graphs.tells_probabilities
        )
        self._places = layered_layout(graphs.seen * graphs.units)
        self._widest = widest_weight(graphs.seen * graphs.units)
        self.placement = functools.lru_cache(16)(self._placement)

    def _placement(self, width: int, height: int) -> Placement:
        return Placement(self._places, self.graphs.labels, width, height)

    def draw(self, *sent: Any) -> tuple[Any, ...]:
        """Graphs, captions, table, menu and link of a view; the last argument is the screen."""
        if sent[-1] is None:
            return (no_update,) * len(DRAWN)
        graphs, view, screen = self.graphs, self._view(*sent[:-1]), checked_screen(sent[-1])
        placement = self.placement(screen.width, screen.height)
        shown = [graphs.graph(view.level, values) for values in view.contexts]
        compared = differences(shown[0], shown[1], graphs.units) if view.comparing else []
        told = [graphs.probabilities(view.level, values) for values in view.contexts]
        probabilities = [P for P in told if P is not None]
        sure = sure_enough(shown, probabilities, view.least) if probabilities else []
        kept = [shown_edges([W * graphs.units for W in shown], view.picked)] * len(shown)
        visible = [strong & own for strong, own in zip(kept, sure, strict=True)] if sure else kept
        undirected = graphs.undirected(view.level)
        drawn = [
            elements(
                W,
                graphs.labels,
                placement,
                self._widest,
                view.picked,
                compared,
                drawable,
                undirected,
                graphs.response(view, values),
                P,
                graphs.units,
            )
            for W, values, drawable, P in zip(shown, view.contexts, visible, told, strict=True)
        ]
        captions = [
            caption(
                graphs,
                view,
                position,
                int((W != 0).sum()),
                int(((W != 0) & ~kept[position]).sum()),
                int(((W != 0) & kept[position] & ~visible[position]).sum()),
            )
            for position, W in enumerate(shown)
        ]
        return (
            drawn[0],
            drawn[1] if view.comparing else no_update,
            captions[0],
            captions[1] if view.comparing else no_update,
            "comparing" if view.comparing else "",
            options(graphs.labels, view.picked, shown, undirected),
            graphs.directions(view.level),
            edge_table(graphs.labels, shown, undirected, probabilities, sure, graphs.units),
            graphs.levels[view.level].label,
            least_label(view.least),
            self.links.write(view),
        )

    def style(self, sent: Any) -> tuple[Any, Any]:
        """Stylesheets of both graphs."""
        if sent is None:
            return no_update, no_update
        screen = checked_screen(sent)
        placement = self.placement(screen.width, screen.height)
        sheet = stylesheet(screen.dark, placement.font, placement.label_font)
        return sheet, sheet

    def describe(self, link: Any, screen: Any) -> tuple[Any, Any, Any, Any]:
        """Details of the picked node or edge: text, curves, their height, and the class that hides them."""
        if screen is None:
            return (no_update,) * 4
        view, _ = self.links.read(link)
        words, figure = details(self.graphs, view), curves(self.graphs, view, checked_screen(screen).dark)
        if figure is None:
            return words, no_update, no_update, "hidden"
        return words, figure, {"height": f"{figure['layout']['height']}px"}, ""

    def respond(self, link: Any, screen: Any) -> tuple[Any, Any, Any]:
        """Effects of the cause: a table, how far the cause is moved, and the class that hides the slider for it."""
        if screen is None:
            return (no_update,) * 3
        view, _ = self.links.read(link)
        return responses(self.graphs, view), shift_label(view.shift), "feature hidden" if view.cause is None else "feature"

    def map(self, link: Any, screen: Any) -> Any:
        """The map of the number of edges."""
        view, _ = self.links.read(link)
        if screen is None or not view.axes:
            return no_update
        counts = self.graphs.counts(view.level, view.a, view.axes)
        return sparsity_map(self.graphs.features, view.axes, counts, view.contexts, checked_screen(screen).dark)

    def follow(self, search: Any) -> tuple[Any, ...]:
        """The values of all controls for the view of a link, and a message if the link is invalid."""
        view, complaint = self.links.read(search)
        return (*self._controls(view), complaint)

    def go_to(self, data: Any, side: Any, map_x: Any, map_y: Any) -> tuple[Any, ...]:
        """The values of the controls of one context after a click on the map."""
        axes = checked_axes(self.graphs.features, [map_x, map_y])
        free = varying(self.graphs.features)
        moved: list[Any] = [no_update] * len(free)
        point = data["points"][0]
        for axis, key in zip(axes, "xy", strict=False):
            moved[free.index(axis)] = self.graphs.features[axis].clicked(point[key])
        still = [no_update] * len(free)
        return (still, moved) if side == "b" else (moved, still)

    def pick(self, data: Any) -> str | None:
        """The key of a node or an edge that was clicked."""
        picked = checked_picked(data["id"], len(self.graphs.names))
        return None if picked is None else picked.key

    def offer(self, key: str) -> list[dict[str, str]]:
        """Options of the menu: the nodes and the picked edge."""
        graphs = self.graphs
        return options(graphs.labels, checked_picked(key, len(graphs.names)), [], graphs.undirected(graphs.default.level))

    def save(self, kind: str, side: str, *sent: Any) -> dict[str, str]:
        """A file with the graph of one context."""
        view, features = self._view(*sent), self.graphs.features
        values = view.b if side == "b" else view.a
        context = {feature.name: value for feature, value in zip(features, values, strict=True)}
        outside = any(feature.outside(value) is not None for feature, value in zip(features, values, strict=True))
        W, undirected = self.graphs.graph(view.level, values), self.graphs.undirected(view.level)
        probabilities = self.graphs.probabilities(view.level, values)
        graph = NamedGraph.from_array(W, self.graphs.names, context, outside, undirected, probabilities)
        if kind == "CSV":
            return {"content": as_csv(graph), "filename": f"edges-{side}.csv", "type": "text/csv"}
        content = as_graphml(graph).decode()
        return {"content": content, "filename": f"graph-{side}.graphml", "type": "application/xml"}

    def _view(
        self,
        a: Any,
        b: Any,
        level: Any,
        comparing: Any,
        picked: Any,
        map_x: Any,
        map_y: Any,
        cause: Any,
        shift: Any,
        least: Any,
    ) -> View:
        """The view for values of the controls, which are checked."""
        if comparing not in ([], ["on"], None):
            raise InvalidInputError("Comparing must be on or off.")
        graphs = self.graphs
        return View(
            self._values(a, graphs.default.a),
            self._values(b, graphs.default.b),
            checked_index("The level of sparsity", level, len(graphs.levels)),
            bool(comparing),
            checked_picked(picked, len(graphs.names)),
            checked_axes(graphs.features, [map_x, map_y]),
            *checked_cause(cause, shift, len(graphs.names)),
            checked_least(least) if graphs.tells_probabilities else 0.0,
        )

    def _values(self, sent: Any, default: Values) -> Values:
        """A context, of which the page sends only the features that vary."""
        free = varying(self.graphs.features)
        given = checked_values([self.graphs.features[position] for position in free], sent)
        moved = dict(zip(free, given, strict=True))
        return tuple(moved.get(position, value) for position, value in enumerate(default))

    def _controls(self, view: View) -> tuple[Any, ...]:
        """The values of the controls for a view: the inverse of `_view`."""
        free = varying(self.graphs.features)
        axes = (*view.axes, None, None)[:2]
        picked = None if view.picked is None else view.picked.key
        sides = ([values[position] for position in free] for values in (view.a, view.b))
        return (*sides, view.level, ["on"] if view.comparing else [], picked, *axes, view.cause, view.shift, view.least)


DRAWN = [
    ("graph-a", "elements"),
    ("graph-b", "elements"),
    ("caption-a", "children"),
    ("caption-b", "children"),
    ("page", "className"),
    ("picked", "options"),
    ("directions", "children"),
    ("edges", "children"),
    ("level-label", "children"),
    ("least-label", "children"),
    ("link", "href"),
]


def connect(app: Dash, answers: Answers) -> None:
    """Register the callbacks."""
    app.callback([Output(*one) for one in DRAWN], *(Input(*one) for one in VIEW), Input(*SCREEN))(answers.draw)
    app.callback([Output(f"graph-{side}", "stylesheet") for side in SIDES], Input(*SCREEN))(answers.style)
    described = (("details", "children"), ("curves", "figure"), ("curves", "style"), ("curves-box", "className"))
    # These depend on the link, which comes with the graph, so that the graph is drawn first.
    app.callback([Output(*one) for one in described], Input("link", "href"), Input(*SCREEN))(answers.describe)
    responding = (("effects", "children"), ("shift-label", "children"), ("shift-box", "className"))
    app.callback([Output(*one) for one in responding], Input("link", "href"), Input(*SCREEN))(answers.respond)
    app.callback(Output("map", "figure"), Input("link", "href"), Input(*SCREEN))(answers.map)

    @app.callback(
        [*(Output(*one) for one in VIEW), Output("message", "children")],
        Input("url", "search"),
        Input("reset", "n_clicks"),
        Input("map", "clickData"),
        *(Input(*one) for one in TAPS),
        *(State(*one) for one in (("map-side", "value"), ("map-x", "value"), ("map-y", "value"))),
    )
    def move(search: Any, n_clicks: Any, click: Any, *rest: Any) -> tuple[Any, ...]:
        """Move the controls to a link, to a click on the map or to a click on a graph."""
        *taps, side, map_x, map_y = rest
        cause = {(one["prop_id"].rpartition(".")[0], one["prop_id"].rpartition(".")[2]) for one in ctx.triggered}
        unmoved = [no_update] * len(varying(answers.graphs.features))
        if ("map", "clickData") in cause and click is not None:
            return (*answers.go_to(click, side, map_x, map_y), *[no_update] * (len(VIEW) - 2), None)
        moved: list[Any] = [unmoved, unmoved, *[no_update] * (len(VIEW) - 2), None]
        tapped = [data for one, data in zip(TAPS, taps, strict=True) if one in cause and data is not None]
        if tapped:
            moved[PICKED] = answers.pick(tapped[0])
        else:
            again = ("reset", "n_clicks") in cause and n_clicks
            moved = list(answers.follow("" if again else search or ""))
        if moved[PICKED] is not None:
            # A menu drops a value that is not among its options, and these are updated only after this.
            set_props("picked", {"options": answers.offer(moved[PICKED])})
        return tuple(moved)

    @app.callback(
        Output("file", "data"),
        *(Input({"save": kind, "side": side}, "n_clicks") for side in SIDES for kind in ("GraphML", "CSV")),
        *(State(*one) for one in VIEW),
        prevent_initial_call=True,
    )
    def save(*sent: Any) -> Any:
        wanted = ctx.triggered_id
        if not any(sent[: 2 * len(SIDES)]) or not isinstance(wanted, dict):
            return no_update
        return answers.save(wanted["save"], wanted["side"], *sent[2 * len(SIDES) :])

    in_browser: Any = app.clientside_callback  # untyped
    for side in SIDES:
        in_browser(
            ClientsideFunction("explorer", "image"),
            Output(f"graph-{side}", "generateImage"),
            *(Input({"save": kind, "side": side}, "n_clicks") for kind in ("PNG", "SVG")),
            prevent_initial_call=True,
        )
    in_browser(ClientsideFunction("explorer", "link"), Output("copy", "content"), Input("link", "href"))
