"""The path of graphs that do not vary, or only from group to group: one graph for each penalty."""

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training import penalised
from contextualdag.training.path import PathPoint
from contextualdag.training.refit import Refit, cuts_of
from contextualdag.training.trainer import Fit

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
    graphs = torch.where(graphs.abs() > cut, graphs, 0)
    points = []
    for W, its, penalty in zip(graphs, steps, penalties, strict=True):
        fit = Fit({"W": W}, penalised.moment_loss(*moments, W), penalised.moment_loss(*moments_val, W), its)
        l1_norm = float((moments[1] * W.abs().sum((1, 2))).sum())
        points.append(PathPoint(l1_norm, (penalty,), _mean_edges(W, moments_val[1]), (fit,)))
    points.sort(key=lambda point: -point.l1_budget)
    return [_refitted(point, moments, moments_val) for point in points] if with_refits else points


def one_graph(X: Tensor, X_val: Tensor, allowed: Tensor, n_penalties: int) -> list[PathPoint]:
    """The path of one graph for all samples, with refits, where that is computed best; its tensors come back to X."""
    # The compiled solver, on the CPU, searches further than the other.
    device = X.device if importlib.util.find_spec("numba") is None else torch.device("cpu")
    both = []
    for samples in (X, X_val):
        group = torch.zeros(len(samples), dtype=torch.int64, device=samples.device)
        S, share = penalised.second_moments(samples.double(), group, 1)
        both.append((S.to(device), share.to(device)))
    penalties = penalty_grid(both[0][0], n_penalties)
    points = constant_path(both[0], both[1], penalties, allowed, 0.0, with_refits=True)
    return [_moved(point, X.device) for point in points]


def penalty_grid(S: Tensor, n_penalties: int) -> list[float]:
    """Penalties that fall in equal ratios from the one that leaves no edge to a thousandth of it."""
    eye = torch.eye(S.shape[1], dtype=torch.bool, device=S.device)
    largest = float(torch.where(eye, 0, S).abs().amax())
    steps = max(n_penalties - 1, 1)
    return [largest * SMALLEST_PENALTY ** (step / steps) for step in range(n_penalties)]


def constant_graphs(point: PathPoint, cut: float | None, group: Tensor) -> Tensor:
    """Graphs (n, p, p) of samples in given groups: refitted weights above the cut, or the shrunken ones without a cut."""
    W = point.fits[0].state["W"]
    if point.refit is not None and cut is not None:
        W = point.refit.fits[0].state["W"]
        W = torch.where(W.abs() > cut, W, 0)
    return W.to(group.device, torch.float32)[group]


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


def _refitted(point: PathPoint, moments: Moments, moments_val: Moments) -> PathPoint:
    W = penalised.least_squares_on_support(moments[0], point.fits[0].state["W"] != 0)
    cuts = cuts_of(W)
    kept = [torch.where(W.abs() > cut, W, 0) for cut in cuts]
    losses = [penalised.moment_loss(*moments_val, w) for w in kept]
    fit = Fit({"W": W}, penalised.moment_loss(*moments, W), losses[0], 0)
    best = min(range(len(cuts)), key=lambda i: (losses[i], -i))  # the larger on ties
    n_edges = [_mean_edges(w, moments_val[1]) for w in kept]
    everywhere = torch.ones(W.shape[1:], dtype=torch.bool, device=W.device)
    uncut = torch.zeros(1, *everywhere.shape, device=W.device)
    return replace(point, refit=Refit((fit,), uncut, (losses[best],), losses[best], everywhere, cuts, n_edges, losses, best))


def _moved(point: PathPoint, device: torch.device) -> PathPoint:
    def move(fits: tuple[Fit, ...]) -> tuple[Fit, ...]:
        return tuple(replace(fit, state={name: value.to(device) for name, value in fit.state.items()}) for fit in fits)

    refit = None if point.refit is None else replace(point.refit, fits=move(point.refit.fits))
    return replace(point, fits=move(point.fits), refit=refit)


def _mean_edges(W: Tensor, share: Tensor) -> float:
    return float((share * (W != 0).sum((1, 2))).sum())
