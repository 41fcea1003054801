"""Total effects."""

import numpy as np
import pytest

from contextualdag.explorer.effects import total_effects


def test_is_the_sum_over_all_ways():
    rng = np.random.default_rng(0)
    W = np.triu(rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.5), 1)
    order = rng.permutation(6)
    W = W[np.ix_(order, order)]
    by_powers = sum(np.linalg.matrix_power(W, length) for length in range(1, 6))
    np.testing.assert_allclose(total_effects(W), by_powers, atol=1e-12)


def test_moves_the_simulated_variable():
    W = np.array([[0, 0.5, 0], [0, 0, -2.0], [0, 0, 0]])
    solve = np.linalg.inv(np.eye(3) - W.T)
    assert total_effects(W)[0, 2] == pytest.approx(solve[2, 0]) == -1


def test_no_way_is_exactly_no_effect():
    W = np.zeros((4, 4))
    W[0, 1], W[1, 2] = 0.1, 0.3
    assert (total_effects(W) != 0).sum() == 3
