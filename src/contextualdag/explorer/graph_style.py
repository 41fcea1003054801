"""Colours of the page's pictures, light and dark, and the stylesheet of the graph."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Palette:
    """Positive and negative stay apart for people with the usual colour-vision deficiencies (Okabe and Ito)."""

    page: str
    text: str
    soft: str
    line: str
    box: str
    positive: str
    negative: str
    mark: str
    turned: str
    chosen: str
    scale: tuple[str, ...]


LIGHT = Palette(
    page="#ffffff",
    text="#1a1a1a",
    soft="#6b6b68",
    line="#d9d9d4",
    box="#f4f4f1",
    positive="#0072b2",
    negative="#d55e00",
    mark="#f0c808",
    turned="#cc79a7",
    chosen="#009e73",
    scale=("#f3f6f9", "#9cc3df", "#3d8bbd", "#0b4a78"),
)
DARK = Palette(
    page="#1b1c1e",
    text="#ecece8",
    soft="#a3a39e",
    line="#3d3e42",
    box="#2b2c30",
    positive="#56b4e9",
    negative="#ff9455",
    mark="#b39700",
    turned="#a3527f",
    chosen="#2cc998",
    scale=("#222a31", "#2b5f86", "#4e9fd1", "#c9e6f8"),
)


def palette(dark: bool) -> Palette:
    """Of the colours that the reader's system asks for."""
    return DARK if dark else LIGHT


def stylesheet(dark: bool, font: float) -> list[dict[str, Any]]:
    """How Cytoscape draws nodes and edges.

    Parameters
    ----------
    dark : bool
        For a dark page.
    font : float
        Height of the names in pixels.

    Returns
    -------
    list of dict
    """
    ink, around = palette(dark), round(0.45 * font)

    def rule(selector: str, **style: object) -> dict[str, Any]:
        return {"selector": selector, "style": {name.replace("_", "-"): value for name, value in style.items()}}

    return [
        rule(
            "node",
            shape="round-rectangle",
            width="data(width)",
            height="data(height)",
            label="data(label)",
            font_size=font,
            font_family="system-ui, sans-serif",
            text_valign="center",
            text_halign="center",
            color=ink.text,
            background_color=ink.box,
            border_width=1,
            border_color=ink.soft,
        ),
        rule(
            "edge",
            width="data(width)",
            curve_style="unbundled-bezier",
            edge_distances="node-position",
            control_point_distances="data(bend)",
            control_point_weights=0.5,
            target_arrow_shape="triangle",
            arrow_scale=1.1,
            opacity=0.9,
        ),
        *(
            rule(f"edge.{sign}", line_color=colour, target_arrow_color=colour)
            for sign, colour in (("positive", ink.positive), ("negative", ink.negative))
        ),
        rule(
            "edge.labelled",
            label="data(label)",
            font_size=max(font - 2, 10),
            font_family="system-ui, sans-serif",
            color=ink.text,
            text_background_color=ink.page,
            text_background_opacity=0.85,
            text_background_padding=2,
        ),
        rule("edge.only", underlay_color=ink.mark, underlay_opacity=0.55, underlay_padding=around),
        rule("edge.turned", underlay_color=ink.turned, underlay_opacity=0.6, underlay_padding=around),
        rule("edge.sign", underlay_color=ink.chosen, underlay_opacity=0.4, underlay_padding=around),
        rule(
            "edge.ghost",
            line_color=ink.soft,
            line_style="dashed",
            target_arrow_color=ink.soft,
            target_arrow_shape="vee",
            opacity=0.55,
        ),
        rule("edge.faded", opacity=0.25),
        rule("node.parent, node.child", border_color=ink.chosen, border_width=2),
        rule("node.parent", border_style="dashed"),
        rule("node.picked", border_color=ink.chosen, border_width=4),
        rule("edge.picked", underlay_color=ink.text, underlay_opacity=0.25, underlay_padding=around, opacity=1),
        rule(":active", overlay_opacity=0.1),
    ]
