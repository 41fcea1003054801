"""Views of the page: contexts, sparsity, a picked node or edge, a cause, axes of the map, a probability; links to them.

Whatever a page or a link sends is checked here before it is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

from contextualdag.checks import did_you_mean, is_number
from contextualdag.errors import InvalidInputError
from contextualdag.explorer.features import Control, Value
from contextualdag.plotting.contexts import value_text

Values = tuple[Value, ...]
SMALLEST, LARGEST = 60, 8000  # pixels of a panel
LONGEST = 20_000  # characters of a query
AXES = ("map.x", "map.y")
FARTHEST = 3.0  # spreads that a cause can be moved from its mean


@dataclass(frozen=True)
class Level:
    """A level of sparsity: the average number of edges, whether the fit selected it, or has these explain most of that."""

    n_edges: float
    selected: bool = False
    explained: bool = False

    @property
    def key(self) -> str:
        """Name of the level in links."""
        return "selected" if self.selected else "explained" if self.explained else value_text(self.n_edges)

    @property
    def label(self) -> str:
        """Name of the level on the page."""
        count = value_text(round(self.n_edges, 1))
        what = ", selected by the fit" if self.selected else ""
        what += ", explain nine tenths of what the selected ones do" if self.explained else ""
        return f"{count} edge{'' if count == '1' else 's'} on average{what}"


@dataclass(frozen=True)
class Picked:
    """A node, or an edge if there is a target; both are positions among the variables."""

    node: int
    target: int | None = None

    @property
    def key(self) -> str:
        """Identifier in menus and in elements of the graph."""
        return f"node-{self.node}" if self.target is None else f"edge-{self.node}-{self.target}"


@dataclass(frozen=True)
class View:
    """Everything that a link to a view holds.

    Attributes
    ----------
    a, b : tuple
        Two contexts, with a value for each feature. The second is shown only when `comparing`.
    level : int
        Position among the levels of sparsity.
    comparing : bool
        Whether both contexts are shown.
    picked : Picked, optional
        Node or edge to show details of.
    axes : tuple of int
        Positions of the features on the axes of the map, one or two; empty if no feature varies.
    cause : int, optional
        Position of the variable whose effects are shown.
    shift : float
        How far from its mean the cause is set, in its spreads.
    least : float
        Smallest probability of edges that are shown.
    """

    a: Values
    b: Values
    level: int
    comparing: bool = False
    picked: Picked | None = None
    axes: tuple[int, ...] = ()
    cause: int | None = None
    shift: float = 0.0
    least: float = 0.0

    @property
    def contexts(self) -> tuple[Values, ...]:
        """The contexts that are shown."""
        return (self.a, self.b) if self.comparing else (self.a,)


@dataclass(frozen=True)
class Screen:
    """Size of a panel in pixels, and whether the page is dark."""

    width: int
    height: int
    dark: bool


class Permalinks:
    """Links to views of one model.

    Parameters
    ----------
    features : sequence of Control
        Features of the contexts.
    levels : sequence of Level
        Levels of sparsity.
    names : sequence of str
        Names of the variables.
    default : View
        Values for all that a link leaves out, and the view for links that are invalid.
    with_least : bool, default=False
        Whether links may have a smallest probability of edges.
    """

    def __init__(
        self,
        features: Sequence[Control],
        levels: Sequence[Level],
        names: Sequence[str],
        default: View,
        with_least: bool = False,
    ) -> None:
        self.features, self.levels, self.names, self.default = features, levels, list(names), default
        self.with_least = with_least

    def write(self, view: View) -> str:
        """The query of a link, with its question mark."""
        parts: list[tuple[str, str]] = []
        for side, values in zip("ab", view.contexts, strict=False):
            parts += [(f"{side}.{f.name}", _text(v)) for f, v in zip(self.features, values, strict=True) if f.varies]
        if view.level != self.default.level:
            parts.append(("edges", self.levels[view.level].key))
        if view.picked is not None and view.picked.target is None:
            parts.append(("node", self.names[view.picked.node]))
        elif view.picked is not None and view.picked.target is not None:
            parts += [("from", self.names[view.picked.node]), ("to", self.names[view.picked.target])]
        if view.axes != self.default.axes:
            parts += [(key, self.features[axis].name) for key, axis in zip(AXES, view.axes, strict=False)]
        if view.cause is not None:
            parts += [("cause", self.names[view.cause])] + [("shift", _text(view.shift))] * bool(view.shift)
        parts += [("least", _text(view.least))] * bool(view.least)
        return "?" + urlencode(parts)

    def read(self, query: object) -> tuple[View, str | None]:
        """The view of a link; for an invalid link the default view and a sentence that says why."""
        try:
            return self._read(query), None
        except InvalidInputError as error:
            return self.default, f"This link does not match the model, so this is the default view. {error}"

    def _read(self, query: object) -> View:
        if not isinstance(query, str) or len(query) > LONGEST:
            raise InvalidInputError(f"A link must be a text of at most {LONGEST} characters.")
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="replace")
        given = dict(pairs)
        if len(given) < len(pairs):
            raise InvalidInputError("A parameter is given twice.")
        view = self.default
        view = replace(view, a=self._context("a", given, view.a), comparing=any(key.startswith("b.") for key in given))
        view = replace(view, b=self._context("b", given, view.b), level=self._level(given.pop("edges", None)))
        view = replace(view, picked=self._picked(given), axes=self._axes(given))
        cause, shift = self._cause(given)
        least = checked_least(_number(given.pop("least"))) if self.with_least and "least" in given else 0.0
        view = replace(view, cause=cause, shift=shift, least=least)
        if given:
            known = [f"{side}.{feature.name}" for side in "ab" for feature in self.features]
            known += ["edges", "node", "from", "to", "cause", "shift", *AXES, *(["least"] if self.with_least else [])]
            raise _unknown("parameter", next(iter(given)), known)
        return view

    def _context(self, side: str, given: dict[str, str], default: Values) -> Values:
        values: list[Value] = []
        for feature, value in zip(self.features, default, strict=True):
            text = given.pop(f"{side}.{feature.name}", None)
            values.append(value if text is None else feature.checked(_number(text) if feature.is_number else text))
        return tuple(values)

    def _level(self, text: str | None) -> int:
        keys = [level.key for level in self.levels]
        if text is None:
            return self.default.level
        if text not in keys:
            shown = ", ".join([*keys[:3], "...", *keys[-1:]] if len(keys) > 5 else keys)
            raise InvalidInputError(f"'edges' must be one of {shown}. Got {text[:40]!r}.")
        return keys.index(text)

    def _picked(self, given: dict[str, str]) -> Picked | None:
        node, source, target = (given.pop(key, None) for key in ("node", "from", "to"))
        if node is not None and source is None and target is None:
            return Picked(self._node(node))
        if node is None and source is not None and target is not None and source != target:
            return Picked(self._node(source), self._node(target))
        if node is None and source is None and target is None:
            return None
        raise InvalidInputError("A link must name either a 'node', or an edge by two different nodes, 'from' and 'to'.")

    def _axes(self, given: dict[str, str]) -> tuple[int, ...]:
        names = [feature.name for feature in self.features]
        wanted: list[object] = []
        for key in AXES:
            text = given.pop(key, None)
            if text is not None and text not in names:
                raise _unknown("context feature", text, names)
            wanted += [] if text is None else [names.index(text)]
        return checked_axes(self.features, wanted) if wanted else self.default.axes

    def _cause(self, given: dict[str, str]) -> tuple[int | None, float]:
        cause, shift = (given.pop(key, None) for key in ("cause", "shift"))
        if cause is None and shift is not None:
            raise InvalidInputError("A link with a 'shift' must name the 'cause' that it moves.")
        return None if cause is None else self._node(cause), 0.0 if shift is None else checked_shift(_number(shift))

    def _node(self, name: str) -> int:
        if name not in self.names:
            raise _unknown("variable", name, self.names)
        return self.names.index(name)


def checked_values(features: Sequence[Control], values: object) -> Values:
    """A context sent by a page, or an error that says what was expected."""
    if not isinstance(values, list | tuple) or len(values) != len(features):
        raise InvalidInputError(f"A context needs {len(features)} values.")
    return tuple(feature.checked(value) for feature, value in zip(features, values, strict=True))


def checked_index(what: str, value: object, count: int) -> int:
    """A position from 0 to `count` - 1 sent by a page."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise InvalidInputError(f"{what} must be an integer from 0 to {count - 1}.")
    return value


