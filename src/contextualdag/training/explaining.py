"""Fewer edges that explain nearly as much: the selected graphs, cut.

What edges explain is the share of the variance of each variable, on average over variables and contexts, under the
distribution that the selected graphs themselves imply. So every variable counts as much as another, whatever its units and
its noise; in the loss, one that is nearly a function of others would count for many. Orders and weights stay.
"""

import torch
from torch import Tensor

from contextualdag.checks import is_number, shown
from contextualdag.errors import InvalidParameterError
from contextualdag.training.selection import Refitted, Shrunken
from contextualdag.training.solution import AnySolution

MOST_CONTEXTS = 200
ROUNDING = 1e-6


def explaining(solution: AnySolution, share: float, Z: Tensor) -> AnySolution:
    """The selected graphs cut to the fewest edges that explain a share of what all their edges explain.

    Parameters
    ----------
    solution : Solution
        Graphs that were refitted.
    share : float
        Above 0, up to 1.
    Z : Tensor of shape (n, m)
        Contexts as the networks see them, of which some are used.
    """
    if not is_number(share, 0, 1, low_open=True):
        raise InvalidParameterError(f"explained must be a number above 0, up to 1. Got {shown(share)} instead.")
    if isinstance(solution.selected, Shrunken):
        raise InvalidParameterError("explained is for graphs that were refitted, not for selection='min'.")
    Z = Z[:: -(-len(Z) // MOST_CONTEXTS)] if solution.varies else Z[:1]
    index, own = solution.selected.index, solution.selected.cut
    W = solution.graphs(Z)
    implied = _implied_covariance(W)
    least = share * _explained(W, implied) - ROUNDING
    cuts = sorted({own, *(cut for cut in solution.refit.curve.cuts if cut > own)})
    first, last = 0, len(cuts) - 1  # the first is sparse enough, and cuts from one on explain too little
    while first < last:
        middle = (first + last + 1) // 2
        enough = _explained(torch.where(W.abs() > cuts[middle], W, 0), implied) >= least
        first, last = (middle, last) if enough else (first, middle - 1)
    return solution.at(Refitted(index, cuts[first], whole=own))


def _implied_covariance(W: Tensor) -> Tensor:
    """Covariances (n, p, p) of variables with graphs W and noise of size one, as solutions have it."""
    eye = torch.eye(W.shape[1], dtype=torch.float64, device=W.device)
    mixing = torch.linalg.inv(eye - W.double())
    implied: Tensor = mixing.mT @ mixing
    return implied


def _explained(W: Tensor, covariance: Tensor) -> float:
    """The share of the variance of a variable that its parents explain, on average."""
    left = torch.eye(W.shape[1], dtype=torch.float64, device=W.device) - W.double()
    unexplained = torch.einsum("njk,njl,nlk->nk", left, covariance, left)
    return float((1 - unexplained / covariance.diagonal(dim1=1, dim2=2)).mean())
