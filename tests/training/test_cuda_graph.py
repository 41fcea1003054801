"""Training as a CUDA graph, against training step by step."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import TrainingError
from contextualdag.metrics import f1_score
from contextualdag.network import ContextNetwork, initialise
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training.cuda_graph import GraphTrainer, can_capture
from contextualdag.training.data import Rows, Split
from contextualdag.training.trainer import NoProjection, Training, TrainingSettings, copy_state, train

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
on_both = pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, on_gpu])]
)  # on the CPU nothing is captured, and the epochs run one by one


def a_split(device, seed=0):
    data = make_varying_dag(600, n_nodes=6, n_features=2, n_edges=6, random_state=seed)
    X, Z = (torch.tensor(values, dtype=torch.float32, device=device) for values in (data.X, data.Z))
    return Split(Rows(X[:300], Z[:300]), Rows(X[300:], Z[300:]))


def a_network(device, dropout=0.0, seed=0):
    network = ContextNetwork(2, 6, (32,), "silu", dropout)
    initialise(network, torch.Generator().manual_seed(seed))
    return network.to(device)


def test_what_can_be_captured():
    split = a_split("cpu")
    layer = DAGProjection(2.0)
    assert not can_capture(layer, split, TrainingSettings())
    rows = Rows(torch.empty(300, 6, device="meta"), torch.empty(300, 2, device="meta"))
    meta = Split(rows, rows)
    assert not can_capture(layer, meta, TrainingSettings())


@on_both
@pytest.mark.parametrize("acyclicity", [Order(), Order(starts=1), LogDet(), None])
def test_same_as_step_by_step(acyclicity, device):
    split, settings = a_split(device), TrainingSettings(1e-2, 60, 5)
    layer = NoProjection() if acyclicity is None else DAGProjection(2.0, acyclicity).to(device)
    assert can_capture(layer, split, settings) == (device == "cuda")
    network = a_network(device)
    trainer = GraphTrainer(network, layer, [split], settings)
    seen = []
    wanted = Training(copy_state(network), 0, None if acyclicity is None else 2.0, progress=lambda *row: seen.append(row))
    first = trainer.run({0: wanted})[0]
    expected = train(a_network(device), layer, split, settings)
    assert_same(first, expected)
    assert [epoch for epoch, _, _ in seen] == list(range(len(seen)))
    assert min(validation for _, _, validation in seen) == pytest.approx(first.validation_loss)


def assert_same(fit, expected):
    assert fit.epochs == expected.epochs
    assert fit.validation_loss == pytest.approx(expected.validation_loss, rel=1e-5)
    assert fit.train_loss == pytest.approx(expected.train_loss, rel=1e-5)
    for name, value in expected.learned.items():
        torch.testing.assert_close(fit.learned[name], value, rtol=1e-3, atol=1e-4)


@on_both
@pytest.mark.parametrize("acyclicity", [Order(), pytest.param(LogDet(), marks=pytest.mark.long)])
def test_side_by_side_as_alone(acyclicity, device):
    """Slots with data, weights, budgets and ends of their own; one of them rests, one keeps its last weights."""
    splits, settings = [a_split(device, seed) for seed in range(4)], TrainingSettings(1e-2, 60, 5)
    starts = [copy_state(a_network(device, seed=seed)) for seed in range(4)]
    budgets = {0: 1.0, 1: 3.0, 3: np.inf}
    layer = DAGProjection(acyclicity=acyclicity).to(device)
    together = GraphTrainer(a_network(device), layer, splits, settings)
    for _ in range(2):  # the second run starts as fresh as the first
        fits = together.run({k: Training(starts[k], 0, budget, keep_last=k == 1) for k, budget in budgets.items()})
        assert list(fits) == [0, 1, 3]
        for k, budget in budgets.items():
            alone, its_layer = a_network(device, seed=k), DAGProjection(budget, acyclicity).to(device)
            assert_same(fits[k], train(alone, its_layer, splits[k], settings, keep_last=k == 1))
    assert len({fit.epochs for fit in fits.values()}) > 1


@on_both
def test_divergence_is_an_error(device):
    trainer = GraphTrainer(a_network(device), NoProjection(), [a_split(device)], TrainingSettings(1e20, 100, 10))
    with pytest.raises(TrainingError, match="training has diverged"):
        trainer.run({0: Training(copy_state(a_network(device)))})


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
warnings.filterwarnings("ignore", "numba cannot be imported" if DEVICE == "cpu" else "no warning")
from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
data = make_varying_dag(300, n_nodes=5, n_features=2, n_edges=5, random_state=0)
quick = {"n_members": 1, "structure": "varying"} if DEVICE == "cpu" else {}
model = ContextualDAG(hidden_layers=(16,), random_state=0, device=DEVICE, **quick)
print(model.fit(data.X, data.Z).adjacency(data.Z).shape)
"""


@pytest.mark.parametrize(
    "device", [pytest.param("cpu", marks=pytest.mark.long), pytest.param("cuda", marks=[pytest.mark.gpu, on_gpu])]
)
def test_a_fit_needs_neither_numba_nor_the_extras(device):
    code = f"DEVICE = {device!r}\n{WITHOUT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(300, 5, 5)"
