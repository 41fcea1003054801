"""Training as a captured graph, against training step by step."""

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
from contextualdag.training.trainer import NoProjection, Split, TrainingSettings, copy_state, train

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def a_split(device):
    data = make_varying_dag(600, n_nodes=6, n_features=2, n_edges=6, random_state=0)
    X, Z = (torch.tensor(values, dtype=torch.float32, device=device) for values in (data.X, data.Z))
    return Split(X[:300], Z[:300], X[300:], Z[300:])


def a_network(device, dropout=0.0):
    network = ContextNetwork(2, 6, (32,), "silu", dropout)
    initialise(network, torch.Generator().manual_seed(0))
    return network.to(device)


def test_what_can_be_captured():
    split = a_split("cpu")
    layer = DAGProjection(2.0)
    assert not can_capture(layer, split, TrainingSettings())
    meta = Split(*(torch.empty(300, 6, device="meta") for _ in range(4)))
    assert not can_capture(layer, meta, TrainingSettings())


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("acyclicity", [Order(), Order(starts=1), LogDet(), None])
def test_same_as_step_by_step(acyclicity):
    split, settings = a_split("cuda"), TrainingSettings(1e-2, 60, 5)
    layer = NoProjection() if acyclicity is None else DAGProjection(2.0, acyclicity).cuda()
    assert can_capture(layer, split, settings)
    network = a_network("cuda")
    captured = CapturedTraining(network, layer, split, settings)
    seen = []
    first = captured.run(progress=lambda *row: seen.append(row))
    alone = a_network("cuda")
    expected = train(alone, layer, split, settings)
    assert first.epochs == expected.epochs
    assert first.validation_loss == pytest.approx(expected.validation_loss, rel=1e-5)
    assert first.train_loss == pytest.approx(expected.train_loss, rel=1e-5)
    for name, value in expected.state.items():
        torch.testing.assert_close(first.state[name], value, rtol=1e-3, atol=1e-4)
    assert [epoch for epoch, _, _ in seen] == list(range(len(seen)))
    assert min(validation for _, _, validation in seen) == pytest.approx(first.validation_loss)


@pytest.mark.gpu
@on_gpu
def test_one_capture_serves_many_runs():
    split, settings = a_split("cuda"), TrainingSettings(1e-2, 60, 5)
    masks = {"mask": torch.ones(300, 6, 6, device="cuda"), "mask_val": torch.ones(300, 6, 6, device="cuda")}
    network = a_network("cuda", dropout=0.3)
    start = copy_state(network)
    captured = CapturedTraining(network, NoProjection(), replace(split, **masks), settings)
    torch.manual_seed(7)
    first = captured.run()
    nothing = torch.zeros(300, 6, 6, device="cuda")
    network.load_state_dict(start)
    assert captured.run(nothing, nothing).validation_loss == pytest.approx(float((split.X_val**2).mean()), rel=1e-5)
    network.load_state_dict(start)
    torch.manual_seed(7)
    again = captured.run(**masks)
    assert again.validation_loss == pytest.approx(first.validation_loss, rel=1e-6)
    assert again.epochs == first.epochs
    torch.manual_seed(8)
    network.load_state_dict(start)
    assert captured.run(**masks).validation_loss != first.validation_loss  # dropout is drawn anew


@pytest.mark.gpu
@on_gpu
def test_divergence_is_said():
    with pytest.raises(TrainingError, match="training has diverged"):
        CapturedTraining(a_network("cuda"), NoProjection(), a_split("cuda"), TrainingSettings(1e20, 100, 10)).run()


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
