"""The mean of the variables given the context, taken out before graphs are learned.

Where the means of x move with z, a graph without an intercept explains the movement by edges. The model
x - mu(z) = W(z)^T (x - mu(z)) + noise keeps the two apart; its intercept is b(z) = mu(z) - W(z)^T mu(z).
"""

import torch
from torch import Tensor, nn

from contextualdag.network import MeanNetwork
from contextualdag.training.captured import CapturedTraining, can_capture
from contextualdag.training.trainer import Fit, NoProjection, Split, TrainingSettings, train

HIDDEN_LAYERS = (64, 64)
SETTINGS = TrainingSettings(learning_rate=3e-3, max_epochs=10_000, patience=30)


def fit_mean(network: MeanNetwork, split: Split, settings: TrainingSettings = SETTINGS) -> Fit:
    """Least squares for the linear part, then the network on top for as long as the validation loss falls."""
    design = torch.cat([split.Z, torch.ones_like(split.Z[:, :1])], dim=1).double()
    # A tiny ridge, so that constant or collinear features do no harm.
    gram = design.T @ design + 1e-6 * len(design) * torch.eye(design.shape[1], dtype=design.dtype, device=design.device)
    coefficients = torch.linalg.solve(gram, design.T @ split.X.double()).to(split.X.dtype)
    with torch.no_grad():
        network.linear.weight.copy_(coefficients[:-1].T)
        network.linear.bias.copy_(coefficients[-1])
    layer = NoProjection()
    if can_capture(layer, split, settings):
        return CapturedTraining(network, layer, split, settings, _mean_loss).run()
    return train(network, layer, split, settings, loss_of=_mean_loss)


def _mean_loss(network: nn.Module, layer: nn.Module, X: Tensor, Z: Tensor, mask: Tensor | None) -> Tensor:
    error: Tensor = X - network(Z)
    return (error**2).mean()
