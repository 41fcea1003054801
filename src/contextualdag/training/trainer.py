"""Train one network behind one layer until the validation loss stops falling."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from contextualdag.errors import TrainingError

State = dict[str, Tensor]
Progress = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Split:
    """Training and validation data on the device of the network; X without its mean given the context."""

    X: Tensor
    Z: Tensor
    X_val: Tensor
    Z_val: Tensor


@dataclass(frozen=True)
class TrainingSettings:
    """How to descend: Adam on the full batch, until `patience` epochs in a row have not improved."""

    learning_rate: float = 1e-3
    max_epochs: int = 10_000
    patience: int = 10


@dataclass(frozen=True)
class Fit:
    """The best weights of one training and what they reached. `epochs` counts the steps that led to them."""

    state: State
    train_loss: float
    validation_loss: float
    epochs: int


class Masked(nn.Module):
    """Given supports, one per sample: those of the training set in training mode, of the validation set in eval mode."""

    def __init__(self, support: Tensor, support_val: Tensor) -> None:
        super().__init__()
        self.support, self.support_val = support, support_val

    def forward(self, W: Tensor) -> Tensor:
        """Keep the entries on the support."""
        return W * (self.support if self.training else self.support_val)


def residual_loss(network: nn.Module, layer: nn.Module, X: Tensor, Z: Tensor) -> Tensor:
    """Mean over samples and variables of (x - W(z)^T x)^2."""
    return ((X - torch.bmm(X[:, None], layer(network(Z)))[:, 0]) ** 2).mean()


def copy_state(module: nn.Module) -> State:
    """A copy of the parameters and buffers."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def train(
    network: nn.Module,
    layer: nn.Module,
    split: Split,
    settings: TrainingSettings,
    loss_of: Callable[[nn.Module, nn.Module, Tensor, Tensor], Tensor] = residual_loss,
    progress: Progress | None = None,
) -> Fit:
    """Descend on the training loss, stop by the validation loss, and leave the network at its best weights.

    Each epoch evaluates the current weights on both sets, then moves them. `progress` is told the epoch and both losses.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    best: Fit | None = None
    for epoch in range(settings.max_epochs):
        network.train()
        layer.train()
        loss = loss_of(network, layer, split.X, split.Z)
        network.eval()
        layer.eval()
        with torch.no_grad():
            validation_loss = float(loss_of(network, layer, split.X_val, split.Z_val))
        train_loss = float(loss.detach())
        if not validation_loss < float("inf"):
            raise TrainingError(
                f"The validation loss became {validation_loss} in epoch {epoch + 1}: training has diverged. Try a smaller "
                f"learning_rate than {settings.learning_rate:g}."
            )
        if progress is not None:
            progress(epoch, train_loss, validation_loss)
        if best is None or validation_loss < best.validation_loss:
            best = Fit(copy_state(network), train_loss, validation_loss, epoch)
        elif epoch - best.epochs >= settings.patience:
            break
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimiser.step()
    if best is None:
        raise TrainingError("max_epochs must be at least 1.")
    network.load_state_dict(best.state)
    return best
