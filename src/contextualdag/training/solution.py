"""What a fit has learned: a path of graphs with one point selected.

There are three kinds, with one interface: graphs that vary with the context, one graph for all contexts, and one graph for
each cluster of contexts. They are immutable; selecting another point gives a new solution.
"""

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor

from contextualdag.checks import is_number, shown
from contextualdag.errors import InvalidParameterError
from contextualdag.graphs import is_acyclic
from contextualdag.network import ACTIVATIONS, ContextNetwork, state_shapes
from contextualdag.projection import LogDet, Order
from contextualdag.threads import ROWS_WORTH_THREADS, one_thread_each
from contextualdag.training import selection
from contextualdag.training.packing import Tensors, pack_points, pack_setting, unpack_points, unpack_setting
from contextualdag.training.pairs import graphs
from contextualdag.training.path import PathPoint, projected, with_states, without_first
from contextualdag.training.prune import Refit, average, strongest
from contextualdag.training.required import numbers_of_edges, with_required
from contextualdag.training.selection import Refitted, Selected, Shrunken
from contextualdag.training.stored import (
    check_network,
    check_points,
    check_selected,
    expect,
    expect_flags,
    expect_tensor,
)
from contextualdag.training.trainer import Fit, NoProjection

MOST_ENTRIES = 1 << 23  # of graphs that are computed at once


@dataclass(frozen=True)
class Description:
    """The selected point: mean number of edges, its validation loss, its budget, and whether its weights are refitted."""

    n_edges: float
    loss: float
    l1_budget: float
    refitted: bool


AnySolution = TypeVar("AnySolution", bound="Solution")


