"""What the page sends with a request, checked before anything is done with it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from contextualdag.errors import InvalidInputError
from contextualdag.explorer.features import Feature, Value
from contextualdag.explorer.fitted_graphs import FittedGraphs
from contextualdag.explorer.view import Values, View, checked_axes, checked_index, checked_picked, checked_values, varying

SMALLEST, LARGEST = 60, 8000  # pixels


@dataclass(frozen=True)
class Screen:
    """Size of a panel in pixels, and whether the page is dark."""

    width: int
    height: int
    dark: bool


def checked_screen(data: object) -> Screen:
    """What the page says about its size and colours."""
    if isinstance(data, Mapping):
        sizes = [data.get("width"), data.get("height")]
        if all(isinstance(size, int) and SMALLEST <= size <= LARGEST for size in sizes) and isinstance(
            data.get("dark"), bool
        ):
            return Screen(data["width"], data["height"], data["dark"])
    raise InvalidInputError(
        f"The size of the panel must be two whole numbers from {SMALLEST} to {LARGEST}, and dark or not."
    )


def checked_view(
    graphs: FittedGraphs,
    a: object,
    b: object,
    level: object,
    comparing: object,
    picked: object,
    map_x: object,
    map_y: object,
) -> View:
    """The view that the controls of the page make up."""
    if comparing not in ([], ["on"], None):
        raise InvalidInputError("Comparing is either on or off.")
    return View(
        _filled(graphs, a, graphs.default.a),
        _filled(graphs, b, graphs.default.b),
        checked_index("The level of sparsity", level, len(graphs.levels)),
        bool(comparing),
        checked_picked(picked, len(graphs.names)),
        checked_axes(graphs.features, [map_x, map_y]),
    )


def _filled(graphs: FittedGraphs, values: object, default: Values) -> Values:
    """The page has controls for features that vary; the others have their one value."""
    free = varying(graphs.features)
    features = [graphs.features[position] for position in free]
    chosen = dict(zip(free, checked_values(features, values), strict=True))
    return tuple(chosen.get(position, value) for position, value in enumerate(default))


def clicked(feature: Feature, value: object) -> Value:
    """A place on the map as a value of a feature: a whole step of its slider."""
    if not feature.is_number:
        return feature.checked(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInputError(f"'{feature.name}' must be a number.")
    low, high = feature.bounds
    step = feature.step
    return feature.checked(min(max(feature.tidy(round(value / step) * step), low), high))
