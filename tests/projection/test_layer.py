import copy
import io
import math

import pytest
import torch
from torch import nn

from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.graphs import is_acyclic, order_to_mask
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.projection.ordering import THOROUGH_STARTS
from tests.lockstep import run_in_lockstep


@pytest.mark.parametrize("acyclicity", ["order", "logdet"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sparse_dags_within_the_budget(gaussian, acyclicity, dtype):
    layer = DAGProjection(2.0, acyclicity)
    W = layer(gaussian(100, 9, dtype))
    assert W.dtype == dtype
    assert bool(is_acyclic(W).all())
    assert float(W.abs().sum()) / 100 == pytest.approx(2.0, rel=1e-5)
    assert float((W != 0).double().mean()) < 0.2


def test_several_budgets_are_several_layers(gaussian):
    W = gaussian(30, 6).requires_grad_()
    budgets = [0.0, 0.5, 3.0, 1e6, math.inf]
    together = DAGProjection(budgets)
    direction = gaussian(30, 6)
    together(W).mul(direction).sum().backward()
    found, W.grad = W.grad, None
    alone = [DAGProjection(budget) for budget in budgets]
    expected = [layer(part) for layer, part in zip(alone, W.tensor_split(5), strict=True)]
    torch.cat(expected).mul(direction).sum().backward()
    assert torch.equal(together(W), torch.cat(expected))
    torch.testing.assert_close(found, W.grad)
    assert together.threshold.tolist() == [float(layer.threshold) for layer in alone]
    few = torch.cat([part[:2] for part in W.tensor_split(5)])
    expected = [layer.eval()(part[:2]) for layer, part in zip(alone, W.tensor_split(5), strict=True)]
    assert torch.equal(together.eval()(few), torch.cat(expected))
    assert "l1_budget=(0, 0.5, 3, 1e+06, inf)" in repr(together)


def test_several_budgets_want_equal_parts_and_keep_their_number(gaussian):
    layer = DAGProjection([1.0, 2.0])
    with pytest.raises(InvalidInputError, match="W has 3 matrices, which do not divide into 2 equal parts"):
        layer(gaussian(3, 4))
    for value in (1.0, [1.0], [1.0, 2.0, 3.0], []):
        with pytest.raises(InvalidParameterError, match="must be a number, or a list of numbers that keeps its length"):
            layer.l1_budget = value
    with pytest.raises(InvalidParameterError, match="must be a number, or a list"):
        DAGProjection([])
    with pytest.raises(InvalidParameterError, match="l1_budget"):
        DAGProjection([1.0, -1.0])
    with pytest.raises(NotFittedError):
        DAGProjection([0.0, 2.0]).eval()(gaussian(2, 4))


def test_learns_an_edge_that_reverses():
    # Two nodes; the edge points one way for z < 0 and the other way for z > 0.
    generator = torch.Generator().manual_seed(0)
    z = torch.rand(400, 1, generator=generator) * 2 - 1
    noise = torch.randn(400, 2, generator=generator)
    x = noise.clone()
    x[:, 1] = torch.where(z[:, 0] < 0, x[:, 1] + 2 * noise[:, 0], x[:, 1])
    x[:, 0] = torch.where(z[:, 0] > 0, x[:, 0] + 2 * noise[:, 1], x[:, 0])
    network = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 4), nn.Unflatten(1, (2, 2)), DAGProjection(1.5))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(300):
        optimiser.zero_grad()
        ((x - torch.einsum("nj,njk->nk", x, network(z))) ** 2).mean().backward()
        optimiser.step()
    left, right = network.eval()(torch.tensor([[-0.7], [0.7]])).detach()
    assert left[0, 1] > 0.5
    assert left[1, 0] == 0
    assert right[1, 0] > 0.5
    assert right[0, 1] == 0


def test_eval_mode_reuses_the_threshold(gaussian):
    layer = DAGProjection(1.0)
    W = gaussian(50, 6)
    in_training = layer(W)
    kappa = float(layer.threshold)
    assert kappa > 0
    layer.eval()
    assert torch.equal(layer(W), in_training)
    assert torch.equal(layer(W[7:8])[0], in_training[7])
    layer(gaussian(50, 6, seed=1))
    assert float(layer.threshold) == kappa
    layer.train()
    layer(gaussian(50, 6, seed=1))
    assert float(layer.threshold) != kappa


def test_eval_mode_before_training_says_what_to_do(gaussian):
    layer = DAGProjection(1.0).eval()
    with pytest.raises(NotFittedError, match="training mode first"):
        layer(gaussian(2, 3))
    # Where the budget determines the threshold, no training is needed.
    W = gaussian(2, 3)
    assert torch.equal(DAGProjection(math.inf).eval()(W), Order()(W))
    assert torch.equal(DAGProjection(0.0).eval()(W), torch.zeros_like(W))


def test_a_new_budget_resets_the_threshold(gaussian):
    layer = DAGProjection(1.0)
    layer(gaussian(5, 3))
    layer.l1_budget = 0.5
    assert layer.l1_budget == 0.5
    with pytest.raises(NotFittedError):
        layer.eval()(gaussian(5, 3))


