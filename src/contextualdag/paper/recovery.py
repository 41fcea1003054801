"""How well graphs are recovered: the paper's simulated designs as cells, and running them one by one or side by side.

A cell is one method on one data set. `contextualdag.paper.recovery_figures` draws the results.
"""

import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from contextualdag import __version__, metrics
from contextualdag.datasets import Dataset, make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidParameterError
from contextualdag.estimators import ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG, fit_together
from contextualdag.graphs import depth_first_order, order_to_mask
from contextualdag.sweeps.store import cell_seed

Array = NDArray[np.float64]
Cell = Mapping[str, Any]

# Raise it when results change although the version of the library and the settings of the methods do not.
VERSION = 3
# As the paper calls them, and ours with its defaults; in the order of the legend.
METHODS = {
    "ours": "ContextualDAG, its defaults",
    "contextual": "Contextual DAG",
    "sorted-truth": "Sorted DAG (truth)",
    "sorted-fixed": "Sorted DAG (fixed)",
    "clustered": "Clustered DAG",
    "fixed": "Fixed DAG",
}
# What each method fits; "sorted-fixed" takes its order from a FixedDAG.
ESTIMATORS: dict[str, tuple[Callable[..., Any], ...]] = {
    "ours": (ContextualDAG,),
    "contextual": (ContextualDAG.paper,),
    "sorted-truth": (SortedDAG.paper,),
    "sorted-fixed": (SortedDAG.paper, FixedDAG.paper),
    "clustered": (ClusteredDAG.paper,),
    "fixed": (FixedDAG.paper,),
}
WITHOUT_INFLUENCE = ("device", "verbose")
COMPILED = "cpu"  # where the solver of FixedDAG is compiled, which ends in better optima than that of a GPU
SCORES = {
    "f1": metrics.f1_score,
    "shd": metrics.shd,
    "cpdag_shd": metrics.cpdag_shd,
    "estimation_error": metrics.estimation_error,
    "precision": metrics.precision,
    "recall": metrics.recall,
}
N_GRID = (100, 316, 1000, 3162, 10_000)
P_GRID = (10, 20, 30, 40, 50)
# Limits of a group of cells that run side by side: total n p^2 of the training graphs, and number of cells.
MOST_ENTRIES = 1 << 22
MOST_CELLS = 40


@dataclass(frozen=True)
class Figure:
    """One figure of the paper: a design along one of its sizes."""

    design: str
    graph: str
    along: str
    title: str
    n: tuple[int, ...]
    p: tuple[int, ...]
    m: tuple[int, ...] = (2, 5)


FIGURES = {
    "er-n": Figure("varying", "erdos-renyi", "n", "Varying Erdős-Rényi graphs", N_GRID, (20,)),
    "er-p": Figure("varying", "erdos-renyi", "p", "Varying Erdős-Rényi graphs", (1000,), P_GRID),
    "sf-n": Figure("varying", "scale-free", "n", "Varying scale-free graphs", N_GRID, (20,)),
    "sf-p": Figure("varying", "scale-free", "p", "Varying scale-free graphs", (1000,), P_GRID),
    "fixed-n": Figure("fixed", "erdos-renyi", "n", "Graphs that do not vary", N_GRID, (20,)),
}
QUICK_SIZES = {"n": {"n": (100, 316, 1000), "p": (10,)}, "p": {"n": (316,), "p": (10, 15)}}
QUICK_DATA_SETS = 2
DATA_SETS = 10


def figure(name: str, quick: bool = False) -> Figure:
    """A figure by its name, or its small version."""
    if name not in FIGURES:
        raise InvalidParameterError(f"There is no figure '{name}'. There are: {', '.join(FIGURES)}.")
    whole = FIGURES[name]
    if not quick:
        return whole
    sizes = QUICK_SIZES[whole.along]
    return Figure(whole.design, whole.graph, whole.along, whole.title, sizes["n"], sizes["p"], (2,))


def cells_of(shown: Figure, methods: Sequence[str], n_data_sets: int) -> list[Cell]:
    """All cells of a figure: every method on every data set of every size."""
    check_methods(methods, METHODS)
    return [
        {"design": shown.design, "graph": shown.graph, "n": n, "p": p, "m": m, "data_set": data_set, "method": method}
        for m in shown.m
        for n in shown.n
        for p in shown.p
        for data_set in range(n_data_sets)
        for method in methods
    ]


def check_methods(methods: Sequence[str], known: Iterable[str]) -> None:
    """Raise if a method is not known."""
    unknown = [method for method in methods if method not in known]
    if unknown:
        raise InvalidParameterError(f"There is no method {unknown}. There are: {', '.join(known)}.")


def group_by_size(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Groups of cells with the same method and size, as large as the memory of a GPU allows."""
    alike: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        alike.setdefault((cell["method"], cell["n"], cell["p"], cell["m"]), []).append(cell)
    groups = []
    for (_, n, p, _), some in alike.items():
        most = max(1, min(MOST_CELLS, MOST_ENTRIES // (n * p**2)))
        groups += [some[first : first + most] for first in range(0, len(some), most)]
    return groups


def cell_version(cell: Cell) -> str:
    """Version of the result of a cell: it changes with the library and with the settings of the cell's method."""
    return method_version(str(cell.get("method")))


@functools.cache
def method_version(method: str) -> str:
    """Version of the results of a method."""
    models = [make() for make in ESTIMATORS.get(method, ())]
    settings = [[type(model).__name__, influential_settings(model) | {"random_state": None}] for model in models]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode()).hexdigest()
    return f"{VERSION} of contextualdag {__version__}, settings {digest[:8]}"


