"""What graphs cost on rows: squared residuals, by row and variable, and everything that is computed from them.

The residuals of x under the graph W are r = x - W^T x. An entry costs r^2; entries are averaged over rows and
variables, with the weights of the rows, over those that are scored (see `contextualdag.training.data.Rows`). Trainings,
refits, cuts, constant graphs and scores all use this module, so a change of the likelihood changes this file alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from contextualdag.training.data import Rows

Array = NDArray[np.float64]


class _Predictions(torch.autograd.Function):
    """x^T W for every sample.

    The gradient with respect to W is the outer product of x and the incoming gradient. Written as a product of broadcast
    tensors it takes half the time of the batched matrix product that autograd would use.
    """

    @staticmethod
    def forward(ctx: Any, X: Tensor, W: Tensor) -> Tensor:
        ctx.save_for_backward(X)
        return torch.bmm(X[:, None], W)[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[None, Tensor]:
        (X,) = ctx.saved_tensors
        return None, X[:, :, None] * g[:, None, :]


def residuals(X: Tensor, W: Tensor) -> Tensor:
    """X - W^T x for rows X (n, p) and graphs W (n, p, p).

    Examples
    --------
    >>> import torch
    >>> from contextualdag.training.loss import residuals
    >>> residuals(torch.tensor([[1.0, 2.0]]), torch.tensor([[[0.0, 3.0], [0.0, 0.0]]]))
    tensor([[ 1., -1.]])
    """
    predictions: Tensor = _Predictions.apply(X, W)  # type: ignore[no-untyped-call]
    return X - predictions


def pair_residuals(X: Tensor, weights: Tensor, pairs: Tensor) -> Tensor:
    """X - W^T x where only some entries of W are not zero: `weights` (n, l) at positions `pairs` (l,) of the flattened W."""
    p = X.shape[1]
    into = torch.zeros(len(pairs), p, dtype=X.dtype, device=X.device)
    into[torch.arange(len(pairs), device=X.device), pairs % p] = 1
    return X - (X[:, pairs // p] * weights) @ into


def array_residuals(X: Array, W: Array) -> Array:
    """The same for arrays in the user's units."""
    explained: Array = np.einsum("nj,njk->nk", X, W)
    return X - explained


def errors(residuals: Tensor) -> Tensor:
    """The cost of every row and variable, (n, p)."""
    return residuals**2


def mean_error(errors: Tensor, rows: Rows) -> Tensor:
    """The mean over rows and variables, the last two dimensions of `errors`."""
    weights = entry_weights(rows)
    if weights is not None:
        total = weights.sum((-2, -1))
        return (errors * weights).sum((-2, -1)) / total.clamp_min(torch.finfo(total.dtype).tiny)
    return errors.mean() if errors.ndim == 2 else errors.flatten(-2).mean(-1)


def row_errors(errors: Tensor, rows: Rows) -> Tensor:
    """The mean over variables for every row, (n,); weights of rows do not enter."""
    if rows.scored is None:
        return errors.mean(1)
    return (errors * rows.scored).sum(1) / rows.scored.sum(1).clamp_min(1)


def weighted_row_errors(errors: Tensor, rows: Rows) -> Tensor:
    """What every row adds to the loss, times the number of rows, (n,): their mean is `mean_error`."""
    if rows.scored is None:
        of_rows = errors.mean(1)
        return of_rows if rows.weight is None else of_rows * rows.weight / rows.weight.mean()
    weights = _all_entry_weights(rows)
    return (errors * weights).sum(1) * (len(rows) / weights.sum().clamp_min(torch.finfo(weights.dtype).tiny))


