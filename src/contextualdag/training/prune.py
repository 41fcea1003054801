"""From refitted weights to sparse graphs: which pairs and which weights are kept, by the loss on rows held out.

A refit trains second networks on the supports of the first, without shrinkage. Its graphs still have edges that do not help:
small weights, and pairs of variables whose edge does not lower the loss. A cut drops all weights up to its size. Each member
of the ensemble finds its own cut and its own pairs on the rows that it held out; their graphs are then averaged, and the
averages keep as many edges as the members do.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from contextualdag.projection import Order
from contextualdag.projection.ordering import TRAINING_STARTS
from contextualdag.threads import side_by_side
from contextualdag.training.data import Folds, Rows
from contextualdag.training.loss import gains, losses_of_cuts
from contextualdag.training.trainer import Fit, Learned

N_CUTS = 64  # each leaves the share CUT_DECAY of the edges that the one before left
CUT_DECAY = 0.93
NEAR = 1.001  # factor within which the widest gap between weights is looked for
RARE_IN_REFITS = 0.02  # a pair that is an edge in no larger share of contexts is dropped
AVERAGED = Order(starts=TRAINING_STARTS)  # how mean graphs become acyclic


@dataclass(frozen=True)
class Curve:
    """Cuts, from zero on, and what each leaves: the mean number of edges and the loss on rows held out."""

    cuts: list[float]
    n_edges: list[float]
    losses: list[float]

    @property
    def best(self) -> int:
        """Index of the cut of least loss; the larger cut on ties."""
        return min(range(len(self.cuts)), key=lambda i: (self.losses[i], -i))

    def loss_with(self, n_edges: float) -> float:
        """The loss with as many edges, between those of the nearest cuts."""
        return self._at_count(n_edges, self.losses)

    def cut_to(self, n_edges: float) -> float:
        """The cut that leaves as many edges, between the nearest cuts."""
        return self._at_count(n_edges, self.cuts)

    def at(self, cut: float) -> tuple[float, float]:
        """The number of edges and the loss of a cut, between those of the nearest cuts."""
        n_edges, loss = (float(np.interp(cut, self.cuts, values)) for values in (self.n_edges, self.losses))
        return n_edges, loss

    def nearest(self, n_edges: float) -> int:
        """Index of the cut that leaves the number of edges nearest to `n_edges`."""
        return _nearest(self.n_edges, n_edges)

    def _at_count(self, n_edges: float, values: list[float]) -> float:
        if n_edges in self.n_edges:  # the smallest cut of several, as there are where required edges are added again
            return values[self.n_edges.index(n_edges)]
        return float(np.interp(-n_edges, [-count for count in self.n_edges], values))


@dataclass(frozen=True)
class Refit(Generic[Learned]):
    """Second fits, on the supports of the first and without shrinkage, and how their weights become graphs.

    Attributes
    ----------
    fits : tuple of Fit
        One for each member.
    member_cuts : Tensor of shape (members, p, p)
        Cuts that each member applies to its own weights before they are averaged, infinite for pairs that it drops; zero
        where there is a single member, whose weights are cut once, as the average.
    pairs : Tensor of bool, shape (p, p)
        Pairs that may be edges of the averages.
    curve : Curve
        Cuts of the averages. Its losses are those that members alone reach with as many edges, on average over members.
    best : int
        Index of the selected cut in `curve`.
    loss : float
        What points of the path are compared by: the least loss over cuts of each member alone, the mean over members. The
        loss of the averages would favour dense graphs, whose errors averaging removes.
    polished : bool
        Whether the refit was trained with more patience, as that of the selected point is in the end.
    """

    fits: tuple[Fit[Learned], ...]
    member_cuts: Tensor
    pairs: Tensor
    curve: Curve
    best: int
    loss: float
    polished: bool = False

    @property
    def best_cut(self) -> float:
        """The selected cut."""
        return self.curve.cuts[self.best]

    def member_graphs(self, member: int, weights: Tensor) -> Tensor:
        """Graphs (n, p, p) of one member, from its weights on its support."""
        return _above(weights, self.member_cuts[member])

    def mean_graphs(self, weights: Sequence[Tensor], cut: float) -> Tensor:
        """Averages (n, p, p) of the members' graphs, without weights up to the cut."""
        W = average([self.member_graphs(k, own) for k, own in enumerate(weights)])
        return torch.where(((cut < W) | (-cut > W)) & self.pairs.to(W.device), W, 0)


def average(graphs: Sequence[Tensor]) -> Tensor:
    """The mean of the members' graphs as a DAG: where they disagree, its acyclic part of largest weight."""
    return graphs[0] if len(graphs) == 1 else AVERAGED(_mean(graphs))


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).mean(0)


