import numpy as np
import pytest

from contextualdag.errors import InvalidInputError
from contextualdag.metrics import estimation_error, f1_score, shd

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("edges", "f1", "distance"),
    [
        ([(0, 1), (1, 2)], 1.0, 0),
        ([(0, 1)], 2 / 3, 1),
        ([(1, 0), (1, 2)], 0.5, 1),  # a reversal is one pair
        ([(0, 1), (1, 2), (0, 2)], 0.8, 1),
        ([], 0.0, 2),
        ([(0, 2)], 0.0, 3),
    ],
)
def test_against_counting_by_hand(edges, f1, distance):
    estimated = np.zeros((1, 3, 3))
    for j, k in edges:
        estimated[0, j, k] = -0.3
    assert f1_score(CHAIN[None], estimated) == pytest.approx(f1)
    assert shd(CHAIN[None], estimated) == distance


def test_means_over_graphs_with_empty_ones():
    empty = np.zeros((3, 3))
    assert f1_score([empty, CHAIN], [empty, CHAIN]) == 1.0
    assert f1_score([empty, CHAIN], [CHAIN, CHAIN]) == 0.5
    assert shd([empty, CHAIN], [CHAIN, CHAIN]) == 1.0


def test_estimation_error_is_relative_to_the_truth():
    assert estimation_error([CHAIN], [CHAIN * 0.5]) == 0.25
    assert estimation_error([CHAIN], [CHAIN * 0]) == 1.0
    assert estimation_error([CHAIN * 0], [CHAIN * 0]) == 0.0
    assert estimation_error([CHAIN * 0], [CHAIN]) == np.inf


@pytest.mark.parametrize("metric", [f1_score, shd, estimation_error])
def test_shapes_are_checked(metric):
    with pytest.raises(InvalidInputError, match=r"true must hold graphs of shape \(n, p, p\)"):
        metric(CHAIN, CHAIN)
    with pytest.raises(InvalidInputError, match=r"same shape. Got \(1, 3, 3\) and \(2, 3, 3\)"):
        metric([CHAIN], [CHAIN, CHAIN])
    with pytest.raises(InvalidInputError, match="hold no graph"):
        metric(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))
