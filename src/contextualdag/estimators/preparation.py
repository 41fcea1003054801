"""From the user's numbers to those the networks see."""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from contextualdag.errors import InvalidInputError
from contextualdag.tables import Array


@dataclass(frozen=True)
class Scaling:
    """Contexts column by column to mean zero and standard deviation one; variables centred and divided by one number.

    One number for all variables keeps their weights on one another what they are in the user's units.
    """

    z_mean: Array
    z_scale: Array
    x_mean: Array
    x_scale: float

    @classmethod
    def learn(cls, X: Array, Z: Array, varies: Array, centre: bool) -> "Scaling":
        """From training data; the spread of X is that of the columns in `varies`."""
        z_scale = Z.std(0)
        z_scale[z_scale == 0] = 1
        x_mean = X.mean(0) if centre else np.zeros(X.shape[1])
        x_scale = float(np.sqrt(((X - x_mean)[:, varies] ** 2).mean()))
        return cls(Z.mean(0), z_scale, x_mean, x_scale)

    def contexts(self, Z: Array, device: torch.device) -> Tensor:
        """Contexts for the networks."""
        return torch.tensor((Z - self.z_mean) / self.z_scale, dtype=torch.float32, device=device)

    def variables(self, X: Array, device: torch.device) -> Tensor:
        """Variables for the networks."""
        return torch.tensor((X - self.x_mean) / self.x_scale, dtype=torch.float32, device=device)


def hold_out(n: int, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows to train on and rows to hold out, at random, both rising."""
    n_val = max(1, round(share * n))
    if n - n_val < 2:
        raise InvalidInputError(
            f"X has {n} samples (rows), too few to hold out {share:g} of them and train on the rest. Pass more rows, or a "
            "validation set as X_val and Z_val."
        )
    order = rng.permutation(n)
    return np.sort(order[n_val:]), np.sort(order[:n_val])


def varying_columns(X: Array, names: list[str]) -> Array:
    """Which columns of X are not constant; a warning names those that are."""
    varies: Array = X.std(0) > 0
    if varies.sum() < 2:
        raise InvalidInputError(
            f"X has {len(names)} feature(s), of which {varies.sum()} vary; a graph needs two columns that vary."
        )
    if not varies.all():
        constant = [name for name, moves in zip(names, varies, strict=True) if not moves]
        warnings.warn(f"Columns of X that do not vary get no edges: {constant}.", UserWarning, stacklevel=5)
    return varies
