"""Refits: second networks on the supports of the first, and which of their edges to believe."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from contextualdag.projection import Order
from contextualdag.training.folds import Folds
from contextualdag.training.trainer import Fit

N_CUTS = 64  # each leaving the share CUT_DECAY of the edges that the one before left
CUT_DECAY = 0.93
MANY_ENTRIES, FEW_ENTRIES = 1 << 27, 1 << 20  # of graphs after several cuts, at once on a GPU and elsewhere
RARE = 0.02  # a pair that is an edge in no larger share of contexts is given up
AVERAGED = Order(starts=1)  # how mean graphs become acyclic


@dataclass(frozen=True)
class Refit:
    """Second networks, trained on the supports of the first without shrinkage, and what is left of their graphs by a cut.

    `n_edges` and `losses` are means over what is held out once weights of at most ``cuts[i]`` are dropped; the first cut
    is zero, the last leaves nothing or nearly so. The cut to believe is ``cuts[best]``. Only `pairs` (p, p) may be edges.

    With several members, cuts and numbers of edges are those of their mean graphs for all samples, for which each member
    first drops its own weights up to ``member_cuts[k]`` (p, p), infinite for pairs that it gives up. The losses are what
    members alone reach with as many edges, on average. With the cut that is best for it, one would reach
    ``member_losses[k]``; `honest_loss` is the mean of what they would reach had the pairs been chosen elsewhere.
    """

    fits: tuple[Fit, ...]
    member_cuts: Tensor
    member_losses: tuple[float, ...]
    honest_loss: float
    pairs: Tensor
    cuts: list[float]
    n_edges: list[float]
    losses: list[float]
    best: int
    polished: bool = False

    @property
    def loss(self) -> float:
        """What points are compared by: the mean of what members reach alone.

        The loss of the mean graphs would favour dense ones, whose errors averaging takes away.
        """
        return sum(self.member_losses) / len(self.member_losses)

    def own_graphs(self, refitted: Sequence[Tensor]) -> list[Tensor]:
        """The graphs (n, p, p) of each member with several: weights on its support, those above its own cut."""
        return _above(refitted, self.member_cuts)

    def mean_graphs(self, refitted: Sequence[Tensor], cut: float) -> Tensor:
        """The graphs (n, p, p) to believe of members' weights on their supports, those above the cut."""
        W = average(self.own_graphs(refitted))
        return torch.where((W.abs() > cut) & self.pairs.to(W.device), W, 0)


class Curve(NamedTuple):
    """Cuts, from zero on, and what they leave: the mean number of edges and the loss."""

    cuts: list[float]
    n_edges: list[float]
    losses: list[float]

    @property
    def best(self) -> int:
        """Where the loss is least; the larger cut on ties."""
        return min(range(len(self.cuts)), key=lambda i: (self.losses[i], -i))

    def loss_with(self, n_edges: float) -> float:
        """The loss of as many edges, or of all."""
        return float(np.interp(-n_edges, [-count for count in self.n_edges], self.losses))


class _Member(NamedTuple):
    """What to believe of one member: its pairs, the losses of cuts with these alone, the cut among them, its honest loss.

    `gains` (p, p) is what pairs lower the sum of squares by, after a first cut of the weights.
    """

    pairs: Tensor
    gains: Tensor
    curve: Curve
    best: int
    honest_loss: float

    @property
    def cut(self) -> Tensor:
        """Of each pair (p, p), infinite for those given up."""
        return torch.where(self.pairs, self.curve.cuts[self.best], math.inf)


def _above(refitted: Sequence[Tensor], cuts: Tensor) -> list[Tensor]:
    return [torch.where(W.abs() > cut.to(W), W, 0) for W, cut in zip(refitted, cuts, strict=True)]


def average(graphs: Sequence[Tensor]) -> Tensor:
    """The mean of the members' graphs as a DAG: where they disagree, the heaviest acyclic part of it."""
    return graphs[0] if len(graphs) == 1 else AVERAGED(torch.stack(list(graphs)).mean(0))


def cuts_of(W: Tensor) -> tuple[list[float], list[float]]:
    """Zero, and sizes of weights below which to cut so that fewer and fewer edges are left; and how many are, on average."""
    sizes = W.abs().flatten()
    sizes = sizes[sizes > 0].sort().values
    left = {round(len(sizes) * CUT_DECAY**step) for step in range(N_CUTS)}
    counts = [count for count in sorted(left, reverse=True) if count < len(sizes)]
    cuts = sizes[len(sizes) - 1 - torch.tensor(counts, dtype=torch.long, device=sizes.device)]
    above = len(sizes) - torch.searchsorted(sizes, cuts, right=True)
    return [0.0, *cuts.tolist()], [count / len(W) for count in (len(sizes), *above.tolist())]


