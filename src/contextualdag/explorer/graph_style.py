"""How the page looks in the colours of all pictures: the stylesheet of the graph, and names for its CSS."""

from typing import Any

from contextualdag.plotting.colours import DARK, LIGHT, Palette


def palette(dark: bool) -> Palette:
    """Of the colours that the reader's system asks for."""
    return DARK if dark else LIGHT


def css_variables() -> str:
    """The colours as CSS knows them, light and dark."""
    light, dark = _variables(LIGHT), _variables(DARK)
    return f":root {{ {light} }} @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def _variables(ink: Palette) -> str:
    colours = {"panel": ink.background, "text": ink.text, "line": ink.line, "accent": ink.positive, "density": ink.scale[1]}
    colours |= {"positive": ink.positive, "negative": ink.negative, "missing": ink.missing}
    colours |= {"only": ink.mark, "turned": ink.turned, "sign": ink.gained}
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def stylesheet(dark: bool, font: float, label_font: float) -> list[dict[str, Any]]:
    """How Cytoscape draws nodes and edges.

    Parameters
    ----------
    dark : bool
        For a dark page.
    font, label_font : float
        Heights of names and of weights in pixels.

    Returns
    -------
    list of dict
    """
    ink, around = palette(dark), max(round(0.3 * font), 4)

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
            background_color=ink.node,
            border_width=1,
            border_color=ink.border,
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
            font_size=label_font,
            font_family="system-ui, sans-serif",
            color=ink.text,
            text_background_color=ink.background,
            text_background_opacity=0.85,
            text_background_padding=2,
            text_margin_x="data(label_x)",
            text_margin_y="data(label_y)",
        ),
        rule("edge.only", underlay_color=ink.mark, underlay_opacity=0.55, underlay_padding=around),
        rule("edge.turned", underlay_color=ink.turned, underlay_opacity=0.4, underlay_padding=around),
        rule("edge.sign", underlay_color=ink.gained, underlay_opacity=0.4, underlay_padding=around),
        rule(
            "edge.ghost",
            line_color=ink.missing,
            line_style="dashed",
            target_arrow_color=ink.missing,
            target_arrow_shape="vee",
            opacity=0.55,
        ),
        rule("edge.faded", opacity=0.25),
        rule("node.parent, node.child", border_color=ink.gained, border_width=2),
        rule("node.parent", border_style="dashed"),
        rule("node.picked", border_color=ink.gained, border_width=4),
        rule("edge.picked", underlay_color=ink.text, underlay_opacity=0.25, underlay_padding=around, opacity=1, z_index=1),
        rule(":active", overlay_opacity=0.1),
    ]
