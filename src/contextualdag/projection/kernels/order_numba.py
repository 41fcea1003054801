"""Maximum-weight acyclic subgraph as compiled loops on the CPU. `order_torch` explains the steps and defines the result.

Everything that the loops call is in this file: numba's cache does not notice changes elsewhere.
"""

import math

import numpy as np
import torch
from torch import Tensor

from contextualdag.projection.kernels.compiled import compiled, over_samples
from contextualdag.projection.kernels.order_torch import EXACT_UP_TO, SMALLEST_EXPONENT, STARTS, fixed_point_bits

TAKEN = 1 << 62  # more than any sum of weights


def project(W: Tensor, cut: float, starts: int) -> Tensor:
    """Same result as `order_torch.project`, for tensors on the CPU."""
    kept = torch.empty(W.shape, dtype=W.dtype)
    _run(W, cut, starts, EXACT_UP_TO, kept, torch.empty(W.shape[:2], dtype=torch.int64))
    return kept


def linear_order(W: Tensor, starts: int = STARTS, exact_up_to: int = EXACT_UP_TO) -> Tensor:
    """Same result as `order_torch.linear_order`, for tensors on the CPU."""
    order = torch.empty(W.shape[:2], dtype=torch.int64)
    _run(W, 0.0, starts, exact_up_to, torch.empty(W.shape, dtype=W.dtype), order)
    return order


