"""The paper's timing protocol: ten epochs of pre-training and ten behind the projection, each with its validation."""

import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from contextualdag.datasets import make_varying_dag
from contextualdag.network import ContextNetwork, initialise
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training.captured import CapturedTraining
from contextualdag.training.side_by_side import SideBySide
from contextualdag.training.trainer import Split, Training, TrainingSettings, copy_state

EPOCHS = 10
BUDGET = 5.0
REPEATS = 3
# Seconds for the authors' program on one RTX 4090: means of their ten runs (twenty at n = 1000, p = 20); keys are (n, p).
PUBLISHED = {
    (1000, 20): 6.3, (3250, 20): 10.2, (5500, 20): 16.4, (7750, 20): 29.7, (10_000, 20): 43.1,
    (1000, 10): 3.4, (1000, 30): 45.6, (1000, 40): 182.5, (1000, 50): 467.1,
}  # fmt: skip
N_GRID = ((1000, 20), (3250, 20), (5500, 20), (7750, 20), (10_000, 20), (100_000, 20))
P_GRID = ((1000, 10), (1000, 20), (1000, 30), (1000, 40), (1000, 50), (1000, 100), (1000, 200))
CPU_CELLS = tuple(cell for cell in dict.fromkeys(N_GRID + P_GRID) if cell[0] <= 10_000 and cell[1] <= 100)
QUICK_CELLS = ((1000, 10), (1000, 20))
BASELINE = LogDet(paper_exact=True)
BASELINE_CELLS = {  # elsewhere it takes too long
    "cuda": ((1000, 10), (1000, 20), (1000, 30), (1000, 50), (10_000, 20)),
    "cpu": ((1000, 10), (1000, 20)),
}
BASELINE_ITERATIONS = 500  # for one mu; where the descent is cut off here, the time is a lower bound


@dataclass(frozen=True)
class Timing:
    """Seconds for one cell. The baseline is Algorithm 1 as batched inverses, from one epoch; None where it was not run."""

    n: int
    p: int
    order: float
    logdet: float | None
    baseline: float | None
    published: float | None


def run_protocol(
    device: torch.device, cells: tuple[tuple[int, int], ...], baseline: bool, begin: Callable[[str], None]
) -> Iterator[Timing]:
    """Time all cells one by one, the fast methods after a run that compiles, the median of three."""
    for n, p in cells:
        begin(f"n = {n}, p = {p}")
        split = _data(n, p, device)
        order = _median(split, Order(starts=1))
        logdet = _median(split, LogDet()) if p <= 50 and n <= 10_000 else None
        slow = None
        if baseline and (n, p) in BASELINE_CELLS[device.type]:
            begin(f"n = {n}, p = {p}, batched inverses")
            slow = _baseline(split)
        yield Timing(n, p, order, logdet, slow, PUBLISHED.get((n, p)))


def protocol_seconds(split: Split, acyclicity: Order | LogDet, epochs: int = EPOCHS) -> float:
    """Seconds for as many epochs without and with the projection, from a fresh network."""
    network = _network(split)
    layer = DAGProjection(BUDGET, acyclicity).to(split.X.device)
    settings = TrainingSettings(max_epochs=epochs, patience=epochs + 1)
    _synchronize(split.X.device)
    start = time.perf_counter()
    trainer, state = SideBySide(network, layer, [split], settings), copy_state(network)
    for l1_budget in (None, BUDGET):
        state = trainer.train({0: Training(state, 0, l1_budget)})[0].state
    _synchronize(split.X.device)
    return time.perf_counter() - start


