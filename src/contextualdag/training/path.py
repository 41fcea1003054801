"""The path: one warm-started fit for each budget, from dense graphs to empty ones."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch
from torch import Tensor

from contextualdag.network import ContextNetwork
from contextualdag.projection import DAGProjection
from contextualdag.training.trainer import Fit, Progress, Split, State, Training

DECAY = 0.7  # from one budget to the next on the geometric grid
N_CUTS = 64  # of a refit, each leaving the share CUT_DECAY of the edges that the one before left
CUT_DECAY = 0.93
MANY_ENTRIES, FEW_ENTRIES = 1 << 27, 1 << 20  # of graphs after several cuts, at once on a GPU and elsewhere
FEWEST_EDGES = 0.5  # the geometric grid ends where graphs have fewer on average


@dataclass(frozen=True)
class Refit:
    """A second network, trained on the supports of the first without shrinkage, and what is left of its graphs by a cut.

    `n_edges` and `losses` are means over the validation set once weights of at most ``cuts[i]`` are dropped; the first cut
    is zero, the last leaves nothing or nearly so.
    """

    fit: Fit
    cuts: list[float]
    n_edges: list[float]
    losses: list[float]

    @property
    def best(self) -> int:
        """The cut of least loss, the larger on ties."""
        return min(range(len(self.cuts)), key=lambda i: (self.losses[i], -i))


@dataclass(frozen=True)
class PathPoint:
    """The network at one budget, with the number of edges it leaves on average, and its refit where there is one."""

    l1_budget: float
    threshold: float
    n_edges: float
    fit: Fit
    refit: Refit | None = None


@dataclass
class Path:
    """Points from dense to sparse, and the network before any projection, with which they begin."""

    pretrained: State = field(default_factory=dict)
    largest_budget: float | None = None
    points: list[PathPoint] = field(default_factory=list)


Begin = Callable[[str, list[PathPoint]], Progress | None]
Result = TypeVar("Result")
Steps = Generator[Training, Fit, Result]  # asks for one training after another, is sent what they reach, and returns


class PathFitter:
    """Fits a path budget by budget; a path that was begun elsewhere is taken up where it stopped.

    Its methods do not train. They yield what is to be trained and are sent the outcome, so that several paths can be fitted
    side by side; see `contextualdag.training.side_by_side`.

    Parameters
    ----------
    network : ContextNetwork
        On the device of the data. Its weights are set anew for every use, so that paths can share it.
    layer : DAGProjection
        Likewise.
    split : Split
        The data.
    start : State
        Initial weights.
    seed : int
        Of the random numbers (dropout); each fit has a stream of its own, so that a path can be resumed.
    """

    def __init__(self, network: ContextNetwork, layer: DAGProjection, split: Split, start: State, seed: int) -> None:
        self.network, self.layer, self.split, self.start, self.seed = network, layer, split, start, seed

    def fit(
        self,
        path: Path,
        budgets: Callable[[float, list[PathPoint]], float | None],
        saved: Callable[[Path], None],
        begin: Begin,
    ) -> Steps[None]:
        """Complete `path` in place.

        `budgets` names the next budget from the largest one and the points so far, None at the end. `saved` is called
        whenever something is finished, `begin` before each fit for a function that is told of every epoch.
        """
        if not path.pretrained:
            masks = (self.split.mask, self.split.mask_val)
            fit = yield Training(self.start, self._seed(0), None, *masks, begin("pre-training", []))
            path.pretrained = fit.state
            saved(path)
        if path.largest_budget is None:
            point = yield from self._fit_budget(path.pretrained, math.inf, 1, begin("without a budget", []))
            path.points.append(point)
            graphs = self.graphs(point, self.split.Z, self.split.mask)
            path.largest_budget = float(graphs.abs().sum()) / len(graphs)
            saved(path)
        while (budget := budgets(path.largest_budget, path.points)) is not None:
            following = begin(f"budget {budget:.3g}", path.points)
            state, stream = path.points[-1].fit.state, 1 + len(path.points)
            path.points.append((yield from self._fit_budget(state, budget, stream, following)))
            saved(path)

    def refit(self, path: Path, index: int, progress: Progress | None = None) -> Steps[PathPoint]:
        """Train a second network on the supports of one point, without shrinkage, and return the point with it.

        It starts from the first, whose matrices before the threshold is subtracted are nearly right already.
        """
        point = path.points[index]
        split = self.split
        mask = None if split.mask is None or split.mask_val is None else torch.cat([split.mask, split.mask_val])
        supports = (self.graphs(point, torch.cat([split.Z, split.Z_val]), mask) != 0).to(split.X.dtype)
        support, support_val = supports[: len(split.X)], supports[len(split.X) :]
        fit = yield Training(point.fit.state, self._seed(10_000 + index), None, support, support_val, progress)
        self.network.load_state_dict(fit.state)
        with torch.no_grad():
            W = self.network.eval()(split.Z_val) * support_val
        return replace(point, refit=Refit(fit, *_cut_losses(W, self.split.X_val)))

    def graphs(self, point: PathPoint, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Graphs of a point of the path, shrunken as they were trained."""
        return shrunken_graphs(self.network, self.layer, point, Z, mask)

    def _fit_budget(self, start: State, l1_budget: float, stream: int, progress: Progress | None) -> Steps[PathPoint]:
        masks = (self.split.mask, self.split.mask_val)
        fit = yield Training(start, self._seed(stream), l1_budget, *masks, progress)
        self.network.load_state_dict(fit.state)
        self.layer.l1_budget = l1_budget
        # Dropout changes the threshold of a training pass; the one to keep belongs to the network without it.
        with torch.no_grad():
            self.layer.train()(self.network.eval()(self.split.Z), self.split.mask)
        point = PathPoint(l1_budget, float(self.layer.threshold), 0.0, fit)
        graphs = self.graphs(point, self.split.Z_val, self.split.mask_val)
        return replace(point, n_edges=float((graphs != 0).sum()) / len(graphs))

    def _seed(self, stream: int) -> int:
        return (self.seed + 1_000_003 * stream) % 2**63


