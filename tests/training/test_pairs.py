import pytest
import torch

from contextualdag.network import ContextNetwork, initialise
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.projection.layer import PairProjection
from contextualdag.training import pairs as pairs_module
from contextualdag.training.pairs import few_pairs, graphs, layer_on_pairs
from contextualdag.training.trainer import NoProjection

P = 7


@pytest.fixture
def network():
    network = ContextNetwork(2, P, (16,), "silu", 0.3)
    initialise(network, torch.Generator().manual_seed(0))
    return network.eval()


@pytest.fixture
def dropped(network):
    """The network with a third of its pairs."""
    network.drop(torch.rand(P, P, generator=torch.Generator().manual_seed(1)) < 2 / 3)
    return network


def contexts(n=50):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(2))


def test_pairs_that_are_left(network):
    assert few_pairs(network) is None
    assert network.live.sum() == P * (P - 1)
    most = ~torch.eye(P, dtype=torch.bool)
    most[0, 1] = most[3, 2] = False
    network.drop(most)
    assert few_pairs(network).tolist() == [1, 3 * P + 2]
    assert network(contexts()).flatten(1).any(0).nonzero().flatten().tolist() == [1, 3 * P + 2]


def test_pairs_that_masks_let_through(network):
    mask, other = torch.zeros(4, P, P), torch.zeros(4, P, P)
    mask[2, 0, 1] = other[1, 4, 3] = 1
    assert few_pairs(network, mask, other).tolist() == [1, 4 * P + 3]
    assert few_pairs(network, mask, None) is None
    assert len(few_pairs(network, mask * 0)) == 1  # there is always something to train


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("with_mask", [True, False])
@pytest.mark.parametrize("layer", [DAGProjection(0.3), DAGProjection(), DAGProjection(0.0), DAGProjection(0.3, LogDet())])
def test_graphs_are_those_of_all_pairs(dropped, layer, with_mask, training, monkeypatch):
    mask = (torch.rand(50, P, P, generator=torch.Generator().manual_seed(3)) < 0.7) if with_mask else None
    layer.train()(dropped(contexts()))  # so that there is a threshold
    layer.train(training)
    found = graphs(dropped, layer, contexts(), mask)
    threshold = float(layer.threshold)
    monkeypatch.setattr(pairs_module, "few_pairs", lambda *_: None)
    expected = graphs(dropped, layer, contexts(), mask)
    torch.testing.assert_close(found, expected)
    assert threshold == pytest.approx(float(layer.threshold))


@pytest.mark.parametrize("which", ["network", "dropped"])
def test_a_context_has_one_graph_whatever_else_is_asked_for(which, request):
    network, Z = request.getfixturevalue(which), contexts(300)
    layer = DAGProjection(0.3)
    layer.train()(network(Z))
    layer.eval()
    W = graphs(network, layer, Z, None)
    for some in (slice(0, 1), slice(17, 18), slice(299, 300), slice(40, 290)):
        assert torch.equal(graphs(network, layer, Z[some], None), W[some])


def test_a_layer_without_a_projection_only_masks(dropped):
    mask = torch.zeros(50, P, P)
    mask[:, dropped.live] = 1
    mask[:25] = 0
    torch.testing.assert_close(graphs(dropped, NoProjection(), contexts(), mask), (dropped(contexts()) * mask).detach())


def test_which_layers_take_pairs():
    pairs = torch.tensor([1, 2])
    assert isinstance(layer_on_pairs(DAGProjection(1.0), pairs, P), PairProjection)
    for layer in (DAGProjection([1.0, 2.0]), DAGProjection(1.0, Order(kernel="torch")), DAGProjection(1.0, LogDet())):
        assert layer_on_pairs(layer, pairs, P) is None
    assert layer_on_pairs(DAGProjection(1.0, all_reduce=lambda x: x), pairs, P) is None


@pytest.mark.parametrize("n_nodes", [3, 12, 40])
@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_the_projection_of_pairs(n_nodes, share):
    generator = torch.Generator().manual_seed(n_nodes)
    off = (~torch.eye(n_nodes, dtype=torch.bool)).flatten().nonzero().flatten()
    pairs = off[torch.rand(len(off), generator=generator) <= share]
    if len(pairs) == 0:
        pairs = off[:1]
    entries = torch.randn(30, len(pairs), generator=generator, dtype=torch.float64)
    layer = PairProjection(pairs, n_nodes, 0.8, Order(cut=0.1))
    found = layer(entries)
    whole = torch.zeros(30, n_nodes**2, dtype=torch.float64)
    whole[:, pairs] = entries
    dense = DAGProjection(0.8, Order(cut=0.1))
    expected = dense(whole.view(30, n_nodes, n_nodes)).flatten(1)[:, pairs]
    torch.testing.assert_close(found, expected)
    assert float(layer.threshold) == pytest.approx(float(dense.threshold))


def test_predictions_have_no_dropout_and_change_nothing(dropped):
    before = {name: value.clone() for name, value in dropped.state_dict().items()}
    found = graphs(dropped, NoProjection(), contexts(), None)
    # A network in training is copied, one for prediction is not; both give the same to the bit.
    assert torch.equal(graphs(dropped.train(), NoProjection(), contexts(), None), found)
    assert dropped.training
    assert dropped.hidden.training
    assert all(torch.equal(value, before[name]) for name, value in dropped.state_dict().items())
