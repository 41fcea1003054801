"""Training side by side and as a captured graph, against training step by step."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import TrainingError
from contextualdag.metrics import f1_score
from contextualdag.network import ContextNetwork, initialise
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training.captured import CapturedTraining, can_capture
from contextualdag.training.side_by_side import SideBySide
from contextualdag.training.trainer import NoProjection, Split, Training, TrainingSettings, copy_state, train

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
on_both = pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, on_gpu])]
)  # on the CPU nothing is captured, and the epochs run one by one


def a_split(device, seed=0):
    data = make_varying_dag(600, n_nodes=6, n_features=2, n_edges=6, random_state=seed)
    X, Z = (torch.tensor(values, dtype=torch.float32, device=device) for values in (data.X, data.Z))
    return Split(X[:300], Z[:300], X[300:], Z[300:])


def a_network(device, dropout=0.0, seed=0):
    network = ContextNetwork(2, 6, (32,), "silu", dropout)
    initialise(network, torch.Generator().manual_seed(seed))
    return network.to(device)


def test_what_can_be_captured():
    split = a_split("cpu")
    layer = DAGProjection(2.0)
    assert not can_capture(layer, split, TrainingSettings())
    meta = Split(*(torch.empty(300, 6, device="meta") for _ in range(4)))
    assert not can_capture(layer, meta, TrainingSettings())


@on_both
@pytest.mark.parametrize("acyclicity", [Order(), Order(starts=1), LogDet(), None])
def test_same_as_step_by_step(acyclicity, device):
    split, settings = a_split(device), TrainingSettings(1e-2, 60, 5)
    layer = NoProjection() if acyclicity is None else DAGProjection(2.0, acyclicity).to(device)
    assert can_capture(layer, split, settings) == (device == "cuda")
    network = a_network(device)
    captured = CapturedTraining(network, layer, [split], settings)
    seen = []
    wanted = Training(copy_state(network), 0, None if acyclicity is None else 2.0, progress=lambda *row: seen.append(row))
    first = captured.run({0: wanted})[0]
    expected = train(a_network(device), layer, split, settings)
    assert_same(first, expected)
    assert [epoch for epoch, _, _ in seen] == list(range(len(seen)))
    assert min(validation for _, _, validation in seen) == pytest.approx(first.validation_loss)


def assert_same(fit, expected):
    assert fit.epochs == expected.epochs
    assert fit.validation_loss == pytest.approx(expected.validation_loss, rel=1e-5)
    assert fit.train_loss == pytest.approx(expected.train_loss, rel=1e-5)
    for name, value in expected.state.items():
        torch.testing.assert_close(fit.state[name], value, rtol=1e-3, atol=1e-4)


@on_both
@pytest.mark.parametrize("acyclicity", [Order(), LogDet()])
def test_side_by_side_as_alone(acyclicity, device):
    """Members with data, weights, budgets and ends of their own; one of them rests, one keeps its last weights."""
    splits, settings = [a_split(device, seed) for seed in range(4)], TrainingSettings(1e-2, 60, 5)
    starts = [copy_state(a_network(device, seed=seed)) for seed in range(4)]
    budgets = {0: 1.0, 1: 3.0, 3: np.inf}
    layer = DAGProjection(acyclicity=acyclicity).to(device)
    together = CapturedTraining(a_network(device), layer, splits, settings)
    for _ in range(2):  # the second run starts as fresh as the first
        fits = together.run({k: Training(starts[k], 0, budget, keep_last=k == 1) for k, budget in budgets.items()})
        assert list(fits) == [0, 1, 3]
        for k, budget in budgets.items():
            alone, its = a_network(device, seed=k), replace(settings, keep_last=k == 1)
            assert_same(fits[k], train(alone, DAGProjection(budget, acyclicity).to(device), splits[k], its))
    assert len({fit.epochs for fit in fits.values()}) > 1


@on_both
def test_members_ask_for_what_they_want_and_end_when_they_want(device):
    splits, settings = [a_split(device, seed) for seed in range(3)], TrainingSettings(1e-2, 20, 5)
    start = copy_state(a_network(device))
    nothing = torch.zeros(300, 6, 6, device=device)

    def member(budgets):
        losses = []
        for budget in budgets:
            masks = (nothing, nothing) if budget == "nothing" else (None, None)
            (fit,) = yield [Training(start, 0, None if budget == "nothing" else budget, *masks)]
            losses.append(fit.validation_loss)
        return losses

    layer = DAGProjection().to(device)
    wishes = [[None, 1.0, "nothing"], ["nothing", None], []]
    found = SideBySide(a_network(device), layer, splits, settings).run([member(budgets) for budgets in wishes])
    assert [len(losses) for losses in found] == [3, 2, 0]
    empty = [float((split.X_val**2).mean()) for split in splits]
    assert found[0][2] == pytest.approx(empty[0], rel=1e-5)
    assert found[1][0] == pytest.approx(empty[1], rel=1e-5)
    alone = SideBySide(a_network(device), layer, splits[1:2], settings).run([member([None])])
    assert found[1][1] == pytest.approx(alone[0][0], rel=1e-5)  # the mask of the training before is forgotten


@pytest.mark.gpu
@on_gpu
def test_one_capture_serves_many_runs():
    split, settings = a_split("cuda"), TrainingSettings(1e-2, 60, 5)
    network = a_network("cuda", dropout=0.3)
    start = copy_state(network)
    trainer = SideBySide(network, DAGProjection().cuda(), [split], settings)
    first = trainer.train({0: Training(start, 7)})[0]
    again = trainer.train({0: Training(start, 7)})[0]
    assert again.validation_loss == pytest.approx(first.validation_loss, rel=1e-6)
    assert again.epochs == first.epochs
    assert trainer.train({0: Training(start, 8)})[0].validation_loss != first.validation_loss  # dropout is drawn anew


@on_both
def test_divergence_is_said(device):
    captured = CapturedTraining(a_network(device), NoProjection(), [a_split(device)], TrainingSettings(1e20, 100, 10))
    with pytest.raises(TrainingError, match="training has diverged"):
        captured.run({0: Training(copy_state(a_network(device)))})


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("make", [ContextualDAG, ContextualDAG.paper])
def test_a_fit_on_the_gpu_and_its_graphs_on_the_cpu(tmp_path, make):
    data = make_varying_dag(1500, n_nodes=6, n_features=2, n_edges=6, random_state=0)
    quick = {"hidden_layers": (32,), "learning_rate": 1e-2, "random_state": 0}
    fitted = {device: make(**quick, device=device).fit(data.X[:1000], data.Z[:1000]) for device in ("cpu", "cuda")}
    test = data[1000:]
    scores = {device: f1_score(test.W, model.select(n_edges=3).adjacency(test.Z)) for device, model in fitted.items()}
    assert scores["cuda"] == pytest.approx(scores["cpu"], abs=0.1)  # other random numbers, as good a fit
    fitted["cuda"].save(tmp_path / "model")
    moved = ContextualDAG.load(tmp_path / "model", device="cpu")
    ours, theirs = moved.adjacency(test.Z), fitted["cuda"].adjacency(test.Z)
    assert ((ours != 0) == (theirs != 0)).mean() > 0.9999
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


WITHOUT = """
import sys
from dataclasses import replace
for name in ("numba", "dask", "dash", "plotly"):
    sys.modules[name] = None  # every import of it now fails
import warnings
warnings.simplefilter("error")
from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
data = make_varying_dag(300, n_nodes=5, n_features=2, n_edges=5, random_state=0)
model = ContextualDAG(hidden_layers=(16,), random_state=0, device="cuda").fit(data.X, data.Z)
print(model.adjacency(data.Z).shape)
"""


@pytest.mark.gpu
@on_gpu
def test_a_gpu_needs_neither_numba_nor_the_extras():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(300, 5, 5)"
