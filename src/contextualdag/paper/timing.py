"""The paper's timing protocol: ten epochs of pre-training and ten behind the projection, each with its validation.

`measure` keeps the times of each size in a table; `contextualdag.paper.timing_figures` draws them.
"""

import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from contextualdag.checks import find_device
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.network import ContextNetwork, initialise
from contextualdag.paper.outputs import write_table
from contextualdag.projection import DAGProjection, LogDet, Order
from contextualdag.training.data import Rows, Split
from contextualdag.training.runner import Runner
from contextualdag.training.trainer import Training, TrainingSettings, copy_state

if TYPE_CHECKING:
    import pandas

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
QUICK_CELLS = {"n": ((1000, 20), (3250, 20)), "p": ((1000, 10), (1000, 20))}
COLUMNS = ["n", "p", "order", "logdet", "baseline", "published", "device", "torch"]
BASELINE = LogDet(paper_exact=True)
BASELINE_CELLS = {  # other sizes take too long
    "cuda": ((1000, 10), (1000, 20), (1000, 30), (1000, 50), (10_000, 20)),
    "cpu": ((1000, 10), (1000, 20)),
}
BASELINE_ITERATIONS = 500  # for one mu; where the descent stops here, the time is a lower bound


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
    """Time all sizes one by one: the median of three runs after one that compiles, or one epoch of the baseline."""
    for n, p in cells:
        begin(f"n = {n}, p = {p}")
        split = make_split(n, p, device)
        order = _median(split, Order(starts=1))
        logdet = _median(split, LogDet()) if p <= 50 and n <= 10_000 else None
        slow = None
        if baseline and (n, p) in BASELINE_CELLS[device.type]:
            begin(f"n = {n}, p = {p}, batched inverses")
            slow = _baseline(split)
        yield Timing(n, p, order, logdet, slow, PUBLISHED.get((n, p)))


def protocol_seconds(split: Split, acyclicity: Order | LogDet, epochs: int = EPOCHS) -> float:
    """Seconds for as many epochs without and with the projection, from a fresh network."""
    network, device = make_network(split), split.train.X.device
    layer = DAGProjection(BUDGET, acyclicity).to(device)
    settings = TrainingSettings(max_epochs=epochs, patience=epochs + 1)
    synchronize(device)
    start = time.perf_counter()
    runner, state = Runner(network, layer, [split], settings), copy_state(network)
    for l1_budget in (None, BUDGET):
        state = runner.train({0: Training(state, 0, l1_budget)})[0].learned
    synchronize(device)
    return time.perf_counter() - start


def sizes(along: str, device: str = "auto", quick: bool = False) -> tuple[tuple[int, int], ...]:
    """Pairs (n, p) to time along n or p. On the CPU the largest are left out."""
    cells = QUICK_CELLS[along] if quick else {"n": N_GRID, "p": P_GRID}[along]
    return cells if timing_device(device).type == "cuda" else tuple(cell for cell in cells if cell in CPU_CELLS)


def measure(
    file: Path, along: str, device: str = "auto", quick: bool = False, begin: Callable[[int, str], None] | None = None
) -> None:
    """Time training along n or p and write a table: seconds for ten epochs, one row per size.

    Sizes that the table has already are not timed again.

    Parameters
    ----------
    file : Path
        Path of the table, a CSV file.
    along : {"n", "p"}
        Size that grows.
    device : str, default="auto"
        Device to train on; "auto" is CUDA if it is available.
    quick : bool, default=False
        Whether to time two small sizes only.
    begin : callable, optional
        Function called as ``begin(done, what)`` before each measurement; `done` also counts the sizes in the table.
    """
    import pandas as pd

    chosen = timing_device(device)
    cells = sizes(along, device, quick)
    name = device_name(chosen)
    table = read_table(file) if file.exists() else to_table([], name)
    if set(table["device"]) - {name}:
        raise PersistenceError(
            f"{file} has times of {', '.join(sorted(set(table['device'])))}, and this is {name}; use another folder, or "
            "delete the file to measure again."
        )
    known = set(zip(table["n"], table["p"], strict=True))
    todo = tuple(cell for cell in cells if cell not in known)
    done = len(cells) - len(todo)

    def say(what: str) -> None:
        if begin is not None:
            begin(done, what)

    for one in run_protocol(chosen, todo, baseline=True, begin=say):
        rows = table.to_dict("records") + to_table([one], name).to_dict("records")
        table = pd.DataFrame(rows, columns=COLUMNS).sort_values(["n", "p"])
        write_table(file, table)
        done += 1


def to_table(timings: Sequence[Timing], device: str) -> "pandas.DataFrame":
    """One row per size, with the name of the device and the version of PyTorch."""
    import pandas as pd

    rows = [asdict(one) | {"device": device, "torch": torch.__version__} for one in timings]
    return pd.DataFrame(rows, columns=COLUMNS)


def read_table(file: Path) -> "pandas.DataFrame":
    """Read the table that `measure` wrote."""
    import pandas as pd

    try:
        table = pd.read_csv(file)
        sound = list(table.columns) == COLUMNS and all(table[name].dtype.kind in "iuf" for name in COLUMNS[:6])
    except (ValueError, OSError) as error:
        raise PersistenceError(f"{file} cannot be read ({error}); delete it to measure again.") from error
    if not sound:
        raise PersistenceError(f"{file} is not a table of times of this version; delete it to measure again.")
    return table


def timing_device(name: str) -> torch.device:
    """The device of that name; raise if times cannot be measured there."""
    device = find_device(name)
    if device.type not in BASELINE_CELLS:
        raise InvalidParameterError(f"Times are measured on the device 'auto', 'cpu' or 'cuda'. Got {name!r} instead.")
    return device


def device_name(device: torch.device) -> str:
    """Name of the machine for a table."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{processor_name()}, {threads} thread{'' if threads == 1 else 's'}"


def processor_name() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        named = []
    return named[0] if named else platform.processor() or platform.machine()


def make_split(n: int, p: int, device: torch.device) -> Split:
    """Training and validation data of the protocol, n samples each."""
    data = make_varying_dag(2 * n, p, 2, random_state=0)
    X, Z = (torch.tensor(values, dtype=torch.float32, device=device) for values in (data.X, data.Z))
    return Split(Rows(X[:n], Z[:n]), Rows(X[n:], Z[n:]))


def make_network(split: Split) -> ContextNetwork:
    """The network of the protocol, with fresh weights."""
    rows = split.train
    network = ContextNetwork(rows.Z.shape[1], rows.X.shape[1], (128, 128), "relu", 0.0)
    initialise(network, torch.Generator().manual_seed(0))
    return network.to(rows.X.device)


def _median(split: Split, acyclicity: Order | LogDet) -> float:
    protocol_seconds(split, acyclicity, epochs=1)
    return statistics.median(protocol_seconds(split, acyclicity) for _ in range(REPEATS))


def _baseline(split: Split) -> float:
    """Ten times one epoch of Algorithm 1 as batched inverses."""
    limited = LogDet(paper_exact=True, max_iterations=BASELINE_ITERATIONS)
    return EPOCHS * protocol_seconds(split, limited, epochs=1)


def synchronize(device: torch.device) -> None:
    """Wait for a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def time_projections(device: torch.device, baseline: bool) -> list[dict[str, Any]]:
    """Milliseconds to project 1000 Gaussian graphs; on a GPU as part of a CUDA graph, if the projection can be."""
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
        synchronize(W.device)
        start = time.perf_counter()
        project()
        synchronize(W.device)
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)
