"""Effects on arrays: against sums over paths, inverses and a simulation of the equations."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextualdag.effects import effects_of, means_under, sample_under, spreads, total_effects
from contextualdag.errors import CyclicGraphError


def random_graphs(n, p, seed, density=0.5):
    """Weights of acyclic graphs, each in an order of its own."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.standard_normal((n, p, p)) * (rng.random((n, p, p)) < density), 1)
    orders = [rng.permutation(p) for _ in range(n)]
    return np.stack([graph[np.ix_(order, order)] for graph, order in zip(W, orders, strict=True)])


def by_paths(W, j, k):
    """The sum over all sequences of distinct nodes from j to k."""
    others = [node for node in range(len(W)) if node not in (j, k)]
    ways = itertools.chain.from_iterable(itertools.permutations(others, length) for length in range(len(others) + 1))
    return sum(np.prod([W[a, b] for a, b in itertools.pairwise((j, *way, k))]) for way in ways)


def solved(W, mu, noise, interventions):
    """The equations of the variables that are not set, solved as a linear system, row by row."""
    found = []
    for i in range(len(W)):
        A, b = np.eye(W.shape[1]) - W[i].T, noise[i] + mu[i] - W[i].T @ mu[i]
        for position, value in interventions.items():
            A[position], b[position] = np.eye(W.shape[1])[position], np.broadcast_to(value, len(W))[i]
        found.append(np.linalg.solve(A, b))
    return np.stack(found)


def test_total_effects_are_sums_over_all_paths():
    W = random_graphs(3, 5, 0)
    T = total_effects(W)
    for i, j, k in itertools.product(range(3), range(5), range(5)):
        assert T[i, j, k] == pytest.approx(0 if j == k else by_paths(W[i], j, k), abs=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 7, 8, 9, 16, 17, 40])
def test_total_effects_are_the_inverse(p):
    chain = np.diag(np.ones(p - 1), 1)[None]  # the longest path that there can be
    np.testing.assert_array_equal(total_effects(chain)[0], np.triu(np.ones((p, p)), 1))
    W = random_graphs(4, p, p, density=min(1, 3 / p))
    T = total_effects(W)
    np.testing.assert_allclose(T, np.linalg.inv(np.eye(p) - W) - np.eye(p), atol=1e-8 * max(np.abs(T).max(initial=0), 1))
    for j in range(p):
        np.testing.assert_allclose(effects_of(W, j), T[:, j], rtol=1e-9, atol=1e-9)


def test_without_a_path_the_effect_is_exactly_zero():
    W = random_graphs(20, 8, 1, density=0.2) * 0.1
    reaches = np.linalg.matrix_power(np.eye(8) + (W != 0), 8) > 0
    T = total_effects(W)
    assert ((T != 0) <= reaches).all()
    assert not T[:, range(8), range(8)].any()


def test_cycles_are_refused():
    W = np.zeros((2, 3, 3))
    W[1, 0, 1] = W[1, 1, 2] = W[1, 2, 0] = 0.5
    for compute in (total_effects, lambda W: effects_of(W, 0)):
        with pytest.raises(CyclicGraphError, match="W has a cycle"):
            compute(W)
    # Setting a variable cuts the edges into it, and with them the cycle.
    np.testing.assert_allclose(means_under(W[1:], np.zeros((1, 3)), {0: 4.0}), [[4, 2, 1]])


@given(seed=st.integers(0, 10_000), p=st.integers(1, 7), n_set=st.integers(1, 3))
def test_interventions_solve_the_other_equations(seed, p, n_set):
    rng = np.random.default_rng(seed)
    W, mu, noise = random_graphs(4, p, seed), rng.standard_normal((4, p)), rng.standard_normal((4, p))
    positions = rng.choice(p, min(n_set, p), replace=False)
    interventions = {int(k): rng.standard_normal(4) if k % 2 else float(rng.standard_normal()) for k in positions}
    arrays = [W, mu, noise]
    before = [array.copy() for array in arrays]
    drawn = sample_under(W, mu, noise, interventions)
    np.testing.assert_allclose(drawn, solved(W, mu, noise, interventions), rtol=1e-8, atol=1e-8)
    means = means_under(W, mu, interventions)
    np.testing.assert_allclose(means, solved(W, mu, np.zeros_like(mu), interventions), rtol=1e-8, atol=1e-8)
    for position, value in interventions.items():
        np.testing.assert_array_equal(drawn[:, position], np.broadcast_to(value, 4))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_one_unit_more_changes_means_by_the_total_effect():
    W, mu = random_graphs(5, 6, 2), np.random.default_rng(0).standard_normal((5, 6))
    T = total_effects(W)
    for j in range(6):
        change = means_under(W, mu, {j: mu[:, j] + 1}) - means_under(W, mu, {j: mu[:, j]})
        np.testing.assert_allclose(np.delete(change, j, 1), np.delete(T[:, j], j, 1), atol=1e-9)


def test_whole_numbers_are_numbers():
    W, mu = np.array([[[0, 2], [0, 0]]]), np.array([[1, 1]])
    np.testing.assert_array_equal(means_under(W, mu, {0: 1.25}), [[1.25, 1.5]])
    np.testing.assert_array_equal(sample_under(W, mu, mu, {0: 1.25}), [[1.25, 2.5]])
    assert total_effects(W).dtype == np.float64


def test_spreads_are_those_of_samples():
    W, scale = random_graphs(1, 5, 3) * 0.7, np.array([0.5, 1, 1.5, 2, 1])
    noise = np.random.default_rng(0).standard_normal((200_000, 5)) * scale
    X = noise @ np.linalg.inv(np.eye(5) - W[0])
    np.testing.assert_allclose(spreads(W, scale)[0], X.std(0), rtol=0.01)
