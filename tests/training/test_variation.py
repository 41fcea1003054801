"""Which edges are the same in all contexts: the numbers, and the test."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from contextualdag.training.data import Rows
from contextualdag.training.variation import benjamini_hochberg, edge_variation


def one_edge(seed, n=300, weight=lambda Z: 0.8, m=1, noise=None):
    """Rows and graphs of x1 -> x2; noise is normal, or made of normal numbers and contexts."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1, 1, (n, m))
    E = rng.standard_normal((n, 2))
    if noise is not None:
        E = noise(E, Z)
    W = np.zeros((n, 2, 2))
    W[:, 0, 1] = weight(Z)
    E[:, 1] += W[:, 0, 1] * E[:, 0]
    return E, Z / Z.std(0), W


def found(X, Z, W, features=None, **more):
    W = torch.from_numpy(np.asarray(W))
    columns = {str(column): (column,) for column in range(Z.shape[1])} if features is None else features
    rows = Rows(torch.from_numpy(X), torch.from_numpy(Z), **more)
    return edge_variation(lambda chosen: W[chosen], rows, columns)


def test_numbers_are_those_of_the_graphs():
    rng = np.random.default_rng(0)
    n = 4500  # more than one block
    W = np.zeros((n, 4, 4))
    W[:, 0, 1] = rng.uniform(0.5, 1, n)
    turns = rng.random(n)
    W[turns < 0.5, 3, 2], W[turns > 0.7, 2, 3] = 2.0, -1.0
    W[::10, 1, 3] = 0.1
    got = found(rng.standard_normal((n, 4)), rng.standard_normal((n, 1)), W)
    assert torch.stack([got.source, got.target], 1).tolist() == [[3, 2], [0, 1], [1, 3]]  # by mean size
    for row, (j, k) in enumerate(((3, 2), (0, 1), (1, 3))):
        forward, backward = W[:, j, k], W[:, k, j]
        joined = (forward != 0) | (backward != 0)
        assert float(got.share[row]) == pytest.approx(joined.mean())
        assert float(got.reverse[row]) == pytest.approx((backward[joined] != 0).mean())
        assert float(got.weight[row]) == pytest.approx(forward[forward != 0].mean())
        assert float(got.spread[row]) == pytest.approx(forward.std())
    assert got.reverses.tolist() == [True, False, False]
    assert got.p_value.isfinite().tolist() == [False, True, True]


def test_many_rows_are_drawn_from():
    got = found(*one_edge(0, n=12_000, weight=lambda Z: np.where(Z[:, 0] > 0, 1.0, 0.0)))
    assert float(got.share) == pytest.approx(0.5, abs=0.02)
    assert float(got.p_value) < 1e-12


def test_no_edges():
    X, Z, W = one_edge(0)
    got = found(X, Z, 0 * W)
    assert got.source.shape == got.p_value.shape == (0,)
    assert got.of_features.shape == (0, 1)
    assert benjamini_hochberg(got.p_value).tolist() == []


def test_the_p_value_is_that_of_a_regression_of_one_on_the_scores():
    X, Z, W = one_edge(3, weight=lambda Z: 0.5 + 0.4 * Z[:, 0], noise=lambda E, Z: E * (1 + 0.5 * Z))
    x, y, z, n = X[:, 0], X[:, 1], Z[:, 0], len(Z)
    given = np.stack([np.ones(n), z, z**2, x], 1)

    def left(columns):
        return columns - given @ np.linalg.lstsq(given, columns, rcond=None)[0]

    scores = left(np.stack([x * z, x * z**2], 1)) * left(y)[:, None]
    ones = np.ones(n)
    unexplained = ((ones - scores @ np.linalg.lstsq(scores, ones, rcond=None)[0]) ** 2).sum()
    statistic = (n - unexplained) * (1 - 4 / n)
    got = found(X, Z, W)
    assert float(got.p_value) == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-6)
    assert float(got.p_value) < 0.05
    assert float(got.of_features[0, 0]) == pytest.approx(float(got.p_value))  # there is one feature


