"""What happens when something on the page is moved or clicked."""

import functools
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update, set_props

from contextualdag.explorer.captions import caption
from contextualdag.explorer.charts import sparsity_map
from contextualdag.explorer.context_controls import SIDES, control_id
from contextualdag.explorer.details import curves, details, edge_table, options
from contextualdag.explorer.differences import differences
from contextualdag.explorer.downloads import as_csv, as_graphml
from contextualdag.explorer.fitted_graphs import FittedGraphs
from contextualdag.explorer.graph_elements import elements, shown_edges, widest_weight
from contextualdag.explorer.graph_style import stylesheet
from contextualdag.explorer.page_state import checked_screen, checked_view, clicked
from contextualdag.explorer.permalink import Permalinks
from contextualdag.explorer.placement import Placement
from contextualdag.explorer.view import View, checked_axes, checked_picked, varying

VIEW: list[tuple[Any, str]] = [
    *((control_id(side, ALL), "value") for side in SIDES),
    ("level", "value"),
    ("comparing", "value"),
    ("picked", "value"),
    ("map-x", "value"),
    ("map-y", "value"),
]
PICKED = [name for name, _ in VIEW].index("picked")
TAPS = [(f"graph-{side}", f"tap{what}Data") for side in SIDES for what in ("Node", "Edge")]
SCREEN = ("screen", "data")


class Answers:
    """The answers to the page's requests, as plain functions of what the page sends.

    Parameters
    ----------
    graphs : FittedGraphs
        The model.
    """

    def __init__(self, graphs: FittedGraphs) -> None:
        from contextualdag.plotting import layered_layout

        self.graphs = graphs
        self.links = Permalinks(graphs.features, graphs.levels, graphs.names, graphs.default)
        self._places = layered_layout(graphs.seen)
        self._widest = widest_weight(graphs.seen)
        self.placement = functools.lru_cache(16)(self._placement)

    def _placement(self, width: int, height: int) -> Placement:
        return Placement(self._places, self.graphs.names, width, height)

    def draw(self, *sent: Any) -> tuple[Any, ...]:
        """Graphs, captions, table, menu and link of a view; the last thing sent is the screen."""
        if sent[-1] is None:
            return (no_update,) * len(DRAWN)
        graphs, view, screen = self.graphs, checked_view(self.graphs, *sent[:-1]), checked_screen(sent[-1])
        placement = self.placement(screen.width, screen.height)
        shown = [graphs.graph(view.level, values) for values in view.contexts]
        compared = differences(*shown) if view.comparing else []
        kept = shown_edges(shown, view.picked)
        drawn = [elements(W, graphs.names, placement, self._widest, view.picked, compared, kept) for W in shown]
        captions = [
            caption(graphs, view, position, int((W != 0).sum()), int(((W != 0) & ~kept).sum()))
            for position, W in enumerate(shown)
        ]
        return (
            drawn[0],
            drawn[1] if view.comparing else no_update,
            captions[0],
            captions[1] if view.comparing else no_update,
            "comparing" if view.comparing else "",
            options(graphs.names, view.picked, shown),
            edge_table(graphs.names, shown),
            graphs.levels[view.level].label,
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

    def tell(self, link: Any, screen: Any) -> tuple[Any, Any, Any, Any]:
        """What is known about a picked node or edge: words, curves, their height, and whether they are shown."""
        if screen is None:
            return (no_update,) * 4
        view, _ = self.links.read(link)
        words, figure = details(self.graphs, view), curves(self.graphs, view, checked_screen(screen).dark)
        if figure is None:
            return words, no_update, no_update, "hidden"
        return words, figure, {"height": f"{figure['layout']['height']}px"}, ""

    def map(self, link: Any, screen: Any) -> Any:
        """The map of the number of edges."""
        view, _ = self.links.read(link)
        if screen is None or not view.axes:
            return no_update
        counts = self.graphs.counts(view.level, view.a, view.axes)
        return sparsity_map(self.graphs.features, view.axes, counts, view.contexts, checked_screen(screen).dark)

    def follow(self, search: Any) -> tuple[Any, ...]:
        """The view of a link, as values of all controls, and what is wrong with the link."""
        view, complaint = self.links.read(search)
        return (*self._controls(view), complaint)

    def go_to(self, data: Any, side: Any, map_x: Any, map_y: Any) -> tuple[Any, ...]:
        """A click on the map, as values of the controls of one context."""
        axes = checked_axes(self.graphs.features, [map_x, map_y])
        free = varying(self.graphs.features)
        moved: list[Any] = [no_update] * len(free)
        point = data["points"][0]
        for axis, key in zip(axes, "xy", strict=False):
            moved[free.index(axis)] = clicked(self.graphs.features[axis], point[key])
        still = [no_update] * len(free)
        return (still, moved) if side == "b" else (moved, still)

    def pick(self, data: Any) -> str | None:
        """A click on a node or an edge."""
        picked = checked_picked(data["id"], len(self.graphs.names))
        return None if picked is None else picked.key

    def offer(self, key: str) -> list[dict[str, str]]:
        """The nodes, and what is picked, for the menu."""
        return options(self.graphs.names, checked_picked(key, len(self.graphs.names)), [])

    def save(self, kind: str, side: str, *sent: Any) -> dict[str, str]:
        """A file of the graph of one context."""
        view = checked_view(self.graphs, *sent)
        values = view.b if side == "b" else view.a
        W = self.graphs.graph(view.level, values)
        if kind == "CSV":
            return {"content": as_csv(W, self.graphs.names), "filename": f"edges-{side}.csv", "type": "text/csv"}
        text = as_graphml(W, self.graphs.names, self.graphs.features, values)
        return {"content": text, "filename": f"graph-{side}.graphml", "type": "application/xml"}

    def _controls(self, view: View) -> tuple[Any, ...]:
        free = varying(self.graphs.features)
        axes = (*view.axes, None, None)[:2]
        picked = None if view.picked is None else view.picked.key
        sides = ([values[position] for position in free] for values in (view.a, view.b))
        return (*sides, view.level, ["on"] if view.comparing else [], picked, *axes)


DRAWN = [
    ("graph-a", "elements"),
    ("graph-b", "elements"),
    ("caption-a", "children"),
    ("caption-b", "children"),
    ("page", "className"),
    ("picked", "options"),
    ("edges", "children"),
    ("level-label", "children"),
    ("link", "href"),
]


def connect(app: Dash, answers: Answers) -> None:
    """Tie the page's components to their answers."""
    app.callback([Output(*one) for one in DRAWN], *(Input(*one) for one in VIEW), Input(*SCREEN))(answers.draw)
    app.callback([Output(f"graph-{side}", "stylesheet") for side in SIDES], Input(*SCREEN))(answers.style)
    told = (("details", "children"), ("curves", "figure"), ("curves", "style"), ("curves-box", "className"))
    # These wait for the link, and so for the graph: what the reader looks at comes first.
    app.callback([Output(*one) for one in told], Input("link", "href"), Input(*SCREEN))(answers.tell)
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
        """What moves the controls, other than the reader: a link, a click on the map, a click on a graph."""
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
            # A menu forgets a value that it does not offer, and it will be drawn anew only after this.
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

    in_browser: Any = app.clientside_callback  # it has no types
    for side in SIDES:
        in_browser(
            ClientsideFunction("explorer", "image"),
            Output(f"graph-{side}", "generateImage"),
            *(Input({"save": kind, "side": side}, "n_clicks") for kind in ("PNG", "SVG")),
            prevent_initial_call=True,
        )
    in_browser(ClientsideFunction("explorer", "link"), Output("copy", "content"), Input("link", "href"))