@dataclass(frozen=True, eq=False)
class Solution(ABC):
    """A path of graphs and the selected point of it."""

    varies: ClassVar[bool]  # whether graphs depend on the context
    points: tuple[PathPoint[Any], ...]
    selected: Selected
    required: Tensor | None = field(default=None, kw_only=True)  # weights (p, p) of required edges where they are missing

    def graphs(self, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Graphs (n, p, p) at contexts as the networks see them, within a mask for each sample if there is one."""
        with contextlib.nullcontext() if len(Z) >= ROWS_WORTH_THREADS else one_thread_each(Z.device):
            W = self._learned(Z, mask)
        return W if self.required is None else with_required(W, self.required)

    @abstractmethod
    def _learned(self, Z: Tensor, mask: Tensor | None) -> Tensor:
        """The graphs before required edges are added."""

    @property
    def n_members(self) -> int:
        """Number of members of the ensemble."""
        return len(self._fits)

    @abstractmethod
    def member_weights(self, member: int, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Weights (n, p, p) of one member of the ensemble on its support, before anything is pruned or averaged."""

    def member_graphs(self, member: int, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Graphs (n, p, p) of one member alone, with as many edges as the averages have."""
        W = self.member_weights(member, Z, mask)
        if isinstance(self.selected, Shrunken):
            return W
        W, n_edges = self.refit.member_graphs(member, W), self.describe().n_edges
        if self.required is None:
            return strongest(W, n_edges)
        # The number of edges counts the required ones, which compete with no others.
        required = (self.required != 0).to(W.device)
        return torch.where(required, W, strongest(torch.where(required, 0, W), n_edges - self.n_required))

    def at(self, selected: Selected) -> Self:
        """The same path with another point selected."""
        return replace(self, selected=selected)

    def whole(self) -> Self:
        """The graphs before fewer of their edges were kept, since these explain nearly as much; else the same."""
        selected = self.selected
        if isinstance(selected, Shrunken) or selected.whole is None:
            return self
        return self.at(Refitted(selected.index, selected.whole))

    def alone(self) -> Self:
        """The same graphs without the rest of the path."""
        point = self.point
        if isinstance(self.selected, Shrunken):
            point = replace(point, refit=None)
        return replace(self, points=(point,), selected=replace(self.selected, index=0))

    @property
    def n_required(self) -> int:
        """Number of edges that every graph has."""
        return 0 if self.required is None else int((self.required != 0).sum())

    def counting(self, required: Tensor, Z: Tensor, mask: Tensor | None = None) -> Self:
        """The same path, whose numbers of edges count those required (p, p), on average over contexts.

        Networks learn graphs without them. Losses stay those of what was learned.
        """
        learned, points = replace(self, required=None), list(self.points)
        if not self.varies:
            Z, mask = Z[:1], None
        for index in without_first(points):
            point, refit = points[index], points[index].refit
            (n_edges,) = numbers_of_edges(learned.at(Shrunken(index)).graphs(Z, mask), [0.0], required)
            if refit is not None:
                W = learned.at(Refitted(index, 0.0)).graphs(Z, mask)
                curve = replace(refit.curve, n_edges=numbers_of_edges(W, refit.curve.cuts, required))
                refit = replace(refit, curve=curve)
            points[index] = replace(point, n_edges=n_edges, refit=refit)
        return replace(self, points=tuple(points))

    def select(self, n_edges: float | None = None, l1_budget: float | None = None) -> Self:
        """The same path at a number of edges, or at the budget nearest to a given one."""
        if n_edges is not None:
            most = max(self.points[i].n_edges for i in without_first(self.points))
            fewest = self.n_required
            if not is_number(n_edges, fewest, most):
                least = ", the number of required edges," if fewest else ""
                raise InvalidParameterError(
                    f"n_edges must be from {fewest}{least} to {most:.1f}, the densest point. Got {shown(n_edges)}."
                )
            return self.at(selection.with_n_edges(self.points, n_edges, self.selected, fewest))
        if l1_budget is None or not is_number(l1_budget, 0):
            raise InvalidParameterError(f"l1_budget must be 0 or more. Got {shown(l1_budget)} instead.")
        return self.at(selection.nearest_budget(self.points, l1_budget))

    def describe(self) -> Description:
        """The selected point in numbers."""
        point = self.point
        if isinstance(self.selected, Shrunken):
            return Description(point.n_edges, point.validation_loss, point.l1_budget, False)
        # A cut for a given number of edges lies between two that were tried.
        n_edges, loss = self.refit.curve.at(self.selected.cut)
        return Description(n_edges, loss, point.l1_budget, True)

    def path_table(self) -> list[dict[str, float | bool]]:
        """One row for each point with a budget."""
        rows: list[dict[str, float | bool]] = []
        for index in without_first(self.points):
            point = self.points[index]
            refit = point.refit
            rows.append(
                {
                    "l1_budget": point.l1_budget,
                    "threshold": point.threshold,
                    "n_edges": point.n_edges,
                    "train_loss": point.train_loss,
                    "validation_loss": point.validation_loss,
                    "refit_loss": math.nan if refit is None else refit.loss,
                    "epochs": point.epochs,
                    "selected": index == self.selected.index,
                    "refit_edges": math.nan if refit is None else refit.curve.n_edges[refit.best],
                }
            )
        return rows

    @property
    def point(self) -> PathPoint[Any]:
        """The selected point."""
        return self.points[self.selected.index]

    @property
    def refit(self) -> Refit[Any]:
        """The refit of the selected point."""
        if self.point.refit is None:
            raise ValueError("The selected point has no refit.")
        return self.point.refit

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """The solution as JSON and named tensors; see `unpack_solution`."""
        rows, tensors = pack_points(self.points)
        metadata = {"kind": type(self).__name__, "points": rows, "selected": asdict(self.selected)}
        more, more_tensors = self._pack_kind()
        if self.required is not None:
            more_tensors["required"] = self.required
        return metadata | more, tensors | more_tensors

    @abstractmethod
    def _pack_kind(self) -> tuple[dict[str, Any], Tensors]:
        """What this kind of solution has besides a path."""

    @classmethod
    @abstractmethod
    def _unpack_kind(
        cls, metadata: dict[str, Any], tensors: Tensors, points: Sequence[PathPoint[Any]], n_features: int, n_nodes: int
    ) -> dict[str, Any]:
        """What `_pack_kind` packed, as arguments of the constructor, once it and the points are checked."""

    @property
    def _fits(self) -> Sequence[Fit[Any]]:
        return self.point.fits if isinstance(self.selected, Shrunken) else self.refit.fits

    def _average(self, weights: Sequence[Tensor]) -> Tensor:
        """The graphs to report, from the weights of members on their supports."""
        if isinstance(self.selected, Refitted):
            return self.refit.mean_graphs(weights, self.selected.cut)
        return average(weights)


@dataclass(frozen=True, eq=False)
class VaryingGraphs(Solution):
    """Graphs that networks give for every context: supports from the path, weights from the refit where there is one."""

    varies: ClassVar[bool] = True
    network: ContextNetwork
    acyclicity: Order | LogDet

    def _learned(self, Z: Tensor, mask: Tensor | None) -> Tensor:
        # So few contexts at once that graphs of many variables do not fill the memory on the way.
        most = max(1, MOST_ENTRIES // self.network.n_nodes**2)
        found = []
        for start in range(0, max(len(Z), 1), most):
            z, its = Z[start : start + most], None if mask is None else mask[start : start + most]
            found.append(self._average([self.member_weights(k, z, its) for k in range(self.n_members)]))
        return found[0] if len(found) == 1 else torch.cat(found)

    @torch.no_grad()
    def member_weights(self, member: int, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Weights (n, p, p) of one member on its support."""
        shrunken = projected(self._networks[member], self.point, member, self.acyclicity, Z, mask)
        if isinstance(self.selected, Shrunken):
            return shrunken
        return graphs(self._refit_networks[member], NoProjection(), Z, shrunken != 0)

    # Several threads may ask at once, so networks are copies whose weights never change again.
    @cached_property
    def _networks(self) -> list[ContextNetwork]:
        return with_states(self.network, [fit.learned for fit in self.point.fits])

    @cached_property
    def _refit_networks(self) -> list[ContextNetwork]:
        return with_states(self.network, [fit.learned for fit in self.refit.fits])

    def _pack_kind(self) -> tuple[dict[str, Any], Tensors]:
        metadata = {"network": self.network.shape, "acyclicity": pack_setting(self.acyclicity)}
        return metadata, {"allowed": self.network.allowed}

    @classmethod
    def _unpack_kind(
        cls, metadata: dict[str, Any], tensors: Tensors, points: Sequence[PathPoint[Any]], n_features: int, n_nodes: int
    ) -> dict[str, Any]:
        shape, allowed, acyclicity = metadata["network"], tensors["allowed"], unpack_setting(metadata["acyclicity"])
        expect(isinstance(acyclicity, Order | LogDet), "acyclicity", "an Order or a LogDet", acyclicity)
        expect_flags(allowed, "allowed", (n_nodes, n_nodes))
        check_network(shape, n_features, n_nodes, list(ACTIVATIONS))
        # A network is only built if its weights are there.
        check_points(points, n_nodes, state_shapes(n_features, n_nodes, shape["hidden_layers"], allowed))
        return {"network": ContextNetwork(**shape, dropout=0.0, allowed=allowed), "acyclicity": acyclicity}


@dataclass(frozen=True, eq=False)
class ConstantGraph(Solution):
    """One graph for all contexts.

    `doubtful` (p, p) flags pairs, in both orders, whose edge fits hardly better one way than the other.
    """

    varies: ClassVar[bool] = False
    doubtful: Tensor | None = field(default=None, kw_only=True)

    def _learned(self, Z: Tensor, mask: Tensor | None) -> Tensor:
        return self._matrices.to(Z.device, torch.float32)[self._group(Z)]

    def member_weights(self, member: int, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Weights (n, p, p) of one member on its support."""
        weights: Tensor = self._fits[member].learned.to(Z)[self._group(Z)]
        return weights

    @cached_property
    def _matrices(self) -> Tensor:
        """One graph for each group of contexts, (g, p, p)."""
        return self._average([fit.learned for fit in self._fits])

    def _group(self, Z: Tensor) -> Tensor:
        return nearest_centre(Z, None)

    def _pack_kind(self) -> tuple[dict[str, Any], Tensors]:
        return {}, {} if self.doubtful is None else {"doubtful": self.doubtful}

    @classmethod
    def _unpack_kind(
        cls, metadata: dict[str, Any], tensors: Tensors, points: Sequence[PathPoint[Any]], n_features: int, n_nodes: int
    ) -> dict[str, Any]:
        check_points(points, n_nodes, (1, n_nodes, n_nodes))
        doubtful = tensors.get("doubtful")
        if doubtful is not None:
            expect_flags(doubtful, "doubtful", (n_nodes, n_nodes))
        return {"doubtful": doubtful}


@dataclass(frozen=True, eq=False)
class ClusterGraphs(ConstantGraph):
    """One graph for each cluster of contexts; a context belongs to the nearest of the centres (g, m)."""

    varies: ClassVar[bool] = True
    centres: Tensor

    def _group(self, Z: Tensor) -> Tensor:
        return nearest_centre(Z, self.centres)

    def _pack_kind(self) -> tuple[dict[str, Any], Tensors]:
        return {}, {"centres": self.centres}

    @classmethod
    def _unpack_kind(
        cls, metadata: dict[str, Any], tensors: Tensors, points: Sequence[PathPoint[Any]], n_features: int, n_nodes: int
    ) -> dict[str, Any]:
        centres = tensors["centres"]
        expect_tensor(centres, "centres", (max(len(centres), 1), n_features))
        check_points(points, n_nodes, (len(centres), n_nodes, n_nodes))
        return {"centres": centres}


def nearest_centre(Z: Tensor, centres: Tensor | None) -> Tensor:
    """The index of the centre (g, m) that is nearest to each context (n, m); zero without centres."""
    if centres is None:
        return torch.zeros(len(Z), dtype=torch.int64, device=Z.device)
    return torch.cdist(Z, centres.to(Z.device)).argmin(1)


KINDS: dict[str, type[Solution]] = {kind.__name__: kind for kind in (VaryingGraphs, ConstantGraph, ClusterGraphs)}


def unpack_solution(
    metadata: dict[str, Any], tensors: Tensors, device: torch.device, n_features: int, n_nodes: int
) -> Solution:
    """What `Solution.pack` packed, on a device.

    Nothing is taken for granted: what cannot be a solution for so many features and nodes is a ValueError, or another error
    that says which entry is missing or of another type.
    """
    kind = KINDS[metadata["kind"]]
    points = tuple(unpack_points(metadata["points"], tensors))
    more = kind._unpack_kind(metadata, tensors, points, n_features, n_nodes)
    selected, required = unpack_selected(metadata["selected"]), tensors.get("required")
    check_selected(selected, points)
    if required is not None:
        expect_tensor(required, "required", (n_nodes, n_nodes))
        expect(bool(is_acyclic(required[None])[0]), "required", "acyclic", required)
    on_device = {name: value.to(device) for name, value in more.items() if hasattr(value, "to")}
    return kind(points=points, selected=selected, required=required, **more | on_device)


def unpack_selected(packed: dict[str, Any]) -> Selected:
    """A selected point that was packed as a dict of its fields."""
    return Refitted(**packed) if "cut" in packed else Shrunken(**packed)
