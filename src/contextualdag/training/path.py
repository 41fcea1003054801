"""The path: one warm-started fit for each budget, from dense graphs to empty ones."""

import copy
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch
from torch import Tensor

from contextualdag.network import ContextNetwork
from contextualdag.projection import DAGProjection
from contextualdag.training.folds import Folds
from contextualdag.training.refit import Refit, average, cut_down
from contextualdag.training.trainer import Fit, Progress, State, Training

DECAY = 0.7  # from one budget to the next on the geometric grid
POLISHING_PATIENCE = 4  # times the usual one
FEWEST_EDGES = 0.5  # the geometric grid ends where graphs have fewer on average


@dataclass(frozen=True)
class PathPoint:
    """The networks at one budget, with the number of edges they leave on average, and their refit where there is one."""

    l1_budget: float
    thresholds: tuple[float, ...]
    n_edges: float
    fits: tuple[Fit, ...]
    refit: Refit | None = None

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
    """Points from dense to sparse, and the networks before any projection, with which they begin.

    The points of a constant path have one matrix in place of a network.
    """

    pretrained: tuple[State, ...] = ()
    largest_budget: float | None = None
    points: list[PathPoint] = field(default_factory=list)
    is_constant: bool = False


Begin = Callable[[str, list[PathPoint]], Progress | None]
Result = TypeVar("Result")
# Asks for trainings, one for each member at a time, is sent what they reach, and returns.
Steps = Generator[list[Training], list[Fit], Result]


class PathFitter:
    """Fits a path budget by budget; a path that was begun elsewhere is taken up where it stopped.

    The path may be that of several members: networks with other initial weights, random numbers and rows held out, whose
    graphs are averaged and projected once more. They share the budgets.

    Its methods do not train. They yield what is to be trained and are sent the outcome, so that several paths can be fitted
    side by side; see `contextualdag.training.side_by_side`.

    Parameters
    ----------
    network : ContextNetwork
        On the device of the data. Its weights are set anew for every use, so that paths can share it.
    layer : DAGProjection
        Likewise.
    folds : Folds
        The data.
    starts : sequence of State
        Initial weights of each member.
    seed : int
        Of the random numbers (dropout); each fit has a stream of its own, so that a path can be resumed.
    """

    def __init__(
        self, network: ContextNetwork, layer: DAGProjection, folds: Folds, starts: Sequence[State], seed: int
    ) -> None:
        self.network, self.layer, self.folds, self.starts, self.seed = network, layer, folds, starts, seed
        self.splits = folds.splits

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
            trainings = self._trainings(self.starts, 0, None, self._masks(), begin("pre-training", []))
            # The last weights: where nodes are many the best ones are hardly trained, and the order of the nodes is a guess.
            fits = yield [replace(training, keep_last=True) for training in trainings]
            path.pretrained = tuple(fit.state for fit in fits)
            saved(path)
        if path.largest_budget is None:
            point = yield from self._fit_budget(path.pretrained, math.inf, 1, begin("without a budget", []))
            path.points.append(point)
            Z, mask = self.folds.trained_on
            graphs = shrunken_graphs(self.network, self.layer, point, Z, mask)
            path.largest_budget = sum(float(W.abs().sum()) / len(W) for W in graphs) / len(graphs)
            saved(path)
        while (budget := budgets(path.largest_budget, path.points)) is not None:
            following = begin(f"budget {budget:.3g}", path.points)
            states, stream = [fit.state for fit in path.points[-1].fits], 1 + len(path.points)
            path.points.append((yield from self._fit_budget(states, budget, stream, following)))
            saved(path)

    def refit(self, path: Path, index: int, progress: Progress | None = None, polish: bool = False) -> Steps[PathPoint]:
        """Train second networks on the supports of one point, without shrinkage, and return the point with them.

        They start from the first, whose matrices before the threshold is subtracted are nearly right already; to polish,
        from the second ones, with more patience.
        """
        point = path.points[index]
        folds = self.folds
        graphs = shrunken_graphs(self.network, self.layer, point, folds.Z, folds.mask)
        supports = [(W != 0).to(folds.X.dtype) for W in graphs]
        masks = [(s[train], s[held_out]) for s, train, held_out in zip(supports, folds.train, folds.held_out, strict=True)]
        polished = point.refit if polish else None
        states = [fit.state for fit in (point.fits if polished is None else polished.fits)]
        stream, patience = (10_000 + index, 1) if polished is None else (20_000 + index, POLISHING_PATIENCE)
        fits = yield self._trainings(states, stream, None, masks, progress, patience)
        refitted = [weights_of(self.network, fit, folds.Z) * s for fit, s in zip(fits, supports, strict=True)]
        found = cut_down(tuple(fits), refitted, folds)
        if polished is not None and polished.loss < found.loss:
            found = polished  # the whole support did better, what the cut leaves of it did not
        return replace(point, refit=replace(found, polished=polish))

    def _fit_budget(
        self, starts: Sequence[State], l1_budget: float, stream: int, progress: Progress | None
    ) -> Steps[PathPoint]:
        fits = yield self._trainings(starts, stream, l1_budget, self._masks(), progress)
        thresholds = []
        for fit, split in zip(fits, self.splits, strict=True):
            self.network.load_state_dict(fit.state)
            self.layer.l1_budget = l1_budget
            # Dropout changes the threshold of a training pass; the one to keep belongs to the network without it.
            with torch.no_grad():
                self.layer.train()(self.network.eval()(split.Z), split.mask)
            thresholds.append(float(self.layer.threshold))
        point = PathPoint(l1_budget, tuple(thresholds), 0.0, tuple(fits))
        W = average(shrunken_graphs(self.network, self.layer, point, self.splits[0].Z_val, self.splits[0].mask_val))
        return replace(point, n_edges=float((W != 0).sum()) / len(W))

    def _masks(self) -> list[tuple[Tensor | None, Tensor | None]]:
        return [(split.mask, split.mask_val) for split in self.splits]

    def _trainings(
        self,
        starts: Sequence[State],
        stream: int,
        l1_budget: float | None,
        masks: Sequence[tuple[Tensor | None, Tensor | None]],
        progress: Progress | None,
        patience: int = 1,
    ) -> list[Training]:
        """One for each member; the first one's progress is told."""
        first = self.seed + 1_000_003 * stream
        return [
            Training(
                start,
                (first + 7_368_787 * k) % 2**63,
                l1_budget,
                mask,
                mask_val,
                progress if k == 0 else None,
                patience,
            )
            for k, (start, (mask, mask_val)) in enumerate(zip(starts, masks, strict=True))
        ]


@torch.no_grad()
def weights_of(network: ContextNetwork, fit: Fit, Z: Tensor) -> Tensor:
    """Matrices (n, p, p) of a network before any projection.

    They are those of a copy, since several threads may ask at once.
    """
    own = copy.deepcopy(network).eval()
    own.load_state_dict(fit.state)
    W: Tensor = own(Z)
    return W


def shrunken_graphs(
    network: ContextNetwork, layer: DAGProjection, point: PathPoint, Z: Tensor, mask: Tensor | None = None
) -> list[Tensor]:
    """Graphs (n, p, p) of each member at one point of a path; neither network nor layer are changed."""
    graphs = []
    for fit, threshold in zip(point.fits, point.thresholds, strict=True):
        own = DAGProjection(point.l1_budget, layer.acyclicity).to(Z.device).eval()
        own.keep_threshold(threshold)
        with torch.no_grad():
            graphs.append(own(weights_of(network, fit, Z), mask))
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