def _acyclic(entries: Tensor, live: Tensor, n_nodes: int) -> Tensor:
    """The acyclic parts of largest weight of graphs that are given as entries (n, l) at positions `live` (l,)."""
    if AVERAGED.takes_pairs(entries.device, n_nodes):
        return AVERAGED.on_pairs(entries, live, n_nodes)
    W = entries.new_zeros(len(entries), n_nodes**2)
    W[:, live] = entries
    return AVERAGED(W.view(-1, n_nodes, n_nodes)).flatten(1)[:, live]


def candidate_cuts(W: Tensor) -> tuple[list[float], list[float]]:
    """Zero and cuts that leave fewer and fewer edges of graphs (n, p, p), and the mean numbers of edges that they leave."""
    sizes = W[W != 0].abs().sort().values.cpu().numpy()
    left = {round(len(sizes) * CUT_DECAY**step) for step in range(N_CUTS)}
    counts = np.array([count for count in sorted(left, reverse=True) if count < len(sizes)], dtype=np.int64)
    cuts = list(dict.fromkeys(_just_above(sizes, len(sizes) - 1 - counts)))
    above = len(sizes) - np.searchsorted(sizes, np.array(cuts, dtype=sizes.dtype), side="right")
    return [0.0, *cuts], [count / len(W) for count in (len(sizes), *above.tolist())]


def _just_above(sizes: NDArray[Any], indices: NDArray[np.int64]) -> Iterator[float]:
    """A cut just above each of some rising sizes, in the middle of a gap: rounding moves no weight across it."""
    ends = np.searchsorted(sizes, sizes[indices] * sizes.dtype.type(NEAR), side="right")
    beyond = np.append(sizes, sizes[-1:] * sizes.dtype.type(NEAR))
    for index, end in zip(indices.tolist(), ends.tolist(), strict=True):
        near = beyond[index : end + 1]
        widest = int(np.diff(near).argmax())
        yield (float(near[widest]) + float(near[widest + 1])) / 2


def strongest(W: Tensor, n_edges: float) -> Tensor:
    """Graphs (n, p, p) with at most so many edges on average, the strongest ones."""
    sizes = W[W != 0].abs()
    count = round(n_edges * len(W))
    return _above(W, sizes.kthvalue(len(sizes) - count).values) if count < len(sizes) else W


def prune(fits: tuple[Fit[Learned], ...], refitted: Iterable[Tensor], folds: Folds) -> Refit[Learned]:
    """Find cuts and pairs for refitted graphs (n, p, p) of each member, on the rows that each held out.

    Graphs of many variables have few pairs that are an edge in some context. Only the entries of these are kept, and
    everything here costs a fraction.

    The averages keep as many edges as their members do on average. Their own loss would keep more: an edge that few members
    have gets a small weight in the average and still helps a little. And there may be no row that all members held out.
    """
    of_members, p = [_entries(W) for W in refitted], folds.rows.X.shape[1]
    live = torch.unique(torch.cat([pairs for _, pairs in of_members]))
    weights = [_at(entries, pairs, live) for entries, pairs in of_members]

    def prune_one(k: int) -> _Member:
        return _prune_member(weights[k][folds.held_out[k]], live, folds.rows[folds.held_out[k]])

    def by_pair(values: Tensor, elsewhere: float) -> Tensor:
        matrix = values.new_full((p * p,), elsewhere)
        matrix[live] = values
        return matrix.view(p, p)

    indices = range(len(weights))
    on_cpu = folds.rows.X.device.type == "cpu"
    members = side_by_side(prune_one, indices) if on_cpu else [prune_one(k) for k in indices]
    loss = sum(min(member.curve.losses) for member in members) / len(members)
    if len(members) == 1:
        (only,) = members
        uncut = torch.zeros(1, p, p, device=live.device)
        return Refit(fits, uncut, by_pair(only.pairs, False), only.curve, only.best, loss)
    n_edges = sum(member.curve.n_edges[member.best] for member in members) / len(members)
    W = _mean([_above(own, member.cuts) for own, member in zip(weights, members, strict=True)])
    W = _acyclic(W, live, p)
    cuts, counts = candidate_cuts(W)
    often = (W.abs() > cuts[_nearest(counts, n_edges)]).sum(0) > RARE_IN_REFITS * len(W)
    pairs = often & (torch.stack([member.gains for member in members]).sum(0) > 0)
    curve = average_curve(W * pairs, [member.curve for member in members])
    member_cuts = torch.stack([by_pair(member.cuts, math.inf) for member in members])
    return Refit(fits, member_cuts, by_pair(pairs, False), curve, curve.nearest(n_edges), loss)


