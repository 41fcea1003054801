"""How much varies."""

import math

import pytest
import torch

from contextualdag.training.structure import COMMON_ORDER, CONSTANT, VARYING, StructureScore, compare, simplest


def scores(constant, common_order, varying):
    """Of the three structures: how far behind the best, and the standard error of that."""
    given = {CONSTANT: constant, COMMON_ORDER: common_order, VARYING: varying}
    return {name: StructureScore(0.0, *one) for name, one in given.items() if one is not None}


def test_scores_are_those_of_normal_noise():
    losses = {CONSTANT: torch.tensor([1.0, 3.0]), VARYING: torch.tensor([1.0, 1.0])}
    found = compare(losses, n_nodes=4)
    assert found[VARYING].behind == found[VARYING].standard_error == 0
    assert found[VARYING].log_likelihood == pytest.approx(4 * -0.5 * (1 + math.log(2 * math.pi)))
    assert found[CONSTANT].behind == pytest.approx(0.5 * 4 * (2 - 1))
    assert found[CONSTANT].standard_error == pytest.approx(2)  # of 0 and 4


@pytest.mark.parametrize(
    ("given", "context_matters", "expected"),
    [
        (scores((0.5, 0.1), (0.3, 0.1), (0, 0)), True, VARYING),
        (scores((0.5, 0.1), (0.3, 0.1), (0, 0)), False, VARYING),
        (scores((0.5, 0.1), (0.009, 0.1), (0, 0)), True, COMMON_ORDER),  # as good, but for a little
        (scores((0.5, 0.1), (0, 0), (0.3, 0.1)), True, COMMON_ORDER),
        (scores((0.005, 0.1), (0, 0), (0.3, 0.1)), True, COMMON_ORDER),  # the context matters, so not constant
        (scores((0.15, 0.1), (0, 0), (0.3, 0.1)), False, CONSTANT),  # no sign of it, and not clearly worse
        (scores((0.25, 0.1), (0, 0), (0.3, 0.1)), False, COMMON_ORDER),
        (scores((0, 0), (0.05, 0.1), (0.3, 0.1)), True, COMMON_ORDER),  # nor where it is better by chance
        (scores((0, 0), (0.05, 0.1), (0.02, 0.1)), True, VARYING),
        (scores((0, 0), (0.05, 0.1), (0.02, 0.1)), False, CONSTANT),
        (scores((0, 0), (0.2, 0.1), (0.3, 0.1)), True, CONSTANT),
        (scores((0, 0), (0, 0), (0, 0)), True, CONSTANT),
        (scores((0.0, 0.0), (0.3, 0.1), None), False, CONSTANT),
        (scores(None, None, (0.0, 0.0)), True, VARYING),
    ],
)
def test_the_simplest_that_predicts_as_well(given, context_matters, expected):
    assert simplest(given, 10, context_matters) == expected
