import torch

from contextualdag.network import MeanNetwork, initialise
from contextualdag.training.data import Rows, Split
from contextualdag.training.means import HIDDEN_LAYERS, fit_means, without_means


def test_mean_of_a_function_of_the_context():
    generator = torch.Generator().manual_seed(0)
    Z = torch.rand(2000, 1, generator=generator) * 2 - 1
    truth = torch.cat([3 * Z + 1, torch.sin(4 * Z)], dim=1)
    X = truth + 0.1 * torch.randn(2000, 2, generator=generator)
    network = MeanNetwork(1, 2, HIDDEN_LAYERS, "silu")
    initialise(network, generator)
    split = Split(Rows(X[:1000], Z[:1000]), Rows(X[1000:], Z[1000:]))
    fit_means([network], [split])
    assert float((network(Z) - truth).abs().mean()) < 0.05
    torch.testing.assert_close(without_means(split, network).held_out.X, X[1000:] - network(Z[1000:]))
    assert torch.equal(split.held_out.X, X[1000:])