def strongest(W: Tensor, n_edges: float) -> Tensor:
    """Graphs (n, p, p) with no more than so many edges on average, the strongest ones."""
    sizes = W.abs().flatten().sort(descending=True).values
    count = round(n_edges * len(W))
    return torch.where(W.abs() > sizes[count], W, 0) if count < len(sizes) else W


def cut_down(fits: tuple[Fit, ...], refitted: Sequence[Tensor], folds: Folds) -> Refit:
    """Find the cuts of members' refitted graphs (n, p, p), and the pairs that earn their place, by what each held out.

    The mean graphs keep as many edges as their members do on average. Their own loss would keep more: an edge that few
    members see has a small weight in the mean and still helps a little. And there may be no sample that all held out.
    """
    members = [_cut_member(W[rows], folds.X[rows]) for W, rows in zip(refitted, folds.held_out, strict=True)]
    losses = tuple(min(member.curve.losses) for member in members)
    honest = sum(member.honest_loss for member in members) / len(members)
    if len(members) == 1:
        pairs, _, curve, best, _ = members[0]
        return Refit(fits, torch.zeros(1, *pairs.shape, device=pairs.device), losses, honest, pairs, *curve, best)
    own_cuts = torch.stack([member.cut for member in members])
    wanted = sum(member.curve.n_edges[member.best] for member in members) / len(members)
    W = average(_above(refitted, own_cuts))
    cuts, n_edges = cuts_of(W)
    often = (W.abs() > cuts[nearest_count(n_edges, wanted)]).sum(0) > RARE * len(W)
    pairs = often & (torch.stack([member.gains for member in members]).sum(0) > 0)
    cuts, n_edges = cuts_of(W * pairs)
    curve = Curve(cuts, n_edges, mean_losses([member.curve for member in members], n_edges))
    return Refit(fits, own_cuts, losses, honest, pairs, *curve, nearest_count(n_edges, wanted))


def _cut_member(W: Tensor, X: Tensor) -> _Member:
    """Find the pairs and the cut of one member.

    At the border of the region where it is an edge, a pair's weight fades out, and so small a weight does no harm to the
    loss even where it is wrong. So cuts compete as if what they keep had at least half of its pair's usual weight.
    """
    first = _losses_by_cut(W, X)
    kept = torch.where(W.abs() > first.cuts[first.best], W, 0)
    gains = _gains(kept, X)
    pairs = _earn_their_place(kept, gains)
    usual = torch.where(kept != 0, kept.abs(), math.nan).nanmedian(0).values.nan_to_num()
    best = _losses_by_cut(W * pairs, X, usual / 2).best
    return _Member(pairs, gains, _losses_by_cut(W * pairs, X), best, _loss_on_other_halves(kept, X))


def _loss_on_other_halves(W: Tensor, X: Tensor) -> float:
    """The loss of each half of the samples with the pairs that earn their place on the other: luck does not count."""
    halves = (slice(0, None, 2), slice(1, None, 2))
    total = 0.0
    for half, other in (halves, halves[::-1]):
        kept = W[half] * _earn_their_place(W[other], _gains(W[other], X[other]))
        total += float(((X[half] - (X[half, None] @ kept)[:, 0]) ** 2).sum())
    return total / X.numel()


def _gains(W: Tensor, X: Tensor) -> Tensor:
    """How much the sum of squares would rise without each pair (p, p)."""
    residual = X - (X[:, None] @ W)[:, 0]
    part = X[:, :, None] * W
    return ((2 * residual[:, None, :] + part) * part).sum(0)


def _earn_their_place(W: Tensor, gains: Tensor) -> Tensor:
    """Pairs (p, p) that are edges in more than a few contexts and without which the loss would rise."""
    return (gains > 0) & ((W != 0).sum(0) > RARE * len(W))


def _losses_by_cut(W: Tensor, X: Tensor, least: Tensor | None = None) -> Curve:
    """With `least` (p, p), the losses are those of weights that are at least so large."""
    cuts, n_edges = cuts_of(W)
    raised = W if least is None else W.sign() * torch.maximum(W.abs(), least)
    losses = []
    at_once = max(1, (MANY_ENTRIES if W.device.type == "cuda" else FEW_ENTRIES) // W.numel())
    for some in torch.split(torch.tensor(cuts, dtype=W.dtype, device=W.device), at_once):
        kept = torch.where(W.abs() > some[:, None, None, None], raised, 0)
        losses.append(((X - (X[:, None] @ kept)[:, :, 0]) ** 2).mean((1, 2)))
    # One look from the host for all of them.
    return Curve(cuts, n_edges, torch.cat(losses).tolist())


def mean_losses(curves: Sequence[Curve], n_edges: Sequence[float]) -> list[float]:
    """What members alone lose with given numbers of edges, on average."""
    return [sum(curve.loss_with(count) for curve in curves) / len(curves) for count in n_edges]


def nearest_count(n_edges: Sequence[float], wanted: float) -> int:
    """Where the number of edges is nearest to what is wanted."""
    return min(range(len(n_edges)), key=lambda i: abs(n_edges[i] - wanted))
