"""Rows and networks that the tests of training share."""

import pytest
import torch

from contextualdag.network import ContextNetwork, initialise
from contextualdag.training.data import Rows, Split


@pytest.fixture
def two_nodes():
    """Make a split in which x1 drives x2 for z < 0, and x2 drives x1 for z > 0."""

    def make(n=400):
        generator = torch.Generator().manual_seed(0)
        Z = torch.rand(2 * n, 1, generator=generator) * 2 - 1
        X = torch.randn(2 * n, 2, generator=generator)
        forward = X.clone()
        forward[:, 1] += X[:, 0]
        backward = X.clone()
        backward[:, 0] += X[:, 1]
        X = torch.where(Z < 0, forward, backward)
        return Split(Rows(X[:n], Z[:n]), Rows(X[n:], Z[n:]))

    return make


@pytest.fixture
def network_for():
    """Make a small network for a split."""

    def make(split, **settings):
        arguments = {"hidden_layers": (16,), "activation": "silu", "dropout": 0.0} | settings
        network = ContextNetwork(split.train.Z.shape[1], split.train.X.shape[1], **arguments)
        initialise(network, torch.Generator().manual_seed(0))
        return network

    return make
