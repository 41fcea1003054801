"""The path of graphs that do not vary, or only from group to group: one graph for each penalty."""

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training import penalised
from contextualdag.training.path import PathPoint
from contextualdag.training.refit import Curve, Refit, average, cuts_of, mean_losses, nearest_count
from contextualdag.training.trainer import Fit, Split

SMALLEST_PENALTY = 1e-3  # as a share of the largest
PROBLEMS_AT_ONCE = 2000

Moments = tuple[Tensor, Tensor]  # second moments (g, p, p) and shares (g,) of the groups


def constant_path(
    moments: Moments, moments_val: Moments, penalties: Sequence[float], allowed: Tensor, cut: float, with_refits: bool
) -> list[PathPoint]:
    """One point for each penalty, from dense to sparse; `l1_budget` is what the penalty leaves, and stands for it.

    Weights up to `cut` are dropped. Refits are least squares on the supports.
    """
    graphs, steps = _solve(moments[0], penalties, allowed)
    points = _points(torch.where(graphs.abs() > cut, graphs, 0), steps, penalties, moments, moments_val)
    if with_refits:
        points = [_refitted([point], [(moments, moments_val)]) for point in points]
    return _from_dense_to_sparse(points)


def one_graph(splits: Sequence[Split], allowed: Tensor, n_penalties: int) -> list[PathPoint]:
    """The path of one graph for all samples, with refits, where that is computed best.

    With several splits a member for each, at the same penalties.
    """
    # The compiled solver, on the CPU, searches further than the other.
    device = splits[0].X.device if importlib.util.find_spec("numba") is None else torch.device("cpu")
    data = [(_moments_of_all(split.X, device), _moments_of_all(split.X_val, device)) for split in splits]
    S = torch.cat([moments[0] for moments, _ in data])
    penalties = penalty_grid(S, n_penalties)
    graphs, steps = _solve(S, penalties, allowed)
    members = [_points(graphs[:, k : k + 1], steps, penalties, *data[k]) for k in range(len(data))]
    points = [_refitted(same, data) for same in zip(*members, strict=True)]
    return _from_dense_to_sparse(points)


def penalty_grid(S: Tensor, n_penalties: int) -> list[float]:
    """Penalties that fall in equal ratios from the one that leaves no edge to a thousandth of it."""
    eye = torch.eye(S.shape[1], dtype=torch.bool, device=S.device)
    largest = float(torch.where(eye, 0, S).abs().amax())
    steps = max(n_penalties - 1, 1)
    return [largest * SMALLEST_PENALTY ** (step / steps) for step in range(n_penalties)]


def constant_graphs(point: PathPoint, cut: float | None, group: Tensor) -> Tensor:
    """Graphs (n, p, p) of samples in given groups: refitted weights above the cut, or the shrunken ones without a cut."""
    if point.refit is None or cut is None:
        W = average([fit.state["W"] for fit in point.fits])
    else:
        W = point.refit.mean_graphs([fit.state["W"] for fit in point.refit.fits], cut)
    return W.to(group.device, torch.float32)[group]


def _moments_of_all(X: Tensor, device: torch.device) -> Moments:
    S, share = penalised.second_moments(X.double(), torch.zeros(len(X), dtype=torch.int64, device=X.device), 1)
    return S.to(device), share.to(device)


def _points(
    graphs: Tensor, steps: Sequence[int], penalties: Sequence[float], moments: Moments, moments_val: Moments
) -> list[PathPoint]:
    """One for each penalty, in their order; `graphs` has the shape (penalties, groups, p, p)."""
    points = []
    for W, its, penalty in zip(graphs, steps, penalties, strict=True):
        fit = Fit({"W": W}, penalised.moment_loss(*moments, W), penalised.moment_loss(*moments_val, W), its)
        l1_norm = float((moments[1] * W.abs().sum((1, 2))).sum())
        points.append(PathPoint(l1_norm, (penalty,), _mean_edges(W, moments_val[1]), (fit,)))
    return points


def _from_dense_to_sparse(points: Sequence[PathPoint]) -> list[PathPoint]:
    return sorted(points, key=lambda point: -point.l1_budget)


def _solve(S: Tensor, penalties: Sequence[float], allowed: Tensor) -> tuple[Tensor, list[int]]:
    """Graphs (penalties, groups, p, p), all problems at once, and the most steps for each penalty."""
    n_groups, p, _ = S.shape
    problems = S.repeat(len(penalties), 1, 1)
    penalty = torch.tensor(penalties, dtype=S.dtype, device=S.device).repeat_interleave(n_groups)
    allowed = allowed.to(S.device) & ~torch.eye(p, dtype=torch.bool, device=S.device)
    found, steps = [], []
    for part in torch.arange(len(problems), device=S.device).tensor_split(math.ceil(len(problems) / PROBLEMS_AT_ONCE)):
        W, its = penalised.penalised_dags(problems[part], penalty[part], allowed)
        found.append(W)
        steps += its
    most = [max(steps[i * n_groups : (i + 1) * n_groups]) for i in range(len(penalties))]
    return torch.cat(found).view(len(penalties), n_groups, p, p), most


def _refitted(points: Sequence[PathPoint], data: Sequence[tuple[Moments, Moments]]) -> PathPoint:
    """One point, with its refit, from those of its members at the same penalty."""
    fits, graphs, curves = [], [], []
    for point, (moments, moments_val) in zip(points, data, strict=True):
        W = penalised.least_squares_on_support(moments[0], point.fits[0].state["W"] != 0)
        cuts, _ = cuts_of(W)
        kept = [torch.where(W.abs() > cut, W, 0) for cut in cuts]
        losses = [penalised.moment_loss(*moments_val, w) for w in kept]
        fits.append(Fit({"W": W}, penalised.moment_loss(*moments, W), losses[0], 0))
        graphs.append(W)
        curves.append(Curve(cuts, [_mean_edges(w, moments_val[1]) for w in kept], losses))
    refit = _refit_of_members(tuple(fits), graphs, curves)
    if len(points) == 1:
        return replace(points[0], refit=refit)
    W = average([point.fits[0].state["W"] for point in points])
    l1_norm = sum(point.l1_budget for point in points) / len(points)
    thresholds = tuple(point.thresholds[0] for point in points)
    return PathPoint(l1_norm, thresholds, float((W != 0).sum()), tuple(point.fits[0] for point in points), refit)


def _refit_of_members(fits: tuple[Fit, ...], graphs: Sequence[Tensor], curves: Sequence[Curve]) -> Refit:
    """The mean of members' graphs, of which as many edges are believed as most members keep."""
    losses = tuple(curve.losses[curve.best] for curve in curves)
    loss = sum(losses) / len(losses)
    everywhere = torch.ones(graphs[0].shape[1:], dtype=torch.bool, device=graphs[0].device)
    uncut = torch.zeros(len(fits), *everywhere.shape, device=everywhere.device)
    if len(fits) == 1:
        return Refit(fits, uncut, losses, loss, everywhere, *curves[0], curves[0].best)
    W = average(graphs)
    cuts, n_edges = cuts_of(W)
    kept = torch.stack([graph.abs() > curve.cuts[curve.best] for graph, curve in zip(graphs, curves, strict=True)])
    agreed = int((2 * kept.sum(0) > len(graphs)).sum())
    return Refit(
        fits, uncut, losses, loss, everywhere, cuts, n_edges, mean_losses(curves, n_edges), nearest_count(n_edges, agreed)
    )


def _mean_edges(W: Tensor, share: Tensor) -> float:
    return float((share * (W != 0).sum((1, 2))).sum())
