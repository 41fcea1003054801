"""One order of the variables for all contexts, and reversals that earn their place."""

import numpy as np
import pytest
import torch

from contextualdag.datasets import make_varying_dag
from contextualdag.training.common_order import find_order
from contextualdag.training.data import Rows
from contextualdag.training.reversals import unearned_reversals


def rows_of(data):
    return Rows(torch.tensor(data.X, dtype=torch.float32), torch.tensor(data.Z, dtype=torch.float32))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_found_from_graphs_of_the_wrong_order(seed):
    data = make_varying_dag(2000, n_nodes=6, n_edges=6, reversals=False, random_state=seed)
    wrong = torch.tensor(data.W + data.W.transpose(0, 2, 1) * 1.5)
    order = find_order(wrong, rows_of(data))
    assert sorted(order) == list(range(6))
    rank = np.argsort(order)
    sources, targets = np.nonzero((data.W != 0).any(0))
    assert (rank[sources] < rank[targets]).mean() >= 0.8


def test_weights_of_rows_count():
    data = make_varying_dag(600, n_nodes=4, n_edges=4, reversals=False, random_state=0)
    rows = rows_of(data)
    spoilt = rows.X.clone()
    spoilt[:100] = 100 * torch.randn(100, 4, generator=torch.Generator().manual_seed(0))
    weight = torch.ones(600)
    weight[:100] = 0
    W = torch.tensor(data.W)
    assert find_order(W, Rows(spoilt, rows.Z, weight=weight)) == find_order(W[100:], rows[torch.arange(100, 600)])


def two_variables(reverses, n=2000, weight=1.2):
    """Graphs that reverse x1 -> x2 with the context, and rows whose edge is reversed there or always points forward."""
    generator = torch.Generator().manual_seed(0)
    Z, X = (torch.randn(n, columns, generator=generator) for columns in (1, 2))
    turned = Z[:, 0] > 0.3
    X[:, 1] += torch.where(turned & reverses, 0, weight) * X[:, 0]
    X[:, 0] += torch.where(turned & reverses, weight, 0) * X[:, 1]
    W = torch.zeros(n, 2, 2)
    W[turned, 1, 0] = weight
    W[~turned, 0, 1] = weight
    return W, Rows(X, Z)


def test_true_reversals_are_kept_and_false_ones_are_not():
    assert not unearned_reversals(*two_variables(reverses=True)).any()
    assert unearned_reversals(*two_variables(reverses=False)).nonzero().tolist() == [[1, 0]]


def test_a_reversal_in_few_rows_is_not_earned():
    W, rows = two_variables(reverses=True)
    some = torch.cat([torch.arange(1000)[rows.Z[:1000, 0] < 0], torch.nonzero(rows.Z[:, 0] > 0.3)[:10, 0]])
    assert unearned_reversals(W[some], rows[some]).nonzero().tolist() == [[1, 0]]


def test_graphs_of_one_order_have_no_reversals():
    data = make_varying_dag(300, n_nodes=5, n_edges=5, reversals=False, random_state=1)
    assert not unearned_reversals(torch.tensor(data.W), rows_of(data)).any()
