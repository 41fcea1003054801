"""Where one epoch of training goes on a GPU, kernel by kernel: `python -m benchmarks.epoch_profile`."""

import argparse
import re
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.paper.timing import BUDGET, device_name, make_network, make_split, synchronize
from contextualdag.projection import DAGProjection, Order
from contextualdag.training.cuda_graph import GraphTrainer
from contextualdag.training.trainer import Training, TrainingSettings, copy_state

RESULTS = Path(__file__).parent / "results"
SHOWN = 12


def profile_epoch(n: int, p: int, device: torch.device) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The kernels of one captured epoch on a GPU, longest first, and totals with the bytes that it must move."""
    split = make_split(n, p, device)
    network, layer = make_network(split), DAGProjection(BUDGET, Order(starts=1)).to(device)
    trainer = GraphTrainer(network, layer, [split], TrainingSettings(max_epochs=3, patience=10))
    trainer.run({0: Training(copy_state(network), 0, BUDGET)})
    repeats = 20
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiled:
        trainer.replay(repeats)
    rows = [
        {"kernel": event.key, "launches": event.count / repeats, "microseconds": event.self_device_time_total / repeats}
        for event in profiled.key_averages()
    ]
    rows.sort(key=lambda row: -row["microseconds"])
    synchronize(device)
    start = time.perf_counter()
    trainer.replay(repeats)
    synchronize(device)
    elapsed = (time.perf_counter() - start) / repeats
    bandwidth = bandwidth_of(device)
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


def bandwidth_of(device: torch.device) -> float:
    """Bytes per second that a large copy reads and writes."""
    source = torch.empty(1 << 28, dtype=torch.float32, device=device).normal_()
    target = torch.empty_like(source)
    seconds = []
    for _ in range(6):
        synchronize(device)
        start = time.perf_counter()
        target.copy_(source)
        synchronize(device)
        seconds.append(time.perf_counter() - start)
    return 2 * source.numel() * 4 / statistics.median(seconds[1:])


def sections(n: int, p: int, device: torch.device) -> list[str]:
    kernels, totals = profile_epoch(n, p, device)
    rows = [[f"`{r['kernel'][:70]}`", f"{r['launches']:.0f}", f"{r['microseconds']:.1f}"] for r in kernels[:SHOWN]]
    return [
        f"## n = {n}, p = {p}",
        markdown_table(list(totals), [[f"{value:.0f}" for value in totals.values()]]),
        markdown_table(["kernel", "launches", "microseconds"], rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=(1000, 10_000), help="training samples (default: %(default)s)")
    parser.add_argument("--p", type=int, default=20, help="number of nodes (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the page (default: %(default)s)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no CUDA device here.")
    device = torch.device("cuda")
    machine = device_name(device)
    parts = [f"# One epoch behind the order projection on {machine}", f"PyTorch {torch.__version__}."]
    for n in options.n:
        parts += sections(n, options.p, device)
    name = "epoch-" + re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    print(write_page(options.out / f"{name}.md", parts))


if __name__ == "__main__":
    main()
