"""The mean of the variables given the context, removed before graphs are learned.

Where the means of x change with z, a graph without an intercept explains the change by edges. The model
x - mu(z) = W(z)^T (x - mu(z)) + noise keeps the two apart; its intercept is b(z) = mu(z) - W(z)^T mu(z).

An intervention moves the means of all that is downstream. So where rows are marked as undisturbed the means are learned from
these alone; otherwise the mean of a variable is learned from the rows where it is scored. Where the context itself says what
was intervened on, every context has its own mean, learned from all rows.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.network import MeanNetwork, initialise
from contextualdag.training.cuda_graph import GraphTrainer, can_capture
from contextualdag.training.data import Rows, Split
from contextualdag.training.trainer import NoProjection, Training, TrainingSettings, copy_state, mean_residuals, train

HIDDEN_LAYERS = (64, 64)
SETTINGS = TrainingSettings(learning_rate=3e-3, max_epochs=10_000, patience=30)


def draw_mean(rows: Rows, seed: int) -> MeanNetwork | None:
    """A mean network with initial weights; None where contexts do not vary."""
    if not bool(rows.Z.any()):  # standardised contexts
        return None
    network = MeanNetwork(rows.Z.shape[1], rows.X.shape[1], HIDDEN_LAYERS, "silu")
    initialise(network, torch.Generator().manual_seed(seed))
    return network.to(rows.X.device)


def fit_means(networks: Sequence[MeanNetwork], splits: Sequence[Split], settings: TrainingSettings = SETTINGS) -> None:
    """Fit a mean to each of several data sets of one size, side by side where that helps.

    Least squares for the linear part, then the network on top for as long as the validation loss falls.
    """
    splits = [Split(_to_learn_from(split.train), _to_learn_from(split.held_out)) for split in splits]
    for network, split in zip(networks, splits, strict=True):
        _fit_linear_part(network, split.train)
    layer = NoProjection()
    if networks and can_capture(layer, splits[0], settings):
        trainer = GraphTrainer(networks[0], layer, splits, settings, mean_residuals)
        fits = trainer.run({i: Training(copy_state(network)) for i, network in enumerate(networks)})
        for i, network in enumerate(networks):
            network.load_state_dict(fits[i].learned)
    else:
        for network, split in zip(networks, splits, strict=True):
            train(network, layer, split, settings, residuals_of=mean_residuals)
    for network in networks:
        network.eval().requires_grad_(False)


def without_means(split: Split, network: MeanNetwork) -> Split:
    """The same rows with the means removed from X."""
    train, held_out = (replace(rows, X=rows.X - network(rows.Z)) for rows in (split.train, split.held_out))
    return Split(train, held_out)


def _to_learn_from(rows: Rows) -> Rows:
    """The same rows, where those that are disturbed do not count unless the context tells them."""
    if rows.for_means is not None:
        return replace(rows, scored=rows.for_means)
    if rows.undisturbed is None:
        return rows
    clean = rows.undisturbed.to(rows.X.dtype)
    return replace(rows, weight=clean if rows.weight is None else rows.weight * clean)


def _fit_linear_part(network: MeanNetwork, rows: Rows) -> None:
    design = torch.cat([rows.Z, torch.ones_like(rows.Z[:, :1])], dim=1).double()
    weight = design.new_ones(len(design)) if rows.weight is None else rows.weight.double()
    X = rows.X.double()
    if rows.scored is None:
        coefficients = _linear(design, X, weight)
    else:
        by_response = [_linear(design, X[:, k : k + 1], weight * rows.scored[:, k]) for k in range(X.shape[1])]
        coefficients = torch.cat(by_response, 1)
    coefficients = coefficients.to(rows.X.dtype)
    with torch.no_grad():
        network.linear.weight.copy_(coefficients[:-1].T)
        network.linear.bias.copy_(coefficients[-1])


def _linear(design: Tensor, X: Tensor, weight: Tensor) -> Tensor:
    """Coefficients of weighted least squares, one column for each of X."""
    weighted = design * weight[:, None]
    # A tiny ridge, so that constant or collinear features do no harm.
    gram = weighted.T @ design + 1e-6 * len(design) * torch.eye(design.shape[1], dtype=design.dtype, device=design.device)
    coefficients: Tensor = torch.linalg.solve(gram, weighted.T @ X)
    return coefficients
