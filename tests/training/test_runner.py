"""Models whose trainings run side by side."""

from dataclasses import replace

import pytest
import torch

from contextualdag.datasets import make_varying_dag
from contextualdag.network import ContextNetwork, initialise
from contextualdag.projection import DAGProjection
from contextualdag.training.data import Rows, Split
from contextualdag.training.runner import Runner
from contextualdag.training.trainer import NoProjection, Training, TrainingSettings, copy_state, train

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, on_gpu])])


def a_split(device, seed=0):
    data = make_varying_dag(600, n_nodes=6, n_features=2, n_edges=6, random_state=seed)
    X, Z = (torch.tensor(values, dtype=torch.float32, device=device) for values in (data.X, data.Z))
    return Split(Rows(X[:300], Z[:300]), Rows(X[300:], Z[300:]))


def a_network(device, dropout=0.0, seed=0):
    network = ContextNetwork(2, 6, (32,), "silu", dropout)
    initialise(network, torch.Generator().manual_seed(seed))
    return network.to(device)


@on_both
def test_models_ask_for_what_they_need_and_end_when_they_are_done(device):
    splits, settings = [a_split(device, seed) for seed in range(3)], TrainingSettings(1e-2, 20, 5)
    start = copy_state(a_network(device))
    nothing = torch.zeros(300, 6, 6, device=device)

    def model(budgets):
        losses = []
        for budget in budgets:
            masks = (nothing, nothing) if budget == "nothing" else (None, None)
            (fit,) = yield [Training(start, 0, None if budget == "nothing" else budget, *masks)]
            losses.append(fit.validation_loss)
        return losses

    layer = DAGProjection().to(device)
    wishes = [[None, 1.0, "nothing"], ["nothing", None], []]
    found = Runner(a_network(device), layer, splits, settings).run([model(budgets) for budgets in wishes])
    assert [len(losses) for losses in found] == [3, 2, 0]
    empty = [float((split.held_out.X**2).mean()) for split in splits]
    assert found[0][2] == pytest.approx(empty[0], rel=1e-5)
    assert found[1][0] == pytest.approx(empty[1], rel=1e-5)
    alone = Runner(a_network(device), layer, splits[1:2], settings).run([model([None])])
    assert found[1][1] == pytest.approx(alone[0][0], rel=1e-5)  # the mask of the training before is forgotten


@pytest.mark.gpu
@on_gpu
def test_one_capture_serves_many_runs():
    split, settings = a_split("cuda"), TrainingSettings(1e-2, 60, 5)
    network = a_network("cuda", dropout=0.3)
    start = copy_state(network)
    trainer = Runner(network, DAGProjection().cuda(), [split], settings)
    first = trainer.train({0: Training(start, 7)})[0]
    again = trainer.train({0: Training(start, 7)})[0]
    assert again.validation_loss == pytest.approx(first.validation_loss, rel=1e-6)
    assert again.epochs == first.epochs
    assert trainer.train({0: Training(start, 8)})[0].validation_loss != first.validation_loss  # dropout is drawn anew


def test_members_of_one_model_get_their_own_fits():
    """One model with two members beside one that is done at once."""
    splits, settings = [a_split("cpu", seed) for seed in range(4)], TrainingSettings(1e-2, 5, 5)
    start = copy_state(a_network("cpu"))

    def model(n_rounds):
        losses = []
        for _ in range(n_rounds):
            fits = yield [Training(start), Training(start)]
            losses.append([fit.validation_loss for fit in fits])
        return losses

    runner = Runner(a_network("cpu"), DAGProjection(), splits, settings)
    both, nothing = runner.run([model(1), model(0)])
    assert nothing == []
    alone = [runner.train({slot: Training(start)})[slot].validation_loss for slot in (0, 1)]
    assert both == [alone]
    assert alone[0] != alone[1]


@on_both
def test_a_refit_on_live_pairs_is_the_refit_on_all(device):
    """Without the projection, entries that no mask lets through have no gradient: leaving them out changes nothing."""
    # In batches, which are not captured on a GPU.
    split, settings = a_split(device), TrainingSettings(1e-2, 30, 5, batch_size=100)
    network = a_network(device)  # without dropout: that of compiled steps has random numbers of its own
    masks = [(torch.rand(300, 6, 6) < 0.5) * (torch.rand(6, 6) < 0.3) for _ in range(2)]
    mask, mask_val = (one.float().to(device) for one in masks)
    start = copy_state(network)
    runner = Runner(network, DAGProjection().to(device), [split, split], settings)
    trainings = {slot: Training(start, 7, None, mask, mask_val) for slot in range(2)}
    found, again = runner.train(trainings).values()
    assert again.validation_loss == pytest.approx(found.validation_loss, rel=1e-6)
    whole = Split(replace(split.train, mask=mask), replace(split.held_out, mask=mask_val))
    expected = train(network, NoProjection(), whole, settings, generator=torch.Generator().manual_seed(7))
    assert found.epochs == expected.epochs
    assert found.validation_loss == pytest.approx(expected.validation_loss, rel=1e-5)
    for name, value in expected.learned.items():
        torch.testing.assert_close(found.learned[name], value, rtol=1e-3, atol=1e-4)


def test_a_refit_of_nothing():
    split, network = a_split("cpu"), a_network("cpu")
    nothing = torch.zeros(300, 6, 6)
    runner = Runner(network, DAGProjection(), [split], TrainingSettings(1e-2, 30, 5))
    fit = runner.train({0: Training(copy_state(network), 0, None, nothing, nothing)})[0]
    assert fit.validation_loss == pytest.approx(float((split.held_out.X**2).mean()))
    assert all(torch.equal(fit.learned[name], value) for name, value in network.state_dict().items())
