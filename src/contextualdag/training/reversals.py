"""Which edges are reversed with the context, and which only seem to be.

Graphs whose order may vary reverse more pairs than there is reason to: where an edge is weak either direction explains it.
A reversal has to earn its place. In the contexts where a pair points the less frequent way, the residuals of the graphs tell
what that explains; against it stands the other direction, with a weight that is a polynomial of the context and fitted to
other rows.
"""

import math

import torch
from torch import Tensor

from contextualdag.training.data import Rows, polynomials
from contextualdag.training.loss import residuals

CLEAR = 1.0  # standard errors by which a reversal has to be better
FEWEST_ROWS = 20
N_FOLDS = 5
RIDGE = 1e-2  # share of the mean variance of the regressors


def unearned_reversals(W: Tensor, rows: Rows) -> Tensor:
    """Directions (p, p), as bool, that a pair has in some contexts and that do not predict better than the other.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Graphs of the rows, learned without them.
    rows : Rows
        Rows held out. Those where either variable of a pair is not scored say nothing on it.
    """
    W, Z, X = W.double().cpu(), rows.Z.double().cpu(), rows.X.double().cpu()
    left = residuals(X, W)
    scored = torch.ones_like(X, dtype=torch.bool) if rows.scored is None else rows.scored.cpu()
    counts = (W != 0).sum(0)
    both = (counts > 0) & (counts.T > 0)
    found = torch.zeros_like(both)
    for j, k in both.triu().nonzero().tolist():
        source, target = (j, k) if counts[j, k] < counts[k, j] else (k, j)  # the less frequent direction
        where = (W[:, source, target] != 0) & scored[:, source] & scored[:, target]
        weights = W[where, source, target]
        without = left[where, target] + weights * X[where, source]
        found[source, target] = not _is_better(left[where, target], without, left[where, source], X[where, target], Z[where])
    return found.to(rows.X.device)


def _is_better(with_edge: Tensor, without: Tensor, other: Tensor, regressor: Tensor, Z: Tensor) -> bool:
    """Whether an edge explains its target better than the reversed edge explains its source, by far enough.

    Given are residuals (n,) of the target with the edge and without it, and of the source, which the target may explain.
    """
    if len(Z) < FEWEST_ROWS:
        return False
    design = regressor[:, None] * polynomials(Z, 1)
    fold = torch.arange(len(Z)) % N_FOLDS
    explained = torch.zeros_like(other)
    for k in range(N_FOLDS):
        known, unseen = design[fold != k], fold == k
        gram = known.T @ known
        gram = gram + RIDGE * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
        explained[unseen] = design[unseen] @ torch.linalg.lstsq(gram, known.T @ other[fold != k]).solution
    gains = (other - explained) ** 2 + without**2 - other**2 - with_edge**2
    error = float(gains.std(correction=0)) / math.sqrt(len(gains))
    return float(gains.mean()) > CLEAR * error
