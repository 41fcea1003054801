"""The share that is explained counts variables alike, whatever their noise."""

import numpy as np
import pytest
import torch

from contextualdag import FixedDAG
from contextualdag.training.explaining import _explained, _implied_covariance


def test_shares_are_those_of_a_sample():
    generator = torch.Generator().manual_seed(0)
    W = torch.triu(torch.randn(4, 4, generator=generator), 1)[None]
    X = torch.linalg.solve(torch.eye(4) - W[0].T, torch.randn(200_000, 4, generator=generator).T).T
    fewer = W * (W.abs() > 0.7)
    for graphs in (W, fewer):
        left = X - X @ graphs[0]
        expected = float((1 - left.square().mean(0) / X.square().mean(0)).mean())
        assert _explained(graphs, _implied_covariance(W)) == pytest.approx(expected, abs=0.01)


def test_a_variable_that_is_nearly_a_function_of_others_does_not_count_for_many():
    # In units of the noise the copy has a variance of 400 and the three others of 1.3.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 6))
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    for k in (3, 4, 5):
        X[:, k] += 0.6 * X[:, 2]
    model = FixedDAG(noise="unequal", selection=4, random_state=0).fit(X)
    assert (model.select(explained=0.9).graph_ != 0).sum() == 4
    assert (model.select(explained=0.4).graph_ != 0).sum() == 1
