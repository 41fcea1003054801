"""One graph whose noise has a size of its own for each variable, improved edge by edge by its likelihood.

Under known noise scales the order of the variables matters to the loss, also where data do not tell it. With unknown scales
the likelihood of one graph is the sum over variables of the logarithm of what their parents leave of their variance, and
graphs that imply the same independences have the same. A search that starts with another loss ends near the right graph,
but often with a pair of edges that point at each other's target where they should not, and every edge after these is then
given a wrong direction. Single edges are added, left out and reversed as long as the extended Bayesian information criterion
falls. Where no such step helps, edges are reversed that make no difference, which may open the way to one that does.

A direction that the best graph implies may still rest on little. So the search is repeated without each such edge: if a
graph that has it the other way, or not at all, is nearly as good, its direction is in doubt.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contextualdag.cpdag import cpdag
from contextualdag.training.constant_graph import on_support
from contextualdag.training.data import Folds
from contextualdag.training.loss import Moments
from contextualdag.training.selection import Refitted
from contextualdag.training.solution import ConstantGraph

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

STATES = 2000  # equivalent graphs that are looked at before the search gives up, divided by the number of variables
FEW_STATES = 200  # the same while a direction is questioned
DOUBT = 4.0  # in units of the criterion; on simulated data all of 71 directions with a larger lead were right
LEAST = 1e-6  # by which the criterion must fall
FEW_NODES = 60  # up to which edges are added between any two variables, beyond only between those with a neighbour in common


def with_likeliest_edges(solution: ConstantGraph, allowed: Tensor, folds: Folds) -> ConstantGraph:
    """One graph for all contexts, with the selected point's edges improved; the same where no edge makes it better."""
    rows = folds.rows
    S = Moments.of(rows, torch.zeros(len(rows), dtype=torch.int64, device=rows.X.device)).S[0].cpu().numpy()
    start = solution.graphs(rows.Z[:1])[0].cpu().numpy() != 0
    n = np.full(len(S), float(len(rows))) if rows.scored is None else rows.scored.sum(0).double().cpu().numpy()
    support = likeliest(start, S, n, allowed.cpu().numpy())
    solution = replace(solution, doubtful=torch.from_numpy(in_doubt(support, S, n, allowed.cpu().numpy())))
    if (support == start).all():
        return solution
    index, points = solution.selected.index, list(solution.points)
    splits = folds.splits[: len(points[index].fits)]
    points[index] = on_support(points[index], splits, torch.from_numpy(support))
    return replace(solution, points=tuple(points), selected=Refitted(index, 0.0))


