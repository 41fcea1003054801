"""How much varies with the context: nothing, the weights along one order of the variables, or the order itself.

The three are nested, and rows held out tell which one it is: the simplest is chosen that predicts them as well as the best,
but for a little. The same rows end trainings and select edges, and the more freedom graphs have the more that flatters them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from contextualdag.training.context_test import ContextTest
from contextualdag.training.data import standard_error
from contextualdag.training.solution import Solution

CONSTANT, COMMON_ORDER, VARYING = STRUCTURES = ("constant", "common-order", "varying")  # from the simplest on
TIE = 0.001  # log likelihood of a row, for each variable, by which simpler graphs may be behind
UNSEEN = 2.0  # standard errors by which one graph may be behind if a test sees no sign that the context matters


@dataclass(frozen=True)
class StructureScore:
    """How well graphs of one structure predict rows held out.

    Attributes
    ----------
    log_likelihood : float
        Mean of a row under normal noise, with the noise of the best structure.
    behind : float
        How much less that is than of the best structure.
    standard_error : float
        Standard error of `behind`; zero for the best.
    """

    log_likelihood: float
    behind: float
    standard_error: float


@dataclass(frozen=True)
class Choice:
    """Graphs, and why they are not simpler or more general ones.

    Attributes
    ----------
    solution : Solution
        The graphs.
    structure : {"constant", "common-order", "varying"}
        How much they vary.
    scores : dict of str to StructureScore
        The structures that were compared; empty where there was nothing to choose.
    context_test : ContextTest, optional
        Whether the context matters; None where that was not tested.
    constant : Solution, optional
        One graph for all contexts, if it was fitted.
    """

    solution: Solution
    structure: str
    scores: dict[str, StructureScore] = field(default_factory=dict)
    context_test: ContextTest | None = None
    constant: Solution | None = None


def compare(losses: Mapping[str, Tensor], n_nodes: int, group: Tensor | None = None) -> dict[str, StructureScore]:
    """Scores of structures, from the mean squared errors of the same rows (n,) with the graphs of each.

    Rows may belong to groups (n,), which are independent of one another.
    """
    means = {name: float(loss.double().mean()) for name, loss in losses.items()}
    best = min(means, key=lambda name: means[name])
    variance = max(means[best], 1e-300)

    def log_likelihoods(name: str) -> Tensor:
        return -0.5 * n_nodes * (losses[name].double() / variance + math.log(2 * math.pi * variance))

    scores = {}
    for name in losses:
        behind = log_likelihoods(best) - log_likelihoods(name)
        error = standard_error(behind, group)
        scores[name] = StructureScore(float(log_likelihoods(name).mean()), float(behind.mean()), error)
    return scores


def simplest(scores: Mapping[str, StructureScore], n_nodes: int, context_matters: bool) -> str:
    """The simplest structure that predicts as well as the best.

    What a test says of the context weighs in: if it matters, one graph for all contexts has to be clearly the best; if there
    is no sign of that, others have to be clearly better.
    """
    tie = TIE * n_nodes
    others = {name: score for name, score in scores.items() if name != CONSTANT}
    if CONSTANT in scores:
        own = scores[CONSTANT]
        if not any(score.behind for score in scores.values()):  # they are the same, most likely empty
            return CONSTANT
        if not context_matters and own.behind <= max(tie, UNSEEN * own.standard_error):
            return CONSTANT
        if all(score.behind > score.standard_error for score in others.values()):
            return CONSTANT
    best = min(others, key=lambda name: others[name].behind)
    if COMMON_ORDER in others and others[COMMON_ORDER].behind <= others[best].behind + tie:
        return COMMON_ORDER
    return best