def influential_settings(model: Any) -> dict[str, Any]:
    """The parameters of an estimator that change its graphs."""
    return {name: value for name, value in model.get_params(deep=False).items() if name not in WITHOUT_INFLUENCE}


@dataclass(frozen=True)
class _Task:
    """A model, the data to fit and to score it on, and the seconds spent so far."""

    model: Any
    tables: dict[str, Any]
    test: Dataset
    n_edges: float
    test_mask: Array | None
    seconds: float


def run_cell(cell: Cell, device: str = "auto", threads: int | None = None) -> list[dict[str, Any]]:
    """Fit one method to one data set and score it on test data of the same size.

    Two rows: the graphs with the sparsity that the method selects ("default"), and those with the true number of edges of
    the validation set ("given"), which is what the paper reports.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    task = _prepare(cell, device)
    start = time.perf_counter()
    task.model.fit(**task.tables)
    return _rows(task, time.perf_counter() - start)


def run_cells(cells: Sequence[Cell], device: str = "auto") -> list[list[dict[str, Any]]]:
    """`run_cell` for several cells whose models are fitted side by side; the time is divided equally among them."""
    tasks = [_prepare(cell, device) for cell in cells]
    start = time.perf_counter()
    together = [task for task in tasks if isinstance(task.model, ContextualDAG)]
    fit_together([task.model for task in together], [task.tables for task in together])
    share = (time.perf_counter() - start) / max(len(together), 1)
    rows = []
    for task in tasks:
        start = time.perf_counter()
        if not isinstance(task.model, ContextualDAG):
            task.model.fit(**task.tables)
        rows.append(_rows(task, share if isinstance(task.model, ContextualDAG) else time.perf_counter() - start))
    return rows


def simulate(cell: Cell, **options: Any) -> tuple[Dataset, int]:
    """Training, validation and test data in one, and their seed: the same for all methods. Options are the design's."""
    seed = cell_seed({name: value for name, value in cell.items() if name != "method"})
    sizes = (3 * cell["n"], cell["p"], cell["m"])
    if cell["design"] == "fixed":
        return make_fixed_dag(*sizes, graph=cell["graph"], random_state=seed, **options), seed
    return make_varying_dag(*sizes, graph=cell["graph"], random_state=seed, **options), seed


def score_graphs(true: Array, W: Array) -> dict[str, float | None]:
    """All scores, the mean number of edges and the fraction of DAGs; no distance of CPDAGs if a graph has a cycle."""
    acyclic = metrics.acyclic_rate(W)
    scores = {name: None if name == "cpdag_shd" and acyclic < 1 else float(score(true, W)) for name, score in SCORES.items()}
    return {**scores, "n_edges": float((W != 0).sum()) / len(W), "acyclic": acyclic}


def within_path(model: Any, n_edges: float) -> float:
    """The number of edges, or that of the densest point of the path if it has fewer."""
    return min(n_edges, float(model.path_["n_edges"].max()))


def _prepare(cell: Cell, device: str) -> _Task:
    data, seed = simulate(cell)
    n, method = cell["n"], cell["method"]
    train, validation, test = data[:n], data[n : 2 * n], data[2 * n :]
    n_edges = float((validation.W != 0).sum()) / n
    tables = {"X": train.X, "Z": train.Z, "X_val": validation.X, "Z_val": validation.Z}
    make, *preliminary = ESTIMATORS[method]
    if method in ("fixed", "clustered"):
        return _Task(make(device=COMPILED, random_state=seed), tables, test, n_edges, None, 0.0)
    settings: dict[str, Any] = {"device": device, "random_state": seed, "verbose": False}
    test_mask, seconds = None, 0.0
    if method == "sorted-truth":
        mask, mask_val, test_mask = (
            order_to_mask(depth_first_order(torch.from_numpy(part.W))).numpy() for part in (train, validation, test)
        )
        tables |= {"mask": mask, "mask_val": mask_val}
    elif method == "sorted-fixed":
        start = time.perf_counter()
        fixed = preliminary[0](device=COMPILED, random_state=seed).fit(**tables)
        seconds = time.perf_counter() - start
        graph = torch.from_numpy(fixed.select(n_edges=within_path(fixed, n_edges)).graph_)[None]
        settings["order"] = depth_first_order(graph)[0].tolist()
    return _Task(make(**settings), tables, test, n_edges, test_mask, seconds)


def _rows(task: _Task, seconds: float) -> list[dict[str, Any]]:
    given = task.model.select(n_edges=within_path(task.model, task.n_edges))
    masks = () if task.test_mask is None else (task.test_mask,)
    return [
        {
            "choice": choice,
            **score_graphs(task.test.W, model.adjacency(task.test.Z, *masks)),
            "fit_seconds": task.seconds + seconds,
        }
        for choice, model in (("default", task.model), ("given", given))
    ]
