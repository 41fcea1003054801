"""What is known of the graphs before a fit: edges that cannot be, edges that must be, and tiers of variables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from contextualdag.checks import did_you_mean, is_integer, listed, two_meanings
from contextualdag.columns import has_names
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.graphs import is_acyclic
from contextualdag.tables import Array, Flags

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

Node: TypeAlias = str | int
Edges: TypeAlias = Iterable[tuple[Node, Node]]


@dataclass(frozen=True)
class Knowledge:
    """Edges (p, p) that are allowed, and those that every graph has."""

    allowed: Flags
    required: Flags

    @classmethod
    def read(
        cls,
        names: Sequence[str],
        owner: str,
        forbidden_edges: Edges | None = None,
        required_edges: Edges | None = None,
        tiers: Iterable[Iterable[Node]] | None = None,
        allowed: Flags | None = None,
    ) -> "Knowledge":
        """From the parameters of an estimator, within edges that are allowed besides.

        What cannot be reconciled is an error that names the culprits. The reverse of a required edge is not allowed, nor is
        any edge that would close a cycle of required ones.
        """
        reader = _Reader(list(names), owner)
        possible = np.ones((len(names), len(names)), dtype=bool) if allowed is None else allowed.copy()
        forbidden, required = (
            reader.edges("forbidden_edges", forbidden_edges),
            reader.edges("required_edges", required_edges),
        )
        later = reader.tiers(tiers)
        reader.refuse(required & forbidden, "both in 'required_edges' and in 'forbidden_edges'")
        reader.refuse(required & later, "in 'required_edges', but against the 'tiers': its target is in an earlier tier")
        reader.refuse(required & ~possible, "in 'required_edges', but against the order of the variables")
        reader.refuse_order(possible & ~possible.T & later)
        if not bool(is_acyclic(torch.from_numpy(required[None].astype(np.float64)))):
            raise InvalidParameterError(
                f"The 'required_edges' of {owner} contain a cycle: {reader.shown(_on_cycles(required))}. Leave one out."
            )
        return cls(possible & ~forbidden & ~later & ~_reachable(required).T, required)


@dataclass(frozen=True)
class _Reader:
    names: list[str]
    owner: str

    def edges(self, parameter: str, given: Edges | None) -> Flags:
        found = np.zeros((len(self.names), len(self.names)), dtype=bool)
        if given is None:
            return found
        if has_names(given):
            raise InvalidParameterError(
                f"The '{parameter}' parameter of {self.owner} must be a list of pairs (source, target). Got a table; of one "
                "with the columns source and target pass list(zip(table['source'], table['target']))."
            )
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise self._wrong(parameter, "a list of pairs (source, target)", given)
        for edge in given:
            if isinstance(edge, str) or not isinstance(edge, Sequence | np.ndarray) or len(edge) != 2:
                raise self._wrong(parameter, "a list of pairs (source, target)", edge)
            source, target = (self._place(parameter, node) for node in edge)
            if source == target:
                raise InvalidParameterError(
                    f"The '{parameter}' of {self.owner} hold an edge from '{self.names[source]}' to itself."
                )
            found[source, target] = True
        return found

    def tiers(self, given: Iterable[Iterable[Node]] | None) -> Flags:
        """Edges (p, p) from a later tier to an earlier one."""
        if given is None:
            return np.zeros((len(self.names), len(self.names)), dtype=bool)
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise self._wrong("tiers", "a list of lists of variables, from the earliest on", given)
        rank = np.full(len(self.names), -1)
        for number, tier in enumerate(given):
            if isinstance(tier, str) or not isinstance(tier, Iterable):
                raise self._wrong("tiers", "a list of lists of variables, from the earliest on", tier)
            for place in (self._place("tiers", node) for node in tier):
                if rank[place] >= 0:
                    raise InvalidParameterError(f"The 'tiers' of {self.owner} hold '{self.names[place]}' twice.")
                rank[place] = number
        missing = [name for name, number in zip(self.names, rank, strict=True) if number < 0]
        if missing:
            raise InvalidParameterError(
                f"The 'tiers' of {self.owner} must hold every variable once. Missing: {listed(missing)}."
            )
        later: Flags = rank[:, None] > rank[None, :]
        return later

    def refuse(self, edges: Flags, why: str) -> None:
        """Raise if there is an edge."""
        if edges.any():
            verb = "is" if edges.sum() == 1 else "are"
            raise InvalidParameterError(f"What {self.owner} is told contradicts itself: {self.shown(edges)} {verb} {why}.")

    def refuse_order(self, pairs: Flags) -> None:
        """Raise if there is a pair whose first comes before the second in the order, but in a later tier."""
        if pairs.any():
            first, second = (self.names[place] for place in np.argwhere(pairs)[0])
            raise InvalidParameterError(
                f"The 'tiers' of {self.owner} contradict its 'order': '{first}' comes before '{second}' in the order, but "
                "is in a later tier, so no edge could join them. Leave the tiers out, or change one of the two."
            )

    def shown(self, edges: Flags) -> str:
        """Edges in words."""
        return listed([f"{self.names[j]} → {self.names[k]}" for j, k in np.argwhere(edges)])

    def _place(self, parameter: str, node: Any) -> int:
        if isinstance(node, str) and node in self.names:
            return self.names.index(node)
        if is_integer(node) and 0 <= node < len(self.names):
            if unclear := two_meanings(int(node), self.names):
                raise InvalidParameterError(f"The '{parameter}' of {self.owner} are unclear: {unclear}")
            return int(node)
        near = did_you_mean(node, self.names) if isinstance(node, str) else ""
        raise InvalidParameterError(
            f"The '{parameter}' of {self.owner} name {node!r}, which is not a variable.{near} The variables are "
            f"{listed(self.names)}; positions from 0 to {len(self.names) - 1} will do too."
        )

    def _wrong(self, parameter: str, expected: str, got: object) -> InvalidParameterError:
        return InvalidParameterError(f"The '{parameter}' parameter of {self.owner} must be {expected}. Got {got!r} instead.")


def _reachable(edges: Flags) -> Flags:
    """Pairs (p, p) that a path of edges joins."""
    reached = edges.copy()
    for middle in range(len(edges)):
        reached |= np.outer(reached[:, middle], reached[middle])
    return reached


def _on_cycles(edges: Flags) -> Flags:
    """The edges that lie on a cycle."""
    on_cycles: Flags = edges & _reachable(edges).T
    return on_cycles


def check_masks(mask: Array | None, mask_val: Array | None, required: Flags, names: list[str]) -> None:
    """Raise if a required edge is not allowed in some sample."""
    for name, given in (("mask", mask), ("mask_val", mask_val)):
        if given is None or not required.any():
            continue
        missing = required & ~(given != 0).all(0)
        if missing.any():
            j, k = np.argwhere(missing)[0]
            raise InvalidInputError(f"{name} does not allow the required edge {names[j]} → {names[k]} in every sample.")


def check_required(required: Flags, varies: Flags, names: list[str], owner: str) -> None:
    """Raise if a required edge is at a variable that does not vary, whose weight would be made of rounding errors."""
    for j, k in np.argwhere(required & ~np.outer(varies, varies)).tolist():
        constant = names[k] if varies[j] else names[j]
        raise InvalidParameterError(
            f"The 'required_edges' of {owner} hold {names[j]} → {names[k]}, but '{constant}' does not vary in the rows of X "
            f"that are trained on, so no weight can be learned. Leave out the edge, or the column '{constant}'."
        )


def check_n_edges(model: "GraphEstimator", n_nodes: int, n_required: int) -> None:
    """Raise if more edges are asked for than a graph of so many nodes can have, or fewer than it must have."""
    most = n_nodes * (n_nodes - 1) // 2
    if isinstance(model.selection, str | tuple):
        return
    if model.selection < n_required:
        raise InvalidParameterError(
            f"The 'selection' parameter of {type(model).__name__} must be at least {n_required}, the number of its "
            f"'required_edges', which count. Got {model.selection:g} instead."
        )
    if model.selection > most:
        raise InvalidParameterError(
            f"The 'selection' parameter of {type(model).__name__} asks for {model.selection:g} edges, but a graph of "
            f"{n_nodes} variables has {most} at most."
        )
