"""The mean of the variables given the context, taken out before graphs are learned.

Where the means of x move with z, a graph without an intercept explains the movement by edges. The model
x - mu(z) = W(z)^T (x - mu(z)) + noise keeps the two apart; its intercept is b(z) = mu(z) - W(z)^T mu(z).
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from contextualdag.network import MeanNetwork
from contextualdag.training.captured import CapturedTraining, can_capture
from contextualdag.training.trainer import NoProjection, Split, Training, TrainingSettings, copy_state, train

HIDDEN_LAYERS = (64, 64)
SETTINGS = TrainingSettings(learning_rate=3e-3, max_epochs=10_000, patience=30)


def fit_means(
    networks: Sequence[MeanNetwork], splits: Sequence[Split], settings: TrainingSettings = SETTINGS
) -> list[Split]:
    """Fit a mean to each of several data sets of one size, side by side where that helps, and take it out of X.

    Least squares for the linear part, then the network on top for as long as the validation loss falls.
    """
    for network, split in zip(networks, splits, strict=True):
        _fit_linear_part(network, split)
    layer = NoProjection()
    if networks and can_capture(layer, splits[0], settings):
        captured = CapturedTraining(networks[0], layer, splits, settings, _errors)
        fits = captured.run({i: Training(copy_state(network)) for i, network in enumerate(networks)})
        for i, network in enumerate(networks):
            network.load_state_dict(fits[i].state)
    else:
        for network, split in zip(networks, splits, strict=True):
            train(network, layer, split, settings, errors_of=_errors)
    without = []
    for network, split in zip(networks, splits, strict=True):
        network.eval().requires_grad_(False)
        without.append(replace(split, X=split.X - network(split.Z), X_val=split.X_val - network(split.Z_val)))
    return without


def _fit_linear_part(network: MeanNetwork, split: Split) -> None:
    design = torch.cat([split.Z, torch.ones_like(split.Z[:, :1])], dim=1).double()
    # A tiny ridge, so that constant or collinear features do no harm.
    gram = design.T @ design + 1e-6 * len(design) * torch.eye(design.shape[1], dtype=design.dtype, device=design.device)
    coefficients = torch.linalg.solve(gram, design.T @ split.X.double()).to(split.X.dtype)
    with torch.no_grad():
        network.linear.weight.copy_(coefficients[:-1].T)
        network.linear.bias.copy_(coefficients[-1])


def _errors(mean: Tensor, layer: nn.Module, X: Tensor, mask: Tensor | None) -> Tensor:
    return (X - mean) ** 2
