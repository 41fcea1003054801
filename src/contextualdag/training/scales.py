"""Noise scales that are learned by turns with graphs; what they are for is said in `contextualdag.training.noise`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from contextualdag.training import noise
from contextualdag.training.data import Split, concatenate
from contextualdag.training.held_out import predictions
from contextualdag.training.loss import residuals
from contextualdag.training.problem import GroupSettings, NetworkSettings, Problem
from contextualdag.training.solution import Solution
from contextualdag.training.structure import VARYING

MOST_TRIED = 1000  # rows to learn noise scales from


def learn_scales(problems: Sequence[Problem], solve: Callable[[list[Problem]], list[Solution]]) -> list[Tensor]:
    """Noise scales (p,) that are not equal: those of the residuals of a single network that is trained on some of the rows.

    It needs scales as well. There are two starts, residuals of regressions on all other variables and standard deviations,
    neither of which depends on units; what predicts rows held out better is taken. `solve` learns graphs.
    """
    starts = [(noise.brackets(one.split.train, one.allowed).low.sqrt(), torch.ones_like(one.units)) for one in problems]
    trials = [_trial(one, start) for one, its in zip(problems, starts, strict=True) for start in its]
    solutions = solve([problem for _, problem in trials])
    found = [_scale_of(*trial, solution) for trial, solution in zip(trials, solutions, strict=True)]
    scales = [max(its, key=lambda one: one[0])[1] for its in zip(found[::2], found[1::2], strict=True)]
    return [noise.sized(scale, one.split.train) for one, scale in zip(problems, scales, strict=True)]


def _trial(problem: Problem, start: Tensor) -> tuple[Tensor, Problem]:
    """A smaller problem, with its scales."""
    parts = []
    for rows, most in ((problem.split.train, MOST_TRIED), (problem.split.held_out, MOST_TRIED // 2)):
        chosen = torch.randperm(len(rows), generator=torch.Generator().manual_seed(problem.seed))[:most]
        parts.append(rows[chosen.sort().values.to(rows.X.device)])
    settings: NetworkSettings | GroupSettings = replace(problem.settings, selection="relaxed")
    if isinstance(settings, NetworkSettings):
        settings = replace(settings, n_members=1, cross_fit=False, structure=VARYING, final=False)
    trial = replace(problem, split=Split(*parts), settings=settings, noise=noise.UNEQUAL, checkpoint=None, observer=None)
    scale = noise.sized(noise.floored(start, noise.residual_scales(parts[0].X, parts[0]).cpu()), parts[0])
    return scale, divided(trial, scale)


def _scale_of(scale: Tensor, problem: Problem, solution: Solution) -> tuple[float, Tensor]:
    """The scales of the residuals of a trial, and the log likelihood that they reach on rows held out."""
    rows = concatenate([problem.split.train, problem.split.held_out])
    left = residuals(rows.X, solution.graphs(rows.Z, rows.mask))
    spread = scale * noise.residual_scales(rows.X, rows).cpu()
    found = noise.floored(scale * noise.residual_scales(left, rows).cpu(), spread)
    unseen = left[len(problem.split.train) :].double().cpu() * scale
    held_out = problem.split.held_out
    weight = torch.ones(len(unseen)) if held_out.weight is None else held_out.weight.cpu()
    scored = None if held_out.scored is None else held_out.scored.cpu()
    return float((noise.log_likelihoods(unseen, found, scored) * weight).sum() / weight.sum()), found


def divided(problem: Problem, scale: Tensor) -> Problem:
    """The problem with variables divided by their scales."""
    by = scale.to(problem.split.train.X)
    parts = [replace(rows, X=rows.X / by) for rows in (problem.split.train, problem.split.held_out)]
    return replace(problem, split=Split(*parts))


def may_be_equal(problem: Problem) -> bool:
    """Whether noise is, or could be, equal in the units of the user."""
    if problem.noise != "auto":
        return problem.noise == noise.EQUAL
    return noise.brackets(problem.split.train, problem.allowed).allow_equal(problem.units)


def speaks_for_unequal(problem: Problem, solution: Solution) -> bool:
    """Whether the residuals of graphs learned under equal noise are those of unequal noise."""
    _, rows, W = predictions(solution, problem.folds())
    left = residuals(rows.X, W)
    halves = (slice(0, None, 2), slice(1, None, 2))
    gains = [noise.gain_of_scales((left[a], rows[a]), (left[b], rows[b])) for a, b in (halves, halves[::-1])]
    gain, error = (sum(values) / 2 for values in zip(*gains, strict=True))
    return noise.is_clear(gain, error)
