"""What every way of making matrices acyclic must have in common."""

import pytest
import torch

from contextualdag.graphs import is_acyclic
from contextualdag.projection import LogDet, Order

every_acyclicity = pytest.mark.parametrize(
    "acyclicity",
    [Order(), Order(kernel="torch"), Order(cut=0.1), LogDet(), LogDet(kernel="torch")],
    ids=["order", "order-torch", "order-cut", "logdet", "logdet-torch"],
)


@every_acyclicity
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [4, 8, 12, 20])
def test_a_sample_does_not_depend_on_its_batch(acyclicity, gaussian, p, dtype):
    W = gaussian(70, p, dtype)
    together = acyclicity(W)
    for i in (0, 1, 33, 69):
        assert torch.equal(acyclicity(W[i : i + 1])[0], together[i])
    shuffle = torch.randperm(70)
    assert torch.equal(acyclicity(W[shuffle]), together[shuffle])


@every_acyclicity
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [4, 8, 12, 20, 50])
def test_permuting_nodes_permutes_the_answer(acyclicity, gaussian, p, dtype):
    W = gaussian(40, p, dtype)
    shuffle = torch.randperm(p)
    assert torch.equal(acyclicity(W[:, shuffle][:, :, shuffle]), acyclicity(W)[:, shuffle][:, :, shuffle])


@every_acyclicity
@pytest.mark.parametrize("p", [2, 8, 12, 30])
def test_a_dag_comes_back(acyclicity, gaussian, p):
    once = acyclicity(gaussian(40, p, torch.float32))
    assert bool((once != 0).any())
    assert torch.equal(acyclicity(once), once)
    # A DAG with weights just above the cut, and one whose weights span many orders of magnitude.
    shuffle = torch.randperm(p)
    near_cut = (0.1001 * torch.ones(1, p, p)).triu(1)[:, shuffle][:, :, shuffle]
    assert torch.equal(acyclicity(near_cut), near_cut)
    wide = (10 ** torch.linspace(0, 20, p * p).view(1, p, p)).triu(1)[:, shuffle][:, :, shuffle]
    assert torch.equal(acyclicity(wide), wide)


@every_acyclicity
def test_the_input_stays_as_it_was(acyclicity, gaussian):
    W = gaussian(40, 6)
    W.diagonal(dim1=1, dim2=2).fill_(7)
    before = W.clone()
    assert bool((acyclicity(W).diagonal(dim1=1, dim2=2) == 0).all())
    assert torch.equal(W, before)


@every_acyclicity
def test_any_memory_layout(acyclicity, gaussian):
    W = gaussian(40, 6)
    assert torch.equal(acyclicity(W.mT.contiguous().mT), acyclicity(W))
    assert torch.equal(acyclicity(W[::2]), acyclicity(W)[::2])
    assert torch.equal(acyclicity(W[:1].expand(40, 6, 6)), acyclicity(W)[:1].expand(40, 6, 6))
    assert not acyclicity(W.clone().requires_grad_()).requires_grad


@every_acyclicity
@pytest.mark.parametrize("shape", [(0, 5, 5), (0, 1, 1), (3, 1, 1), (0, 0, 0), (2, 0, 0)])
def test_nothing_to_do(acyclicity, shape):
    assert torch.equal(acyclicity(torch.ones(shape)), torch.zeros(shape))


@every_acyclicity
def test_empty_graphs_stay_empty(acyclicity):
    assert torch.equal(acyclicity(torch.zeros(40, 9, 9)), torch.zeros(40, 9, 9))


@pytest.mark.slow
@every_acyclicity
def test_number_of_threads_changes_nothing(acyclicity, gaussian):
    W = gaussian(2500, 9, torch.float32)  # enough that five threads are worth it
    before = torch.get_num_threads()
    try:
        answers = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            answers.append(acyclicity(W))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(answers[0], answers[1])
    assert torch.equal(answers[0], answers[2])
    assert bool(is_acyclic(answers[0]).all())
