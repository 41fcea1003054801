"""The gradient three ways: finite differences, the closed-form Jacobian, and brute force over entries."""

import math

import pytest
import torch
from torch.autograd.functional import jacobian

from contextualdag.projection import DAGProjection

both_acyclicities = pytest.mark.parametrize("acyclicity", ["order", "logdet"])


def closed_form_jacobian(W_star, binds):
    """Theorem 2, entry by entry, as a matrix over the flattened batch."""
    w = W_star.detach().flatten()
    active = w != 0
    J = torch.diag(active.to(w.dtype))
    if binds:
        J = J - torch.outer(w.sign(), w.sign()) / active.sum()
    return J


@both_acyclicities
@pytest.mark.parametrize(("share", "binds"), [(0.6, True), (0.2, True), (5.0, False), (math.inf, False)])
def test_closed_form(gaussian, acyclicity, share, binds):
    W = gaussian(3, 5)
    budget = share * float(W.abs().sum()) / 3
    layer = DAGProjection(budget, acyclicity)
    J = jacobian(layer, W).reshape(W.numel(), W.numel())
    expected = closed_form_jacobian(layer(W), binds)
    assert float(expected.abs().sum()) > 0
    torch.testing.assert_close(J, expected, rtol=0, atol=1e-12)


@both_acyclicities
@pytest.mark.parametrize("share", [0.6, 0.2, 5.0])
def test_finite_differences(gaussian, acyclicity, share):
    W = gaussian(3, 5)
    layer = DAGProjection(share * float(W.abs().sum()) / 3, acyclicity)
    support = layer(W) != 0
    # gradcheck moves every entry by 1e-6; entries that far from changing the support make the derivative exist.
    for sign in (-1, 1):
        for a in range(W.numel()):
            moved = W.clone()
            moved.view(-1)[a] += sign * 1e-6
            assert torch.equal(layer(moved) != 0, support)
    assert torch.autograd.gradcheck(layer, W.clone().requires_grad_(), eps=1e-6, atol=1e-7)


def test_finite_differences_with_a_fixed_threshold(gaussian):
    W = gaussian(3, 5)
    layer = DAGProjection(1.0)
    layer(W)
    layer.eval()
    assert torch.autograd.gradcheck(layer, W.clone().requires_grad_(), eps=1e-6, atol=1e-7)
    expected = closed_form_jacobian(layer(W), binds=False)
    torch.testing.assert_close(jacobian(layer, W).reshape(expected.shape), expected)


@pytest.mark.parametrize("training", [True, False])
def test_budget_zero_has_no_gradient(gaussian, training):
    W = gaussian(3, 5).requires_grad_()
    layer = DAGProjection(0.0)
    layer(W)
    layer.train(training)(W).sum().backward()
    assert torch.equal(W.grad, torch.zeros_like(W))


@both_acyclicities
@pytest.mark.parametrize("budget", [0.0, 1.0, math.inf])
def test_empty_graphs_have_no_gradient(acyclicity, budget):
    W = torch.zeros(3, 5, 5, dtype=torch.float64, requires_grad=True)
    DAGProjection(budget, acyclicity)(W).sum().backward()
    assert torch.equal(W.grad, torch.zeros_like(W))


def test_mask_stops_the_gradient(gaussian):
    W = gaussian(3, 5).requires_grad_()
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    (DAGProjection(math.inf)(W, mask) * 2).sum().backward()
    assert torch.equal(W.grad, 2.0 * mask.expand_as(W))


def test_a_step_against_the_gradient_lowers_the_loss(gaussian):
    W = gaussian(50, 8, torch.float32)
    target = DAGProjection()(gaussian(50, 8, torch.float32, seed=1))
    layer = DAGProjection(3.0)

    def loss(W):
        return ((layer(W) - target) ** 2).sum()

    moving = W.clone().requires_grad_()
    loss(moving).backward()
    with torch.no_grad():
        assert float(loss(moving - 1e-3 * moving.grad)) < float(loss(moving))


def test_float32_agrees_with_float64(gaussian):
    W = gaussian(40, 10, torch.float32)
    g = gaussian(40, 10, torch.float32, seed=1)
    grads = []
    for dtype in (torch.float32, torch.float64):
        moving = W.to(dtype, copy=True).requires_grad_()
        DAGProjection(2.0)(moving).backward(g.to(dtype))
        assert moving.grad.dtype == dtype
        grads.append(moving.grad.double())
    torch.testing.assert_close(grads[0], grads[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("budget", [1.0, math.inf])
def test_nan_off_the_support_stays_there(gaussian, budget):
    # The derivative of the square root is infinite at zero, where most of W* is.
    W = gaussian(5, 6).requires_grad_()
    W_star = DAGProjection(budget)(W)
    W_star.abs().sqrt().sum().backward()
    assert bool(torch.isfinite(W.grad).all())
    assert torch.equal(W.grad != 0, W_star != 0)


def test_only_once_differentiable(gaussian):
    W = gaussian(2, 3).requires_grad_()
    (first,) = torch.autograd.grad((DAGProjection(1.0)(W) ** 2).sum(), W, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
