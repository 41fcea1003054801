import pytest
import torch
from torch.func import functional_call, vmap
from torch.nn import functional

from contextualdag import network
from contextualdag.network import SAMPLES_AT_ONCE, ContextNetwork


def gradients(weights, Z):
    """Of the sum of squares of what several networks say, each of its own contexts."""
    shape = ContextNetwork(Z.shape[2], 4, (8, 6), "silu", 0.0).double()
    said = vmap(lambda own, z: functional_call(shape, own, (z,)))(weights, Z)
    return torch.autograd.grad((said**2).sum(), list(weights.values()))


@pytest.mark.parametrize("n", [0, 1, SAMPLES_AT_ONCE, 3 * SAMPLES_AT_ONCE + 1])
@pytest.mark.parametrize("members", [1, 3])
def test_the_gradient_in_parts_is_the_gradient(n, members, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    shapes = {name: value.shape for name, value in ContextNetwork(2, 4, (8, 6), "silu", 0.0).named_parameters()}
    weights = {
        name: torch.randn(members, *shape, generator=generator, dtype=torch.float64).requires_grad_()
        for name, shape in shapes.items()
    }
    Z = torch.randn(members, n, 2, generator=generator, dtype=torch.float64)
    monkeypatch.setattr(network, "linear", functional.linear)
    expected = gradients(weights, Z)
    monkeypatch.setattr(network, "linear", network._Linear.apply)  # as on a GPU
    torch.testing.assert_close(gradients(weights, Z), expected)


def test_the_gradient_of_the_context():
    torch.manual_seed(0)
    shapes = ((2 * SAMPLES_AT_ONCE + 3, 3), (2, 3), (2,))
    h, weight, bias = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    assert torch.autograd.gradcheck(network._Linear.apply, (h[:5], weight, bias))
    ours, theirs = (apply(h, weight, bias).square().sum() for apply in (network._Linear.apply, functional.linear))
    torch.testing.assert_close(torch.autograd.grad(ours, h), torch.autograd.grad(theirs, h))
