"""A slider or a menu for each context feature, with the distribution of the training data beside it."""

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from contextualdag.explorer.distribution import density_picture
from contextualdag.explorer.features import Feature, Value, number
from contextualdag.explorer.view import View, varying

SIDES = ("a", "b")


def control_id(side: str, position: Any) -> dict[str, Any]:
    """Of the control of a feature; `position` may be one of Dash's wildcards."""
    return {"type": f"value-{side}", "feature": position}


def context_controls(features: Sequence[Feature], view: View) -> list[Any]:
    """One block for each feature that varies."""
    return [
        html.Fieldset(
            [html.Legend(features[position].name), *_block(position, features[position], view)], className="feature"
        )
        for position in varying(features)
    ]


def _block(position: int, feature: Feature, view: View) -> list[Any]:
    both = list(zip(SIDES, (view.a[position], view.b[position]), strict=True))
    if not feature.is_number:
        return [html.Div([_menu(side, position, feature, value) for side, value in both], className="menus")]
    middle = f"half of them between {number(feature.quantiles[25])} and {number(feature.quantiles[75])}"
    said = f"Distribution of {feature.name} in the training data: {middle}."
    picture = html.Img(src=density_picture(feature), alt=said, title=said, className="density")
    return [html.Div(picture, className="over-slider"), *(_slider(side, position, feature, value) for side, value in both)]


def _slider(side: str, position: int, feature: Feature, value: Any) -> Any:
    low, high = feature.bounds
    slider = dcc.Slider(
        min=low,
        max=high,
        step=feature.step,
        value=value,
        marks={feature.low: number(feature.low), feature.high: number(feature.high)},
        updatemode="drag",
        included=False,
        allow_direct_input=False,
        id=control_id(side, position),
    )
    return html.Div([html.Span(side.upper(), className="letter"), slider], className=f"control side-{side}")


def _menu(side: str, position: int, feature: Feature, value: Value) -> Any:
    options = [{"label": _share(category, share), "value": category} for category, share in feature.shares.items()]
    radio = dcc.RadioItems(options, value, id=control_id(side, position), className="menu")
    return html.Div([html.Span(side.upper(), className="letter"), radio], className=f"control side-{side}")


def _share(category: str, share: float) -> Any:
    filled = f"linear-gradient(to right, var(--density) {share:.1%}, transparent {share:.1%})"
    return html.Span([html.Span(category), html.Small(f"{share:.0%}")], className="share", style={"background": filled})