@pytest.mark.parametrize(
    "noise",
    [None, lambda E, Z: E**3, lambda E, Z: E * np.exp(Z[:, :1]), lambda E, Z: np.sign(E)],
    ids=["normal", "heavy tails", "changes with the context", "binary"],
)
def test_the_level_holds_whatever_the_noise(noise):
    p_values = [float(found(*one_edge(seed, m=2, noise=noise)).p_value) for seed in range(200)]
    assert np.mean([p <= 0.05 for p in p_values]) <= 0.08  # 0.05 and two standard errors
    if noise is None:
        assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_weights_that_change_are_found():
    for weight in (lambda Z: 0.8 + 0.5 * Z[:, 0], lambda Z: Z[:, 0] ** 2, lambda Z: 1.0 * (Z[:, 0] > 0)):
        assert np.mean([float(found(*one_edge(seed, weight=weight)).p_value) <= 0.05 for seed in range(40)]) > 0.9


def test_errors_of_the_weights_of_other_parents_do_not_leak():
    p_values = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z = rng.uniform(-1, 1, (400, 1)) * math.sqrt(3)
        X = rng.standard_normal((400, 3))
        X[:, 1] += X[:, 0]
        W = np.zeros((400, 3, 3))
        W[:, 0, 1] = 1.0
        W[:, 0, 2], W[:, 1, 2] = 0.7, 0.5 * Z[:, 0]
        X[:, 2] += (X * W[:, :, 2]).sum(1)
        W[:, 1, 2] *= 0.5  # a fit that shrinks the change of one parent
        got = found(X, Z, W)
        p_values.append(float(got.p_value[(got.source == 0) & (got.target == 2)]))
    assert np.mean([p <= 0.05 for p in p_values]) <= 0.1


def test_other_variables_may_be_parents_in_some_contexts_and_children_in_others():
    p_values = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z = rng.uniform(-1, 1, (400, 1)) * math.sqrt(3)
        E = rng.standard_normal((400, 3))
        before = Z[:, 0] > 0
        W = np.zeros((400, 3, 3))
        W[:, 0, 2] = 0.7
        W[before, 1, 2], W[~before, 2, 1] = 1.0, 1.0  # 0 -> 2 in all contexts, 1 -> 2 or 2 -> 1
        W[:, 0, 1] = 0.5
        X = np.linalg.solve(np.eye(3) - W.transpose(0, 2, 1), E[:, :, None])[:, :, 0]
        got = found(X, Z, W)
        p_values.append(float(got.p_value[(got.source == 0) & (got.target == 2)]))
    assert np.mean([p <= 0.05 for p in p_values]) <= 0.1


def test_features_are_told_apart():
    first = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((500, 2))
        Z[:, 1] = 0.6 * Z[:, 0] + 0.8 * Z[:, 1]
        X = rng.standard_normal((500, 2))
        W = np.zeros((500, 2, 2))
        W[:, 0, 1] = 0.5 + 0.4 * Z[:, 0]
        X[:, 1] += W[:, 0, 1] * X[:, 0]
        first.append((found(X, Z, W).of_features[0] <= 0.05).tolist())
    with_first, with_second = np.mean(first, axis=0)
    assert with_first > 0.95
    assert with_second <= 0.12


def test_categories():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 600)
    Z = np.eye(3)[kind]
    X, _, W = one_edge(0, n=600)
    assert 0.01 < float(found(X, Z, W, {"kind": (0, 1, 2)}).p_value) < 0.99
    X[:, 1] += np.where(kind == 2, 0.7, 0) * X[:, 0]
    got = found(X, Z, W, {"kind": (0, 1, 2)})
    assert float(got.p_value) < 1e-6
    assert float(got.of_features[0, 0]) == pytest.approx(float(got.p_value))


def test_where_there_is_no_test():
    X, Z, W = one_edge(0)
    for contexts in (np.zeros_like(Z), Z[:, :0]):
        assert math.isnan(float(found(X, contexts, W).p_value))
    assert math.isnan(float(found(X[:8], Z[:8], W[:8]).p_value))


def test_rows_without_weight_do_not_count():
    X, Z, W = one_edge(0)
    X[:5] *= 100
    weight = torch.ones(300)
    weight[:5] = 0
    with_them, without = found(X, Z, W, weight=weight), found(X[5:], Z[5:], W[5:])
    assert float(with_them.p_value) == pytest.approx(float(without.p_value), rel=0.05)
    assert float(with_them.p_value) != pytest.approx(float(found(X, Z, W).p_value), rel=0.05)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_benjamini_hochberg_is_that_of_scipy(p_values):
    got = benjamini_hochberg(torch.tensor([*p_values, math.nan], dtype=torch.float64))
    adjusted = stats.false_discovery_control(p_values) if p_values else np.zeros(0)
    clear = np.abs(adjusted - 0.05) > 1e-9
    assert not got[-1]
    assert (got[:-1].numpy() == (adjusted <= 0.05))[clear].all()
