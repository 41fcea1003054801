"""Which pairs of variables can be an edge at all, where there are many variables.

The cost of networks that know nothing yet grows with the square of the number of variables, and most pairs have nothing to
do with one another. So every variable keeps the others that say most about it: those whose product with simple functions of
the context explains the largest share of its variance. A pair is kept in both directions if either variable keeps the other.
"""

import torch
from torch import Tensor

from contextualdag.training.data import Rows

KEPT = 24  # of the other variables, at least; with no more than these nothing is screened
MOST_SQUARES = 20  # features of the context up to which their squares are used as well
RIDGE = 1e-6


def screen(rows: Rows, allowed: Tensor, kept: int = KEPT) -> Tensor:
    """The allowed edges (p, p) that can be one."""
    p = rows.X.shape[1]
    if p - 1 <= kept:
        return allowed
    share = explained_share(rows).to(allowed.device).masked_fill(~(allowed | allowed.T), -1.0)
    ranked = share.argsort(dim=0, descending=True, stable=True)[:kept]
    near = torch.zeros_like(allowed).scatter_(0, ranked, True)
    return allowed & (near | near.T)


def explained_share(rows: Rows) -> Tensor:
    """Share of the variance of k that x_j times functions of the context explain, at [j, k]; from 0 to 1, on the CPU.

    The variance is that of the rows where k is scored.
    """
    X, Z = rows.X.double().cpu(), rows.Z.double().cpu()
    parts = [torch.ones_like(Z[:, :1]), Z] + ([Z**2] if Z.shape[1] <= MOST_SQUARES else [])
    basis = torch.cat(parts, 1)
    weight = torch.ones_like(X[:, 0]) if rows.weight is None else rows.weight.double().cpu()
    if rows.scored is None:
        share = _explained(X, basis, X, weight)
    else:
        counts = weight[:, None] * rows.scored.cpu()
        columns = [_explained(X, basis, X[:, k : k + 1], counts[:, k]) for k in range(X.shape[1])]
        share = torch.cat(columns, 1)
    return share.fill_diagonal_(0.0)


def _explained(X: Tensor, basis: Tensor, responses: Tensor, weight: Tensor) -> Tensor:
    """The shares (p, r) for some responses (n, r)."""
    weighted = X * weight[:, None]
    products = torch.stack([(weighted * column[:, None]).T @ responses for column in basis.T], 1)  # [j, a, k]
    gram = torch.einsum("nj,na,nb->jab", weighted * X, basis, basis)
    size = gram.diagonal(dim1=1, dim2=2).mean(1)
    size = torch.where(size > 0, size, 1.0)  # of a column of zeros
    gram += RIDGE * size[:, None, None] * torch.eye(gram.shape[1], dtype=gram.dtype)
    explained = (products * torch.linalg.solve(gram, products)).sum(1)
    total = (weight[:, None] * responses**2).sum(0)
    share: Tensor = explained / torch.where(total > 0, total, 1.0)
    return share
