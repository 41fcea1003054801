"""How large the noise of each variable is, and whether it can be the same for all.

The loss adds up squares, the budget weights, and the order projection squared weights. All of them mean something only where
the noise of the variables has one size, so variables are divided by the scales of their noise before graphs are learned.

- Equal noise: one scale for all variables, in the units that they were given in.
- Unequal noise: unknown scales, the same in all contexts. Where graphs vary these are identified, and with them the
  directions: of all orders of the variables the true one has the least sum of logarithms of residual variances, since a
  wrong one leaves variances that change with the context. Scales are learned by turns: graphs are learned from variables
  that are divided by scales, and scales are the residuals of these graphs.

For every context the noise variance of a variable lies between its variance given all others and its variance. Averaged over
contexts this brackets the scales before anything is learned.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from contextualdag.training.data import Rows, polynomials
from contextualdag.training.loss import entry_weights

EQUAL, UNEQUAL = "equal", "unequal"
APART = 3.0  # ratio of variances from which on brackets leave no room for equal noise
LEAST_GAIN, STANDARD_ERRORS = 0.05, 3.0  # of scales for each variable over one, in log likelihood for each row
RIDGE = 1e-3
SMALLEST = 0.3  # scale, as a share of the standard deviation: a column that others determine must not take over


@dataclass(frozen=True)
class Brackets:
    """Bounds of the noise variances (p,): the variances given all other variables, and the variances."""

    low: Tensor
    high: Tensor

    def allow_equal(self, scale: Tensor) -> bool:
        """Whether one number can be the noise variance of all variables divided by `scale`."""
        low, high = (bound / scale.double() ** 2 for bound in (self.low, self.high))
        return float(low.max()) <= APART * float(high.min())


def brackets(rows: Rows, allowed: Tensor) -> Brackets:
    """Bounds from regressions of every variable on all others and their products with polynomials of the context.

    Columns without an allowed edge are left out: the bounds of all others hold for them. Those of a variable come from the
    rows where it is scored.
    """
    X, Z = rows.X.double().cpu(), rows.Z.double().cpu()
    weight = torch.ones_like(X[:, 0]) if rows.weight is None else rows.weight.double().cpu()
    scored = None if rows.scored is None else rows.scored.cpu()
    n, p = X.shape
    features = torch.cat([X * feature[:, None] for feature in polynomials(Z, p).T], 1)
    gram = _gram(features, weight)
    variances = gram.diagonal()[:p].clone()
    low = torch.zeros(p, dtype=X.dtype)
    n_parts = features.shape[1] // p
    for k in range(p):
        if scored is not None:
            n, gram = int(scored[:, k].sum()), _gram(features, weight * scored[:, k])
            variances[k] = gram[k, k]
        others = torch.tensor([i for i in range(features.shape[1]) if i % p != k])
        system = gram[others][:, others]
        system = system + RIDGE * system.diagonal().mean().clamp_min(1e-300) * torch.eye(len(others), dtype=X.dtype)
        cross = gram[others, k]
        left = variances[k] - cross @ torch.linalg.solve(system, cross)
        low[k] = left.clamp_min(0) * n / max(n - (p - 1) * n_parts, 1) if n > (p - 1) * n_parts else 0.0
    used = (allowed.any(0) | allowed.any(1)).cpu() & (variances > 0)
    low = torch.minimum(low, variances)
    return Brackets(torch.where(used, low, low[used].min()), torch.where(used, variances, variances[used].max()))


def _gram(features: Tensor, weight: Tensor) -> Tensor:
    """Second moments of columns."""
    design = weight.sqrt()[:, None] * features
    return design.T @ design / float(weight.sum().clamp_min(1e-300))


def floored(scale: Tensor, spread: Tensor) -> Tensor:
    """Scales that are not too small for the standard deviations of their variables; one for variables that do not vary."""
    scale = torch.maximum(scale.double(), SMALLEST * spread.double())
    return torch.where(scale > 0, scale, 1.0)


def sized(scale: Tensor, rows: Rows) -> Tensor:
    """The scales times a common factor, such that variables divided by them are of size one."""
    return scale * (residual_scales(rows.X, rows).cpu() / scale).square().mean().sqrt()


def residual_scales(residuals: Tensor, rows: Rows) -> Tensor:
    """Root mean squares of residuals (n, p) over the entries that are scored, in double precision."""
    squares = residuals.double() ** 2
    weights = entry_weights(replace(rows, X=squares))
    if weights is None:
        return squares.mean(0).sqrt()
    return ((squares * weights.to(squares)).sum(0) / weights.to(squares).sum(0).clamp_min(1e-300)).sqrt()


def log_likelihoods(residuals: Tensor, scale: Tensor, scored: Tensor | None = None) -> Tensor:
    """Log likelihood of the scored entries of each row under normal noise, but for a constant."""
    scaled = residuals.double() / scale
    of_entries = 0.5 * scaled**2 + scale.log()
    return -(of_entries if scored is None else of_entries * scored).sum(1)


def gain_of_scales(train: tuple[Tensor, Rows], held_out: tuple[Tensor, Rows]) -> tuple[float, float]:
    """How much better scales for each variable predict than one for all, for each row held out; and its standard error.

    Given are residuals (n, p) with their rows, of variables that would have one scale under equal noise.
    """
    own = residual_scales(*train).clamp_min(1e-150)
    one = (own**2).mean().sqrt().expand_as(own)
    residuals, rows = held_out
    gains = log_likelihoods(residuals, own, rows.scored) - log_likelihoods(residuals, one, rows.scored)
    weight = torch.ones_like(gains) if rows.weight is None else rows.weight.double()
    mean = (gains * weight).sum() / weight.sum()
    error = (((gains - mean) * weight) ** 2).sum().sqrt() / weight.sum()
    return float(mean), float(error)


def is_clear(gain: float, error: float) -> bool:
    """Whether a gain speaks for unequal noise."""
    return gain > max(LEAST_GAIN, STANDARD_ERRORS * error)
