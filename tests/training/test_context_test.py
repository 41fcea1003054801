import pytest
import torch

from contextualdag.training.context_test import ContextTest, context_test
from contextualdag.training.data import Rows


def rows_and_graphs(seed, n=300, depends=True):
    """x1 -> x2 with a weight that is the context, or has nothing to do with it; graphs say it is the context."""
    generator = torch.Generator().manual_seed(seed)
    Z = torch.randn(n, 1, generator=generator)
    X = torch.randn(n, 2, generator=generator)
    X[:, 1] += (Z[:, 0] if depends else torch.randn(n, generator=generator)) * X[:, 0]
    W = torch.zeros(n, 2, 2)
    W[:, 0, 1] = Z[:, 0]
    return W, Rows(X, Z)


def test_a_context_that_matters():
    found = context_test(*rows_and_graphs(0), seed=0)
    assert found.p_value == 1 / 200
    assert found.context_matters
    assert 0.2 < found.gain < 0.9
    assert found.n_rows == 300


def test_p_values_are_uniform_where_it_does_not():
    values = [context_test(*rows_and_graphs(seed, n=60, depends=False), seed=seed).p_value for seed in range(200)]
    from scipy.stats import kstest

    assert kstest(values, "uniform").pvalue > 0.01
    assert sum(value <= 0.05 for value in values) < 25


def test_many_rows_are_thinned_out_and_graphs_without_edges_are_all_alike():
    W, rows = rows_and_graphs(0, n=2500)
    assert context_test(W, rows, 0).n_rows == 2000
    nothing = context_test(0 * W, rows, 0)
    assert nothing == ContextTest(1.0, pytest.approx(0.0, abs=1e-6), 2000)