def checked_picked(key: object, n_nodes: int) -> Picked | None:
    """A node or an edge sent by a page, or None."""
    if key is None:
        return None
    kind, *positions = key.split("-") if isinstance(key, str) and len(key) < 40 else [""]
    if all(part.isascii() and part.isdigit() for part in positions):
        numbers = [int(part) for part in positions]
        distinct = len(set(numbers)) == len(numbers) and all(value < n_nodes for value in numbers)
        if distinct and (kind, len(numbers)) in (("node", 1), ("edge", 2)):
            return Picked(*numbers)
    raise InvalidInputError("A node or an edge of this graph was expected.")


def checked_cause(cause: object, shift: object, n_nodes: int) -> tuple[int | None, float]:
    """A cause sent by a page and how far it is moved; without a cause nothing is."""
    if cause is None:
        return None, 0.0
    return checked_index("A cause", cause, n_nodes), checked_shift(shift)


def checked_shift(value: object) -> float:
    """How far a cause is moved from its mean, in its spreads."""
    if not is_number(value, -FARTHEST, FARTHEST):
        raise InvalidInputError(f"A cause can be moved by {-FARTHEST:g} to {FARTHEST:g} spreads.")
    return float(value) + 0.0  # type: ignore[arg-type]


def checked_least(value: object) -> float:
    """The smallest probability of edges that are shown; zero if a page sends none."""
    if value is None:
        return 0.0
    if not is_number(value, 0, 1):
        raise InvalidInputError("A probability must be a number from 0 to 1.")
    return float(value) + 0.0  # type: ignore[arg-type]


