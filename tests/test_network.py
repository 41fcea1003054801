import pytest
import torch
from torch.func import functional_call, vmap
from torch.nn import functional

from contextualdag import network
from contextualdag.network import SAMPLES_AT_ONCE, ContextNetwork, Dropout, MeanNetwork, PairNetwork, auto_dropout


def gradients(weights, Z):
    """Gradients of the sum of squares of the outputs of several networks, each at its own contexts."""
    shape = ContextNetwork(Z.shape[2], 4, (8, 6), "silu", 0.0).double()
    output = vmap(lambda own, z: functional_call(shape, own, (z,)))(weights, Z)
    return torch.autograd.grad((output**2).sum(), list(weights.values()))


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


def test_auto_dropout_falls_with_the_samples_for_each_variable_and_feature():
    shares = [auto_dropout(n_samples=n, n_nodes=10, n_features=2) for n in (2, 60, 600, 6000, 1_000_000)]
    assert shares == pytest.approx([0.8, 0.8, 0.5, 0.2, 0.2])
    shapes = [(250, 5, 2), (1000, 20, 2), (1000, 8, 5)]
    assert {round(auto_dropout(*shape), 6) for shape in shapes} == {round(auto_dropout(500, 10, 2), 6)}


def test_dropout_drops_the_share_and_keeps_the_mean():
    torch.manual_seed(0)
    layer, h = Dropout(0.3), torch.ones(1001, 101)
    dropped = layer(h)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert dropped[dropped != 0].unique().item() == pytest.approx(1 / 0.7, rel=1e-4)
    assert torch.equal(layer.eval()(h), h)
    assert torch.equal(Dropout(0.0)(h), h)


def test_network_has_a_zero_diagonal_and_only_allowed_edges():
    Z = torch.linspace(0.1, 1, 5)[:, None]
    settings = {"hidden_layers": (16,), "activation": "silu", "dropout": 0.0}
    network = ContextNetwork(1, 2, **settings)
    assert network.last.out_features == 2
    W = network(Z)
    assert bool((W.diagonal(dim1=1, dim2=2) == 0).all())
    assert bool((W[:, 0, 1] != 0).all())
    only = ContextNetwork(1, 2, **settings, allowed=torch.tensor([[True, True], [False, True]]))
    assert bool((only(Z)[:, 1, 0] == 0).all())
    assert only.last.out_features == 1


def test_a_network_can_be_built_again_from_its_shape():
    allowed = torch.tensor([[True, True], [False, True]])
    network = ContextNetwork(3, 2, (8, 4), "tanh", 0.3, allowed)
    again = ContextNetwork(**network.shape, dropout=0.0, allowed=network.allowed)
    again.load_state_dict(network.state_dict())
    Z = torch.randn(4, 3)
    assert torch.equal(network.eval()(Z), again.eval()(Z))


def test_networks_do_not_touch_the_global_random_numbers():
    before = torch.random.get_rng_state()
    networks = [ContextNetwork(2, 3, (8,), "silu", 0.1), MeanNetwork(2, 3, (8,), "silu")]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(bool(parameter.isfinite().all()) for network in networks for parameter in network.parameters())


def test_a_network_of_some_pairs():
    """It computes entries of the matrices, and gives back what it has learned of them."""
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed[0, 1] = False
    network, Z = ContextNetwork(2, 3, (8,), "silu", 0.0, allowed), torch.randn(5, 2)
    before = network(Z).detach()
    pairs = torch.tensor([2, 6])  # 0 -> 2 and 2 -> 0
    part = PairNetwork(network, pairs)
    torch.testing.assert_close(part(Z), before.flatten(1)[:, pairs])
    with torch.no_grad():
        part.last.weight.mul_(2)
        part.last.bias.add_(1)
    assert torch.equal(network(Z), before)
    part.merge_into(network)
    after = network(Z)
    torch.testing.assert_close(after.flatten(1)[:, pairs], part(Z))
    others = torch.tensor([k for k in range(9) if k not in (2, 6)])
    assert torch.equal(after.flatten(1)[:, others], before.flatten(1)[:, others])