def average_curve(W: Tensor, curves: Sequence[Curve]) -> Curve:
    """Cuts of averages W (n, p, p), with the losses that members alone reach with as many edges, on average."""
    cuts, n_edges = candidate_cuts(W)
    losses = [sum(curve.loss_with(count) for curve in curves) / len(curves) for count in n_edges]
    return Curve(cuts, n_edges, losses)


class _Member(NamedTuple):
    """What is kept of one member's weights: its pairs (l,), the losses of cuts with these alone, the selected cut.

    `gains` (l,) is how much each pair lowers the sum of errors, after a first cut.
    """

    pairs: Tensor
    gains: Tensor
    curve: Curve
    best: int

    @property
    def cuts(self) -> Tensor:
        """The cut of each pair (l,), infinite for those dropped."""
        return torch.where(self.pairs, self.curve.cuts[self.best], math.inf)


def _prune_member(weights: Tensor, live: Tensor, rows: Rows) -> _Member:
    """Find the pairs and the cut of one member.

    At the border of the region where it is an edge, a pair's weight fades out, and so small a weight does no harm to the
    loss even where it is wrong. So cuts compete as if what they keep had at least half of its pair's usual weight.
    """
    first = _curve(weights, live, rows)
    kept = torch.where(weights.abs() > first.cuts[first.best], weights, 0)
    gained = gains(kept, live, rows)
    useful = _useful_pairs(kept, gained)
    usual = torch.where(kept != 0, kept.abs(), math.nan).nanmedian(0).values.nan_to_num()
    weights = weights * useful
    raised = weights.sign() * torch.maximum(weights.abs(), usual / 2)
    curve, raised_curve = _curves(weights, [weights, raised], live, rows)
    return _Member(useful, gained, curve, raised_curve.best)


def _entries(W: Tensor) -> tuple[Tensor, Tensor]:
    """Graphs (n, p, p) as entries (n, l) at positions (l,) of the flattened matrix: the others are zero in all contexts."""
    live = (W != 0).any(0).flatten().nonzero().flatten()
    return W.flatten(1)[:, live], live


def _at(entries: Tensor, pairs: Tensor, live: Tensor) -> Tensor:
    """Entries (n, l) at more positions, which hold the given ones."""
    found = entries.new_zeros(len(entries), len(live))
    found[:, torch.searchsorted(live, pairs)] = entries
    return found


def split_half_graphs(W: Tensor, rows: Rows) -> Tensor:
    """Graphs of rows held out, from refitted weights W (n, p, p), cut, with pairs that luck did not select."""
    weights, live = _entries(W)
    first = _curve(weights, live, rows)
    cut = torch.where(weights.abs() > first.cuts[first.best], weights, 0)
    kept = torch.empty_like(cut)
    halves = _halves(rows)
    for half, other in (halves, halves[::-1]):  # each half with the pairs that are useful on the other
        kept[half] = cut[half] * _useful_pairs(cut[other], gains(cut[other], live, rows[other]))
    found = W.new_zeros(W.shape)
    found.flatten(1)[:, live] = kept
    return found


def _halves(rows: Rows) -> tuple[Tensor, Tensor]:
    """Every other row and the rest, or every other group."""
    number = torch.arange(len(rows), device=rows.X.device)
    if rows.group is not None and bool((rows.group != rows.group[:1]).any()):
        number = torch.unique(rows.group, return_inverse=True)[1]
    return number % 2 == 0, number % 2 == 1


def _useful_pairs(weights: Tensor, gained: Tensor) -> Tensor:
    """Pairs (l,) that are edges in more than a few contexts and without which the loss would rise."""
    return (gained > 0) & ((weights != 0).sum(0) > RARE_IN_REFITS * len(weights))


def _curve(weights: Tensor, live: Tensor, rows: Rows) -> Curve:
    (curve,) = _curves(weights, [weights], live, rows)
    return curve


def _curves(weights: Tensor, variants: Sequence[Tensor], live: Tensor, rows: Rows) -> list[Curve]:
    """The losses of cuts of entries (n, l), for each of several tensors of weights; the cuts keep the same of each."""
    cuts, n_edges = candidate_cuts(weights)
    return [Curve(cuts, n_edges, losses_of_cuts(W, weights.abs(), cuts, live, rows).tolist()) for W in variants]


def _nearest(counts: Sequence[float], n_edges: float) -> int:
    return min(range(len(counts)), key=lambda i: abs(counts[i] - n_edges))


def _above(weights: Tensor, cuts: Tensor) -> Tensor:
    cuts = cuts.to(weights)
    return torch.where((weights > cuts) | (weights < -cuts), weights, 0)  # flags take less memory than sizes
