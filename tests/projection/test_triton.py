"""The kernels for GPUs, run by Triton's interpreter where there is no GPU (see conftest.py)."""

import math

import pytest
import torch

from contextualdag.projection.kernels import logdet_torch, order_torch
from contextualdag.projection.l1 import _l1_threshold

pytest.importorskip("triton", reason="Triton has no build for this machine")

from contextualdag.projection.kernels import l1_triton, logdet_triton, order_triton

pytestmark = pytest.mark.slow

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DESCENT = {"s": 1.0, "tolerance": 1e-2, "max_iterations": 4, "step_size": 0.5, "cut": 0.1}


LARGE = [pytest.param(*case, marks=pytest.mark.long) for case in ((9, 3), (13, 2))]  # for an interpreter


@pytest.mark.parametrize(("p", "starts"), [(1, 1), (2, 3), (3, 1), (5, 2), (8, 1), *LARGE, (17, 1)])
@pytest.mark.parametrize("kind", ["dense", "ties", "sparse"])
def test_order(gaussian, p, starts, kind):
    W = gaussian(2, p, torch.float32, density=2 / p if kind == "sparse" else 1.0)
    W = W.round() if kind == "ties" else W
    on_device = W.to(DEVICE)
    assert torch.equal(order_triton.linear_order(on_device, starts).cpu(), order_torch.linear_order(W, starts))
    assert torch.equal(order_triton.project(on_device, 0.2, starts).cpu(), order_torch.project(W, 0.2, starts))


@pytest.mark.parametrize("size", [1e-300, 1e300, 5e-324])
def test_order_of_very_large_and_very_small_weights(gaussian, size):
    W = gaussian(2, 10).clamp(-1, 1) * size
    assert torch.equal(order_triton.project(W.to(DEVICE), 0.0, 1).cpu(), order_torch.project(W, 0.0, 1))


def test_order_in_parts(gaussian, monkeypatch):
    W = gaussian(5, 4, torch.float32)
    monkeypatch.setattr(order_triton, "ENTRIES_AT_ONCE", 32)
    assert torch.equal(order_triton.project(W.to(DEVICE), 0.0, 1).cpu(), order_torch.project(W, 0.0, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("p", "density"), [(1, 1.0), (2, 1.0), (5, 1.0), (6, 0.4), (9, 1.0)])
def test_logdet(gaussian, p, density, dtype):
    W = gaussian(2, p, dtype, density=density)
    settings = DESCENT | {"mu_path": logdet_torch.path_of_mu(1.0, 0.5, 6)}
    assert torch.equal(logdet_triton.descend(W.to(DEVICE), **settings).cpu(), logdet_torch.descend(W, **settings))


@pytest.mark.parametrize("l1_budget", [1e-3, 1.0, 20.0, 1e9, math.inf])
@pytest.mark.parametrize("n", [1, 30])
def test_l1(gaussian, n, l1_budget):
    W = gaussian(n, 12, torch.float32)
    target = torch.tensor([n * l1_budget], dtype=torch.float64, device=DEVICE)
    found = float(l1_triton.threshold(W.to(DEVICE).reshape(1, -1), target))
    assert found == pytest.approx(_l1_threshold(W.reshape(-1), n, l1_budget, lambda sums: sums), rel=1e-6, abs=0)


def test_l1_of_nothing():
    target = torch.ones(1, dtype=torch.float64, device=DEVICE)
    assert float(l1_triton.threshold(torch.zeros(1, 100, device=DEVICE), target)) == 0


def test_l1_of_several_batches(gaussian):
    W = gaussian(30, 12, torch.float32).view(3, -1)
    budgets = (0.5, 4.0, 1e9)
    target = torch.tensor([10 * budget for budget in budgets], dtype=torch.float64, device=DEVICE)
    expected = [_l1_threshold(row, 10, budget, lambda sums: sums) for row, budget in zip(W, budgets, strict=True)]
    assert l1_triton.threshold(W.to(DEVICE), target).tolist() == pytest.approx(expected, rel=1e-6)
