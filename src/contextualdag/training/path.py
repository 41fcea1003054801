"""The path: one warm-started fit for each budget, from dense graphs to empty ones."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from contextualdag.network import ContextNetwork
from contextualdag.projection import DAGProjection
from contextualdag.training.captured import CapturedTraining, can_capture
from contextualdag.training.trainer import Fit, NoProjection, Progress, Split, State, TrainingSettings, copy_state, train

DECAY = 0.7  # from one budget to the next on the geometric grid
N_CUTS = 64  # of a refit, each leaving the share CUT_DECAY of the edges that the one before left
CUT_DECAY = 0.93
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
        self._captured: dict[type[nn.Module], CapturedTraining] = {}

    def fit(
        self,
        path: Path,
        budgets: Callable[[float, list[PathPoint]], float | None],
        saved: Callable[[Path], None],
        begin: Begin,
    ) -> None:
        """Complete `path` in place.

        `budgets` names the next budget from the largest one and the points so far, None at the end. `saved` is called
        whenever something is finished, `begin` before each fit for a function that is told of every epoch.
        """
        if not path.pretrained:
            self._seed(0)
            self._train(NoProjection(), self.split, begin("pre-training", []))
            path.pretrained = copy_state(self.network)
            saved(path)
        if path.largest_budget is None:
            self.network.load_state_dict(path.pretrained)
            point = self._fit_budget(math.inf, 1, begin("without a budget", []))
            path.points.append(point)
            graphs = self.graphs(point, self.split.Z, self.split.mask)
            path.largest_budget = float(graphs.abs().sum()) / len(graphs)
            saved(path)
        while (budget := budgets(path.largest_budget, path.points)) is not None:
            self.network.load_state_dict(path.points[-1].fit.state)
            following = begin(f"budget {budget:.3g}", path.points)
            path.points.append(self._fit_budget(budget, 1 + len(path.points), following))
            saved(path)

    def refit(self, path: Path, index: int, progress: Progress | None = None) -> PathPoint:
        """Train a second network on the supports of one point, without shrinkage, and return the point with it.

        It starts from the first, whose matrices before the threshold is subtracted are nearly right already.
        """
        point = path.points[index]
        support = (self.graphs(point, self.split.Z, self.split.mask) != 0).to(self.split.X.dtype)
        support_val = (self.graphs(point, self.split.Z_val, self.split.mask_val) != 0).to(self.split.X.dtype)
        split = replace(self.split, mask=support, mask_val=support_val)
        self._seed(10_000 + index)
        fit = self._train(NoProjection(), split, progress)
        with torch.no_grad():
            W = self.network.eval()(split.Z_val) * support_val
        return replace(point, refit=Refit(fit, *_cut_losses(W, self.split.X_val)))

    def graphs(self, point: PathPoint, Z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Graphs of a point of the path, shrunken as they were trained."""
        return shrunken_graphs(self.network, self.layer, point, Z, mask)

    def _fit_budget(self, l1_budget: float, stream: int, progress: Progress | None) -> PathPoint:
        self.layer.l1_budget = l1_budget
        self._seed(stream)
        fit = self._train(self.layer, self.split, progress)
        # Dropout changes the threshold of a training pass; the one to keep belongs to the network without it.
        with torch.no_grad():
            self.layer.train()(self.network.eval()(self.split.Z), self.split.mask)
        point = PathPoint(l1_budget, float(self.layer.threshold), 0.0, fit)
        graphs = self.graphs(point, self.split.Z_val, self.split.mask_val)
        return replace(point, n_edges=float((graphs != 0).sum()) / len(graphs))

    def _train(self, layer: nn.Module, split: Split, progress: Progress | None) -> Fit:
        if not can_capture(layer, split, self.settings):
            return train(self.network, layer, split, self.settings, progress=progress)
        kind = type(layer)
        if kind is NoProjection and split.mask is None:  # one capture serves pre-training and refits
            p = split.X.shape[1]
            masks = (torch.ones(len(X), p, p, dtype=X.dtype, device=X.device) for X in (split.X, split.X_val))
            split = replace(split, mask=next(masks), mask_val=next(masks))
        if kind not in self._captured:
            self._captured[kind] = CapturedTraining(self.network, layer, split, self.settings)
        return self._captured[kind].run(split.mask, split.mask_val, progress)

    def _seed(self, stream: int) -> None:
        torch.manual_seed((self.seed + 1_000_003 * stream) % 2**63)


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
    return [0.0] + [float(sizes[count]) for count in sorted(left, reverse=True) if count < len(sizes)]


def _cut_losses(W: Tensor, X: Tensor) -> tuple[list[float], list[float], list[float]]:
    """Cuts, the mean numbers of edges they leave, and the losses."""
    cuts = cuts_of(W)
    n_edges, losses = [], []
    for cut in cuts:
        kept = torch.where(W.abs() > cut, W, 0)
        n_edges.append(float((kept != 0).sum()) / len(W))
        losses.append(float(((X - torch.bmm(X[:, None], kept)[:, 0]) ** 2).mean()))
    return cuts, n_edges, losses


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