@torch.no_grad()
def shrunken_graphs(
    network: ContextNetwork, layer: DAGProjection, point: PathPoint, Z: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Graphs (n, p, p) of one point of a path for contexts `Z`; network and layer are left set to the point."""
    layer.l1_budget = point.l1_budget
    layer.keep_threshold(point.threshold)
    network.load_state_dict(point.fit.state)
    graphs: Tensor = layer.eval()(network.eval()(Z), mask)
    return graphs


def cuts_of(W: Tensor) -> list[float]:
    """Zero, and sizes of weights below which to cut so that fewer and fewer edges are left."""
    sizes = W.abs().flatten()
    sizes = sizes[sizes > 0].sort(descending=True).values
    left = {round(len(sizes) * CUT_DECAY**step) for step in range(N_CUTS)}
    counts = [count for count in sorted(left, reverse=True) if count < len(sizes)]
    cuts: list[float] = sizes[torch.tensor(counts, dtype=torch.long, device=sizes.device)].tolist()
    return [0.0, *cuts]


def _cut_losses(W: Tensor, X: Tensor) -> tuple[list[float], list[float], list[float]]:
    """Cuts, the mean numbers of edges they leave, and the losses."""
    cuts = cuts_of(W)
    n_edges, losses = [], []
    at_once = max(1, (MANY_ENTRIES if W.device.type == "cuda" else FEW_ENTRIES) // W.numel())
    for some in torch.split(torch.tensor(cuts, dtype=W.dtype, device=W.device), at_once):
        kept = torch.where(W.abs() > some[:, None, None, None], W, 0)
        n_edges.append((kept != 0).sum((1, 2, 3)))
        losses.append(((X - (X[:, None] @ kept)[:, :, 0]) ** 2).mean((1, 2)))
    # One look from the host for all of them.
    return cuts, [count / len(W) for count in torch.cat(n_edges).tolist()], torch.cat(losses).tolist()


def geometric_budgets(n_budgets: int) -> Callable[[float, list[PathPoint]], float | None]:
    """Falling by a constant factor until graphs are nearly empty, at most `n_budgets`, then zero.

    The steps stay fine where graphs are sparse, however dense they begin.
    """

    def following(largest: float, points: list[PathPoint]) -> float | None:
        last = points[-1]
        if last.l1_budget == 0:
            return None
        if largest == 0 or last.n_edges < FEWEST_EDGES or len(points) >= n_budgets:
            return 0.0
        return largest * DECAY ** len(points)

    return following


def equispaced_budgets(n_budgets: int) -> Callable[[float, list[PathPoint]], float | None]:
    """The paper's grid: equal steps from the largest budget to zero."""

    def following(largest: float, points: list[PathPoint]) -> float | None:
        step = len(points) - 1
        return None if step >= n_budgets else largest * (1 - step / max(n_budgets - 1, 1))

    return following
