"""The plotly figures of the page, as the plain dicts that plotly reads."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contextualdag.colours import DARK, LIGHT, Palette
from contextualdag.explorer.features import Control, Value
from contextualdag.explorer.view import Values
from contextualdag.export import edge_text
from contextualdag.printable import printable
from contextualdag.tables import Array

Figure = dict[str, Any]
ROW, LABELS, LEGEND = 140, 48, 21  # pixels for one feature, of these for its labels, and for a line of the legend
LONGEST = 12  # letters of a category at an axis


def edge_over_features(
    features: Sequence[Control],
    shown: Sequence[tuple[str, Values, Sequence[tuple[list[Value], Array]]]],
    edge: tuple[int, int],
    names: Sequence[str],
    dark: bool,
    directed: bool = True,
) -> Figure:
    """The weight of an edge and of its reverse along each feature, with the others held.

    Parameters
    ----------
    features : sequence of Control
        Features of the contexts.
    shown : sequence of (letter, values, curves)
        Letter and values of each context and, for each feature, its grid and the graphs on it.
    edge : tuple of int
        Source and target.
    names : sequence of str
        Names of the nodes.
    dark : bool
        Whether the page is dark.
    directed : bool, default=True
        Whether the data tell the direction of the edge.

    Returns
    -------
    dict
    """
    ink = DARK if dark else LIGHT
    rows = [position for position, feature in enumerate(features) if feature.varies]
    j, k = edge
    directions = [(j, k, ink.gained), (k, j, ink.reversed)]
    directions = [d for d in directions if d[:2] == edge or any(W[:, d[0], d[1]].any() for s in shown for _, W in s[2])]
    n_lines = len(directions) * len(shown)
    above = LEGEND * n_lines + 6 if n_lines > 1 else 8
    figure = _empty(ink, len(rows) * ROW + above)
    figure["layout"]["margin"] |= {"t": above, "b": 0}
    for place, position in enumerate(rows):
        feature, axis = features[position], "" if place == 0 else str(place + 1)
        top = 1 - place / len(rows)
        figure["layout"][f"xaxis{axis}"] = _axis(ink, feature.name, feature, anchor=f"y{axis}")
        domain = [top - (ROW - LABELS) / ROW / len(rows), top]
        figure["layout"][f"yaxis{axis}"] = _axis(ink, None, anchor=f"x{axis}", domain=domain, zeroline=True, nticks=4)
        figure["layout"]["shapes"] += _outside(feature, ink, f"x{axis}", f"y{axis} domain")
        for letter, values, curves in shown:
            grid, W = curves[position]
            for source, target, colour in directions:
                weights = W[:, source, target]
                label = edge_text(names[source], names[target], directed) + (f", {letter}" if len(shown) > 1 else "")
                trace: dict[str, Any] = {
                    "x": grid,
                    "y": weights.round(4).tolist(),
                    "name": _plain(label),
                    "legendgroup": label,
                }
                trace |= {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "showlegend": place == 0}
                trace |= {"hovertemplate": "%{x}: %{y:.2f}<extra></extra>"}
                line = {"color": colour, "width": 2, "dash": "solid" if letter == "A" else "dot"}
                if feature.is_number:
                    trace |= {"type": "scatter", "mode": "lines", "line": line}
                else:
                    trace |= {"type": "bar", "marker": {"color": colour, "opacity": 1 if letter == "A" else 0.5}}
                figure["data"].append(trace)
            if feature.is_number:
                figure["layout"]["shapes"].append(
                    _line(values[position], ink.text, f"x{axis}", f"y{axis} domain", "solid" if letter == "A" else "dot")
                )
    figure["layout"]["legend"] = {"x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}, "bgcolor": "rgba(0,0,0,0)"}
    figure["layout"]["showlegend"] = n_lines > 1
    return figure


def sparsity_map(
    features: Sequence[Control], axes: tuple[int, ...], counts: Array, contexts: Sequence[Values], dark: bool
) -> Figure:
    """The number of edges over two features as a map, or over one as a curve, with the contexts marked.

    Parameters
    ----------
    features : sequence of Control
        Features of the contexts.
    axes : tuple of int
        Positions of the features on the axes.
    counts : array
        Numbers of edges (points of the second axis, points of the first).
    contexts : sequence of tuple
        One or two contexts, marked A and B.
    dark : bool
        Whether the page is dark.

    Returns
    -------
    dict
    """
    ink = DARK if dark else LIGHT
    figure = _empty(ink, 290)
    first = features[axes[0]]
    figure["layout"]["margin"] |= {"t": 8, "b": 40, "l": 52}
    figure["layout"]["xaxis"] = _axis(ink, first.name, first)
    figure["layout"]["shapes"] += _outside(first, ink, "x", "y domain")
    letters = "AB"[: len(contexts)]
    x = [context[axes[0]] for context in contexts]
    if len(axes) == 1:
        y: list[Value] = [float(_count_near(first, value, counts[0])) for value in x]
        line = {"x": first.grid(counts.shape[1]), "y": counts[0].tolist(), "line": {"color": ink.positive, "width": 2}}
        figure["data"].append(
            {"type": "scatter", "mode": "lines+markers", "hovertemplate": "%{x}: %{y}<extra></extra>"} | line
        )
        figure["layout"]["yaxis"] = _axis(ink, "edges", rangemode="tozero")
    else:
        second = features[axes[1]]
        y = [context[axes[1]] for context in contexts]
        steps = [[place / (len(ink.scale) - 1), colour] for place, colour in enumerate(ink.scale)]
        bar = {"thickness": 10, "title": {"text": "edges", "side": "right"}, "tickfont": {"size": 11}, "outlinewidth": 0}
        heat = {"x": first.grid(counts.shape[1]), "y": second.grid(counts.shape[0]), "z": counts.tolist(), "zmin": 0}
        heat |= {"type": "heatmap", "colorscale": steps, "colorbar": bar}
        heat["zmax"] = max(int(_inside(first, second, counts).max(initial=0)), 1)
        heat |= {"hovertemplate": "%{x}, %{y}: %{z} edges<extra></extra>"}
        figure["data"].append(heat)
        figure["layout"]["yaxis"] = _axis(ink, second.name, second)
        figure["layout"]["shapes"] += _outside(second, ink, "y", "x domain")
    # Annotations, since the shade over values outside the training range covers everything else.
    box = {"showarrow": False, "bgcolor": ink.background, "bordercolor": ink.text, "borderwidth": 2, "borderpad": 3}
    box |= {"font": {"size": 12, "color": ink.text}}
    for letter, across, up in zip(letters, x, y, strict=True):
        figure["layout"]["annotations"].append(box | {"text": letter, "x": across, "y": up})
    return figure


def _empty(ink: Palette, height: int) -> Figure:
    clear = "rgba(0,0,0,0)"
    layout = {"paper_bgcolor": clear, "plot_bgcolor": clear, "height": height, "shapes": [], "annotations": []}
    layout |= {
        "font": {"color": ink.text, "family": "system-ui, sans-serif", "size": 12},
        "dragmode": False,
        "hovermode": "closest",
    }
    layout |= {"margin": {"l": 40, "r": 8, "t": 8, "b": 30}, "showlegend": False, "bargap": 0.4}
    return {"data": [], "layout": layout}


def _axis(ink: Palette, title: str | None, feature: Control | None = None, **more: object) -> dict[str, Any]:
    axis: dict[str, Any] = {"gridcolor": ink.line, "linecolor": ink.line, "zerolinecolor": ink.faint, "zeroline": False}
    axis |= {"fixedrange": True, "tickfont": {"size": 11}, "nticks": 6}
    if feature is not None:
        if feature.is_number:
            axis |= {"type": "linear", "range": list(feature.bounds)}
        else:
            short = [c if len(c) <= LONGEST else c[: LONGEST - 1] + "…" for c in feature.shares]
            axis |= {"type": "category", "tickvals": list(feature.shares), "ticktext": [_plain(c) for c in short]}
            axis |= {"tickangle": 0}
    return axis | ({"title": {"text": _plain(title), "standoff": 4, "font": {"size": 12}}} if title else {}) | more


def _outside(feature: Control, ink: Palette, along: str, across: str) -> list[dict[str, Any]]:
    """Shade values outside the training range."""
    if not feature.is_number:
        return []
    (low, high), here, there = feature.bounds, along[0], across[0]
    shade = {"type": "rect", "layer": "above", "fillcolor": ink.background, "opacity": 0.55, "line": {"width": 0}}
    shade |= {f"{here}ref": along, f"{there}ref": across, f"{there}0": 0, f"{there}1": 1}
    return [
        shade | {f"{here}0": start, f"{here}1": end}
        for start, end in ((low, feature.low), (feature.high, high))
        if end > start
    ]


def _line(value: Value, colour: str, along: str, across: str, dash: str) -> dict[str, Any]:
    line = {"type": "line", "xref": along, "yref": across, "x0": value, "x1": value, "y0": 0, "y1": 1}
    return line | {"line": {"color": colour, "width": 1, "dash": dash}}


def _inside(first: Control, second: Control, counts: Array) -> Array:
    """The part of a map within the training range; outside it there may be very many edges."""
    across, down = (
        [feature.outside(value) is None for value in feature.grid(count)]
        for feature, count in ((first, counts.shape[1]), (second, counts.shape[0]))
    )
    return counts[np.ix_(down, across)]


def _count_near(feature: Control, value: Value, counts: Array) -> float:
    """The number of edges at a value, interpolated between grid points."""
    grid = feature.grid(len(counts))
    if isinstance(value, str):
        return float(counts[grid.index(value)])
    return float(np.interp(value, np.array(grid, dtype=float), counts))


def _plain(text: str) -> str:
    """Escape a name, since Plotly interprets some HTML in titles."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
