"""The DAGMA path as compiled loops on the CPU. `penalised` explains the problem and is the plain way to solve it.

Besides being faster, this one searches on: nodes move to other places in the order as long as the lasso on the order gains
by it, up to an amount of work. Everything that the loops call stands in this file: numba's cache does not notice changes
elsewhere. They look at `stopped` now and then, which another thread may set.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contextualdag.projection.kernels.compiled import compiled, over_samples
from contextualdag.projection.kernels.order_numba import linear_order
from contextualdag.threads import interruptibly

LASSO_SWEEPS, SEARCH_SWEEPS, TOLERANCE = 3000, 60, 1e-9
LEAST_GAIN = 1e-7
MOST_WORK = 2e8  # additions of the search for one problem


def penalised_dags(
    S: Tensor,
    penalty: Tensor,
    allowed: Tensor,
    *,
    curvature: Tensor,
    mu_path: list[float],
    s: float,
    max_iterations: tuple[int, int],
    tolerance: float,
    most_momentum: float,
) -> tuple[Tensor, list[int]]:
    """As `penalised.penalised_dags`, for float64 tensors on the CPU."""
    b, p = S.shape[:2]
    by_response = S if S.ndim == 4 else S[:, None]  # one matrix for all responses, or one for each
    moments, penalties, may_be = by_response.contiguous().numpy(), penalty.contiguous().numpy(), allowed.contiguous().numpy()
    bound, mus = curvature.contiguous().numpy(), np.array(mu_path)
    best, least = S.new_zeros(b, p, p), torch.full((b,), torch.inf, dtype=S.dtype)
    iterations = torch.zeros(b, dtype=torch.int64)
    stopped = np.zeros(1, dtype=np.bool_)

    def run(kernel: Callable[..., None], *args: Any) -> None:
        interruptibly(
            lambda: over_samples(kernel, b, 1, moments, penalties, may_be, stopped, *args), lambda: stopped.fill(True)
        )

    for momentum, most_iterations in zip((0.0, most_momentum), max_iterations, strict=True):
        W, counts = torch.empty_like(best), torch.empty(b, dtype=torch.int64)
        run(_descend_problems, bound, mus, s, most_iterations, tolerance, momentum, W.numpy(), counts.numpy())
        order, value = linear_order(W), torch.empty(b, dtype=S.dtype)
        run(_lasso_problems, order.numpy(), W.numpy(), value.numpy())
        best = torch.where((value < least)[:, None, None], W, best)
        least = torch.minimum(least, value)
        iterations += counts
    return best, iterations.tolist()


@compiled
def _descend_problems(
    start,
    stop,
    S,
    penalty,
    allowed,
    stopped,
    curvature,
    mus,
    s,
    max_iterations,
    tolerance,
    most_momentum,
    result,
    iterations,
):
    """Write the end of the path of every problem from start to stop."""
    p = S.shape[2]
    ahead, new, gradient = np.empty((p, p)), np.empty((p, p)), np.empty((p, p))
    inverse, new_inverse, row = np.empty((p, p)), np.empty((p, p)), np.empty(p)
    for i in range(start, stop):
        W = result[i]
        W[:] = 0
        iterations[i] = 0
        for mu in mus:
            ahead[:] = W
            _inverse_transposed(W, s, inverse, row)
            momentum = 1.0
            for _ in range(max_iterations):
                if stopped[0]:
                    return
                iterations[i] += 1
                if S.shape[1] == 1:
                    _gradient(S[i, 0], ahead, inverse, mu, gradient)
                else:
                    _gradient_by_response(S[i], ahead, inverse, mu, gradient)
                _proximal_step(ahead, gradient, inverse, curvature[i], mu, penalty[i], allowed, new)
                halved = _halve_into_domain(W, new, s, new_inverse, row)
                change, uphill = _compare(W, ahead, new)
                momentum = 1.0 if halved or uphill else momentum
                following = (1 + np.sqrt(1 + 4 * momentum * momentum)) / 2
                further = min((momentum - 1) / following, most_momentum)
                momentum = following
                for j in range(p):
                    for k in range(p):
                        ahead[j, k] = new[j, k] + further * (new[j, k] - W[j, k])
                        W[j, k] = new[j, k]
                if further == 0 or not _inverse_transposed(ahead, s, inverse, row):
                    ahead[:] = W
                    inverse[:] = new_inverse
                    momentum = 1.0 if further > 0 else momentum
                if change <= tolerance:
                    break


@compiled
def _gradient(S, W, inverse, mu, gradient):
    """Write mu S (W - I) + 2 inverse o W."""
    p = S.shape[0]
    for j in range(p):
        of_row = gradient[j]
        for k in range(p):
            of_row[k] = -S[j, k]
        for i in range(p):
            c, other = S[j, i], W[i]
            for k in range(p):
                of_row[k] += c * other[k]
        for k in range(p):
            of_row[k] = mu * of_row[k] + 2 * inverse[j, k] * W[j, k]


@compiled
def _gradient_by_response(S, W, inverse, mu, gradient):
    """The same where column k of S (W - I) belongs to the matrix S[k]."""
    p = W.shape[0]
    for k in range(p):
        for j in range(p):
            of_row, total = S[k, j], -S[k, j, k]
            for i in range(p):
                total += of_row[i] * W[i, k]
            gradient[j, k] = mu * total + 2 * inverse[j, k] * W[j, k]


@compiled
def _proximal_step(W, gradient, inverse, curvature, mu, penalty, allowed, new):
    p = W.shape[0]
    for j in range(p):
        for k in range(p):
            step = 1 / (mu * curvature[j, k % curvature.shape[1]] + 2 * inverse[j, k])
            w = W[j, k] - step * gradient[j, k]
            shift = step * mu * penalty
            w = w - min(max(w, -shift), shift)
            new[j, k] = w if allowed[j, k] else 0.0


@compiled
def _halve_into_domain(W, new, s, inverse, row):
    """Go half as far as often as it takes to stay in the domain; whether that was needed."""
    halved = False
    for _ in range(60):
        if _inverse_transposed(new, s, inverse, row):
            return halved
        halved = True
        for j in range(W.shape[0]):
            for k in range(W.shape[0]):
                new[j, k] = 0.5 * (new[j, k] + W[j, k])
    new[:] = W
    _inverse_transposed(new, s, inverse, row)
    return True


@compiled
def _compare(W, ahead, new):
    """The largest change of an entry, and whether the step went against the way from W to `new`."""
    change, against = 0.0, 0.0
    for j in range(W.shape[0]):
        for k in range(W.shape[0]):
            moved = new[j, k] - W[j, k]
            change = max(change, abs(moved))
            against += (ahead[j, k] - new[j, k]) * moved
    return change, against > 0


@compiled
def _inverse_transposed(W, s, A, row):
    """Write (s I - W o W)^-T into A, by elimination without pivoting. False as soon as a pivot is not positive."""
    p = W.shape[0]
    for j in range(p):
        for k in range(p):
            A[k, j] = -(W[j, k] * W[j, k])
        A[j, j] += s
    for k in range(p):
        pivot = A[k, k]
        if not pivot > 0:
            return False
        A[k, k] = 1
        for j in range(p):
            row[j] = A[k, j] / pivot
        for i in range(p):
            factor = A[i, k]
            if factor != 0:
                A[i, k] = 0
                target = A[i]
                for j in range(p):
                    target[j] -= factor * row[j]
        A[k, :] = row
    return True


@compiled
def _lasso_problems(start, stop, S, penalty, allowed, stopped, orders, result, values):
    """Write the lasso on the order of every problem, once nodes have moved to where that helps, and its value."""
    p = S.shape[2]
    parents, of_other = np.empty(p, np.bool_), np.empty(p, np.bool_)
    rest, rest_of_other, trial, trial_of_other = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    value, work = np.empty(p), np.zeros(1)
    for i in range(start, stop):
        W, order = result[i].T, orders[i]  # a row of W holds a node's weights
        W[:] = 0
        work[0] = 0
        _lasso_on_order(S[i], penalty[i], allowed, order, 0, p, W, value, parents, rest, SEARCH_SWEEPS, work, stopped)
        gained = True
        while gained:
            gained = False
            for v in range(p):
                if stopped[0]:
                    return
                if work[0] > MOST_WORK:
                    gained = False
                    break
                here = 0
                while order[here] != v:
                    here += 1
                there, gain = here, LEAST_GAIN * (1 + value.sum())
                for direction in (-1, 1):
                    at, found = _best_place(
                        S[i],
                        penalty[i],
                        allowed,
                        order,
                        W,
                        value,
                        v,
                        here,
                        direction,
                        (parents, trial, rest),
                        (of_other, trial_of_other, rest_of_other),
                        work,
                        stopped,
                    )
                    if found > gain:
                        there, gain = at, found
                if there != here:
                    _move(order, here, there)
                    gained = True
                    # Only nodes between the two places see other parents, and start from the weights they had.
                    first, last = min(here, there), max(here, there)
                    _lasso_on_order(
                        S[i],
                        penalty[i],
                        allowed,
                        order,
                        first,
                        last + 1,
                        W,
                        value,
                        parents,
                        rest,
                        SEARCH_SWEEPS,
                        work,
                        stopped,
                    )
        _lasso_on_order(S[i], penalty[i], allowed, order, 0, p, W, value, parents, rest, LASSO_SWEEPS, work, stopped)
        values[i] = value.sum()


@compiled
def _best_place(S, penalty, allowed, order, W, value, v, here, direction, own, of_other, work, stopped):
    """Where node v gains most by moving left (-1) or right (1), and how much.

    On the way to the right, other nodes lose it as a parent and it wins them; on the way to the left they win it and it
    loses them. A parent that is lost matters if it has a weight, one that is won if what is left correlates with it by more
    than the penalty: otherwise the weights of the lasso stay.
    """
    parents, trial, rest = own
    best, gain, passed = here, 0.0, 0.0
    _earlier(order, here, allowed, v, parents)
    trial[:] = W[v]
    its_value = _lasso(S, penalty, v, parents, trial, rest, SEARCH_SWEEPS, work)
    t = here + direction
    while 0 <= t < len(order) and not stopped[0] and work[0] <= MOST_WORK:
        u = order[t]
        if direction > 0:
            matters = W[u, v] != 0
            changes = allowed[u, v] and abs(rest[u]) > penalty
            parents[u] = allowed[u, v]
        else:
            matters = allowed[v, u] and abs(_left(S, u, W[u], v)) > penalty
            changes = trial[u] != 0
            parents[u] = False
            if changes:
                trial[u] = 0.0
        if matters:
            with_it, weights, its_rest = of_other
            _earlier(order, t, allowed, u, with_it)
            with_it[v] = direction < 0
            weights[:] = W[u]
            if direction > 0:
                weights[v] = 0.0
            passed += value[u] - _lasso(S, penalty, u, with_it, weights, its_rest, SEARCH_SWEEPS, work)
        if changes:
            its_value = _lasso(S, penalty, v, parents, trial, rest, SEARCH_SWEEPS, work)
        total = passed + value[v] - its_value
        if total > gain:
            best, gain = t, total
        t += direction
    return best, gain


@compiled
def _left(moments, v, w, u):
    """How much of variable v, less w, correlates with variable u."""
    S = moments[v % moments.shape[0]]
    left = S[u, v]
    for j in range(len(w)):
        left -= S[u, j] * w[j]
    return left


@compiled
def _move(order, here, there):
    """Take a node out of the order and put it in again elsewhere."""
    v = order[here]
    for t in range(here, there):
        order[t] = order[t + 1]
    for t in range(here, there, -1):
        order[t] = order[t - 1]
    order[there] = v


@compiled
def _lasso_on_order(S, penalty, allowed, order, first, stop, W, value, parents, rest, sweeps, work, stopped):
    """Bring the weights of nodes, and their values, to where the lasso on the order wants them: those at first to stop."""
    for t in range(first, stop):
        if stopped[0]:
            return
        v = order[t]
        _earlier(order, t, allowed, v, parents)
        for u in range(len(order)):
            W[v, u] = W[v, u] if parents[u] else 0.0
        value[v] = _lasso(S, penalty, v, parents, W[v], rest, sweeps, work)


@compiled
def _earlier(order, t, allowed, v, parents):
    """Nodes before position t that may be parents of v."""
    parents[:] = False
    for earlier in range(t):
        u = order[earlier]
        parents[u] = allowed[u, v]


@compiled
def _lasso(moments, penalty, v, parents, w, rest, sweeps, work):
    """Coordinate descent, from `w` and in place, on 1/2 (S_vv - 2 w S_v + w S w) + penalty |w|_1. Return the value.

    `moments` is S, or one matrix for every response. `rest` is left as S_v - S w, and what was done is added to `work`.
    """
    S = moments[v % moments.shape[0]]
    p = S.shape[0]
    for j in range(p):
        rest[j] = S[j, v]
    for u in range(p):
        if w[u] != 0:
            for j in range(p):
                rest[j] -= S[j, u] * w[u]
    work[0] += p
    for _ in range(sweeps):
        change = 0.0
        work[0] += p
        for u in range(p):
            if parents[u] and S[u, u] > 0:
                pull = rest[u] + S[u, u] * w[u]
                new = (pull - min(max(pull, -penalty), penalty)) / S[u, u]
                moved = new - w[u]
                if moved != 0:
                    for j in range(p):
                        rest[j] -= S[j, u] * moved
                    w[u] = new
                    work[0] += p
                    change = max(change, moved * moved * S[u, u])
        if change <= TOLERANCE * S[v, v]:
            break
    value = 0.5 * S[v, v]
    for u in range(p):
        value += -0.5 * w[u] * (S[u, v] + rest[u]) + penalty * abs(w[u])
    return value
