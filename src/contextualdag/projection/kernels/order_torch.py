"""Maximum-weight acyclic subgraph in plain PyTorch: the definition of the result, on any device.

The problem. Keep the acyclic set of edges with the largest sum of squared weights. Any acyclic set is contained in the
forward edges of some order of the nodes, so we look for the order whose forward edges have the largest weight (a linear
ordering problem), and keep every forward edge.

The steps, for each graph independently:

1. Strip. A node without parents can come first and a node without children last, at no loss. Rounds of this (all
   sources by index, then all sinks by index) leave the core, in which every node has a parent and a child. A DAG has an
   empty core, so it is returned unchanged.
2. Fixed point. The core's weights, divided by a power of two so that none exceeds one, are squared and become integers C.
   Integer sums do not depend on the order in which they are added, so every kernel on every device finds the same order,
   whatever the batch.
3. Relabel the core by decreasing net flow (out minus in), ties by index. The next steps depend on labels only, hence
   permuting the nodes permutes the result.
4. A core of at most `exact_up_to` nodes: dynamic programming over its subsets. Ties: the higher label comes last.
5. A larger core: up to three starts (the labels as they are; peeling, from either end, the node with the least weight
   lost; peeling the node with the largest net flow), each improved by best insertion. A sweep marks the nodes that have a
   better position, then visits the marked ones by label; a node moves only for a strict gain, to the leftmost of its best
   positions; the search ends with a sweep that marks none. The heaviest order wins, the earlier start on ties.
"""

import functools
import itertools
import math

import torch
from torch import Tensor

from contextualdag.graphs import order_to_mask

STARTS = 3
EXACT_UP_TO = 8
SMALLEST_EXPONENT = -1021  # of the largest weight; with a smaller one, 2 ** -exponent would be infinite
SAMPLES_AT_ONCE, ENTRIES_AT_ONCE = 4096, 1 << 20  # bound the memory of the tables below


def fixed_point_bits(p: int) -> int:
    """Bits for one squared weight such that the sum over all p * p pairs stays within 2**62."""
    return 62 - math.ceil(2 * math.log2(max(p, 1)))


def project(W: Tensor, cut: float, starts: int) -> Tensor:
    """Drop the diagonal and entries of at most `cut`, then the edges that point backward in the best order."""
    kept = torch.where(W.abs() > cut, W, 0)
    kept.diagonal(dim1=1, dim2=2).zero_()
    return torch.where(order_to_mask(linear_order(kept, starts)), kept, 0)


