"""What a fit has learned: a path of graphs with one point selected.

There are three kinds, with one interface: graphs that vary with the context, one graph for all contexts, and one graph for
each cluster of contexts. They are immutable; selecting another point gives a new solution.
"""

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
from contextualdag.network import ContextNetwork
from contextualdag.projection import LogDet, Order
from contextualdag.training import selection
from contextualdag.training.packing import Tensors, pack_points, pack_setting, unpack_points, unpack_setting
from contextualdag.training.pairs import graphs
from contextualdag.training.path import PathPoint, projected, with_states, without_first
from contextualdag.training.prune import Refit, average, strongest
from contextualdag.training.required import with_required
from contextualdag.training.selection import Refitted, Selected, Shrunken
from contextualdag.training.trainer import Fit, NoProjection


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
        W = self._learned(Z, mask)
        return W if self.required is None else with_required(W, self.required)

    @abstractmethod
    def _learned(self, Z: Tensor, mask: Tensor | None) -> Tensor:
        """The graphs before required edges are added."""

    @abstractmethod
    def member_weights(self, Z: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Weights (n, p, p) of each member of the ensemble on its support, before anything is pruned or averaged."""

    def member_graphs(self, Z: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Graphs (n, p, p) of each member alone, with as many edges as the averages have."""
        weights = self.member_weights(Z, mask)
        if isinstance(self.selected, Shrunken):
            return weights
        n_edges = self.describe().n_edges
        return [strongest(W, n_edges) for W in self.refit.member_graphs(weights)]

    def at(self, selected: Selected) -> Self:
        """The same path with another point selected."""
        return replace(self, selected=selected)

    def alone(self) -> Self:
        """The same graphs without the rest of the path."""
        point = self.point
        if isinstance(self.selected, Shrunken):
            point = replace(point, refit=None)
        return replace(self, points=(point,), selected=replace(self.selected, index=0))

    def select(self, n_edges: float | None = None, l1_budget: float | None = None) -> Self:
        """The same path at a number of edges, or at the budget nearest to a given one."""
        if n_edges is not None:
            most = max(self.points[i].n_edges for i in without_first(self.points))
            if not is_number(n_edges, 0, most):
                raise InvalidParameterError(
                    f"n_edges must be from 0 to {most:.1f}, the densest point. Got {shown(n_edges)}."
                )
            return self.at(selection.with_n_edges(self.points, n_edges, self.selected))
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
    def _unpack_kind(cls, metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> dict[str, Any]:
        """What `_pack_kind` packed, as arguments of the constructor."""

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
        return self._average(self.member_weights(Z, mask))

    @torch.no_grad()
    def member_weights(self, Z: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Weights (n, p, p) of each member on its support."""
        shrunken = projected(self._networks, self.point, self.acyclicity, Z, mask)
        if isinstance(self.selected, Shrunken):
            return shrunken
        both = zip(self._refit_networks, shrunken, strict=True)
        return [graphs(network, NoProjection(), Z, (W != 0).to(W.dtype)) for network, W in both]

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
    def _unpack_kind(cls, metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> dict[str, Any]:
        network = ContextNetwork(**metadata["network"], dropout=0.0, allowed=tensors["allowed"]).to(device)
        return {"network": network, "acyclicity": unpack_setting(metadata["acyclicity"])}


@dataclass(frozen=True, eq=False)
class ConstantGraph(Solution):
    """One graph for all contexts."""

    varies: ClassVar[bool] = False

    def _learned(self, Z: Tensor, mask: Tensor | None) -> Tensor:
        return self._matrices.to(Z.device, torch.float32)[self._group(Z)]

    def member_weights(self, Z: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Weights (n, p, p) of each member on its support."""
        return [fit.learned.to(Z)[self._group(Z)] for fit in self._fits]

    @cached_property
    def _matrices(self) -> Tensor:
        """One graph for each group of contexts, (g, p, p)."""
        return self._average([fit.learned for fit in self._fits])

    def _group(self, Z: Tensor) -> Tensor:
        return nearest_centre(Z, None)

    def _pack_kind(self) -> tuple[dict[str, Any], Tensors]:
        return {}, {}

    @classmethod
    def _unpack_kind(cls, metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> dict[str, Any]:
        return {}


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
    def _unpack_kind(cls, metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> dict[str, Any]:
        return {"centres": tensors["centres"]}


def nearest_centre(Z: Tensor, centres: Tensor | None) -> Tensor:
    """The index of the centre (g, m) that is nearest to each context (n, m); zero without centres."""
    if centres is None:
        return torch.zeros(len(Z), dtype=torch.int64, device=Z.device)
    return torch.cdist(Z, centres.to(Z.device)).argmin(1)


KINDS: dict[str, type[Solution]] = {kind.__name__: kind for kind in (VaryingGraphs, ConstantGraph, ClusterGraphs)}


def unpack_solution(metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> Solution:
    """What `Solution.pack` packed, on a device."""
    kind = KINDS[metadata["kind"]]
    more = kind._unpack_kind(metadata, tensors, device) | {"required": tensors.get("required")}
    points = tuple(unpack_points(metadata["points"], tensors))
    return kind(points=points, selected=unpack_selected(metadata["selected"]), **more)


def unpack_selected(packed: dict[str, Any]) -> Selected:
    """A selected point that was packed as a dict of its fields."""
    return Refitted(**packed) if "cut" in packed else Shrunken(**packed)
