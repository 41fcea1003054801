"""Train one network behind one layer until the loss on the rows held out stops falling."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from contextualdag.errors import TrainingError
from contextualdag.network import Dropout
from contextualdag.threads import Job, in_turns
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import errors, mean_error, residuals

# Of an epoch with batch_size="auto": steps are of 333 rows while these are few, and grow with the root of their number.
ROWS_IN_A_STEP, ROWS_PER_SQUARED_STEP, MOST_STEPS, MOST_HASTE = 333, 83, 12, 2.5
SETTLING_RATE, SETTLING_ROWS = 0.5, 4000  # times the learning rate, and rows of a step to settle by
FEWEST_SETTLED = 2000  # with fewer rows these steps take time and make graphs no better

State = dict[str, Tensor]
Learned = TypeVar("Learned")  # what a fit ends with: the state of a network, or matrices
Progress = Callable[[int, float, float], None]  # is given the epoch, the training loss and the validation loss


@dataclass(frozen=True)
class TrainingSettings:
    """How to descend with Adam.

    Attributes
    ----------
    learning_rate : float
        Adam learning rate.
    max_epochs : int
        Maximum number of epochs.
    patience : float
        Number of epochs without a better validation loss after which training stops.
    batch_size : int or "auto", optional
        Number of samples in one step; all of them by default. "auto" has to be settled by `for_rows`.
    n_rows, haste : int, float
        Number of rows that `for_rows` saw, and by how much it divided the patience, since an epoch has several steps.
    """

    learning_rate: float = 1e-3
    max_epochs: int = 10_000
    patience: float = 10
    batch_size: int | str | None = None
    n_rows: int = 0
    haste: float = 1

    def for_rows(self, rows: Rows) -> "TrainingSettings":
        """The settings for as many rows: "auto" is several steps an epoch on the CPU, with fewer epochs of patience.

        On other devices all rows at once take hardly longer than a part of them.
        """
        if self.batch_size != "auto":
            return self
        n = len(rows)
        most = min(round(n / ROWS_IN_A_STEP), round(math.sqrt(n / ROWS_PER_SQUARED_STEP)), MOST_STEPS)
        steps = most if rows.X.device.type == "cpu" else 1
        return self._with_steps(n, max(1, steps))

    def settling(self) -> "TrainingSettings":
        """Shorter steps of more rows, where `for_rows` took few, whose random errors weights never settle from.

        With fewer than 2000 rows these are the same settings.
        """
        steps = max(1, self.n_rows // SETTLING_ROWS)
        is_settled = not isinstance(self.batch_size, int) or self.n_rows // steps <= self.batch_size
        if is_settled or self.n_rows < FEWEST_SETTLED:
            return self
        return replace(self._with_steps(self.n_rows, steps), learning_rate=self.learning_rate * SETTLING_RATE)

    def _with_steps(self, n: int, steps: int) -> "TrainingSettings":
        """So many steps an epoch of n rows, and fewer epochs of patience the more there are."""
        haste = min(math.sqrt(steps), MOST_HASTE)
        return replace(self, batch_size=n // steps, patience=self.patience * self.haste / haste, n_rows=n, haste=haste)


@dataclass(frozen=True)
class Training:
    """A training to be carried out.

    Attributes
    ----------
    start : State
        Initial weights.
    seed : int
        Seed of the random numbers (dropout and batches).
    l1_budget : float, optional
        Budget of the projection; without one there is no projection, only the masks.
    mask, mask_val : Tensor, optional
        Allowed edges of the training rows and of those held out.
    progress : callable, optional
        Called after every epoch.
    patience : float
        Factor by which the patience of the settings is multiplied.
    keep_last : bool
        Whether the last weights are kept instead of the best.
    settles : bool
        Whether steps are those of `TrainingSettings.settling`: on the CPU; elsewhere all steps are of all rows anyway.
    """

    start: State
    seed: int = 0
    l1_budget: float | None = None
    mask: Tensor | None = None
    mask_val: Tensor | None = None
    progress: Progress | None = None
    patience: float = 1
    keep_last: bool = False
    settles: bool = False


@dataclass(frozen=True)
class Fit(Generic[Learned]):
    """What one training ends with, and the losses at its best epoch."""

    learned: Learned
    train_loss: float
    validation_loss: float
    epochs: int


class NoProjection(nn.Module):
    """The layer that only masks."""

    def forward(self, W: Tensor, mask: Tensor | None) -> Tensor:
        """Multiply by the mask, if there is one."""
        return W if mask is None else W * mask


# What a network's output leaves of the rows, by way of a layer.
Residuals = Callable[[Tensor, nn.Module, Rows], Tensor]


def graph_residuals(W_tilde: Tensor, layer: nn.Module, rows: Rows) -> Tensor:
    """X - W(z)^T x, where the layer turns the network's matrices into graphs."""
    return residuals(rows.X, layer(W_tilde, rows.mask))


def mean_residuals(mean: Tensor, layer: nn.Module, rows: Rows) -> Tensor:
    """X - mu(z); the layer has nothing to do."""
    return rows.X - mean


