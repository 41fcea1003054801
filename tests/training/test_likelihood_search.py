"""The search for the graph of largest likelihood: against all graphs of four nodes, and on data of known graphs."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch

from contextualdag import FixedDAG
from contextualdag.datasets import make_fixed_dag
from contextualdag.graphs import is_acyclic
from contextualdag.training.likelihood_search import in_doubt, likeliest


def criterion(support, S, n):
    """The extended Bayesian information criterion, node by node with least squares."""
    p, total = len(support), 0.0
    for k in range(p):
        parents = np.flatnonzero(support[:, k])
        left = S[k, k] - S[k, parents] @ np.linalg.pinv(S[np.ix_(parents, parents)]) @ S[parents, k]
        total += n * math.log(left) + len(parents) * (math.log(n) + 2 * math.log(p))
    return total


def every_dag(p):
    places = [(j, k) for j in range(p) for k in range(p) if j != k]
    for chosen in itertools.product([False, True], repeat=len(places)):
        graph = np.zeros((p, p), dtype=bool)
        graph[tuple(zip(*places, strict=True))] = chosen
        if bool(is_acyclic(torch.from_numpy(graph[None].astype(float)))):
            yield graph


def test_against_all_graphs_of_four_nodes():
    graphs, rng, n_best = list(every_dag(4)), np.random.default_rng(0), 0
    for seed in range(20):
        data = make_fixed_dag(400, 4, 1, n_edges=4, weight=0.8, noise_scale=(0.5, 2.0), random_state=seed)
        X = data.X - data.X.mean(0)
        S = X.T @ X / len(X)
        start = graphs[rng.integers(len(graphs))]
        found = likeliest(start, S, np.full(4, 400.0), np.ones((4, 4), dtype=bool))
        assert bool(is_acyclic(torch.from_numpy(found[None].astype(float))))
        reached, least = criterion(found, S, 400), min(criterion(graph, S, 400) for graph in graphs)
        assert reached <= criterion(start, S, 400) + 1e-6
        assert reached >= least - 1e-6
        n_best += reached <= least + 1e-6
    assert n_best >= 18


def test_only_edges_that_are_allowed_are_added():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3)) @ np.array([[1.0, 0.8, 0.8], [0, 1, 0.8], [0, 0, 1]])
    allowed = np.tril(np.ones((3, 3), dtype=bool), -1)
    found = likeliest(np.zeros((3, 3), dtype=bool), X.T @ X / 500, np.full(3, 500.0), allowed)
    assert found.any()
    assert not (found & ~allowed).any()


def test_moments_of_every_response():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 4)) @ (np.eye(4) + np.triu(np.full((4, 4), 0.7), 1))
    S, empty = X.T @ X / 500, np.zeros((4, 4), dtype=bool)
    same = likeliest(empty, np.stack([S] * 4), np.full(4, 500.0), ~np.eye(4, dtype=bool))
    assert (same == likeliest(empty, S, np.full(4, 500.0), ~np.eye(4, dtype=bool))).all()


def test_variables_that_others_determine():
    a, b = np.random.default_rng(2).standard_normal((2, 200))
    X = np.column_stack([a, b, a + b])
    found = likeliest(np.zeros((3, 3), dtype=bool), X.T @ X / 200, np.full(3, 200.0), ~np.eye(3, dtype=bool))
    assert bool(is_acyclic(torch.from_numpy(found[None].astype(float))))


def test_a_direction_that_rests_on_little_is_in_doubt():
    rng = np.random.default_rng(3)
    everything, graph = ~np.eye(3, dtype=bool), np.zeros((3, 3), dtype=bool)
    graph[0, 2] = graph[1, 2] = True  # x1 -> x3 <- x2, told by x1 and x2 that do not correlate
    a, b = rng.standard_normal((2, 1000))
    for strength, doubted in ((1.0, False), (0.07, True)):
        X = np.column_stack([a, b, strength * (a + b) + rng.standard_normal(1000)])
        found = in_doubt(graph, X.T @ X / 1000, np.full(3, 1000.0), everything)
        assert found[[0, 2, 1, 2], [2, 0, 2, 1]].tolist() == [doubted] * 4
        assert not found[0, 1]
    assert not in_doubt(graph, X.T @ X / 1000, np.full(3, 1000.0), graph).any()  # the other way is not allowed


@pytest.mark.long
@pytest.mark.slow
def test_directions_of_one_graph_with_unequal_noise():
    told = right = 0
    for seed in range(200, 205):
        data = make_fixed_dag(1500, 12, 1, noise_scale=(0.5, 2.0), random_state=seed)
        model = FixedDAG(noise="unequal", random_state=0).fit(data.X, data.Z)
        edges = model.edges(data.Z[:1]).query("directed")
        told += len(edges)
        right += sum(
            data.W[0, data.names.index(a), data.names.index(b)] != 0 for a, b in edges[["source", "target"]].to_numpy()
        )
    assert told >= 8
    assert right >= 0.9 * told


@pytest.mark.parametrize("seed", range(4))
def test_the_search_ends_where_equivalent_graphs_fit_differently(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 5)) @ (np.eye(5) + np.triu(rng.uniform(0.3, 0.9, (5, 5)), 1))
    scored = rng.random(X.shape) > 0.2
    S = np.stack([X[rows].T @ X[rows] / rows.sum() for rows in scored.T])
    n, everything = scored.sum(0).astype(float), ~np.eye(5, dtype=bool)
    found = likeliest(np.zeros((5, 5), dtype=bool), S, n, everything)
    assert bool(is_acyclic(torch.from_numpy(found[None].astype(float))))
    in_doubt(found, S, n, everything)


@pytest.mark.slow
@pytest.mark.parametrize("told", ["interventions", "holes", "functions"])
def test_fits_end_where_rows_are_not_scored_or_columns_are_functions_of_others(told):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) @ (np.eye(5) + np.triu(np.full((5, 5), 0.7), 1))
    model, options = FixedDAG(noise="unequal", random_state=0), {}
    if told == "interventions":
        options = {"interventions": {"x1": np.arange(400) < 100, "x3": np.arange(400) > 300}}
    if told == "holes":
        X[rng.random(X.shape) < 0.1] = np.nan
        model.set_params(missing="impute")
    if told == "functions":
        X = np.column_stack([X[:30], X[:30, 0] - 2 * X[:30, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, **options)
    assert bool(is_acyclic(torch.from_numpy(model.graph_[None])))