def project_pairs(W: Tensor, pairs: Tensor, n_nodes: int, cut: float, starts: int) -> Tensor:
    """Same result as `project` for matrices whose only entries are `W` (n, l), at positions `pairs` (l,) when flattened."""
    kept = torch.empty(W.shape, dtype=W.dtype)
    # Nodes without an entry are left out, and the others keep their order, by which ties are broken.
    nodes, labels = torch.stack([pairs // n_nodes, pairs % n_nodes]).unique(return_inverse=True)
    entries = W.detach().contiguous().numpy()
    numbers = (len(nodes), entries.dtype.type(cut), 2.0 ** fixed_point_bits(n_nodes), starts)
    worth_a_thread = 20_000 // len(pairs) + 1
    over_samples(_project_pairs, len(W), worth_a_thread, entries, *labels.numpy(), *numbers, kept.numpy())
    return kept


def _run(W: Tensor, cut: float, starts: int, exact_up_to: int, kept: Tensor, order: Tensor) -> None:
    matrices = W.detach().contiguous().numpy()
    scale = 2.0 ** fixed_point_bits(W.shape[1])
    threshold = matrices.dtype.type(cut)
    worth_a_thread = 20_000 // W.shape[1] ** 2 + 1  # an entry costs 20 to 60 ns
    numbers = (threshold, scale, starts, exact_up_to)
    over_samples(_project_samples, len(W), worth_a_thread, matrices, *numbers, kept.numpy(), order.numpy())


@compiled
def _project_samples(start, stop, W, cut, scale, starts, exact_up_to, kept, orders):
    """Write the kept edges and the order of every sample from start to stop."""
    work = _workspace(W.shape[1], exact_up_to)
    for i in range(start, stop):
        _drop_weak(W[i], cut, kept[i])
        _make_acyclic(kept[i], scale, starts, exact_up_to, orders[i], work)


@compiled
def _project_pairs(start, stop, W, source, target, p, cut, scale, starts, kept):
    """Write the kept entries of every sample from start to stop, where only some entries of its matrix can be edges."""
    work = _workspace(p, EXACT_UP_TO)
    w, order = np.zeros((p, p), W.dtype), np.empty(p, np.int64)
    for i in range(start, stop):
        for e in range(len(source)):
            w[source[e], target[e]] = W[i, e] if abs(W[i, e]) > cut else 0
        _make_acyclic(w, scale, starts, EXACT_UP_TO, order, work)
        for e in range(len(source)):
            kept[i, e] = w[source[e], target[e]]


@compiled
def _workspace(p, exact_up_to):
    """Arrays that `_make_acyclic` uses for graphs of p nodes."""
    m = max(p, 3)  # dynamic programming needs three nodes
    C, D = np.empty((m, m), np.int64), np.empty((p, p), np.int64)
    core, order, best_order = np.empty(p, np.uintp), np.empty(p, np.uintp), np.empty(m, np.uintp)
    out, into = np.empty(p, np.int64), np.empty(p, np.int64)
    left = np.empty(p, np.bool_)
    table = max(min(p, exact_up_to), 3)
    best_of, into_from = np.empty(1 << table, np.int64), np.empty((table, 1 << table), np.int64)
    return C, D, core, order, best_order, out, into, left, best_of, into_from


@compiled
def _make_acyclic(w, scale, starts, exact_up_to, order, work):
    """Write the best order of the graph `w`, and set the entries of `w` that point backward to zero."""
    C, D, core, searched, best_order, out, into, left, best_of, into_from = work
    first, size = _strip(w, order, core, out, into, left)
    if size == 0:
        return
    _fixed_point(w, left, scale, D)
    _relabel(D, core[:size], out, left, C)
    if size <= exact_up_to:
        _best_order_by_subsets(C, size, best_of, into_from, best_order)
    else:
        _best_order_by_search(C, D, size, starts, searched, best_order, out, into)
    for t in range(size):
        order[first + t] = core[best_order[t]]
    _drop_backward(w, order, out)


@compiled
def _drop_weak(W, cut, w):
    """Copy W without its diagonal and without entries of at most `cut`."""
    for j in range(W.shape[0]):
        for k in range(W.shape[0]):
            w[j, k] = W[j, k] if abs(W[j, k]) > cut else 0
        w[j, j] = 0


@compiled
def _drop_backward(w, order, rank):
    """Set the entries that point backward to zero."""
    p = w.shape[0]
    for t in range(p):
        rank[order[t]] = t
    for j in range(p):
        for k in range(p):
            w[j, k] = w[j, k] if rank[j] < rank[k] else 0


@compiled
def _strip(w, order, core, out, into, left):
    """Write sources to the front of `order` and sinks to its back. Return where the core starts, and its size."""
    p = w.shape[0]
    out[:] = 0
    into[:] = 0
    for j in range(p):
        for k in range(p):
            edge = np.int64(w[j, k] != 0)
            out[j] += edge
            into[k] += edge
    left[:] = True
    front, back = 0, p
    stripped = True
    while stripped:
        stripped = False
        found = front
        for v in range(p):
            if left[v] and into[v] == 0:
                order[found] = v
                found += 1
        for t in range(front, found):
            _remove(w, order[t], out, into, left)
        stripped = found > front
        front = found

        n_sinks = 0
        for v in range(p):
            if left[v] and out[v] == 0:
                n_sinks += 1
        found = back - n_sinks
        for v in range(p):
            if left[v] and out[v] == 0:
                order[found] = v
                found += 1
        for t in range(back - n_sinks, back):
            _remove(w, order[t], out, into, left)
        stripped = stripped or n_sinks > 0
        back -= n_sinks
    size = 0
    for v in range(p):
        if left[v]:
            core[size] = v
            size += 1
    return front, size


@compiled
def _remove(w, v, out, into, left):
    """Remove node v from the graph."""
    left[v] = False
    for u in range(w.shape[0]):
        if w[v, u] != 0:
            into[u] -= 1
        if w[u, v] != 0:
            out[u] -= 1


@compiled
def _fixed_point(w, left, scale, C):
    """Squared weights as integers, the largest of the core between a quarter of `scale` and all of it, none below one."""
    p = w.shape[0]
    largest = abs(w[0, 0])
    for j in range(p):
        if left[j]:
            for k in range(p):
                largest = max(largest, abs(w[j, k]) if left[k] else largest)
    _, exponent = math.frexp(np.float64(largest))
    factor = math.ldexp(1.0, -max(exponent, SMALLEST_EXPONENT))
    for j in range(p):
        for k in range(p):
            share = np.float64(w[j, k]) * factor
            c = max(np.int64(np.rint(share * share * scale)), np.int64(1))
            C[j, k] = c if w[j, k] != 0 else np.int64(0)


@compiled
def _relabel(C, core, net, left, relabelled):
    """Sort the core's nodes by decreasing net flow within the core, ties by index, and copy C in that order."""
    size = len(core)
    net[:] = 0
    for j in core:
        row = np.int64(0)
        for k in range(len(left)):
            c = C[j, k] if left[k] else np.int64(0)
            net[k] -= c
            row += c
        net[j] += row
    for v in range(1, size):
        node = core[v]
        t = v
        while t > 0 and net[core[t - 1]] < net[node]:
            core[t] = core[t - 1]
            t -= 1
        core[t] = node
    for j in range(size):
        row = core[j]
        for k in range(size):
            relabelled[j, k] = C[row, core[k]]


@compiled
def _best_order_by_subsets(C, size, best, into, order):
    """Exact order by dynamic programming; best[S] and into[v, S] as in the twin.

    Subsets that differ only in their three lowest labels are adjacent in memory, and the contribution of the other labels
    to all eight is one vector operation. So there are at least three labels; missing ones have weight zero and come last.
    """
    m = max(size, 3)
    for v in range(size, m):
        for u in range(m):
            C[u, v] = 0
            C[v, u] = 0
    for v in range(m):
        into[v, 0] = 0
        for u in range(m):
            bit, c = 1 << u, C[u, v]
            for S in range(bit):
                into[v, bit + S] = into[v, S] + c
    best[: 1 << m] = 0
    for S in range(0, 1 << m, 8):
        for v in range(3, m):
            if S >> v & 1:
                rest = S ^ (1 << v)
                for low in range(8):
                    best[S + low] = max(best[S + low], best[rest + low] + into[v, rest + low])
        for low in range(1, 8):
            for v in range(3):
                if low >> v & 1:
                    rest = S + (low ^ (1 << v))
                    best[S + low] = max(best[S + low], best[rest] + into[v, rest])
    S = (1 << m) - 1
    for t in range(m - 1, -1, -1):
        for v in range(m - 1, -1, -1):
            rest = S ^ (1 << v)
            if S >> v & 1 and best[rest] + into[v, rest] == best[S]:
                order[t] = v
                S = rest
                break


@compiled
def _best_order_by_search(C, D, size, starts, order, best_order, net, into):
    """Best of up to three local searches.

    The value of an order is the sum of D = C - C^T over its forward pairs: twice its weight minus a constant.
    """
    for j in range(size):
        for k in range(size):
            D[j, k] = C[j, k] - C[k, j]
    loss = np.empty(size, np.int64)

    value = np.int64(0)
    for j in range(size):
        order[j] = j
        for k in range(j + 1, size):
            value += D[j, k]
    best_value = value + 2 * _best_insertion(D, size, order, net, into, loss)
    best_order[:size] = order[:size]
    for start in range(1, starts):
        value = _peel(C, D, size, start == 2, order, net, into, loss)
        value += 2 * _best_insertion(D, size, order, net, into, loss)
        if value > best_value:
            best_value = value
            best_order[:size] = order[:size]


@compiled
def _peel(C, D, size, by_net_flow, order, net, into, gone):
    """Remove nodes one by one to the front or the back, as in the twin. Return the value of the order.

    `net` is out minus in. The smaller of in and out, or the larger of the net flow and its negative, belongs to the better
    end, so one score per node suffices to find the node, and the sign of its net flow then gives the end.
    """
    net[:size] = 0
    into[:size] = 0
    gone[:size] = 0
    for j in range(size):
        row = np.int64(0)
        for k in range(size):
            into[k] += C[j, k]
            row += D[j, k]
        net[j] = row
    value = np.int64(0)
    front, back = 0, size - 1
    while front <= back:
        best = np.int64(-TAKEN)
        for v in range(size):
            score = abs(net[v]) if by_net_flow else -into[v] - min(net[v], 0)
            best = max(best, score - gone[v])
        node = 0
        while best != (abs(net[node]) if by_net_flow else -into[node] - min(net[node], 0)) - gone[node]:
            node += 1
        value += abs(net[node])
        if net[node] < 0:
            order[back] = node
            back -= 1
        else:
            order[front] = node
            front += 1
        gone[node] = TAKEN
        for u in range(size):
            into[u] -= C[node, u]
            net[u] += D[node, u]
    return value


@compiled
def _best_insertion(D, size, order, here, least, loss):
    """Move nodes to their best positions, in place, until none can gain. Return the weight gained."""
    gained = np.int64(0)
    while True:
        # All nodes at once: loss[v] is the loss if v is placed after the nodes seen so far, here[v] the loss at its own
        # position, least[v] the least loss of all positions.
        for v in range(size):
            loss[v] = 0
            least[v] = 0
        for t in range(size):
            u = order[t]
            here[u] = loss[u]
            for v in range(size):
                now = loss[v] - D[u, v]
                loss[v] = now
                least[v] = min(least[v], now)
        before = gained
        for v in range(size):
            if least[v] < here[v]:
                gained += _insert(D, size, order, v)
        if gained == before:
            return gained


@compiled
def _insert(D, size, order, v):
    """Move node v to the leftmost of its best positions if that gains weight. Return the weight gained."""
    start = 0
    while order[start] != v:
        start += 1
    loss, least, there = np.int64(0), np.int64(0), 0
    for t in range(start):
        loss += D[v, order[t]]
        if loss < least:
            least, there = loss, t + 1
    here = loss
    for t in range(start + 1, size):
        loss += D[v, order[t]]
        if loss < least:
            least, there = loss, t
    if least == here:
        return np.int64(0)
    for t in range(start, there, -1):
        order[t] = order[t - 1]
    for t in range(start, there):
        order[t] = order[t + 1]
    order[there] = v
    return here - least
