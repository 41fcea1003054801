"""The path: points from dense graphs to empty ones, and the budgets at which networks are fitted."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import torch
from torch import Tensor

from contextualdag.network import ContextNetwork
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training.pairs import graphs
from contextualdag.training.prune import Refit
from contextualdag.training.trainer import Fit, Learned, State

DECAY = 0.7  # from one budget to the next on the geometric grid
FEWEST_EDGES = 0.5  # the geometric grid ends where graphs have fewer on average


@dataclass(frozen=True)
class PathPoint(Generic[Learned]):
    """The fits at one sparsity level, and their refit where there is one.

    Attributes
    ----------
    l1_budget : float
        Bound of the mean l1 norm of graphs, or the norm that a penalty leaves; infinite for networks without a budget.
    thresholds : tuple of float
        One for each member: the threshold of the projection, or the penalty.
    n_edges : float
        Mean number of edges of the averaged graphs.
    fits : tuple of Fit
        One for each member: states of networks, or one matrix for each group of rows, (g, p, p).
    refit : Refit, optional
        Fits on the supports of these, without shrinkage.
    """

    l1_budget: float
    thresholds: tuple[float, ...]
    n_edges: float
    fits: tuple[Fit[Learned], ...]
    refit: Refit[Learned] | None = None

    @property
    def threshold(self) -> float:
        """The mean over members."""
        return sum(self.thresholds) / len(self.thresholds)

    @property
    def validation_loss(self) -> float:
        """The mean over members."""
        return sum(fit.validation_loss for fit in self.fits) / len(self.fits)

    @property
    def train_loss(self) -> float:
        """The mean over members."""
        return sum(fit.train_loss for fit in self.fits) / len(self.fits)

    @property
    def epochs(self) -> float:
        """The mean over members."""
        return sum(fit.epochs for fit in self.fits) / len(self.fits)


@dataclass
class Path:
    """A path of networks while it is fitted.

    Attributes
    ----------
    pretrained : tuple of dict
        The networks that the path starts from.
    largest_budget : float, optional
        The first budget.
    points : list of PathPoint
        The points so far.
    allowed : Tensor of bool, shape (p, p), optional
        Edges that graphs may have on this path, if they are fewer than elsewhere.
    others : dict of str to Path
        Paths with fewer allowed edges that were begun later, by the structure of their graphs.
    """

    pretrained: tuple[State, ...] = ()
    largest_budget: float | None = None
    points: list[PathPoint[State]] = field(default_factory=list)
    allowed: Tensor | None = None
    others: "dict[str, Path]" = field(default_factory=dict)


def with_states(network: ContextNetwork, states: Sequence[State]) -> list[ContextNetwork]:
    """Networks for prediction, one for each state; `network` is not changed."""
    networks = []
    for state in states:
        own = copy.deepcopy(network).eval().requires_grad_(False)
        own.load_state_dict(state)
        networks.append(own)
    return networks


@torch.no_grad()
def projected(
    network: ContextNetwork,
    point: PathPoint[State],
    member: int,
    acyclicity: Order | LogDet,
    Z: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Graphs (n, p, p) of the network of one member at one point, behind the projection with its threshold."""
    layer = DAGProjection(point.l1_budget, acyclicity).to(Z.device).eval()
    layer.keep_threshold(point.thresholds[member])
    return graphs(network, layer, Z, mask)


Budgets = Callable[[float, Sequence[PathPoint[State]]], float | None]


def geometric_budgets(n_budgets: int) -> Budgets:
    """Falling by a constant factor until graphs are nearly empty, at most `n_budgets`, then zero.

    The steps stay fine where graphs are sparse, however dense they begin.
    """

    def following(largest: float, points: Sequence[PathPoint[State]]) -> float | None:
        if points and points[-1].l1_budget == 0:
            return None
        nearly_empty = bool(points) and points[-1].n_edges < FEWEST_EDGES
        if largest == 0 or nearly_empty or len(points) >= n_budgets:
            return 0.0
        return largest * DECAY ** len(points)

    return following


def equispaced_budgets(n_budgets: int) -> Budgets:
    """The paper's grid: equal steps from the largest budget to zero."""

    def following(largest: float, points: Sequence[PathPoint[State]]) -> float | None:
        step = len(points) - 1
        return None if step >= n_budgets else largest * (1 - step / max(n_budgets - 1, 1))

    return following


BUDGETS = {"geometric": geometric_budgets, "equispaced": equispaced_budgets}


def without_first(points: Sequence[PathPoint[Any]]) -> list[int]:
    """Indices of all points but the first, which has no budget and only serves to find the largest."""
    return [i for i, point in enumerate(points) if point.l1_budget < math.inf]
