"""The path: one warm-started fit for each budget, from dense graphs to empty ones."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from contextualdag.network import ContextNetwork
from contextualdag.projection import DAGProjection
from contextualdag.training.trainer import Fit, Masked, Progress, Split, State, TrainingSettings, copy_state, train

DECAY = 0.8  # from one budget to the next on the geometric grid
FEWEST_EDGES = 0.5  # the geometric grid ends where graphs have fewer on average


@dataclass(frozen=True)
class PathPoint:
    """The network at one budget; `refit` holds a second network, trained on the first one's supports without shrinkage."""

    l1_budget: float
    threshold: float
    n_edges: float
    fit: Fit
    refit: Fit | None = None


@dataclass
class Path:
    """Points from dense to sparse, and the network before any projection, from which refits start."""

    pretrained: State = field(default_factory=dict)
    largest_budget: float | None = None
    points: list[PathPoint] = field(default_factory=list)


class PathFitter:
    """Fits a path budget by budget; a path that was begun elsewhere is taken up where it stopped.

    Parameters
    ----------
    network : ContextNetwork
        Initialised, on the device of the data.
    layer : DAGProjection
        Its budget is set along the path.
    split : Split
        The data.
    settings : TrainingSettings
        Of each fit.
    seed : int
        Of the random numbers (dropout); each fit has a stream of its own, so that a path can be resumed.
    """

    def __init__(
        self, network: ContextNetwork, layer: DAGProjection, split: Split, settings: TrainingSettings, seed: int
    ) -> None:
        self.network, self.layer, self.split, self.settings, self.seed = network, layer, split, settings, seed

    def fit(
        self,
        path: Path,
        budgets: Callable[[float, list[PathPoint]], float | None],
        saved: Callable[[Path], None],
        progress: Callable[[str, int], Progress | None],
    ) -> None:
        """Complete `path` in place.

        `budgets` names the next budget from the largest one and the points so far, None at the end. `saved` is called
        whenever something is finished, `progress` for a function that is told of every epoch.
        """
        if not path.pretrained:
            self._seed(0)
            train(self.network, nn.Identity(), self.split, self.settings, progress=progress("pre-training", 0))
            path.pretrained = copy_state(self.network)
            saved(path)
        if path.largest_budget is None:
            self.network.load_state_dict(path.pretrained)
            point = self._fit_budget(math.inf, 1, progress("without a budget", 0))
            path.points.append(point)
            graphs = self.graphs(point, self.split.Z)
            path.largest_budget = float(graphs.abs().sum()) / len(graphs)
            saved(path)
        while (budget := budgets(path.largest_budget, path.points)) is not None:
            self.network.load_state_dict(path.points[-1].fit.state)
            done = len(path.points)
            path.points.append(self._fit_budget(budget, 1 + done, progress(f"budget {budget:.3g}", done)))
            saved(path)

    def refit(self, path: Path, index: int, progress: Progress | None = None) -> PathPoint:
        """Train a second network on the supports of one point, without shrinkage, and return the point with it."""
        point = path.points[index]
        supports = [self.graphs(point, Z) != 0 for Z in (self.split.Z, self.split.Z_val)]
        self.network.load_state_dict(path.pretrained)
        self._seed(10_000 + index)
        layer = Masked(*(support.to(self.split.X.dtype) for support in supports))
        return replace(point, refit=train(self.network, layer, self.split, self.settings, progress=progress))

    def graphs(self, point: PathPoint, Z: Tensor) -> Tensor:
        """Graphs of a point of the path, shrunken as they were trained."""
        return shrunken_graphs(self.network, self.layer, point, Z)

    def _fit_budget(self, l1_budget: float, stream: int, progress: Progress | None) -> PathPoint:
        self.layer.l1_budget = l1_budget
        self._seed(stream)
        fit = train(self.network, self.layer, self.split, self.settings, progress=progress)
        # Dropout changes the threshold of a training pass; the one to keep belongs to the network without it.
        with torch.no_grad():
            self.layer.train()(self.network.eval()(self.split.Z))
        point = PathPoint(l1_budget, float(self.layer.threshold), 0.0, fit)
        graphs = self.graphs(point, self.split.Z_val)
        return replace(point, n_edges=float((graphs != 0).sum()) / len(graphs))

    def _seed(self, stream: int) -> None:
        torch.manual_seed((self.seed + 1_000_003 * stream) % 2**63)


@torch.no_grad()
def shrunken_graphs(network: ContextNetwork, layer: DAGProjection, point: PathPoint, Z: Tensor) -> Tensor:
    """Graphs (n, p, p) of one point of a path for contexts `Z`; network and layer are left set to the point."""
    layer.l1_budget = point.l1_budget
    layer.keep_threshold(point.threshold)
    network.load_state_dict(point.fit.state)
    graphs: Tensor = layer.eval()(network.eval()(Z))
    return graphs


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
