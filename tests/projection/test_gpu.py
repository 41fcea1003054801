"""The same graphs on the GPU as on the CPU."""

import pytest
import torch

from contextualdag.graphs import acyclic_threshold, is_acyclic, topological_order
from contextualdag.projection import DAGProjection, LogDet, Order

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("p", [2, 8, 9, 20, 33, 64, 100, 200])
@pytest.mark.parametrize("ties", [False, True])
def test_order(gaussian, p, ties):
    W = gaussian(200 if p < 100 else 20, p, torch.float32)
    W = W.round() if ties else W
    for settings in (Order(), Order(cut=0.3, starts=1)):
        assert torch.equal(settings(W.cuda()).cpu(), settings(W))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [2, 8, 20, 50, 100])
def test_logdet(gaussian, p, dtype):
    W = gaussian(100 if p < 50 else 10, p, dtype)
    assert torch.equal(LogDet()(W.cuda()).cpu(), LogDet()(W))


@pytest.mark.parametrize("acyclicity", ["order", "logdet"])
@pytest.mark.parametrize("budget", [0.0, 2.0, float("inf")])
def test_layer_and_gradient(gaussian, acyclicity, budget):
    W, g = gaussian(100, 10), gaussian(100, 10, seed=1)
    results = []
    for device in ("cpu", "cuda"):
        layer = DAGProjection(budget, acyclicity).to(device)
        moving = W.to(device, copy=True).requires_grad_()
        out = layer(moving, mask=torch.ones(10, 10, dtype=torch.bool, device=device).triu(-5))
        out.backward(g.to(device))
        in_eval = layer.eval()(moving)
        assert out.device.type == layer.threshold.device.type == device
        results.append([out.detach().cpu(), moving.grad.cpu(), in_eval.detach().cpu()])
    for on_cpu, on_gpu in zip(*results, strict=True):
        torch.testing.assert_close(on_gpu, on_cpu, rtol=0, atol=1e-12)


def test_beyond_the_kernels_the_twin_runs(gaussian):
    W = gaussian(2, 300, torch.float32, density=0.01)
    assert torch.equal(Order(starts=1)(W.cuda()).cpu(), Order(starts=1)(W))
    W = gaussian(2, 130, torch.float32, density=0.02)
    assert torch.equal(LogDet()(W.cuda()).cpu(), LogDet()(W))


def test_float32_layer_never_asks_the_host(gaussian):
    W = gaussian(50, 20, torch.float32).cuda().requires_grad_()
    layer = DAGProjection(3.0, Order(starts=1)).cuda()
    layer(W).sum().backward()  # kernels are compiled, libraries loaded
    mask = torch.ones(20, 20, dtype=torch.bool, device="cuda").triu(-5)
    graph = torch.cuda.CUDAGraph()
    W.grad = None
    with torch.cuda.graph(graph):  # fails on any copy to the host
        out = layer(W, mask)
        in_eval = layer.eval()(W.detach(), mask)
        out.square().sum().backward()
    for budget in (3.0, 1.0, 0.0, float("inf")):
        layer.l1_budget = budget
        graph.replay()
        on_cpu = DAGProjection(budget, Order(starts=1))
        moving = W.detach().cpu().requires_grad_()
        expected = on_cpu(moving, mask.cpu())
        expected.square().sum().backward()
        torch.testing.assert_close(out.detach().cpu(), expected.detach(), rtol=1e-5, atol=1e-5)
        assert torch.equal(out.detach().cpu() != 0, expected.detach() != 0)
        torch.testing.assert_close(in_eval.cpu(), on_cpu.eval()(moving.detach(), mask.cpu()), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(W.grad.cpu(), moving.grad, rtol=1e-4, atol=1e-4)


def test_graphs(gaussian):
    W = gaussian(100, 8, density=0.15)
    assert torch.equal(is_acyclic(W.cuda()).cpu(), is_acyclic(W))
    assert torch.equal(acyclic_threshold(W.cuda()).cpu(), acyclic_threshold(W))
    W = W[is_acyclic(W)]
    assert torch.equal(topological_order(W.cuda()).cpu(), topological_order(W))