def checked_axes(features: Sequence[Control], axes: Sequence[object]) -> tuple[int, ...]:
    """One or two different features that vary; if both are the same, the second is replaced."""
    free = varying(features)
    given = [checked_index("An axis of the map", axis, len(features)) for axis in axes if axis is not None]
    if any(axis not in free for axis in given):
        raise InvalidInputError("An axis of the map must be a feature that varies.")
    if not given or len(free) < 2:
        return tuple(free[:2])
    second = given[1] if len(given) > 1 and given[1] != given[0] else next(axis for axis in free if axis != given[0])
    return given[0], second


def checked_screen(data: object) -> Screen:
    """The size and the colour scheme of the page, as it sends them."""
    if isinstance(data, Mapping):
        width, height, dark = (data.get(key) for key in ("width", "height", "dark"))
        sizes = [size for size in (width, height) if isinstance(size, int) and SMALLEST <= size <= LARGEST]
        if len(sizes) == 2 and isinstance(dark, bool):
            return Screen(sizes[0], sizes[1], dark)
    raise InvalidInputError(
        f"The size of the panel must be two integers from {SMALLEST} to {LARGEST}, and dark must be true or false."
    )


def varying(features: Sequence[Control]) -> list[int]:
    """Positions of the features that have more than one value."""
    return [position for position, feature in enumerate(features) if feature.varies]


def _text(value: Value) -> str:
    return value if isinstance(value, str) else repr(value)


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _unknown(what: str, name: str, known: Sequence[str]) -> InvalidInputError:
    name = name[:40]
    return InvalidInputError(f"There is no {what} {name!r}.{did_you_mean(name, known)}")
