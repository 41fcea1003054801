"""The path of graphs that do not vary, or only from group to group of rows: one point for each penalty."""

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from contextualdag.training import dagma
from contextualdag.training.data import Rows, Split
from contextualdag.training.loss import Moments, cross_moments
from contextualdag.training.path import PathPoint
from contextualdag.training.prune import Curve, Refit, average, average_curve, candidate_cuts
from contextualdag.training.trainer import Fit

SMALLEST_PENALTY = 1e-3  # as a share of the largest
PROBLEMS_AT_ONCE = 2000


@dataclass(frozen=True)
class SplitMoments:
    """Second moments of the rows trained on and of those held out."""

    train: Moments
    held_out: Moments

    def fit(self, W: Tensor, steps: int = 0) -> Fit[Tensor]:
        """Matrices (g, p, p) with their losses."""
        return Fit(W, self.train.loss(W), self.held_out.loss(W), steps)


def group_path(
    moments: SplitMoments, penalties: Sequence[float], allowed: Tensor, cut: float, with_refits: bool
) -> list[PathPoint[Tensor]]:
    """The path of one graph for each group of rows, from dense to sparse.

    Weights up to `cut` are dropped. The budget of a point is the l1 norm that its penalty leaves. Refits are least squares
    on the supports.
    """
    graphs, steps = _solve(moments.train.S, penalties, allowed)
    points = _points(torch.where(graphs.abs() > cut, graphs, 0), steps, penalties, moments)
    if with_refits:
        points = [_refitted([point], [moments]) for point in points]
    return _from_dense_to_sparse(points)


def one_graph_path(splits: Sequence[Split], allowed: Tensor, n_penalties: int, every: int = 1) -> list[PathPoint[Tensor]]:
    """The path of one graph for all rows, with refits; one member for each split, all at the same penalties.

    It may be thinned out to every so many penalties.
    """
    # The compiled solver, on the CPU, searches further than the other.
    device = splits[0].train.X.device if importlib.util.find_spec("numba") is None else torch.device("cpu")
    moments = [_moments_of_all(split, device) for split in splits]
    S = torch.cat([one.train.S for one in moments])
    penalties = penalty_grid(S, n_penalties)[::every]
    graphs, steps = _solve(S, penalties, allowed)
    members = [_points(graphs[:, k : k + 1], steps, penalties, one) for k, one in enumerate(moments)]
    points = [_refitted(at_one_penalty, moments) for at_one_penalty in zip(*members, strict=True)]
    return _from_dense_to_sparse(points)


def on_support(point: PathPoint[Tensor], splits: Sequence[Split], support: Tensor) -> PathPoint[Tensor]:
    """A point of a path with graphs on another support (p, p), by least squares; one member for each split."""
    moments = [_moments_of_all(split, torch.device("cpu")) for split in splits]
    members = []
    for its in moments:
        W = dagma.least_squares_on_support(its.train.S, support.to(its.train.S.device)[None])
        members += _points(W[None], [0], [point.threshold], its)
    return _refitted(members, moments)


def information_criterion(W: Tensor, rows: Rows) -> float:
    """The extended Bayesian information criterion of a graph (1, p, p), refitted to all rows: its fit, and its size.

    It adds 2 log p for each edge (Foygel and Drton, 2010, with gamma = 1/2), because a search has chosen the best of many
    edges. Whether one of two graphs has the better directions is a difference of a few units in this. Losses on rows held
    out have more noise, and prefer an order that was learned from all rows over those that members find without them.
    """
    moments = _moments(rows, torch.device("cpu"))
    W = (W != 0).to(moments.S.device)
    loss = moments.loss(dagma.least_squares_on_support(moments.S, W))
    tiny = torch.finfo(moments.S.dtype).tiny
    of_an_edge = math.log(len(rows)) + 2 * math.log(W.shape[1])
    return rows.X.numel() * math.log(max(loss, tiny)) + int(W.sum()) * of_an_edge


def penalty_grid(S: Tensor, n_penalties: int) -> list[float]:
    """Penalties that fall in equal ratios from the one that leaves no edge to a thousandth of it."""
    eye = torch.eye(S.shape[1], dtype=torch.bool, device=S.device)
    largest = float(torch.where(eye, 0, cross_moments(S)).abs().amax())
    steps = max(n_penalties - 1, 1)
    return [largest * SMALLEST_PENALTY ** (step / steps) for step in range(n_penalties)]


def _moments_of_all(split: Split, device: torch.device) -> SplitMoments:
    return SplitMoments(_moments(split.train, device), _moments(split.held_out, device))


