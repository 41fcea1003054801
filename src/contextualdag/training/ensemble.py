"""An ensemble of networks, and the steps of its training; `contextualdag.training.recipe` says in which order they come."""

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.network import ContextNetwork, auto_dropout, initialise
from contextualdag.projection import DAGProjection
from contextualdag.training.data import Folds, Rows, n_held_out
from contextualdag.training.pairs import graphs
from contextualdag.training.path import BUDGETS, Path, PathPoint, projected, with_states
from contextualdag.training.problem import Problem, Stage
from contextualdag.training.prune import average, prune
from contextualdag.training.runner import Steps
from contextualdag.training.selection import Selected
from contextualdag.training.solution import VaryingGraphs
from contextualdag.training.trainer import NoProjection, State, Training, copy_state

PATH_PATIENCE = 0.5  # times the usual one: the next budget goes on from there
POLISHING_PATIENCE = 4
STREAM = 500_000_003  # from the seed of one path to that of the next
RARE_ON_PATH = 0.05  # a pair that is an edge in a smaller share of the rows is dropped


class Ensemble:
    """The networks of one problem. Members differ in initial weights, random numbers and rows held out, and share budgets.

    The steps do not train. They yield what is to be trained and are sent the outcome, see `contextualdag.training.runner`.
    Each keeps what it has reached in `path`, and in the problem's checkpoint if there is one.

    Parameters
    ----------
    problem : Problem
        A problem whose means have been removed.
    folds : Folds
        Its rows.
    """

    def __init__(self, problem: Problem, folds: Folds) -> None:
        self.problem, self.settings, self.folds = problem, problem.network_settings, folds
        self.network, self.starts = draw_networks(problem)
        self._members = with_states(self.network, self.starts)
        self.layer = DAGProjection(acyclicity=self.settings.acyclicity).to(folds.rows.X.device)
        shapes = {name: tuple(weights.shape) for name, weights in self.starts[0].items()}
        self.path = Path() if problem.checkpoint is None else problem.checkpoint.begin(problem.split, shapes)
        self._whole_path, self._seed = self.path, problem.seed

    def on_path(self, path: Path, stream: int) -> "Ensemble":
        """The same networks on another path, with another stream of random numbers."""
        other = copy.copy(self)
        other.path, other._seed = path, self._seed + stream * STREAM
        return other

    def next_budget(self) -> float | None:
        """The budget after the last point, None at the end of the path."""
        grid = BUDGETS[self.settings.budgets](self.settings.n_budgets)
        return grid(self.path.largest_budget or 0.0, self.path.points)

    def pretrain(self) -> Steps[None]:
        """Train the networks without the projection."""
        trainings = self._trainings(Stage.PRETRAINING, 0, self.starts, self._masks())
        # The last weights: where nodes are many the best ones are hardly trained, and the order of the nodes is a guess.
        fits = yield [replace(training, keep_last=True) for training in trainings]
        self.path.pretrained = tuple(self._within_allowed(fit.learned for fit in fits))
        self._save()

    def find_largest_budget(self) -> Steps[None]:
        """The mean l1 norm of the DAGs of pre-trained networks, which the paper trains behind the projection first."""
        states = list(self.path.pretrained)
        if self.settings.as_published:
            point = yield from self._fit_point(states, math.inf)
            self.path.points.append(point)
            states = [fit.learned for fit in point.fits]
        rows = self.folds.trained_on
        norms = [float(self._in_training(network, rows, math.inf).abs().sum()) / len(rows) for network in self._load(states)]
        self.path.largest_budget = sum(norms) / len(norms)
        self._save()

    def fit_budget(self, l1_budget: float) -> Steps[None]:
        """Train behind the projection onto sparse DAGs, from the networks of the point before.

        Pairs that are an edge in hardly any row are dropped for good: their weights become zero. They would have hardly any
        gradient, so few of them would come back, and some by chance.
        """
        points = self.path.points
        starts = [fit.learned for fit in points[-1].fits] if points else self.path.pretrained
        points.append((yield from self._fit_point(starts, l1_budget)))
        self._save()

    def refit(self, index: int, polish: bool = False, keep: bool = True) -> Steps[None]:
        """Train second networks on the supports of one point, without shrinkage, and prune their graphs.

        They start from the first networks, whose matrices before the threshold is subtracted are nearly right already; to
        polish, from the second ones, with more patience. What follows once graphs are chosen is not to be kept in the
        checkpoint: a fit that is resumed has to see the same path when it chooses.
        """
        point, rows = self.path.points[index], self.folds.rows
        supports = [W != 0 for W in self._projected(point, rows)]
        folds = zip(supports, self.folds.train, self.folds.held_out, strict=True)
        masks = [(support[train], support[held_out]) for support, train, held_out in folds]
        first = point.refit if polish else None
        starts = [fit.learned for fit in (point.fits if first is None else first.fits)]
        stage, patience = (Stage.REFIT, 1) if first is None else (Stage.POLISHING, POLISHING_PATIENCE)
        trainings = self._trainings(stage, index, starts, masks, patience=patience, follows=[point])
        fits = yield [replace(training, settles=first is not None) for training in trainings]
        networks = zip(self._load([fit.learned for fit in fits]), supports, strict=True)
        weights = (graphs(network, NoProjection(), rows.Z, support) for network, support in networks)
        found = prune(tuple(fits), weights, self.folds)
        if first is not None and first.loss < found.loss:
            found = first  # the polished weights have the lower loss before pruning, not after it
        self.path.points[index] = replace(point, refit=replace(found, polished=polish))
        if keep:
            self._save()

    def solution(self, selected: Selected) -> VaryingGraphs:
        """The graphs of one point of the path."""
        return VaryingGraphs(tuple(self.path.points), selected, self.network, self.settings.acyclicity)

    def _fit_point(self, starts: Sequence[State], l1_budget: float) -> Steps[PathPoint[State]]:
        points = self.path.points
        patience = 1 if self.settings.as_published else PATH_PATIENCE
        fits = yield self._trainings(Stage.BUDGET, len(points), starts, self._masks(), l1_budget, patience, follows=points)
        networks = self._load([fit.learned for fit in fits])
        splits = list(zip(networks, self.folds.splits, strict=True))
        if l1_budget > 0 and not self.settings.as_published:
            for network, split in splits:
                W = self._in_training(network, split.train, l1_budget)
                network.drop((W != 0).float().mean(0) < RARE_ON_PATH)
            fits = [replace(fit, learned=copy_state(network)) for fit, network in zip(fits, networks, strict=True)]
        # Dropout changes the threshold of a training pass; the one to keep belongs to the network without it.
        thresholds = tuple(self._threshold(network, split.train, l1_budget) for network, split in splits)
        point = PathPoint(l1_budget, thresholds, 0.0, tuple(fits))
        held_out = self.folds.splits[0].held_out
        W = average(list(self._projected(point, held_out)))
        return replace(point, n_edges=float((W != 0).sum()) / len(W))

    def _threshold(self, network: ContextNetwork, rows: Rows, l1_budget: float) -> float:
        self._in_training(network, rows, l1_budget)
        return float(self.layer.threshold)

    def _in_training(self, network: ContextNetwork, rows: Rows, l1_budget: float) -> Tensor:
        """Graphs with the threshold that belongs to these rows."""
        self.layer.l1_budget = l1_budget
        return graphs(network, self.layer.train(), rows.Z, rows.mask)

    def _projected(self, point: PathPoint[State], rows: Rows) -> Iterator[Tensor]:
        for k, network in enumerate(self._load([fit.learned for fit in point.fits])):
            yield projected(network, point, k, self.settings.acyclicity, rows.Z, rows.mask)

    def _load(self, states: Sequence[State]) -> list[ContextNetwork]:
        """The members' networks with given weights, until they are loaded again: copies would take longer than their use."""
        for network, state in zip(self._members, states, strict=True):
            network.load_state_dict(state)
        return self._members

    def _within_allowed(self, states: Iterable[State]) -> Iterator[State]:
        """Networks without the pairs that this path does not allow; a projection gives these no gradient from then on."""
        if self.path.allowed is None:
            yield from states
            return
        for network in self._load(list(states)):
            network.drop(~self.path.allowed.to(network.places.device))
            yield copy_state(network)

    def _masks(self) -> list[tuple[Tensor | None, Tensor | None]]:
        if self.path.allowed is None:
            return [(split.train.mask, split.held_out.mask) for split in self.folds.splits]
        allowed = self.path.allowed.to(self.folds.rows.X)
        return [
            (allowed.expand(len(split.train), -1, -1), allowed.expand(len(split.held_out), -1, -1))
            for split in self.folds.splits
        ]

    def _trainings(
        self,
        stage: Stage,
        index: int,
        starts: Sequence[State],
        masks: Sequence[tuple[Tensor | None, Tensor | None]],
        l1_budget: float | None = None,
        patience: float = 1,
        follows: Sequence[PathPoint[State]] = (),
    ) -> list[Training]:
        """One for each member; the progress of the first is reported."""
        observer = self.problem.observer
        progress = None if observer is None else observer(stage, follows, l1_budget)
        return [
            Training(
                start=start,
                seed=stream_seed(self._seed, stage, index, member),
                l1_budget=l1_budget,
                mask=mask,
                mask_val=mask_val,
                progress=progress if member == 0 else None,
                patience=patience,
            )
            for member, (start, (mask, mask_val)) in enumerate(zip(starts, masks, strict=True))
        ]

    def _save(self) -> None:
        if self.problem.checkpoint is not None:
            self.problem.checkpoint.save(self._whole_path)


def stream_seed(seed: int, stage: Stage, index: int, member: int) -> int:
    """The seed of one training: each has a stream of its own, so that a path can be resumed anywhere."""
    return (seed + 1_000_003 * (stage.value + index) + 7_368_787 * member) % 2**63


def draw_networks(problem: Problem) -> tuple[ContextNetwork, tuple[State, ...]]:
    """The shape of the members' networks, and the initial weights of each."""
    settings, rows, n_val = problem.network_settings, problem.split.train, len(problem.split.held_out)
    (n, m), p = rows.Z.shape, rows.X.shape[1]
    n_trained_on = n + n_val - n_held_out(n, n_val, settings.n_folds)
    dropout = auto_dropout(n_trained_on, p, m) if isinstance(settings.dropout, str) else settings.dropout
    network = ContextNetwork(m, p, settings.hidden_layers, settings.activation, dropout, problem.allowed).to(rows.X.device)
    generator, starts = torch.Generator().manual_seed(problem.seed), []
    for _ in range(settings.n_members):
        initialise(network, generator)
        starts.append(copy_state(network))
    return network, tuple(starts)
