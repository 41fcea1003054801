"""Time the projections on one set of Gaussian matrices, and measure how good the graphs are.

Three methods on the same matrices, in one run: Algorithm 1 of the paper as batched `torch.linalg.inv` calls, our log-det
descent and our order projection. A second table compares the layer with the network in front of it. Times are medians,
but for Algorithm 1, which is run once.
"""

import argparse
import ctypes
import math
import os
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

import contextualdag
from contextualdag.graphs import break_cycles, is_acyclic, order_to_mask
from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.paper.timing import processor_name
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.projection.kernels import order_numba

SIZES = (5, 8, 10, 12, 20, 50, 100, 200)
EXACT_UP_TO = 12  # the dynamic programme still takes well under a millisecond a graph
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Limit:
    """Limits of the published descent: on 1000 graphs of p = 50 it would take most of an hour."""

    graphs: int
    iterations: int  # for each mu


def limit_for(p: int) -> Limit:
    if p <= 20:
        return Limit(1000, 10_000)
    return {50: Limit(50, 3000), 100: Limit(10, 300), 200: Limit(4, 100)}.get(p, Limit(4, 100))


@dataclass(frozen=True)
class Row:
    p: int
    method: str
    graphs: int
    ms_per_1000: float
    kept: float
    of_optimum: float | None
    cyclic: float
    peak_mib: float | None
    remark: str = ""


def gaussian(n: int, p: int) -> Tensor:
    W = torch.randn(n, p, p, generator=torch.Generator().manual_seed(p))
    W.diagonal(dim1=1, dim2=2).zero_()
    return W


def weight(W: Tensor) -> Tensor:
    return (W.double() ** 2).sum((1, 2))


def median_seconds(work: Callable[[], object], at_least: float = 0.5, runs: int = 5) -> float:
    """Median time of several runs, after one that compiles and warms up."""
    times: list[float] = []
    work()
    while len(times) < runs or (sum(times) < at_least and len(times) < 200):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
        if sum(times) > 20:
            break
    return statistics.median(times)


