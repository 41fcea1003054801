"""A view as the query of a link, and back."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from contextualdag.errors import InvalidInputError
from contextualdag.explorer.features import Feature, Value
from contextualdag.explorer.levels import Level
from contextualdag.explorer.view import Picked, Values, View, checked_axes

LONGEST = 20_000  # characters of a query
AXES = ("map.x", "map.y")


class Permalinks:
    """Links to views of one model.

    Parameters
    ----------
    features : sequence of Feature
        Of the contexts.
    levels : sequence of Level
        Of sparsity.
    names : sequence of str
        Of the variables.
    default : View
        What a link says nothing about, and what is shown where a link makes no sense.
    """

    def __init__(self, features: Sequence[Feature], levels: Sequence[Level], names: Sequence[str], default: View) -> None:
        self.features, self.levels, self.names, self.default = features, levels, list(names), default

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
        return "?" + urlencode(parts)

    def read(self, query: object) -> tuple[View, str | None]:
        """The view of a link; where a link makes no sense, the default view and a sentence that says why."""
        try:
            return self._read(query), None
        except InvalidInputError as error:
            return self.default, f"This link does not fit this model, so here is the default view. {error}"

    def _read(self, query: object) -> View:
        if not isinstance(query, str) or len(query) > LONGEST:
            raise InvalidInputError(f"A link must be a text of at most {LONGEST} characters.")
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="replace")
        given = dict(pairs)
        if len(given) < len(pairs):
            raise InvalidInputError("It names something twice.")
        view = self.default
        view = replace(view, a=self._context("a", given, view.a), comparing=any(key.startswith("b.") for key in given))
        view = replace(view, b=self._context("b", given, view.b), level=self._level(given.pop("edges", None)))
        view = replace(view, picked=self._picked(given), axes=self._axes(given))
        if given:
            self._refuse(next(iter(given)))
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
        raise InvalidInputError("It must name either a node, or an edge by two different nodes, 'from' and 'to'.")

    def _axes(self, given: dict[str, str]) -> tuple[int, ...]:
        names = [feature.name for feature in self.features]
        wanted: list[object] = []
        for key in AXES:
            text = given.pop(key, None)
            if text is not None and text not in names:
                raise InvalidInputError(f"No feature is called {text[:40]!r}.{_nearest(text, names)}")
            wanted += [] if text is None else [names.index(text)]
        return checked_axes(self.features, wanted) if wanted else self.default.axes

    def _node(self, name: str) -> int:
        if name not in self.names:
            raise InvalidInputError(f"No variable is called {name[:40]!r}.{_nearest(name, self.names)}")
        return self.names.index(name)

    def _refuse(self, key: str) -> None:
        known = [f"{side}.{feature.name}" for side in "ab" for feature in self.features]
        known += ["edges", "node", "from", "to", *AXES]
        raise InvalidInputError(f"Nothing here is called {key[:40]!r}.{_nearest(key, known)}")


def _text(value: Value) -> str:
    return value if isinstance(value, str) else repr(value)


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name[:100], known, 1)
    return f" Did you mean {near[0]!r}?" if near else ""