def linear_order(W: Tensor, starts: int = STARTS, exact_up_to: int = EXACT_UP_TO) -> Tensor:
    """Order the nodes of every graph so that the forward edges have the largest possible weight.

    `W` (n, p, p) is finite, not empty, and has a zero diagonal. The result is int64 (n, p), ``order[i, t]`` the node at
    position t.
    """
    at_once = max(1, min(SAMPLES_AT_ONCE, ENTRIES_AT_ONCE // W.shape[1] ** 2))
    return torch.cat([_linear_order(part, starts, exact_up_to) for part in torch.split(W, at_once)])


def _linear_order(W: Tensor, starts: int, exact_up_to: int) -> Tensor:
    p = W.shape[1]
    key = _strip(W != 0)
    core = key == p
    size = core.sum(1)
    C = fixed_point(torch.where(core[:, :, None] & core[:, None, :], W, 0))

    # The core comes first in the new labels, by decreasing net flow; the stripped nodes follow with weight zero.
    label = torch.where(core, -net_flow(C), torch.iinfo(torch.int64).max).argsort(dim=1, stable=True)
    C = C.gather(1, label[:, :, None].expand_as(C)).gather(2, label[:, None, :].expand_as(C))

    order = torch.arange(p, device=W.device).repeat(len(W), 1)
    small = (size > 0) & (size <= exact_up_to)
    if bool(small.any()):
        m = int(size[small].max())
        order[small, :m] = _best_order_by_subsets(C[small, :m, :m])
    large = size > exact_up_to
    if bool(large.any()):
        order[large] = _best_order_by_search(C[large], size[large], starts)

    # The core's nodes share a key; their positions distinguish them.
    position = torch.empty_like(order).scatter_(1, label.gather(1, order), torch.arange(p, device=W.device).expand_as(order))
    return (key * p + torch.where(core, position, 0)).argsort(dim=1, stable=True)


def net_flow(C: Tensor) -> Tensor:
    """Outgoing minus incoming weight of each node."""
    return C.sum(2) - C.sum(1)


def fixed_point(W: Tensor) -> Tensor:
    """Squared weights as integers, the largest of each graph between 2**bits and a quarter of it, none below one."""
    largest = W.abs().amax((1, 2), keepdim=True).double()
    exponent = torch.frexp(largest).exponent.clamp_min(SMALLEST_EXPONENT)
    share = torch.ldexp(W.double(), -exponent)
    C = (share * share * 2.0 ** fixed_point_bits(W.shape[1])).round().to(torch.int64)
    return torch.where(W != 0, C.clamp_min(1), 0)


def _strip(edges: Tensor) -> Tensor:
    """Sort key of the nodes: r for sources of round r, p for the core, 2 p - r for sinks of round r."""
    n, p, _ = edges.shape
    key = torch.full((n, p), p, dtype=torch.int64, device=edges.device)
    left = torch.ones(n, p, dtype=torch.bool, device=edges.device)
    for r in range(p):
        sources = left & ~(edges & left[:, :, None]).any(1)
        left = left & ~sources
        sinks = left & ~(edges & left[:, None, :]).any(2)
        left = left & ~sinks
        if not bool((sources | sinks).any()):
            break
        key = torch.where(sources, r, torch.where(sinks, 2 * p - r, key))
    return key


@functools.cache
def _subsets(m: int) -> list[tuple[list[int], list[list[int]]]]:
    """For each size: the subsets of 0..m-1 of that size as bit sets, and the members of each."""
    levels = []
    for size in range(1, m + 1):
        members = [list(c) for c in itertools.combinations(range(m), size)]
        levels.append(([sum(1 << v for v in c) for c in members], members))
    return levels


def _best_order_by_subsets(C: Tensor) -> Tensor:
    """Exact order of few nodes.

    best[S], the most that an order of S can keep, is the largest over v in S of best[S - v] + into[v, S - v]: v comes
    last and receives the edges from all of S - v.
    """
    n, m, _ = C.shape
    subsets = torch.arange(1 << m, device=C.device)
    into = C.new_zeros(n, 1 << m, m)
    for u in range(m):
        into += ((subsets >> u) & 1)[None, :, None] * C[:, u, None, :]

    best = C.new_zeros(n, 1 << m)
    for sets, members in _subsets(m):
        S, last = torch.tensor(sets, device=C.device), torch.tensor(members, device=C.device)
        rest = S[:, None] - (1 << last)
        best[:, S] = (best[:, rest] + into[:, rest, last]).amax(2)

    order = C.new_empty(n, m)
    rows = torch.arange(n, device=C.device)
    S = torch.full((n,), (1 << m) - 1, device=C.device)
    nodes = torch.arange(m - 1, -1, -1, device=C.device)  # the higher label first, so that it wins ties
    for t in range(m - 1, -1, -1):
        present = ((S[:, None] >> nodes) & 1).bool()
        rest = torch.where(present, S[:, None] - (1 << nodes), 0)
        value = best[rows[:, None], rest] + into[rows[:, None], rest, nodes]
        last = nodes[(present & (value == best[rows, S][:, None])).int().argmax(1)]
        order[:, t] = last
        S = S - (1 << last)
    return order


def _best_order_by_search(C: Tensor, size: Tensor, starts: int) -> Tensor:
    """Best of up to three local searches. Nodes from `size` on have weight zero and stay at the end."""
    n, p, _ = C.shape
    first = torch.arange(p, device=C.device).repeat(n, 1)
    peeled = [_peel(C, size, by_net_flow) for by_net_flow in (False, True)[: starts - 1]]
    order = _best_insertion((C - C.mT).repeat(starts, 1, 1), torch.cat([first, *peeled])).view(starts, n, p)
    rank = torch.empty_like(order).scatter_(2, order, torch.arange(p, device=C.device).expand_as(order))
    value = (C * (rank[:, :, :, None] < rank[:, :, None, :])).sum((2, 3))
    return order[value.argmax(0), torch.arange(n, device=C.device)]


def _peel(C: Tensor, size: Tensor, by_net_flow: bool) -> Tensor:
    """Remove nodes one by one, to the front or to the back of the order.

    At the front a node loses the edges into it, at the back the edges out of it. Selects the node and the end with the
    least loss or, with `by_net_flow`, with the largest difference of kept and lost weight. Ties: the lower label, the front.
    """
    n, p, _ = C.shape
    rows = torch.arange(n, device=C.device)
    out, into = C.sum(2), C.sum(1)
    left = torch.arange(p, device=C.device) < size[:, None]
    order = torch.arange(p, device=C.device).repeat(n, 1)
    front, back = torch.zeros_like(size), size - 1
    for t in range(int(size.max())):
        score = torch.stack([out - into, into - out] if by_net_flow else [-into, -out], dim=2)
        score = torch.where(left[:, :, None], score, torch.iinfo(torch.int64).min).flatten(1)
        best = score.argmax(1)  # the first of equals
        v, to_back = best // 2, best % 2 == 1
        running = t < size
        position = torch.where(to_back, back, front)
        order[rows[running], position[running]] = v[running]
        front, back = front + (running & ~to_back).long(), back - (running & to_back).long()
        left[rows[running], v[running]] = False
        out = out - C[rows, :, v]
        into = into - C[rows, v, :]
    return order


def _best_insertion(D: Tensor, order: Tensor) -> Tensor:
    """Move nodes to their best positions until none can gain. D = C - C^T is the gain of v -> u over u -> v."""
    while True:
        can_gain = _can_gain(D, order)
        if not bool(can_gain.any()):
            return order
        for v in range(order.shape[1]):
            rows = can_gain[:, v].nonzero().flatten()
            if len(rows):
                order[rows] = _insert(D[rows, v], order[rows], v)


def _can_gain(D: Tensor, order: Tensor) -> Tensor:
    """Which nodes have a better position than their own."""
    rows = torch.arange(len(order), device=D.device)
    loss = D.new_zeros(order.shape)  # loss of each node if it is placed after the nodes seen so far
    here, least = torch.zeros_like(loss), torch.zeros_like(loss)
    for t in range(order.shape[1]):
        u = order[:, t]
        here[rows, u] = loss[rows, u]
        loss = loss - D[rows, u]
        least = torch.minimum(least, loss)
    return least < here


def _insert(d: Tensor, order: Tensor, v: int) -> Tensor:
    """Move node v to the leftmost of its best positions if that gains weight; d is row v of D."""
    positions = torch.arange(order.shape[1], device=d.device)
    here = (order == v).int().argmax(1, keepdim=True)
    loss_after = d.gather(1, order).cumsum(1)  # if v is placed after position t; its own position counts nothing
    loss_before = loss_after.roll(1, 1)
    loss_before[:, 0] = 0
    loss = torch.where(positions <= here, loss_before, loss_after)
    least, there = loss.min(1, keepdim=True)  # the first of equals
    there = torch.where(least < loss.gather(1, here), there, here)
    # Remove v and insert it again: the nodes in between shift by one.
    source = positions + ((positions >= here) & (positions < there)).long()
    source = source - ((positions <= here) & (positions > there)).long()
    return order.gather(1, torch.where(positions == there, here, source))
