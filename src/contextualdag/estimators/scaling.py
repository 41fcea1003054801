"""From numbers in the user's units to those that networks see, and how a fitted model reads tables."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from contextualdag.contexts import ContextSummary
from contextualdag.estimators.experiments import Known
from contextualdag.network import MeanNetwork
from contextualdag.tables import Array, Flags, varying
from contextualdag.training.data import Rows, Split
from contextualdag.training.outliers import trust
from contextualdag.transforms import Transforms

EXACT = 1e-9  # share of the variance of a column below which others determine it


@dataclass(frozen=True)
class Scaling:
    """From numbers in the user's units to those that networks see, and back.

    Contexts and variables are scaled column by column to mean zero and standard deviation one. Graphs are learned from
    variables divided by the scales of their noise; `unit` is what a variable in the user's units is divided by for that, up
    to a common factor.
    """

    z_mean: Array
    z_scale: Array
    x_mean: Array
    x_scale: Array
    unit: Array
    device: torch.device

    @classmethod
    def learn(cls, X: Array, Z: Array, known: Known, varies: Flags, centre: bool, device: torch.device) -> "Scaling":
        """From training data; columns of X that are not in `varies` are not scaled. The unit is that of equal noise.

        Means and scales of a variable are those of the rows that means are learned from.
        """
        z_mean, z_scale = location_and_scale(Z, known.weight)
        weight = np.ones(len(Z)) if known.counts is None else known.counts
        used = np.broadcast_to(weight[:, None], X.shape) * known.for_means(X.shape)
        used = np.where(used.any(0), used, weight[:, None])
        x_mean = np.average(X, axis=0, weights=used) if centre else np.zeros(X.shape[1])
        variances = np.average((X - x_mean) ** 2, axis=0, weights=used)
        # What varies by intervention alone has the scale of all rows.
        of_all = np.average((X - np.average(X, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
        variances = np.where(varies & (of_all * EXACT > variances), of_all, variances)
        x_scale = np.where(varies, np.sqrt(variances), 1.0)
        return cls(z_mean, z_scale, x_mean, x_scale, np.full(X.shape[1], np.sqrt(variances[varies].mean())), device)

    def weights(self, W: Array) -> Array:
        """Weights (n, p, p) in the user's units."""
        scaled: Array = W * (self.unit / self.unit[:, None])
        return scaled

    def contexts(self, Z: Array) -> Tensor:
        """Contexts for the networks."""
        return self.tensor((Z - self.z_mean) / self.z_scale)

    def variables(self, X: Array) -> Tensor:
        """Variables for the networks."""
        return self.tensor((X - self.x_mean) / self.x_scale)

    def means(self, Z: Array, network: MeanNetwork | None) -> Array:
        """Means (n, p) of the variables in the user's units."""
        means = np.broadcast_to(self.x_mean, (len(Z), len(self.x_mean)))
        if network is None:
            return means
        shifted: Array = means + self.x_scale * network(self.contexts(Z)).double().cpu().numpy()
        return shifted

    def tensor(self, values: Array) -> Tensor:
        """An array on the device of the networks."""
        return torch.tensor(values, dtype=torch.float32, device=self.device)


def location_and_scale(Z: Array, weight: Array | None) -> tuple[Array, Array]:
    """Means and standard deviations of contexts; an infinite one where a context does not vary: nothing is learned of it."""
    if not Z.shape[1]:
        return Z.mean(0), Z.std(0)
    mean = np.average(Z, axis=0, weights=weight)
    scale = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(varying(Z), scale, np.inf)


@dataclass(frozen=True)
class Preparation:
    """How a fitted model reads tables: names, transforms and scaling of variables, contextual features, contextual means."""

    names: tuple[str, ...]
    contexts: ContextSummary
    scaling: Scaling
    mean_network: MeanNetwork | None
    transforms: Transforms


def with_trust(X: tuple[Array, Array], Z: tuple[Array, Array], known: tuple[Known, Known]) -> tuple[Known, Known]:
    """What is known of rows to train on and held out, with how far they are from all others."""
    mean, scale = location_and_scale(Z[0], known[0].weight)
    both = (
        its.rows(Rows(torch.from_numpy(x), torch.from_numpy((z - mean) / scale)))
        for x, z, its in zip(X, Z, known, strict=True)
    )
    found = trust(Split(*both))
    if found is None:
        return known
    train, held_out = (replace(its, trust=weights.numpy()) for its, weights in zip(known, found, strict=True))
    return train, held_out
