"""The DAGMA path against what it must reach: acyclic graphs, lasso's optimum, least squares."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from contextualdag.graphs import break_cycles, is_acyclic, order_to_mask
from contextualdag.training.dagma import (
    MAX_ITERATIONS,
    STEPS,
    lasso_on_order,
    least_squares_on_support,
    max_iterations,
    objective,
    penalised_dags,
    penalised_dags_in_torch,
)


def linear_data(n=2000, p=6, seed=0):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.5, 1.5, (p, p)) * (rng.random((p, p)) < 0.4), 1)
    order = rng.permutation(p)
    W = W[np.ix_(order, order)]
    X = rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - W)
    return torch.tensor(X), torch.tensor(W)


def all_edges(p):
    return ~torch.eye(p, dtype=torch.bool)


@pytest.mark.parametrize("solve", [penalised_dags, penalised_dags_in_torch])
@pytest.mark.parametrize("p", [2, 6, 12])
def test_acyclic_for_every_penalty_and_right_for_one(p, solve):
    X, W = linear_data(p=p)
    S = (X.T @ X / len(X)).repeat(10, 1, 1)
    found, steps = solve(S, torch.logspace(0.5, -3, 10, dtype=torch.float64), all_edges(p))
    assert bool(is_acyclic(found).all())
    assert min(steps) > 0
    distance = ((found.abs() > 0.25) != (W != 0)).sum((1, 2))  # true weights are at least 0.5
    assert int(distance.min()) <= p // 5


def test_the_compiled_solver_is_never_the_worse_one():
    p = 10
    S = torch.stack([X.T @ X / len(X) for X, _ in (linear_data(p=p, seed=seed) for seed in range(5))])
    penalty = torch.full((5,), 0.05, dtype=S.dtype)
    ours, _ = penalised_dags(S, penalty, all_edges(p))
    plain, _ = penalised_dags_in_torch(S, penalty, all_edges(p))
    assert bool((objective(S, penalty, ours) <= objective(S, penalty, plain) * (1 + 1e-4)).all())


@pytest.mark.slow
@pytest.mark.parametrize("n_edges", [10, 20, 40])
def test_against_the_dagma_package(n_edges):
    linear = pytest.importorskip("dagma.linear", reason="dagma is not installed")
    rng = np.random.default_rng(n_edges)
    p, penalty = 15, 0.05
    W = np.zeros((p, p))
    pairs = [(j, k) for j in range(p) for k in range(j + 1, p)]
    for pair in rng.choice(len(pairs), n_edges, replace=False):
        W[pairs[pair]] = rng.uniform(0.5, 2.0) * rng.choice([-1, 1])
    shuffled = rng.permutation(p)
    W = W[np.ix_(shuffled, shuffled)]
    X = rng.standard_normal((1000, p)) @ np.linalg.inv(np.eye(p) - W)
    X -= X.mean(0)
    S = torch.from_numpy(X.T @ X / len(X))[None]
    theirs = linear.DagmaLinear(loss_type="l2", verbose=False).fit(X.copy(), lambda1=penalty, w_threshold=0.0)
    theirs = break_cycles(torch.from_numpy(theirs)[None])  # what the package returns is not quite acyclic
    ours, _ = penalised_dags(S, torch.tensor([penalty], dtype=S.dtype), all_edges(p))
    values = [float(objective(S, torch.tensor([penalty], dtype=S.dtype), graph)) for graph in (ours, theirs)]
    assert values[0] <= values[1] or torch.equal(ours[0].abs() > 0.3, theirs[0].abs() > 0.3)


def test_problems_do_not_see_one_another():
    p = 5
    both = torch.stack([X.T @ X / len(X) for X, _ in (linear_data(p=p, seed=1), linear_data(p=p, seed=2))])
    penalty = torch.tensor([0.1, 0.02], dtype=torch.float64)
    together, _ = penalised_dags(both, penalty, all_edges(p))
    for i in range(2):
        alone, _ = penalised_dags(both[i : i + 1], penalty[i : i + 1], all_edges(p))
        torch.testing.assert_close(alone[0], together[i], rtol=1e-4, atol=1e-4)


def test_the_work_on_many_nodes_is_bounded():
    """Steps with momentum swing on noise, up to the most for every mu."""
    p = 80
    X = torch.randn(300, p, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _, (steps,) = penalised_dags((X.T @ X / 300)[None], torch.tensor([0.03], dtype=X.dtype), all_edges(p))
    assert steps <= STEPS * (max_iterations(p, momentum=False) + max_iterations(p, momentum=True))
    assert max_iterations(p, momentum=True) < max_iterations(50, momentum=True) == MAX_ITERATIONS


@pytest.mark.slow
def test_ctrl_c_ends_a_search_of_minutes_at_once(interruptions):
    p = 150
    X = torch.randn(400, p, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    S = (X.T @ X / 400).repeat(200, 1, 1)
    penalised_dags(S[:1, :3, :3], torch.ones(1, dtype=S.dtype), all_edges(3))  # compiled
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, press).start()
    with pytest.raises(KeyboardInterrupt):
        penalised_dags(S, torch.full((200,), 0.01, dtype=S.dtype), all_edges(p))
    assert time.monotonic() - pressed[0] < 2


def test_edges_that_may_not_be_are_not():
    X, W = linear_data()
    allowed = all_edges(6) & (W == 0)
    found, _ = penalised_dags((X.T @ X / len(X))[None], torch.tensor([0.01], dtype=torch.float64), allowed)
    assert not bool(((found[0] != 0) & ~allowed).any())


def test_lasso_on_an_order_is_lasso():
    X, _ = linear_data(p=5)
    order = torch.tensor([[3, 0, 4, 1, 2]])
    penalty = 0.2
    S = (X.T @ X / len(X))[None]
    W = lasso_on_order(S, torch.tensor([penalty], dtype=S.dtype), order_to_mask(order))[0]
    for t in range(1, 5):
        parents, node = order[0, :t].tolist(), int(order[0, t])
        expected = Lasso(alpha=penalty, fit_intercept=False, tol=1e-10).fit(X[:, parents].numpy(), X[:, node].numpy())
        np.testing.assert_allclose(W[parents, node], expected.coef_, atol=1e-5)


def test_least_squares_on_a_support():
    X, W = linear_data()
    found = least_squares_on_support((X.T @ X / len(X))[None], (W != 0)[None])[0]
    for k in range(6):
        parents = W[:, k].nonzero().flatten()
        expected = torch.linalg.lstsq(X[:, parents], X[:, k]).solution
        torch.testing.assert_close(found[parents, k], expected, rtol=1e-6, atol=1e-6)
    assert not bool(((found != 0) & (W == 0)).any())


def test_collinear_parents_and_empty_groups_do_no_harm():
    X, _ = linear_data(p=3)
    X[:, 1] = X[:, 0]
    S = torch.stack([X.T @ X / len(X), torch.zeros(3, 3, dtype=X.dtype)])
    support = torch.zeros(2, 3, 3, dtype=torch.bool)
    support[:, :2, 2] = True
    assert bool(least_squares_on_support(S, support).isfinite().all())
    found, _ = penalised_dags(S, torch.tensor([0.1, 0.1], dtype=S.dtype), all_edges(3))
    assert bool(found.isfinite().all())
    assert bool((found[1] == 0).all())