def losses_of_cuts(weights: Tensor, sizes: Tensor, cuts: Sequence[float], pairs: Tensor, rows: Rows) -> Tensor:
    """The loss of graphs without the entries of each size up to each of the rising cuts, (c,).

    Graphs are given as their entries `weights` (n, l) at positions `pairs` (l,) of the flattened matrices. The residuals of
    one cut are those of the cut before, plus what the entries between the two explained.
    """
    limits, p = torch.tensor(cuts, dtype=sizes.dtype, device=sizes.device), rows.X.shape[1]
    row, entry = weights.nonzero(as_tuple=True)
    dropped_at = torch.searchsorted(limits, sizes[row, entry])  # the first cut that is not smaller
    explained = torch.zeros(len(limits) + 1, *rows.X.shape, dtype=weights.dtype, device=weights.device)
    part = rows.X[row, pairs[entry] // p] * weights[row, entry]
    explained.index_put_((dropped_at, row, pairs[entry] % p), part, accumulate=True)
    left = pair_residuals(rows.X, weights, pairs) + explained[:-1].cumsum_(0)
    return mean_error(errors(left), rows)


def gains(weights: Tensor, pairs: Tensor, rows: Rows) -> Tensor:
    """How much the sum of errors would rise without each of the pairs (l,) of graphs with entries (n, l) there."""
    # Without the edge j -> k the residual r_k becomes r_k + x_j w_jk, whose square is larger by (2 r_k + x_j w_jk) x_j w_jk.
    p = rows.X.shape[1]
    part = rows.X[:, pairs // p] * weights
    rise = (2 * pair_residuals(rows.X, weights, pairs)[:, pairs % p] + part) * part
    of_entries = entry_weights(rows)
    if of_entries is not None:
        rise = rise * of_entries[:, pairs % p]
    return rise.sum(0)


def entry_weights(rows: Rows) -> Tensor | None:
    """What every entry of X counts, (n, p); None where all count the same."""
    if rows.weight is None and rows.scored is None:
        return None
    return _all_entry_weights(rows)


def _all_entry_weights(rows: Rows) -> Tensor:
    weights = torch.ones_like(rows.X) if rows.scored is None else rows.scored.to(rows.X.dtype)
    return weights if rows.weight is None else weights * rows.weight[..., None]


@dataclass(frozen=True)
class Moments:
    """The loss of graphs that do not vary needs no rows, only second moments.

    Attributes
    ----------
    S : Tensor of shape (g, p, p) or (g, p, p, p)
        X^T X / n of each group of rows that has one graph; zeros for an empty group. Where some entries are not scored, one
        matrix for each response k, at [g, k]: X^T D X / n, where D is diagonal with the weights of the entries of k, and n
        is the mean over responses of their sums.
    share : Tensor of shape (g,)
        Share of the rows, or of the entries that are scored, in each group.
    """

    S: Tensor
    share: Tensor

    @classmethod
    def of(cls, rows: Rows, group: Tensor, n_groups: int = 1) -> "Moments":
        """From rows and the group that each belongs to, in double precision."""
        if rows.scored is not None:
            return cls._by_response(rows, group, n_groups)
        X = rows.X.double()
        p = X.shape[1]
        S, share = X.new_zeros(n_groups, p, p), X.new_zeros(n_groups)
        weight = None if rows.weight is None else rows.weight.double()
        for g in range(n_groups):
            mine = X[group == g]
            if weight is None:
                S[g] = mine.T @ mine / max(len(mine), 1)
                share[g] = len(mine) / max(len(X), 1)
            else:
                its = weight[group == g]
                S[g] = (its[:, None] * mine).T @ mine / its.sum().clamp_min(torch.finfo(its.dtype).tiny)
                share[g] = its.sum() / weight.sum()
        return cls(S, share)

    @classmethod
    def _by_response(cls, rows: Rows, group: Tensor, n_groups: int) -> "Moments":
        X = rows.X.double()
        p = X.shape[1]
        weights = _all_entry_weights(replace(rows, X=X))
        S, total = X.new_zeros(n_groups, p, p, p), X.new_zeros(n_groups)
        for g in range(n_groups):
            mine, its = X[group == g], weights[group == g]
            total[g] = its.sum()
            size = (total[g] / p).clamp_min(torch.finfo(X.dtype).tiny)
            for k in range(p):
                S[g, k] = (its[:, k : k + 1] * mine).T @ mine / size
        return cls(S, total / total.sum().clamp_min(torch.finfo(X.dtype).tiny))

    def to(self, device: torch.device) -> "Moments":
        """The same on another device."""
        return Moments(self.S.to(device), self.share.to(device))

    def loss(self, W: Tensor) -> float:
        """The loss of one graph for each group, (g, p, p)."""
        return float((self.share * moment_errors(self.S, W)).sum()) / self.S.shape[1]


def moment_errors(S: Tensor, W: Tensor) -> Tensor:
    """tr((I - W)^T S (I - W)), the sum over variables of the mean squared residual, for each of a batch, (b,).

    `S` is (b, p, p), or (b, p, p, p) with a matrix for every response, which is then used for its column of I - W.
    """
    residual = torch.eye(S.shape[1], dtype=S.dtype, device=S.device) - W
    return (moment_product(S, residual) * residual).sum((1, 2))


def moment_product(S: Tensor, M: Tensor) -> Tensor:
    """S M (b, p, p), each column of M with the matrix of its response where there are several."""
    return S @ M if S.ndim == 3 else torch.einsum("bkij,bjk->bik", S, M)


def response_moments(S: Tensor, k: int) -> Tensor:
    """The second moments (b, p, p) that belong to the response k."""
    return S if S.ndim == 3 else S[:, k]


def cross_moments(S: Tensor) -> Tensor:
    """Second moments of j with the response k, at [j, k] of each of a batch, (b, p, p)."""
    return S if S.ndim == 3 else torch.einsum("bkjk->bjk", S)


def explained_variance(
    residuals: Array, X: Array, weight: Array | None = None, observed: NDArray[np.bool_] | None = None
) -> float:
    """Share of the variance of X (n, p) that residuals (n, p) leave explained, the mean over columns that vary.

    Rows may have weights (n,). Entries that are not observed (n, p) do not count.
    """
    counts = np.ones_like(X) if weight is None else np.broadcast_to(weight[:, None], X.shape)
    if observed is not None:
        counts = counts * observed
        X, residuals = np.where(observed, X, 0), np.where(observed, residuals, 0)
    size = counts.sum(0)
    total = (counts * (X - (counts * X).sum(0) / np.where(size > 0, size, 1)) ** 2).sum(0)
    left = (counts * residuals**2).sum(0)
    varies = total > 0
    return float((1 - left[varies] / total[varies]).mean()) if varies.any() else 0.0
