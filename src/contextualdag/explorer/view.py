"""What the page shows: two contexts, a level of sparsity, something picked, the axes of the map."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextualdag.errors import InvalidInputError
from contextualdag.explorer.features import Feature, Value

Values = tuple[Value, ...]


@dataclass(frozen=True)
class Picked:
    """A node, or an edge where there is a target; both as positions among the variables."""

    node: int
    target: int | None = None

    @property
    def key(self) -> str:
        """As menus and elements of the graph name it."""
        return f"node-{self.node}" if self.target is None else f"edge-{self.node}-{self.target}"


@dataclass(frozen=True)
class View:
    """All that a link to a view must hold.

    Attributes
    ----------
    a, b : tuple
        Two contexts, a value for each feature. The second is shown only when `comparing`.
    level : int
        Position among the levels of sparsity.
    comparing : bool
        Whether both contexts are shown.
    picked : Picked, optional
        Node or edge to tell more about.
    axes : tuple of int
        Features on the axes of the map, one or two positions; empty where nothing varies.
    """

    a: Values
    b: Values
    level: int
    comparing: bool = False
    picked: Picked | None = None
    axes: tuple[int, ...] = ()

    @property
    def contexts(self) -> tuple[Values, ...]:
        """Those that are shown."""
        return (self.a, self.b) if self.comparing else (self.a,)


def checked_values(features: Sequence[Feature], values: object) -> Values:
    """A context that came from a page, or an error that says what is wrong with it."""
    if not isinstance(values, list | tuple) or len(values) != len(features):
        raise InvalidInputError(f"A context needs {len(features)} values.")
    return tuple(feature.checked(value) for feature, value in zip(features, values, strict=True))


def checked_index(what: str, value: object, count: int) -> int:
    """A position from 0 to `count` - 1 that came from a page."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise InvalidInputError(f"{what} must be a whole number from 0 to {count - 1}.")
    return value


def checked_picked(key: object, n_nodes: int) -> Picked | None:
    """A node or an edge that came from a page; nothing is allowed."""
    if key is None:
        return None
    kind, *positions = key.split("-") if isinstance(key, str) and len(key) < 40 else [""]
    if all(part.isascii() and part.isdigit() for part in positions):
        numbers = [int(part) for part in positions]
        distinct = len(set(numbers)) == len(numbers) and all(value < n_nodes for value in numbers)
        if distinct and (kind, len(numbers)) in (("node", 1), ("edge", 2)):
            return Picked(*numbers)
    raise InvalidInputError("What is picked must be a node or an edge of this graph.")


def checked_axes(features: Sequence[Feature], axes: Sequence[object]) -> tuple[int, ...]:
    """One or two different features that vary; the second makes way where both are the same."""
    free = varying(features)
    chosen = [checked_index("An axis of the map", axis, len(features)) for axis in axes if axis is not None]
    if any(axis not in free for axis in chosen):
        raise InvalidInputError("An axis of the map must be a feature that varies.")
    if not chosen or len(free) < 2:
        return tuple(free[:2])
    second = chosen[1] if len(chosen) > 1 and chosen[1] != chosen[0] else next(axis for axis in free if axis != chosen[0])
    return chosen[0], second


def varying(features: Sequence[Feature]) -> list[int]:
    """Positions of the features that have more than one value."""
    return [position for position, feature in enumerate(features) if feature.varies]
