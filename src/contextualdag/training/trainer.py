"""Train one network behind one layer until the validation loss stops falling."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from contextualdag.errors import TrainingError

State = dict[str, Tensor]
Progress = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Split:
    """Training and validation data on the device of the network; X without its mean given the context.

    The masks, if any, have one matrix for each sample: what is zero there is no edge.
    """

    X: Tensor
    Z: Tensor
    X_val: Tensor
    Z_val: Tensor
    mask: Tensor | None = None
    mask_val: Tensor | None = None


@dataclass(frozen=True)
class TrainingSettings:
    """How to descend: Adam, until `patience` epochs in a row have not improved; all samples at once without batch_size.

    The best weights are kept, or with `keep_last` the last ones.
    """

    learning_rate: float = 1e-3
    max_epochs: int = 10_000
    patience: int = 10
    batch_size: int | None = None
    keep_last: bool = False


@dataclass(frozen=True)
class Training:
    """A training that is wanted: from these weights, behind the projection with a budget or on a mask alone.

    `seed` is that of the random numbers (dropout). `progress` is told the epoch and both losses. `patience` times the usual
    number of epochs without improvement are borne. `keep_last` asks for the last weights in place of the best ones.
    """

    start: State
    seed: int = 0
    l1_budget: float | None = None
    mask: Tensor | None = None
    mask_val: Tensor | None = None
    progress: Progress | None = None
    patience: int = 1
    keep_last: bool = False


@dataclass(frozen=True)
class Fit:
    """The weights that one training ends with, and the best that it reached, after `epochs` steps."""

    state: State
    train_loss: float
    validation_loss: float
    epochs: int


class NoProjection(nn.Module):
    """The layer that only masks."""

    def forward(self, W: Tensor, mask: Tensor | None) -> Tensor:
        """Keep what the mask lets through."""
        return W if mask is None else W * mask


class _Predictions(torch.autograd.Function):
    """x^T W for every sample; the gradient of W as the outer products that it is, twice as fast as by `bmm`."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, W: Tensor) -> Tensor:
        ctx.save_for_backward(X)
        return torch.bmm(X[:, None], W)[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[None, Tensor]:
        (X,) = ctx.saved_tensors
        return None, X[:, :, None] * g[:, None, :]


Errors = Callable[[Tensor, nn.Module, Tensor, Tensor | None], Tensor]


def residual_errors(W_tilde: Tensor, layer: nn.Module, X: Tensor, mask: Tensor | None) -> Tensor:
    """(x - W(z)^T x)^2 for every sample and variable, from what the network says of the samples."""
    predictions: Tensor = _Predictions.apply(X, layer(W_tilde, mask))  # type: ignore[no-untyped-call]
    return (X - predictions) ** 2


def copy_state(module: nn.Module) -> State:
    """A copy of the parameters and buffers."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def train(
    network: nn.Module,
    layer: nn.Module,
    split: Split,
    settings: TrainingSettings,
    errors_of: Errors = residual_errors,
    progress: Progress | None = None,
) -> Fit:
    """Descend on the mean error, stop by that of the validation set, and leave the network at its best or last weights.

    Each epoch evaluates the current weights, on the validation set with the threshold of the epoch's first batch, and then
    moves them. `progress` is told the epoch and both losses.
    """
    fused = split.X.device.type in ("cpu", "cuda")
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=fused)

    def loss_of(X: Tensor, Z: Tensor, mask: Tensor | None) -> Tensor:
        return errors_of(network(Z), layer, X, mask).mean()

    def move(loss: Tensor) -> None:
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimiser.step()

    best: Fit | None = None
    for epoch in range(settings.max_epochs):
        network.train()
        layer.train()
        batches = _batches(split, settings.batch_size)
        loss = loss_of(*next(batches))
        network.eval()
        layer.eval()
        with torch.no_grad():
            validation_loss = float(loss_of(split.X_val, split.Z_val, split.mask_val))
        train_loss = float(loss.detach())
        if not validation_loss < float("inf"):
            raise diverged(validation_loss, epoch, settings)
        if progress is not None:
            progress(epoch, train_loss, validation_loss)
        if best is None or validation_loss < best.validation_loss:
            best = Fit(copy_state(network), train_loss, validation_loss, epoch)
        if epoch - best.epochs >= settings.patience or epoch + 1 == settings.max_epochs:
            break
        move(loss)
        network.train()
        layer.train()
        for batch in batches:
            move(loss_of(*batch))
    if best is None:
        raise TrainingError("max_epochs must be at least 1.")
    if settings.keep_last:
        return replace(best, state=copy_state(network))
    network.load_state_dict(best.state)
    return best


def diverged(validation_loss: float, epoch: int, settings: TrainingSettings) -> TrainingError:
    """What to say when the loss is no number any more."""
    return TrainingError(
        f"The validation loss became {validation_loss} in epoch {epoch + 1}: training has diverged. Try a smaller "
        f"learning_rate than {settings.learning_rate:g}."
    )


def _batches(split: Split, size: int | None) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """All samples at once, or in a new order in batches; a last batch of fewer than `size` joins the one before."""
    n = len(split.X)
    if size is None or size >= n:
        yield split.X, split.Z, split.mask
        return
    order = torch.randperm(n).to(split.X.device)
    for rows in order.tensor_split(n // size):
        yield split.X[rows], split.Z[rows], None if split.mask is None else split.mask[rows]