def device_name(device: torch.device) -> str:
    """What to call the machine in a table."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{_processor()}, {threads} thread{'' if threads == 1 else 's'}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        named = []
    return named[0] if named else platform.processor() or platform.machine()


def _data(n: int, p: int, device: torch.device) -> Split:
    data = make_varying_dag(2 * n, p, 2, random_state=0)
    X, Z = (torch.tensor(values, dtype=torch.float32, device=device) for values in (data.X, data.Z))
    return Split(X[:n], Z[:n], X[n:], Z[n:])


def _network(split: Split) -> ContextNetwork:
    network = ContextNetwork(split.Z.shape[1], split.X.shape[1], (128, 128), "relu", 0.0)
    initialise(network, torch.Generator().manual_seed(0))
    return network.to(split.X.device)


def _median(split: Split, acyclicity: Order | LogDet) -> float:
    protocol_seconds(split, acyclicity, epochs=1)
    return statistics.median(protocol_seconds(split, acyclicity) for _ in range(REPEATS))


def _baseline(split: Split) -> float:
    """Ten times one epoch of Algorithm 1 as batched inverses."""
    limited = LogDet(paper_exact=True, max_iterations=BASELINE_ITERATIONS)
    return EPOCHS * protocol_seconds(split, limited, epochs=1)


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def profile_epoch(n: int, p: int, device: torch.device) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Where one captured epoch goes on a GPU: its kernels, longest first, and the bytes it must move."""
    from torch.profiler import ProfilerActivity, profile

    split = _data(n, p, device)
    network, layer = _network(split), DAGProjection(BUDGET, Order(starts=1)).to(device)
    captured = CapturedTraining(network, layer, [split], TrainingSettings(max_epochs=3, patience=10))
    captured.run({0: Training(copy_state(network), 0, BUDGET)})
    repeats = 20
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiled:
        captured.replay(repeats)
    rows = [
        {"kernel": event.key, "launches": event.count / repeats, "microseconds": event.self_device_time_total / repeats}
        for event in profiled.key_averages()
    ]
    rows.sort(key=lambda row: -row["microseconds"])
    _synchronize(device)
    start = time.perf_counter()
    captured.replay(repeats)
    _synchronize(device)
    elapsed = (time.perf_counter() - start) / repeats
    bandwidth = _bandwidth(device)
    # Matrices (n, p, p) that are read or written in the least. Forward: W~ written, projected (read, written), summed for
    # the threshold (twice), shrunk (read, written), multiplied. Backward: the gradient written, read with the result and
    # written, read twice by the last linear layer. On the validation set, all of the forward pass but the sums.
    matrices = (1 + 2 + 2 + 2 + 1) + (1 + 3 + 2) + (1 + 2 + 2 + 1)
    least = matrices * n * p * p * 4
    totals = {
        "kernels": sum(row["launches"] for row in rows),
        "microseconds in kernels": sum(row["microseconds"] for row in rows),
        "microseconds an epoch": 1e6 * elapsed,
        "megabytes at least": least / 1e6,
        "bandwidth, GB/s": bandwidth / 1e9,
        "microseconds at that bandwidth": 1e6 * least / bandwidth,
    }
    return rows, totals


def _bandwidth(device: torch.device) -> float:
    """Bytes a second that a large copy reads and writes."""
    source = torch.empty(1 << 28, dtype=torch.float32, device=device).normal_()
    target = torch.empty_like(source)
    seconds = []
    for _ in range(6):
        _synchronize(device)
        start = time.perf_counter()
        target.copy_(source)
        _synchronize(device)
        seconds.append(time.perf_counter() - start)
    return 2 * source.numel() * 4 / statistics.median(seconds[1:])


def time_projections(device: torch.device, baseline: bool) -> list[dict[str, Any]]:
    """Milliseconds to project 1000 Gaussian graphs; on a GPU as part of a captured graph, where the projection can be."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for p in (20, 50):
        W = torch.randn(1000, p, p, generator=generator).to(device)
        solvers: dict[str, Order | LogDet] = {"order": Order(), "order, one start": Order(starts=1), "log-det": LogDet()}
        if baseline and p == 20:
            solvers["log-det as batched inverses"] = BASELINE
        for name, solver in solvers.items():
            rows.append({"projection": name, "p": p, "milliseconds": _milliseconds(solver, W)})
    return rows


def _milliseconds(solver: Order | LogDet, W: torch.Tensor) -> float:
    repeats = 1 if solver is BASELINE else 20
    solver(W[:2] if solver is BASELINE else W)  # compiles
    project: Callable[[], Any] = lambda: solver(W)  # noqa: E731
    if solver.stays_on_device(W.device, W.shape[1]):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            solver(W)
        project = graph.replay
    seconds = []
    for _ in range(repeats):
        _synchronize(W.device)
        start = time.perf_counter()
        project()
        _synchronize(W.device)
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


def time_fits(device: torch.device, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Seconds for whole default fits at p = 20, the second of two, with the recovery that they reach."""
    from contextualdag.estimators import ContextualDAG
    from contextualdag.metrics import f1_score

    rows = []
    for n in sizes:
        data = make_varying_dag(3 * n, 20, 2, random_state=0)
        for _ in range(2):
            model = ContextualDAG(random_state=0, device=str(device), verbose=False)
            _synchronize(device)
            start = time.perf_counter()
            model.fit(data.X[:n], data.Z[:n], data.X[n : 2 * n], data.Z[n : 2 * n])
            _synchronize(device)
            seconds = time.perf_counter() - start
        f1 = f1_score(data.W[2 * n :], model.adjacency(data.Z[2 * n :]))
        rows.append({"n": n, "p": 20, "seconds": seconds, "F1": f1})
    return rows
