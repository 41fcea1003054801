"""Train one network behind one layer until the loss on the rows held out stops falling."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from contextualdag.errors import TrainingError
from contextualdag.network import Dropout
from contextualdag.threads import Job, in_turns
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import errors, mean_error, residuals

ROWS_IN_A_STEP, MOST_STEPS, MOST_HASTE = 333, 12, 2.5  # of an epoch with batch_size="auto"

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
    """

    learning_rate: float = 1e-3
    max_epochs: int = 10_000
    patience: float = 10
    batch_size: int | str | None = None

    def for_rows(self, rows: Rows) -> "TrainingSettings":
        """The settings for as many rows: "auto" is several steps an epoch on the CPU, with fewer epochs of patience.

        On other devices all rows at once take hardly longer than a part of them.
        """
        if self.batch_size != "auto":
            return self
        steps = max(1, min(round(len(rows) / ROWS_IN_A_STEP), MOST_STEPS)) if rows.X.device.type == "cpu" else 1
        return replace(self, batch_size=len(rows) // steps, patience=self.patience / min(math.sqrt(steps), MOST_HASTE))


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
    """

    start: State
    seed: int = 0
    l1_budget: float | None = None
    mask: Tensor | None = None
    mask_val: Tensor | None = None
    progress: Progress | None = None
    patience: float = 1
    keep_last: bool = False


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


class Standing(NamedTuple):
    """Where early stopping stands: a tensor with one number for each network that is trained at once."""

    epoch: Tensor
    best_epoch: Tensor
    best_train: Tensor
    best_validation: Tensor
    train: Tensor
    validation: Tensor
    done: Tensor
    diverged: Tensor

    @classmethod
    def start(cls, active: Tensor) -> "Standing":
        """Before the first epoch; networks that are not active are done already."""
        zero = torch.zeros_like(active, dtype=torch.float64)
        never = torch.full_like(zero, torch.inf)
        return cls(zero, zero, never, never, zero, zero, (~active).double(), zero)

    def after(self, train: Tensor, validation: Tensor, patience: Tensor) -> tuple["Standing", Tensor]:
        """The standing after one more epoch, and which networks have improved on their best validation loss."""
        train, validation = train.double(), validation.double()
        running = self.done == 0
        improved = (validation < self.best_validation) & running
        best_epoch = torch.where(improved, self.epoch, self.best_epoch)
        following = Standing(
            epoch=self.epoch + 1,
            best_epoch=best_epoch,
            best_train=torch.where(improved, train, self.best_train),
            best_validation=torch.where(improved, validation, self.best_validation),
            train=train,
            validation=validation,
            done=torch.where(self.epoch - best_epoch >= patience, 1.0, self.done),
            diverged=torch.where(running & ~(validation < torch.inf), 1.0, self.diverged),
        )
        return following, improved


def copy_state(module: nn.Module) -> State:
    """A copy of the parameters and buffers."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def train(network: nn.Module, layer: nn.Module, split: Split, settings: TrainingSettings, **options: Any) -> Fit[State]:
    """Carry out all epochs of `train_by_epoch`."""
    (fit,) = in_turns([train_by_epoch(network, layer, split, settings, **options)])
    return fit


def train_by_epoch(
    network: nn.Module,
    layer: nn.Module,
    split: Split,
    settings: TrainingSettings,
    residuals_of: Residuals = graph_residuals,
    progress: Progress | None = None,
    keep_last: bool = False,
    generator: torch.Generator | None = None,
) -> Job[Fit[State]]:
    """Minimise the mean error, and leave the network at its best weights, or with `keep_last` at its last.

    `generator` is the source of dropout and of the order of batches on the CPU; by default PyTorch's own. Yields after every
    epoch, so that trainings can take turns.

    Each epoch evaluates the current weights, on the rows held out with the threshold of the epoch's first batch, and then
    moves them.
    """
    fused = split.train.X.device.type in ("cpu", "cuda")
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=fused)

    def loss_of(rows: Rows) -> Tensor:
        return mean_error(errors(residuals_of(network(rows.Z), layer, rows)), rows)

    def move(loss: Tensor) -> None:
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimiser.step()

    for module in network.modules():
        if isinstance(module, Dropout):
            module.generator = generator
    standing = Standing.start(torch.tensor(True))
    patience = torch.tensor(settings.patience)
    best = copy_state(network)
    for epoch in range(settings.max_epochs):
        network.train()
        layer.train()
        batches = _batches(split.train, settings.batch_size, generator)
        loss = loss_of(next(batches))
        network.eval()
        layer.eval()
        with torch.no_grad():
            standing, improved = standing.after(loss.detach().cpu(), loss_of(split.held_out).cpu(), patience)
        train_loss, validation_loss = float(standing.train), float(standing.validation)
        if standing.diverged:
            raise divergence(validation_loss, epoch, settings)
        if progress is not None:
            progress(epoch, train_loss, validation_loss)
        if improved:
            best = copy_state(network)
        if standing.done or epoch + 1 == settings.max_epochs:
            break
        move(loss)
        network.train()
        layer.train()
        for batch in batches:
            move(loss_of(batch))
        yield
    if keep_last:
        best = copy_state(network)
    network.load_state_dict(best)
    return Fit(best, float(standing.best_train), float(standing.best_validation), int(standing.best_epoch))


def divergence(validation_loss: float, epoch: int, settings: TrainingSettings) -> TrainingError:
    """The error to raise when the validation loss is not finite."""
    return TrainingError(
        f"The validation loss became {validation_loss} in epoch {epoch + 1}: training has diverged. Try a smaller "
        f"learning_rate than {settings.learning_rate:g}."
    )


def _batches(rows: Rows, size: int | str | None, generator: torch.Generator | None) -> Iterator[Rows]:
    """All samples at once, or in a new order in batches; a last batch of fewer than `size` joins the one before."""
    n = len(rows)
    if not isinstance(size, int) or size >= n:
        yield rows
        return
    order = torch.randperm(n, generator=generator).to(rows.X.device)
    for index in order.tensor_split(n // size):
        yield rows[index]