def test_threshold_travels(gaussian):
    layer = DAGProjection(1.0, Order(cut=0.2))
    W = gaussian(20, 5)
    expected = layer(W)
    for other in (copy.deepcopy(layer), DAGProjection(1.0, Order(cut=0.2))):
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other.eval()(W), expected)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    assert torch.load(file, weights_only=True)["threshold"] == layer.threshold


def test_casting_the_module_keeps_the_threshold(gaussian):
    W = gaussian(20, 5)
    for cast in (nn.Module.half, nn.Module.bfloat16, nn.Module.float, nn.Module.double):
        layer = DAGProjection(1.3)
        in_training = layer(W)
        layer = cast(layer)
        assert layer.threshold.dtype == torch.float64
        assert torch.equal(layer.eval()(W), in_training)
        assert torch.equal(layer.train()(W), in_training)


def test_threshold_of_another_budget_is_not_used(gaussian):
    W = gaussian(20, 5)
    trained = DAGProjection(1.0)
    trained(W)
    other = DAGProjection(100.0)
    other.load_state_dict(trained.state_dict())
    with pytest.raises(NotFittedError, match="trained with the same budget"):
        other.eval()(W)
    unbounded = DAGProjection()
    unbounded.load_state_dict(DAGProjection(1.0).state_dict())
    assert torch.equal(unbounded.eval()(W), Order()(W))


def test_an_empty_batch_keeps_the_threshold(gaussian):
    layer = DAGProjection(1.0)
    layer(gaussian(20, 5))
    before = float(layer.threshold)
    layer(torch.zeros(0, 5, 5))
    assert float(layer.threshold) == before > 0


def test_mask_for_all_or_for_each(gaussian):
    W = gaussian(30, 6)
    order = torch.randn(30, 6, generator=torch.Generator().manual_seed(1)).argsort(1)
    each, one = order_to_mask(order), order_to_mask(order[:1])[0]
    layer = DAGProjection()
    assert torch.equal(layer(W, each), W * each)
    assert torch.equal(layer(W, one), W * one)
    assert torch.equal(layer(W, one.double()), W * one)
    cyclic_mask = ~torch.eye(6, dtype=torch.bool)
    cyclic_mask[0] = False
    kept = layer(W, cyclic_mask)
    assert bool(is_acyclic(kept).all())
    assert bool((kept[:, 0] == 0).all())
    assert torch.equal(layer(W, torch.zeros(6, 6, dtype=torch.bool)), torch.zeros_like(W))


def test_unrepaired_training_is_repaired_in_eval_mode(gaussian):
    W = gaussian(20, 8)
    layer = DAGProjection(5.0, LogDet(paper_exact=True, repair=False))
    assert not bool(is_acyclic(layer(W)).all())
    assert bool(is_acyclic(layer.eval()(W)).all())
    layer = DAGProjection(5.0, LogDet(paper_exact=True))
    assert bool(is_acyclic(layer(W)).all())


@pytest.mark.parametrize("budget", [0.0, 0.7, math.inf])
def test_spread_over_processes(gaussian, budget):
    W = gaussian(31, 6)
    g = gaussian(31, 6, seed=1)

    def work(part, all_reduce):
        w, incoming = part
        layer = DAGProjection(budget, all_reduce=all_reduce)
        w = w.clone().requires_grad_()
        out = layer(w)
        out.backward(incoming)
        return out.detach(), w.grad

    parts = [(W[a:b], g[a:b]) for a, b in ((0, 3), (3, 3), (3, 20), (20, 31))]
    results = run_in_lockstep(parts, work)
    alone = work((W, g), None)
    for index in (0, 1):
        torch.testing.assert_close(torch.cat([r[index] for r in results]), alone[index], rtol=0, atol=1e-13)


def test_the_names_of_the_acyclicities_are_their_defaults():
    assert DAGProjection(acyclicity="order").acyclicity == Order(starts=THOROUGH_STARTS)
    assert DAGProjection(acyclicity="logdet").acyclicity == LogDet()


def test_repr_shows_the_settings():
    assert repr(DAGProjection(2.5)) == "DAGProjection(l1_budget=2.5, acyclicity=Order(cut=0.0, starts=3, kernel='auto'))"


@pytest.mark.slow
def test_works_inside_a_compiled_model(gaussian):
    model = torch.compile(nn.Sequential(nn.Identity(), DAGProjection(1.0)), backend="eager")
    W = gaussian(5, 4).requires_grad_()
    expected = DAGProjection(1.0)(W)
    assert torch.equal(model(W), expected)


@pytest.mark.parametrize("choice", ["notears", 3, None, Order])
def test_unknown_acyclicity(choice):
    with pytest.raises(InvalidParameterError, match=r"'acyclicity' parameter of DAGProjection must be 'order', 'logdet'"):
        DAGProjection(1.0, choice)