def _moments(rows: Rows, device: torch.device) -> Moments:
    return Moments.of(rows, torch.zeros(len(rows), dtype=torch.int64, device=rows.X.device)).to(device)


def _points(
    graphs: Tensor, steps: Sequence[int], penalties: Sequence[float], moments: SplitMoments
) -> list[PathPoint[Tensor]]:
    """One for each penalty, in their order; `graphs` has the shape (penalties, groups, p, p)."""
    points = []
    for W, its_steps, penalty in zip(graphs, steps, penalties, strict=True):
        l1_norm = float((moments.train.share * W.abs().sum((1, 2))).sum())
        n_edges = _mean_edges(W, moments.held_out.share)
        points.append(PathPoint(l1_norm, (penalty,), n_edges, (moments.fit(W, its_steps),)))
    return points


def _from_dense_to_sparse(points: Sequence[PathPoint[Tensor]]) -> list[PathPoint[Tensor]]:
    return sorted(points, key=lambda point: -point.l1_budget)


def _solve(S: Tensor, penalties: Sequence[float], allowed: Tensor) -> tuple[Tensor, list[int]]:
    """Graphs (penalties, groups, p, p), all problems at once, and the most steps for each penalty."""
    n_groups, p = S.shape[:2]
    n_problems = n_groups * len(penalties)
    at_once = PROBLEMS_AT_ONCE if S.ndim == 3 else max(PROBLEMS_AT_ONCE // p, 1)
    penalty = torch.tensor(penalties, dtype=S.dtype, device=S.device).repeat_interleave(n_groups)
    allowed = allowed.to(S.device) & ~torch.eye(p, dtype=torch.bool, device=S.device)
    found, steps = [], []
    for part in torch.arange(n_problems, device=S.device).tensor_split(math.ceil(n_problems / at_once)):
        W, its_steps = dagma.penalised_dags(S[part % n_groups], penalty[part], allowed)
        found.append(W)
        steps += its_steps
    most = [max(steps[i * n_groups : (i + 1) * n_groups]) for i in range(len(penalties))]
    return torch.cat(found).view(len(penalties), n_groups, p, p), most


def _refitted(members: Sequence[PathPoint[Tensor]], moments: Sequence[SplitMoments]) -> PathPoint[Tensor]:
    """One point with its refit, from those of its members at the same penalty."""
    fits, curves = [], []
    for point, its in zip(members, moments, strict=True):
        W = dagma.least_squares_on_support(its.train.S, point.fits[0].learned != 0)
        fits.append(its.fit(W))
        curves.append(_curve(W, its.held_out))
    refit = _refit_of_members(tuple(fits), curves)
    if len(members) == 1:
        return replace(members[0], refit=refit)
    W = average([point.fits[0].learned for point in members])
    l1_norm = sum(point.l1_budget for point in members) / len(members)
    thresholds = tuple(point.thresholds[0] for point in members)
    return PathPoint(l1_norm, thresholds, float((W != 0).sum()), tuple(point.fits[0] for point in members), refit)


def _curve(W: Tensor, held_out: Moments) -> Curve:
    """The losses of cuts of graphs (g, p, p)."""
    cuts, _ = candidate_cuts(W)
    # One after another: all at once would need much memory where groups are many.
    kept = [torch.where(W.abs() > cut, W, 0) for cut in cuts]
    return Curve(cuts, [_mean_edges(w, held_out.share) for w in kept], [held_out.loss(w) for w in kept])


def _refit_of_members(fits: tuple[Fit[Tensor], ...], curves: Sequence[Curve]) -> Refit[Tensor]:
    """The averages of the members' graphs keep as many edges as most members do."""
    graphs = [fit.learned for fit in fits]
    loss = sum(curve.losses[curve.best] for curve in curves) / len(curves)
    everywhere = torch.ones(graphs[0].shape[1:], dtype=torch.bool, device=graphs[0].device)
    uncut = torch.zeros(len(fits), *everywhere.shape, device=everywhere.device)
    if len(fits) == 1:
        return Refit(fits, uncut, everywhere, curves[0], curves[0].best, loss)
    kept = torch.stack([W.abs() > curve.cuts[curve.best] for W, curve in zip(graphs, curves, strict=True)])
    agreed = int((2 * kept.sum(0) > len(graphs)).sum())
    curve = average_curve(average(graphs), curves)
    return Refit(fits, uncut, everywhere, curve, curve.nearest(agreed), loss)


def _mean_edges(W: Tensor, share: Tensor) -> float:
    return float((share * (W != 0).sum((1, 2))).sum())
