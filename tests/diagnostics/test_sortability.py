"""Sortability against counts of paths by hand, and against the definitions computed path by path."""

import networkx as nx
import numpy as np
import pytest

from contextualdag.datasets import make_fixed_dag
from contextualdag.diagnostics.sortability import explained_by_others, sortability

CHAIN = np.array([[[0, 1, 0], [0, 0, 1], [0, 0, 0]]])


@pytest.mark.parametrize(
    ("scores", "share"),
    [([1, 2, 3], 1), ([3, 2, 1], 0), ([1, 3, 2], 2 / 3), ([1, 1, 1], 1 / 2), ([2, 1, 2], (0 + 1 + 0.5) / 3)],
)
def test_a_chain(scores, share):
    assert sortability(CHAIN, np.array(scores)) == pytest.approx(share)


def test_pairs_count_once_for_each_length_of_paths():
    graphs = np.triu(np.random.default_rng(0).random((3, 6, 6)) < 0.5, 1)
    scores = np.random.default_rng(1).random((3, 6))
    rising = total = 0
    for graph, score in zip(graphs, scores, strict=True):
        net = nx.DiGraph(graph.astype(int))
        for source in net:
            for target in set(net) - {source}:
                lengths = {len(path) for path in nx.all_simple_paths(net, source, target)}
                total += len(lengths)
                rising += len(lengths) * (score[source] < score[target])
    assert sortability(graphs, scores) == pytest.approx(rising / total)


def test_no_edges():
    assert np.isnan(sortability(np.zeros((2, 3, 3)), np.arange(3)))


def test_simulations_with_equal_noise_are_sorted_by_variance_and_standardised_ones_are_not():
    for seed in range(5):
        data = make_fixed_dag(2000, 10, n_edges=20, random_state=seed)
        assert sortability(data.W[:1], data.X.var(0)) > 0.9
        assert sortability(data.W[:1], np.ones(10)) == 0.5


def test_explained_shares_are_those_of_regressions_and_have_no_units():
    X = make_fixed_dag(300, 5, n_edges=6, weight=1.0, random_state=0).X
    for k in range(5):
        design = np.column_stack([np.ones(300), np.delete(X, k, axis=1)])
        left = X[:, k] - design @ np.linalg.lstsq(design, X[:, k], rcond=None)[0]
        expected = 1 - (left @ left) / ((X[:, k] - X[:, k].mean()) ** 2).sum() * 299 / 295
        assert explained_by_others(X)[k] == pytest.approx(expected)
    np.testing.assert_allclose(explained_by_others(X * [1, 10, 100, 0.1, 1]), explained_by_others(X))


def test_a_constant_column_is_not_explained():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1, 0, 1]
    assert explained_by_others(X)[1] == 0