def copy_state(module: nn.Module) -> State:
    """A copy of the parameters and buffers."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


class Descent(ABC):
    """One training, epoch by epoch. Each evaluates the current weights, and then moves them."""

    @abstractmethod
    def begin_epoch(self) -> float:
        """The training loss of the first batch."""

    @abstractmethod
    def held_out_loss(self) -> float:
        """The loss on the rows held out, without dropout and with the threshold of the first batch."""

    @abstractmethod
    def finish_epoch(self) -> None:
        """Take the step of the first batch and those of the others."""

    @abstractmethod
    def weights(self) -> Any:
        """A copy of all weights."""

    @abstractmethod
    def set_weights(self, weights: Any) -> None:
        """Set all weights."""

    @abstractmethod
    def learned(self) -> State:
        """The current state of the network."""


class AutogradDescent(Descent):
    """The training of any network behind any layer, in plain PyTorch.

    `generator` is the source of dropout and of the order of batches on the CPU; by default PyTorch's own.
    """

    def __init__(
        self,
        network: nn.Module,
        layer: nn.Module,
        split: Split,
        settings: TrainingSettings,
        residuals_of: Residuals = graph_residuals,
        generator: torch.Generator | None = None,
    ) -> None:
        self._network, self._layer, self._split, self._residuals_of = network, layer, split, residuals_of
        self._batch_size, self._generator = settings.batch_size, generator
        fused = split.train.X.device.type in ("cpu", "cuda")
        self._optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=fused)
        for module in network.modules():
            if isinstance(module, Dropout):
                module.generator = generator

    def begin_epoch(self) -> float:
        """The training loss of the first batch."""
        self._in_training(True)
        self._batches = self._draw()
        self._loss = self._loss_of(next(self._batches))
        return float(self._loss.detach())

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """The loss on the rows held out, without dropout and with the threshold of the first batch."""
        self._in_training(False)
        return float(self._loss_of(self._split.held_out))

    def finish_epoch(self) -> None:
        """Take the step of the first batch and those of the others."""
        self._move(self._loss)
        self._in_training(True)
        for batch in self._batches:
            self._move(self._loss_of(batch))

    def weights(self) -> State:
        """A copy of all weights."""
        return copy_state(self._network)

    def set_weights(self, weights: State) -> None:
        """Set all weights."""
        self._network.load_state_dict(weights)

    def learned(self) -> State:
        """The current state of the network."""
        return copy_state(self._network)

    def _in_training(self, training: bool) -> None:
        self._network.train(training)
        self._layer.train(training)

    def _draw(self) -> Iterator[Rows]:
        rows = self._split.train
        for index in batches(len(rows), self._batch_size, self._generator):
            yield rows if index is None else rows[index.to(rows.X.device)]

    def _loss_of(self, rows: Rows) -> Tensor:
        return mean_error(errors(self._residuals_of(self._network(rows.Z), self._layer, rows)), rows)

    def _move(self, loss: Tensor) -> None:
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self._optimiser.step()


def train(network: nn.Module, layer: nn.Module, split: Split, settings: TrainingSettings, **options: Any) -> Fit[State]:
    """Train a network in plain PyTorch, and leave it at its best weights, or with `keep_last` at its last."""
    following = {name: options.pop(name) for name in ("progress", "keep_last") if name in options}
    descent = AutogradDescent(network, layer, split, settings, **options)
    (fit,) = in_turns([descend(descent, settings, **following)])
    return fit


def descend(
    descent: Descent, settings: TrainingSettings, progress: Progress | None = None, keep_last: bool = False
) -> Job[Fit[State]]:
    """Minimise the loss until that on the rows held out stops falling, and go back to the best weights.

    With `keep_last` the last weights are kept. Yields after every epoch, so that trainings can take turns.
    """
    best, best_epoch, best_train, best_validation = descent.weights(), 0, math.inf, math.inf
    for epoch in range(settings.max_epochs):
        train_loss, validation_loss = descent.begin_epoch(), descent.held_out_loss()
        if not validation_loss < math.inf:
            raise divergence(validation_loss, epoch, settings)
        if progress is not None:
            progress(epoch, train_loss, validation_loss)
        if validation_loss < best_validation:
            best, best_epoch, best_train, best_validation = descent.weights(), epoch, train_loss, validation_loss
        if epoch - best_epoch >= settings.patience or epoch + 1 == settings.max_epochs:
            break
        descent.finish_epoch()
        yield
    if keep_last:
        best = descent.weights()
    descent.set_weights(best)
    return Fit(descent.learned(), best_train, best_validation, best_epoch)


def divergence(validation_loss: float, epoch: int, settings: TrainingSettings) -> TrainingError:
    """The error to raise when the validation loss is not finite."""
    return TrainingError(
        f"The validation loss became {validation_loss} in epoch {epoch + 1}: training has diverged. Try a smaller "
        f"learning_rate than {settings.learning_rate:g}."
    )


def batches(n: int, size: int | str | None, generator: torch.Generator | None) -> Iterator[Tensor | None]:
    """Samples in a new order in batches, or None for all at once; a last batch of fewer than `size` joins the one before."""
    if not isinstance(size, int) or size >= n:
        yield None
        return
    order = torch.randperm(n, generator=generator)
    yield from order.tensor_split(n // size)
