"""What a fit is given, the problem, and what it has learned, the outcome."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from torch import Tensor

from contextualdag.network import MeanNetwork
from contextualdag.projection import LogDet, Order
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.data import Folds, Rows, Split, concatenate, make_folds
from contextualdag.training.path import PathPoint
from contextualdag.training.selection import NEARLY_ALL
from contextualdag.training.structure import Choice
from contextualdag.training.trainer import Progress, State, TrainingSettings


class Stage(Enum):
    """What is being trained, with the first stream of random numbers that belongs to it."""

    PRETRAINING = 0
    BUDGET = 1
    REFIT = 10_000
    POLISHING = 20_000


# Called before each training with its stage, the points that it follows and its budget; returns a callback for epochs.
Observer = Callable[[Stage, Sequence[PathPoint[State]], float | None], Progress]


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of graphs that vary with the context; see the parameters of `contextualdag.ContextualDAG`."""

    acyclicity: Order | LogDet
    selection: str | float
    n_members: int
    cross_fit: bool
    structure: str
    hidden_layers: tuple[int, ...]
    activation: str
    dropout: float | str
    budgets: str
    n_budgets: int
    training: TrainingSettings
    final: bool = True  # whether graphs are to be reported: trained with more patience in the end, and tested
    explained: float = NEARLY_ALL  # share that edges explain with the selection "explained"

    @property
    def as_published(self) -> bool:
        """Whether the path is the paper's: its budgets, its patience, and no pair is dropped."""
        return self.budgets == "equispaced"

    @property
    def n_folds(self) -> int:
        """Number of different sets of rows that members hold out."""
        return self.n_members if self.cross_fit else 1


@dataclass(frozen=True)
class GroupSettings:
    """Settings of graphs that do not vary, or from cluster to cluster; see `contextualdag.ClusteredDAG`.

    `penalties` are in squared units of the rows; `n_clusters` is None for a number that follows the number of rows.
    """

    selection: str | float
    penalties: tuple[float, ...] | None
    n_penalties: int
    cut: float
    clustered: bool = False
    n_clusters: int | None = None
    final: bool = True  # whether graphs are to be reported
    explained: float = NEARLY_ALL  # share that edges explain with the selection "explained"


@dataclass(frozen=True)
class Problem:
    """What a fit learns from.

    Attributes
    ----------
    split : Split
        Rows to train on and rows held out, as the networks see them, with their means.
    allowed : Tensor of bool, shape (p, p)
        Edges that are allowed in every context.
    required : Tensor of bool, shape (p, p)
        Edges that every graph has.
    settings : NetworkSettings or GroupSettings
        The parameters of the estimator.
    contextual_mean : bool
        Whether the mean depends on the context and is to be removed.
    noise : {"auto", "equal", "unequal"}
        Whether noise scales are equal in the units of the user, unknown, or whichever predicts better. Once variables are
        divided by scales that were learned it is "unequal".
    given_weight : Tensor of shape (n,), optional
        Weights of all rows as they were given, but for how much less outliers count; all one by default.
    units : Tensor of shape (p,)
        What one unit of the user's, or any number that is the same for all variables, is in the units of the rows.
    features : dict of str to tuple of int
        The columns of the contexts that belong to each feature.
    seed : int
        Seed of all random numbers.
    checkpoint : Checkpoint, optional
        Where the path is kept after every training.
    observer : callable, optional
        Where progress is reported.
    """

    split: Split
    allowed: Tensor
    required: Tensor
    settings: NetworkSettings | GroupSettings
    contextual_mean: bool
    noise: str
    given_weight: Tensor | None
    units: Tensor
    features: dict[str, tuple[int, ...]]
    seed: int
    checkpoint: Checkpoint | None = None
    observer: Observer | None = None

    @property
    def network_settings(self) -> NetworkSettings:
        """The settings of a problem that is solved with networks."""
        if not isinstance(self.settings, NetworkSettings):
            raise TypeError(f"Expected NetworkSettings. Got {self.settings!r}.")
        return self.settings

    @property
    def group_settings(self) -> GroupSettings:
        """The settings of a problem that is solved without networks."""
        if not isinstance(self.settings, GroupSettings):
            raise TypeError(f"Expected GroupSettings. Got {self.settings!r}.")
        return self.settings

    @property
    def rows(self) -> Rows:
        """All rows, those trained on first."""
        return concatenate([self.split.train, self.split.held_out])

    def folds(self) -> Folds:
        """The rows that each member trains on and holds out; there is one member where there are no networks."""
        if isinstance(self.settings, GroupSettings):
            return make_folds(self.split, 1, self.seed)
        folds = make_folds(self.split, self.settings.n_folds, self.seed)
        return folds.repeat(self.settings.n_members // self.settings.n_folds)

    @property
    def shape(self) -> object:
        """What problems must have in common to be solved side by side."""
        by_sample = (
            "X",
            "Z",
            "mask",
            "scored",
            "undisturbed",
            "for_means",
            "group",
        )  # weights are added where only some have them
        rows = [getattr(part, name) for part in (self.split.train, self.split.held_out) for name in by_sample]
        sizes = tuple(None if tensor is None else tuple(tensor.shape) for tensor in rows)
        settings = self.settings
        if isinstance(settings, NetworkSettings):
            # None of them changes what is trained at once.
            settings = replace(settings, selection="", structure="", explained=NEARLY_ALL)
        return sizes, self.split.train.X.device, settings, self.noise, tuple(self.allowed.flatten().tolist())


@dataclass(frozen=True)
class Outcome:
    """What a fit has learned.

    Attributes
    ----------
    choice : Choice
        Graphs of variables that are divided by `scale`, and why these.
    scale : Tensor of shape (p,)
        Noise scales, in the units of the rows and up to a common factor.
    noise : {"equal", "unequal"}
        Whether they are equal in the units of the user.
    split : Split
        The rows as graphs were learned from them, before the division, with their weights.
    mean_network : MeanNetwork, optional
        The mean given the context, in the units of the rows.
    explained : Tensor of shape (p, 3)
        Shares of the variance of each variable, in rows held out, that means, one graph for all contexts and the change of
        edges explain. Without one graph for all its share is NaN, and the last is that of all edges. NaN for variables that
        do not vary there.
    n_held_out : int
        Number of these rows.
    """

    choice: Choice
    scale: Tensor
    noise: str
    split: Split
    mean_network: MeanNetwork | None
    explained: Tensor
    n_held_out: int