def likeliest(support: Flags, S: Array, n: Array, allowed: Flags) -> Flags:
    """The support (p, p) of a graph that no single edge makes better, the better of two: from a start, and from no edges.

    Parameters
    ----------
    support : array of bool, shape (p, p)
        Where to start; acyclic.
    S : array of shape (p, p) or (p, p, p)
        Second moments of the variables, one matrix for every response where some entries are not scored.
    n : array of shape (p,)
        Number of rows in which each variable is scored.
    allowed : array of bool, shape (p, p)
        Edges that may be there.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.training.likelihood_search import likeliest
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((2, 1000))
    >>> X = np.column_stack([a, b, a + b + rng.standard_normal(1000)])
    >>> start = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)  # c -> a, c -> b, b -> a
    >>> likeliest(start, X.T @ X / 1000, np.full(3, 1000.0), ~np.eye(3, dtype=bool)).astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    search = _Search(S, n, allowed & ~np.eye(len(support), dtype=bool))
    found = [search.from_start(start) for start in (support, np.zeros_like(support))]
    return min(found, key=search.criterion)


def in_doubt(support: Flags, S: Array, n: Array, allowed: Flags) -> Flags:
    """Pairs (p, p), in both orders, whose direction the best graph implies though a graph without it is nearly as good."""
    allowed = allowed & ~np.eye(len(support), dtype=bool)
    pattern = cpdag(support[None].astype(np.float64))[0] != 0
    least = _Search(S, n, allowed).criterion(support)
    doubtful = np.zeros_like(support)
    for j, k in np.argwhere(pattern & ~pattern.T & allowed.T):
        others = allowed.copy()
        others[j, k] = False
        search = _Search(S, n, others, states=FEW_STATES)
        reversed_ = _flipped(support, (j, k), (k, j))
        start = _flipped(support, (j, k)) if _reaches(reversed_).diagonal().any() else reversed_
        doubtful[j, k] = doubtful[k, j] = search.criterion(search.from_start(start)) < least + DOUBT
    return doubtful


class _Search:
    """Criteria of variables given their parents, each computed once."""

    def __init__(self, S: Array, n: Array, allowed: Flags, states: int = STATES) -> None:
        self._S, self._n, self._allowed, self._most = S, n, allowed, max(1, states // len(allowed))
        self._of_an_edge = math.log(max(n.mean(), 2)) + 2 * math.log(len(allowed))
        self._known: dict[tuple[int, bytes], float] = {}

    def from_start(self, support: Flags) -> Flags:
        """The last of a sequence of ever better graphs."""
        best = support
        while (following := self._better(best)) is not None:
            best = following
        return best

    def criterion(self, support: Flags) -> float:
        """The criterion of a graph."""
        return sum(self._of_variable(k, support[:, k]) for k in range(len(support)))

    def _better(self, support: Flags) -> Flags | None:
        """A graph with a smaller criterion, by one step from this or from an equivalent one; None if none is found.

        Equivalent graphs have the same criterion, unless some entries are not scored or a variable is a function of others:
        then what counts is how much smaller it is than that of the graph given.
        """
        seen, waiting = {support.tobytes()}, deque([(support, 0.0)])
        while waiting and len(seen) <= self._most:
            graph, higher = waiting.popleft()
            change, following = min(self._steps(graph), key=lambda step: step[0], default=(0.0, graph))
            if higher + change < -LEAST:
                return following
            for rise, equivalent in self._equivalent(graph):
                if equivalent.tobytes() not in seen:
                    seen.add(equivalent.tobytes())
                    waiting.append((equivalent, higher + rise))
        return None

    def _of_variable(self, k: int, parents: Flags) -> float:
        """What variable k adds to the criterion: its residual variance given its parents, and their number."""
        key = k, parents.tobytes()
        if key not in self._known:
            S = self._S if self._S.ndim == 2 else self._S[k]
            chosen = np.flatnonzero(parents)
            left = S[k, k]
            if len(chosen):
                own = S[np.ix_(chosen, chosen)]
                ridge = 1e-10 * own.diagonal().max() * np.eye(len(chosen))
                left -= S[k, chosen] @ np.linalg.solve(own + ridge, S[chosen, k])
            self._known[key] = self._n[k] * math.log(max(left, 1e-10 * S[k, k], 1e-300)) + len(chosen) * self._of_an_edge
        return self._known[key]

    def _change(self, support: Flags, *flipped: tuple[int, int]) -> float:
        """By how much the criterion rises when edges are added or left out, at most one into each variable."""
        change = 0.0
        for j, k in flipped:
            parents = support[:, k].copy()
            before = self._of_variable(k, parents)
            parents[j] = ~parents[j]
            change += self._of_variable(k, parents) - before
        return change

    def _steps(self, support: Flags) -> Iterator[tuple[float, Flags]]:
        """Graphs with one edge more, fewer or reversed, and by how much their criterion is larger."""
        reaches = _reaches(support)
        near: Flags = np.ones_like(support)
        if len(support) > FEW_NODES:
            joined = (support | support.T).astype(np.float32)
            near = joined @ joined > 0
        for j, k in np.argwhere(self._allowed & near & ~support & ~support.T & ~reaches.T):
            yield self._change(support, (j, k)), _flipped(support, (j, k))
        for j, k in np.argwhere(support):
            yield self._change(support, (j, k)), _flipped(support, (j, k))
            if self._allowed[k, j] and not (support[j] & reaches[:, k]).any():  # no other way from j to k
                yield self._change(support, (j, k), (k, j)), _flipped(support, (j, k), (k, j))

    def _equivalent(self, support: Flags) -> Iterator[tuple[float, Flags]]:
        """Graphs with one edge reversed that has the same parents at both ends, which imply the same independences.

        Each comes with by how much its criterion is larger.
        """
        for j, k in np.argwhere(support):
            others = support[:, k].copy()
            others[j] = False
            if self._allowed[k, j] and (others == support[:, j]).all():
                yield self._change(support, (j, k), (k, j)), _flipped(support, (j, k), (k, j))


def _flipped(support: Flags, *pairs: tuple[int, int]) -> Flags:
    following = support.copy()
    for j, k in pairs:
        following[j, k] = ~following[j, k]
    return following


def _reaches(support: Flags) -> Flags:
    """Which variables (p, p) can be reached from which along one edge or more."""
    found = support.copy()
    while True:
        further: Flags = found | (found.astype(np.float32) @ found.astype(np.float32) > 0)
        if (further == found).all():
            return found
        found = further
