"""One order of the variables that serves all contexts.

Among graphs whose edges change with the context, those that keep to one order are the simpler ones: effects come and go, but
causes stay causes. The order is searched for on training rows. Every pair of variables that graphs join is an edge in one of
its directions, with a weight that is a polynomial of the context; an order is as good as least squares makes it. All orders
have as many weights, so squared errors compare them fairly.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contextualdag.graphs import topological_order
from contextualdag.projection import Order
from contextualdag.tables import Array
from contextualdag.training.data import Rows, polynomials

MOST_SWEEPS = 20
RARE = 0.02  # pairs that graphs join in a smaller share of the rows are left out
RIDGE = 1e-3  # share of the mean variance of the regressors


def find_order(W: Tensor, rows: Rows, constant: Tensor | None = None) -> list[int]:
    """The best order of the variables that moves of single variables reach.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Graphs of the rows, without a common order. The search starts from orders of most of their weight.
    rows : Rows
        Rows to explain.
    constant : Tensor of shape (p, p), optional
        One graph for all rows: another start, and more pairs that may be joined.
    """
    joined = (W != 0).float().mean(0).cpu() > RARE
    starts = [W.abs().mean(0), W.square().mean(0)]
    if constant is not None:
        joined |= constant.cpu() != 0
        starts.append(constant)
    errors = _Errors(joined, rows)
    return min((_improve(_order_of(sizes), errors) for sizes in starts), key=errors.of_order)


def _order_of(sizes: Tensor) -> list[int]:
    """Parents before children in the acyclic part of largest weight of a matrix (p, p)."""
    order: list[int] = topological_order(Order(kernel="torch")(sizes[None].double().cpu()))[0].tolist()
    return order


class _Errors:
    """Mean squared errors of variables given their parents, with weights that are polynomials of the context.

    Those of a variable are over the rows where it is scored, times the share of these rows.
    """

    def __init__(self, joined: Tensor, rows: Rows) -> None:
        self.neighbours = [np.flatnonzero(column) for column in (joined | joined.T).numpy()]
        X, Z = rows.X.double().cpu(), rows.Z.double().cpu()
        weight = torch.ones(len(X), dtype=X.dtype) if rows.weight is None else rows.weight.double().cpu()
        root = (weight / weight.sum()).sqrt()[:, None]
        basis = polynomials(Z, int(joined.sum(0).max()))
        # Column j * q + f is variable j times feature f.
        self._q = basis.shape[1]
        design = (root * X)[:, :, None] * basis[:, None, :]
        flat = design.flatten(1)
        self._flat, self._X = flat, root * X
        self._scored = None if rows.scored is None else rows.scored.to(device="cpu", dtype=X.dtype)
        responses = self._X if self._scored is None else self._X * self._scored
        self._gram: Array = (flat.T @ flat).numpy()
        self._cross: Array = (flat.T @ responses).numpy()
        self._variances: Array = (responses**2).sum(0).numpy()
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def of(self, node: int, parents: frozenset[int]) -> float:
        """The error of one variable."""
        known = self._known.get((node, parents))
        if known is None:
            columns = np.concatenate(
                [np.arange(j * self._q, (j + 1) * self._q) for j in sorted(parents)] or [np.empty(0, int)]
            )
            known = float(self._variances[node])
            if len(columns):
                gram, cross = self._gram_of(node, columns), self._cross[columns, node]
                ridge = RIDGE * gram.diagonal().mean() * np.eye(len(columns))
                known -= float(cross @ np.linalg.solve(gram + ridge, cross))
            self._known[node, parents] = known
        return known

    def _gram_of(self, node: int, columns: NDArray[np.int64]) -> Array:
        """Second moments of some columns over the rows where a variable is scored."""
        if self._scored is None:
            return self._gram[np.ix_(columns, columns)]
        design = self._flat[:, torch.from_numpy(columns)] * self._scored[:, node, None]
        gram: Array = (design.T @ design).numpy()
        return gram

    def of_order(self, order: Sequence[int]) -> float:
        """The sum over variables."""
        seen: set[int] = set()
        total = 0.0
        for node in order:
            total += self.of(node, frozenset(int(j) for j in self.neighbours[node] if j in seen))
            seen.add(node)
        return total


def _improve(order: list[int], errors: _Errors) -> list[int]:
    """Move single variables to the places where they do best, until none moves."""
    for _ in range(MOST_SWEEPS):
        before = list(order)
        for node in range(len(order)):
            order = _best_place(order, node, errors)
        if order == before:
            break
    return order


def _best_place(order: list[int], node: int, errors: _Errors) -> list[int]:
    """The order with one variable where it does best: what it has passed that it is joined to becomes its parent."""
    others = [other for other in order if other != node]
    near = set(errors.neighbours[node].tolist())
    rank = {other: place for place, other in enumerate(others)}
    before = {u: frozenset(int(j) for j in errors.neighbours[u] if j != node and rank[int(j)] < rank[u]) for u in near}
    passed = [u for u in others if u in near]
    # With `count` of its neighbours before it, those are its parents and it is a parent of the rest.
    totals = []
    for count in range(len(passed) + 1):
        own = errors.of(node, frozenset(passed[:count]))
        theirs = sum(errors.of(u, before[u]) for u in passed[:count])
        totals.append(own + theirs + sum(errors.of(u, before[u] | {node}) for u in passed[count:]))
    now = sum(u in near for u in order[: order.index(node)])
    best = min(range(len(totals)), key=lambda count: (totals[count], count != now))
    if best == now or totals[best] > totals[now] - 1e-12:
        return order
    place = 0 if best == 0 else rank[passed[best - 1]] + 1
    return [*others[:place], node, *others[place:]]
