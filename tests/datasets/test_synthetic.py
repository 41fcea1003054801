import numpy as np
import pytest
import torch

from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidParameterError
from contextualdag.graphs import is_acyclic


def test_the_design_of_the_paper():
    data = make_varying_dag(2000, 20, 2, random_state=0)
    assert data.X.shape == (2000, 20)
    assert data.Z.shape == (2000, 2)
    assert np.abs(data.Z).max() <= 1
    assert bool(is_acyclic(torch.from_numpy(data.W)).all())
    assert (data.W != 0).sum() / 2000 == pytest.approx(5, abs=0.01)
    assert (data.W >= 0).all()
    ever = (data.W != 0).any(0)
    assert 5 < (ever | ever.T).sum() / 2 <= 10
    assert (ever & ever.T).any()  # some edges turn round
    noise = data.X - np.einsum("nj,njk->nk", data.X, data.W)
    assert noise.mean() == pytest.approx(0, abs=0.02)
    assert noise.std() == pytest.approx(1, abs=0.02)


def test_same_seed_same_data():
    first, second = (make_varying_dag(50, 5, 3, n_edges=4, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.array_equal(first.X, make_varying_dag(50, 5, 3, n_edges=4, random_state=2).X)


def test_slices_keep_rows_together():
    data = make_varying_dag(50, 5, n_edges=4, random_state=1)
    part = data[10:20]
    assert len(part) == 10
    np.testing.assert_array_equal(part.W, data.W[10:20])
    assert part.names == data.names == ("x1", "x2", "x3", "x4", "x5")


@pytest.mark.parametrize("active", [0.0, 1.0])
def test_none_or_all_active(active):
    data = make_varying_dag(50, 5, n_edges=4, active=active, random_state=1)
    edges = (data.W != 0).sum((1, 2))
    assert edges.max() == 0 if active == 0 else edges.sum() >= 50 * 4 - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "'n_samples'"),
        ({"n_nodes": 3, "n_edges": 4}, "'n_edges' parameter of make_varying_dag must be from 0 to 3, the pairs of 3 nodes"),
        ({"active": 1.5}, r"'active' parameter of make_varying_dag must be in \[0, 1\]"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        make_varying_dag(**arguments)