def memory_mib(kind: str) -> float:
    return int(re.search(kind + r":\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024  # type: ignore[index]


def peak_mib(work: Callable[[], object]) -> float | None:
    """Peak memory of `work` beyond what was in use before; None if the system does not report it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # returns freed memory to the system, so that using it again is measured
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    except (AttributeError, OSError):
        return None
    before = memory_mib("VmRSS")
    work()
    return memory_mib("VmHWM") - before


def row(
    p: int, method: str, W: Tensor, kept: Tensor, seconds: float, peak: float | None, best: Tensor | None, **more: object
) -> Row:
    of_optimum = None if best is None else float((weight(break_cycles(kept)) / best).mean())
    share = float((weight(break_cycles(kept)) / weight(W)).mean())
    cyclic = 1 - float(is_acyclic(kept).double().mean())
    return Row(p, method, len(W), seconds / len(W) * 1e6, share, of_optimum, cyclic, peak, **more)  # type: ignore[arg-type]


def compare(p: int, n: int) -> list[Row]:
    """All three methods at one p; for the log-det also on the graphs that the published descent had time for."""
    W = gaussian(n, p)
    best = weight(W * order_to_mask(order_numba.linear_order(W, exact_up_to=EXACT_UP_TO))) if p <= EXACT_UP_TO else None
    rows = []

    limit = limit_for(p)
    part = W[: limit.graphs]
    published = LogDet(paper_exact=True, repair=False, max_iterations=limit.iterations)
    kept: list[Tensor] = []
    start = time.perf_counter()
    peak = peak_mib(lambda: kept.append(published(part)))
    seconds = time.perf_counter() - start
    remark = "" if limit.iterations == 10_000 else f"stopped after {limit.iterations} iterations a mu: a lower bound"
    part_best = None if best is None else best[: limit.graphs]
    rows.append(row(p, "Algorithm 1, batched inverses", part, kept[0], seconds, peak, part_best, remark=remark))

    for name, project in (("log-det, default", LogDet()), ("order", Order())):
        seconds = median_seconds(lambda project=project: project(W))  # type: ignore[misc]
        rows.append(row(p, name, W, project(W), seconds, peak_mib(lambda project=project: project(W)), best))  # type: ignore[misc]
        if name.startswith("log-det") and len(part) < n:
            same = project(part)
            rows.append(row(p, "log-det, on those graphs", part, same, math.nan, None, part_best))
    return rows


def in_training(p: int, n: int) -> tuple[float, ...]:
    """Milliseconds of one forward and backward pass: the network alone, and what each layer adds."""
    z, x = torch.randn(n, 2), torch.randn(n, p)
    network = nn.Sequential(
        nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, p * p), nn.Unflatten(1, (p, p))
    )
    budget = float(network(z).detach().abs().sum()) / n / 10

    def epoch(layer: nn.Module) -> None:
        network.zero_grad()
        loss = ((x - torch.bmm(x[:, None], layer(network(z)))[:, 0]) ** 2).mean()
        torch.autograd.backward(loss)

    solvers = (Order(), Order(starts=1), LogDet(cut=0.0))
    layers = (nn.Identity(), *(DAGProjection(budget, solver) for solver in solvers))
    alone, *others = (1e3 * median_seconds(lambda layer=layer: epoch(layer)) for layer in layers)  # type: ignore[misc]
    return alone, *(other - alone for other in others)


def number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def milliseconds(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def report(rows: list[Row], training: list[tuple[int, tuple[float, ...]]], n: int, load: float) -> list[str]:
    baseline = {r.p: r.ms_per_1000 for r in rows if r.method.startswith("Algorithm 1")}
    compared = []
    for r in rows:
        ours = not r.method.startswith("Algorithm 1") and not math.isnan(r.ms_per_1000)
        faster = f"{baseline[r.p] / r.ms_per_1000:,.0f}" if ours else ""
        numbers = [number(r.kept), number(r.of_optimum, 5), number(r.cyclic, 3), number(r.peak_mib, 0)]
        compared.append([r.p, r.method, r.graphs, milliseconds(r.ms_per_1000), faster, *numbers, r.remark])
    head = ["p", "method", "graphs", "ms per 1000 graphs", "times faster", "kept", "of optimum", "cyclic", "peak MiB", ""]
    added = ["order adds, ms", "order with one start adds, ms", "log-det adds, ms"]
    return [
        "# The projections",
        f"{n} Gaussian matrices for each p, float32, {torch.get_num_threads()} threads, {processor_name()}, "
        f"torch {torch.__version__}, contextualdag {contextualdag.__version__}; load average at the start "
        f"{load:.2f}. Made by `make bench`.",
        "*kept*: mean fraction of the squared weight that the acyclic graph keeps; for Algorithm 1 after its authors' "
        "repair. *of optimum*: the same relative to the exact optimum, known up to p = 12. *cyclic*: fraction of graphs "
        "with a cycle, before repair. *peak*: memory beyond the input.",
        markdown_table(head, compared),
        "## Beside the network",
        f"One forward and backward pass, n = {n}, hidden layers (128, 128): the network alone, and what the layer adds "
        "(log-det without its cut, which would empty the graphs of an untrained network).",
        markdown_table(["p", "network, ms", *added], [[p, *map(milliseconds, times)] for p, times in training]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, nargs="+", default=SIZES, help="numbers of nodes (default: %(default)s)")
    parser.add_argument("--n", type=int, default=1000, help="graphs for each p (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS / "projection.md", help="file to write (default: %(default)s)")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    rows: list[Row] = []
    training = []
    for p in arguments.p:
        print(f"p = {p} ...", flush=True)
        rows += compare(p, arguments.n)
        if p <= 50:
            training.append((p, in_training(p, arguments.n)))
    page = write_page(arguments.out, report(rows, training, arguments.n, load))
    print(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
