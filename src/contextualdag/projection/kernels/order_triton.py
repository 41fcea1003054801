"""Maximum-weight acyclic subgraph on a GPU, one graph per program. `order_torch` explains the steps and defines the result.

A program is one warp. It keeps vectors over the nodes in registers. What it needs repeatedly of the matrix, the integers
D = C - C^T row by row, it writes to memory once; they stay in the cache.

Nodes, labels (the core by decreasing net flow) and positions in an order are different numberings; a vector is over nodes
unless its name says otherwise.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from contextualdag.projection.kernels.order_torch import EXACT_UP_TO, STARTS, fixed_point_bits

ENTRIES_AT_ONCE = 1 << 26  # of D, 512 megabytes
LARGEST = tl.constexpr(2**62)  # more than any sum of weights
INTEGERS_FROM = tl.constexpr(2.0**52)  # from here on every float64 is an integer


def project(W: Tensor, cut: float, starts: int) -> Tensor:
    """Same result as `order_torch.project`, for tensors on a GPU."""
    kept = torch.empty(W.shape, dtype=W.dtype, device=W.device)
    _launch(W, cut, starts, EXACT_UP_TO, kept, kept, has_order=False)
    return kept


def linear_order(W: Tensor, starts: int = STARTS, exact_up_to: int = EXACT_UP_TO) -> Tensor:
    """Same result as `order_torch.linear_order`, for tensors on a GPU; `exact_up_to` must not exceed the default."""
    key = torch.empty(W.shape[:2], dtype=torch.int32, device=W.device)
    _launch(W, 0.0, starts, exact_up_to, torch.empty(W.shape, dtype=W.dtype, device=W.device), key, has_order=True)
    return key.argsort(dim=1, stable=True)


def _launch(W: Tensor, cut: float, starts: int, exact_up_to: int, kept: Tensor, key: Tensor, has_order: bool) -> None:
    n, p, _ = W.shape
    scale = 2.0 ** fixed_point_bits(p)
    cut = torch.tensor(cut, dtype=W.dtype).item()
    P = max(triton.next_power_of_2(p), EXACT_UP_TO)
    at_once = min(n, max(1, ENTRIES_AT_ONCE // (p * p)))
    D = torch.empty(at_once, p, p, dtype=torch.int64, device=W.device)
    W = W.detach().contiguous()
    for first in range(0, n, at_once):
        # Without fused multiply-add: every kernel rounds alike.
        _project_sample[(min(at_once, n - first),)](
            W, D, kept, key, first, p, cut, scale, P, EXACT_UP_TO, starts, exact_up_to, has_order,
            num_warps=1, enable_fp_fusion=False,
        )  # fmt: skip


@triton.jit
def _row(W, v, p, node, cut):
    """Row v of the matrix without weak entries and without the diagonal."""
    w = tl.load(W + v * p + node, mask=node < p, other=0.0)
    return tl.where((tl.abs(w) > cut) & (node != v), w, 0.0)


@triton.jit
def _column(W, v, p, node, cut):
    """Column v of the matrix without weak entries and without the diagonal."""
    w = tl.load(W + node * p + v, mask=node < p, other=0.0)
    return tl.where((tl.abs(w) > cut) & (node != v), w, 0.0)


@triton.jit
def _fixed(w, factor, scale, core):
    """Squared weights within the core as integers, no edge less than one."""
    share = w.to(tl.float64) * factor
    c = share * share * scale
    c = tl.where(c < INTEGERS_FROM, (c + INTEGERS_FROM) - INTEGERS_FROM, c)  # rounds to the nearest integer, ties to even
    return tl.where(core & (w != 0), tl.maximum(c.to(tl.int64), 1), 0)


@triton.jit
def _power_of_two_below(largest):
    """The power of two that scales `largest` to between a half and one, as in the twin, from the bits of its exponent."""
    exponent = tl.maximum((largest.to(tl.int64, bitcast=True) >> 52) & 0x7FF, 1)
    normal = (2045 - exponent) << 52
    subnormal = tl.full([], 1, tl.int64) << tl.minimum(2096 - exponent, 62)
    return tl.where(exponent < 2045, normal, subnormal).to(tl.float64, bitcast=True)


@triton.jit
def _at(vector, i, number):
    """Entry i of a vector as a scalar; `number` counts its entries."""
    return tl.sum(tl.where(number == i, vector, 0), 0)


@triton.jit
def _first(which, number, P: tl.constexpr):
    """The first entry that holds, P if none does."""
    return tl.min(tl.where(which, number, P), 0)


@triton.jit
def _strip(W, p, node, cut, P: tl.constexpr):
    """Sort key of every node as in the twin: r for sources of round r, p for the core, 2 p - r for sinks."""
    out = tl.zeros([P], tl.int32)
    into = tl.zeros([P], tl.int32)
    for v in range(p):
        into += (_row(W, v, p, node, cut) != 0).to(tl.int32)
        out += (_column(W, v, p, node, cut) != 0).to(tl.int32)
    key = tl.full([P], 0, tl.int32) + p
    left = node < p
    r = 0
    stripped = 1
    while stripped > 0:
        sources = left & (into == 0)
        stripped = tl.sum(sources.to(tl.int32), 0)
        key = tl.where(sources, r, key)
        left = left & ~sources
        v = _first(sources, node, P)
        while v < P:  # no remaining node has an edge into a source, so only `into` changes
            into -= (_row(W, v, p, node, cut) != 0).to(tl.int32)
            v = _first(sources & (node > v), node, P)
        sinks = left & (out == 0)
        stripped += tl.sum(sinks.to(tl.int32), 0)
        key = tl.where(sinks, 2 * p - r, key)
        left = left & ~sinks
        v = _first(sinks, node, P)
        while v < P:
            out -= (_column(W, v, p, node, cut) != 0).to(tl.int32)
            v = _first(sinks & (node > v), node, P)
        r += 1
    return key, left


@triton.jit
def _surplus(W, v, p, node, cut, factor, scale, core):
    """Row v of D = C - C^T: the gain of v -> u over u -> v."""
    row = _fixed(_row(W, v, p, node, cut), factor, scale, core)
    return row - _fixed(_column(W, v, p, node, cut), factor, scale, core)


@triton.jit
def _best_order_by_subsets(W, p, node, cut, factor, scale, core, node_of_label, size, P: tl.constexpr, M: tl.constexpr):
    """Position of every node in the exact order of a core of at most M nodes, by dynamic programming over subsets."""
    S = tl.arange(0, 1 << M)
    label = tl.arange(0, M)
    nodes = tl.gather(node_of_label, label, 0)
    in_use = label < size
    into = tl.zeros([1 << M, M], tl.int64)  # weight from S to each label, which has no edge to itself
    for u in range(size):
        w = tl.load(W + _at(nodes, u, label) * p + nodes, mask=in_use & (label != u), other=0.0)
        w = tl.where(tl.abs(w) > cut, w, 0.0)
        into += ((S >> u) & 1)[:, None] * _fixed(w, factor, scale, in_use)[None, :]
    members = tl.zeros([1 << M], tl.int32)
    for u in range(M):
        members += (S >> u) & 1
    best = tl.zeros([1 << M], tl.int64)
    for level in range(1, size + 1):
        found = tl.zeros([1 << M], tl.int64)
        for last in range(size):
            to_last = tl.sum(tl.where(label[None, :] == last, into, 0), 1)
            has = ((S >> last) & 1) == 1
            kept = tl.gather(best, tl.where(has, S - (1 << last), 0), 0) + to_last
            found = tl.where(has, tl.maximum(found, kept), found)
        best = tl.where(members == level, found, best)
    position = tl.zeros([P], tl.int32)
    rest = (1 << size) - 1
    for step in range(size):
        t = size - 1 - step
        to_each = tl.sum(tl.where((rest == S)[:, None], into, 0), 0)
        without = tl.gather(best, tl.where((rest >> label) & 1 == 1, rest - (1 << label), 0), 0)
        fits = ((rest >> label) & 1 == 1) & (without + to_each == _at(best, rest, S))
        last = tl.max(tl.where(fits, label, -1), 0)  # the highest label that can come last
        position = tl.where(node == _at(nodes, last, label), t, position)
        rest -= 1 << last
    return position


@triton.jit
def _peel(W, p, node, cut, factor, scale, core, label, size, by_net_flow: tl.constexpr, P: tl.constexpr):
    """Order (position to node) by removing nodes to the front or to the back, as in the twin."""
    out = tl.zeros([P], tl.int64)
    into = tl.zeros([P], tl.int64)
    for v in range(p):
        if _at(core.to(tl.int32), v, node) == 1:
            into += _fixed(_row(W, v, p, node, cut), factor, scale, core)
            out += _fixed(_column(W, v, p, node, cut), factor, scale, core)
    order = node
    left = core
    front = 0
    back = size - 1
    while front <= back:
        if by_net_flow:
            in_front, at_back = out - into, into - out
        else:
            in_front, at_back = -into, -out
        score = tl.where(left, tl.maximum(in_front, at_back), -LARGEST)
        best = tl.max(score, 0)
        lowest = tl.min(tl.where(left & (score == best), label, P), 0)
        v = _first(left & (label == lowest), node, P)
        to_front = _at(in_front, v, node) == best
        order = tl.where(node == tl.where(to_front, front, back), v, order)
        front += to_front.to(tl.int32)
        back -= 1 - to_front.to(tl.int32)
        left = left & (node != v)
        into -= _fixed(_row(W, v, p, node, cut), factor, scale, core)
        out -= _fixed(_column(W, v, p, node, cut), factor, scale, core)
    return order


@triton.jit
def _best_insertion(D, p, node, core, label, order, size, P: tl.constexpr):
    """Move nodes to their best positions until none can gain; `order` is over positions, and the core comes first."""
    gains = 1
    while gains > 0:
        loss = tl.zeros([P], tl.int64)  # loss of each node if it is placed after the nodes seen so far
        here = tl.zeros([P], tl.int64)
        least = tl.zeros([P], tl.int64)
        for t in range(size):
            u = _at(order, t, node)
            here = tl.where(node == u, loss, here)
            loss -= tl.load(D + u * p + node, mask=core, other=0)
            least = tl.minimum(least, loss)
        can_gain = core & (least < here)
        gains = tl.sum(can_gain.to(tl.int32), 0)
        visited = tl.min(tl.where(can_gain, label, P), 0)
        while visited < P:
            v = _first(label == visited, node, P)
            order = _insert(D, p, node, core, order, v, size, P)
            visited = tl.min(tl.where(can_gain & (label > visited), label, P), 0)
    return order


@triton.jit
def _insert(D, p, node, core, order, v, size, P: tl.constexpr):
    """Move node v to the leftmost of its best positions if that gains weight. Here `node` counts positions as well."""
    d = tl.load(D + v * p + order, mask=node < size, other=0)
    here = _first((order == v) & (node < size), node, P)
    after = tl.cumsum(d, 0)
    loss = tl.where(node <= here, after - d, after)
    loss = tl.where(node < size, loss, LARGEST)
    least = tl.min(loss, 0)
    there = _first(loss == least, node, P)
    there = tl.where(least < _at(loss, here, node), there, here)
    source = node + ((node >= here) & (node < there)).to(tl.int32) - ((node <= here) & (node > there)).to(tl.int32)
    return tl.gather(order, tl.where(node == there, here, source), 0)


@triton.jit
def _positions(order, size, node, P: tl.constexpr):
    """Position of every node."""
    position = tl.zeros([P], tl.int32)
    for t in range(size):
        position = tl.where(node == _at(order, t, node), t, position)
    return position


@triton.jit
def _value(D, p, node, core, order, size, P: tl.constexpr):
    """Sum of D over the forward pairs of an order: twice the weight of its forward edges minus a constant."""
    total = tl.zeros([P], tl.int64)
    left = core
    for t in range(size):
        v = _at(order, t, node)
        left = left & (node != v)
        total += tl.load(D + v * p + node, mask=left, other=0)
    return tl.sum(total, 0)


@triton.jit
def _project_sample(
    W_ptr, D_ptr, kept_ptr, key_ptr, first, p, cut, scale,
    P: tl.constexpr, M: tl.constexpr, STARTS: tl.constexpr, EXACT: tl.constexpr, HAS_ORDER: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    sample = first + program
    W = W_ptr + sample * p * p
    D = D_ptr + program * p * p
    node = tl.arange(0, P)
    key, core = _strip(W, p, node, cut, P)
    size = tl.sum(core.to(tl.int32), 0)
    position = tl.zeros([P], tl.int32)
    if size > 0:
        heaviest = tl.abs(_row(W, 0, p, node, cut)) * 0.0
        for v in range(p):
            row = tl.abs(_row(W, v, p, node, cut))
            heaviest = tl.maximum(heaviest, tl.where(core & (_at(core.to(tl.int32), v, node) == 1), row, 0.0))
        factor = _power_of_two_below(tl.max(heaviest, 0).to(tl.float64))
        net = tl.zeros([P], tl.int64)
        for v in range(p):
            if _at(core.to(tl.int32), v, node) == 1:
                surplus = _surplus(W, v, p, node, cut, factor, scale, core)
                tl.store(D + v * p + node, surplus, mask=core)
                net -= surplus
        label = tl.zeros([P], tl.int32)
        for v in range(p):
            if _at(core.to(tl.int32), v, node) == 1:
                flow = _at(net, v, node)
                label += ((flow > net) | ((flow == net) & (v < node))).to(tl.int32)
        label = tl.where(core, label, P)
        tl.debug_barrier()  # D is written by some threads and read by others
        node_of_label = tl.zeros([P], tl.int32)
        for v in range(p):
            node_of_label = tl.where(node == _at(label, v, node), v, node_of_label)
        if size <= EXACT:
            position = _best_order_by_subsets(W, p, node, cut, factor, scale, core, node_of_label, size, P, M)
        else:
            order = _best_insertion(D, p, node, core, label, node_of_label, size, P)
            if STARTS > 1:
                value = _value(D, p, node, core, order, size, P)
                for start in tl.static_range(1, STARTS):
                    other = _peel(W, p, node, cut, factor, scale, core, label, size, start == 2, P)
                    other = _best_insertion(D, p, node, core, label, other, size, P)
                    other_value = _value(D, p, node, core, other, size, P)
                    order = tl.where(other_value > value, other, order)
                    value = tl.maximum(value, other_value)
            position = _positions(order, size, node, P)
    key = key * p + tl.where(core, position, 0)
    if HAS_ORDER:
        tl.store(key_ptr + sample * p + node, key, mask=node < p)
    for v in range(p):
        w = _row(W, v, p, node, cut)
        tl.store(kept_ptr + sample * p * p + v * p + node, tl.where(_at(key, v, node) < key, w, 0.0), mask=node < p)
