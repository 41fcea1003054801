"""Required edges: in every graph, without a cycle, with the weight that fits best."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from contextualdag.graphs import is_acyclic
from contextualdag.training.data import Rows
from contextualdag.training.required import numbers_of_edges, required_weights, with_required


def dags(seed, n, p):
    generator = torch.Generator().manual_seed(seed)
    W = torch.randn(n, p, p, generator=generator).triu(1) * (torch.rand(n, p, p, generator=generator) < 0.5)
    orders = [torch.randperm(p, generator=generator) for _ in range(n)]
    return torch.stack([one[order][:, order] for one, order in zip(W, orders, strict=True)])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([3, 6, 12]))
def test_every_graph_has_them_and_stays_acyclic(seed, p):
    W = dags(seed, 8, p)
    weights = (torch.rand(p, p, generator=torch.Generator().manual_seed(seed)) < 0.2).float().triu(1) * 0.3
    completed = with_required(W, weights)
    assert bool(is_acyclic(completed).all())
    assert bool((completed[:, weights != 0] != 0).all())
    unchanged = (completed == W) | (completed == 0) | ((weights != 0) & (W == 0))
    assert bool(unchanged.all())


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([3, 6, 8]))
def test_numbers_of_edges_are_those_of_completed_graphs(seed, p):
    W = dags(seed, 8, p)
    required = torch.rand(p, p, generator=torch.Generator().manual_seed(seed)).triu(1) > 0.8
    cuts = [0.0, 0.1, 0.5, 0.7, 1.0, 9.0]
    cut = [torch.where(W.abs() > one, W, 0) for one in cuts]
    expected = [float((with_required(one, required.float()) != 0).sum()) / len(W) for one in cut]
    assert numbers_of_edges(W, cuts, required) == pytest.approx(expected)
    assert expected[-1] == int(required.sum())


def test_graphs_that_have_them_do_not_change():
    W = torch.tensor([[[0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    weights = torch.zeros(3, 3)
    weights[0, 1] = 0.5
    assert torch.equal(with_required(W, weights), W)


def test_the_weakest_edge_of_a_cycle_gives_way():
    W = torch.zeros(1, 3, 3)
    W[0, 1, 2], W[0, 2, 0] = 2.0, 0.5  # 1 -> 2 -> 0, and 0 -> 1 is required
    weights = torch.zeros(3, 3)
    weights[0, 1] = 0.1
    completed = with_required(W, weights)[0]
    assert completed[0, 1] == pytest.approx(0.1)
    assert completed[1, 2] == 2
    assert completed[2, 0] == 0


def test_the_weight_is_that_of_least_squares_on_the_rows_without_the_edge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    X[:, 2] += 0.7 * X[:, 0] - 0.4 * X[:, 1]
    W = torch.zeros(500, 3, 3)
    W[:, 0, 2] = 0.7
    W[:100, 1, 2] = 5.0
    required = torch.zeros(3, 3, dtype=torch.bool)
    required[1, 2] = True
    left = X[100:, 2] - 0.7 * X[100:, 0]
    expected = (left @ X[100:, 1]) / (X[100:, 1] @ X[100:, 1])
    found = required_weights(W, Rows(torch.tensor(X).float(), torch.zeros(500, 1)), required)
    assert float(found[1, 2]) == pytest.approx(expected, rel=1e-4)
    assert int((found != 0).sum()) == 1


def test_an_edge_from_a_variable_that_does_not_vary_is_there_too():
    required = torch.tensor([[False, True], [False, False]])
    found = required_weights(torch.zeros(5, 2, 2), Rows(torch.zeros(5, 2), torch.zeros(5, 1)), required)
    assert found[0, 1] != 0
