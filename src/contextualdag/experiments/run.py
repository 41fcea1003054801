"""Cells of an experiment: simulate, fit, score. One by one, or many of a size side by side on a GPU."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from contextualdag import metrics
from contextualdag.datasets import Dataset, make_fixed_dag, make_varying_dag
from contextualdag.estimators import ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG, fit_together
from contextualdag.experiments.cells import cell_seed
from contextualdag.experiments.designs import Cell
from contextualdag.graphs import depth_first_order, order_to_mask

Array = NDArray[np.float64]
SCORES = {
    "f1": metrics.f1_score,
    "shd": metrics.shd,
    "cpdag_shd": metrics.cpdag_shd,
    "estimation_error": metrics.estimation_error,
    "precision": metrics.precision,
    "recall": metrics.recall,
}
COMPILED = "cpu"  # where the solver of FixedDAG is compiled, which ends in better optima than that of a GPU


@dataclass(frozen=True)
class _Task:
    """A model that waits for its data, what to score it on, and the seconds that were spent already."""

    model: Any
    tables: dict[str, Any]
    test: Dataset
    n_edges: float
    test_mask: Array | None
    seconds: float


def run_cell(cell: Cell, device: str = "auto", threads: int | None = None) -> list[dict[str, Any]]:
    """Fit one method to one data set and score it on test data of the same size.

    Two rows: the graphs of the method's own choice of sparsity ("default"), and those with the true number of edges, as on
    the validation set ("told"), which is what the paper reports.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    task = _prepare(cell, device)
    start = time.perf_counter()
    task.model.fit(**task.tables)
    return _rows(task, time.perf_counter() - start)


def run_cells(cells: Sequence[Cell], device: str = "auto") -> list[list[dict[str, Any]]]:
    """`run_cell` for several cells whose models are fitted side by side; each is said to take its share of the time."""
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
    """All scores, the mean number of edges and the share of DAGs; no distance of CPDAGs if a graph has a cycle."""
    acyclic = metrics.acyclic_rate(W)
    scores = {name: None if name == "cpdag_shd" and acyclic < 1 else float(score(true, W)) for name, score in SCORES.items()}
    return {**scores, "n_edges": float((W != 0).sum()) / len(W), "acyclic": acyclic}


def within_path(model: Any, n_edges: float) -> float:
    """As many edges, or as the densest point of the path has."""
    return min(n_edges, float(model.path_["n_edges"].max()))


def _prepare(cell: Cell, device: str) -> _Task:
    data, seed = simulate(cell)
    n, method = cell["n"], cell["method"]
    train, validation, test = data[:n], data[n : 2 * n], data[2 * n :]
    n_edges = float((validation.W != 0).sum()) / n
    tables = {"X": train.X, "Z": train.Z, "X_val": validation.X, "Z_val": validation.Z}
    test_mask, seconds = None, 0.0
    if method in ("fixed", "clustered"):
        model: Any = {"fixed": FixedDAG, "clustered": ClusteredDAG}[method].paper(device=COMPILED, random_state=seed)
        return _Task(model, tables, test, n_edges, test_mask, seconds)
    settings: dict[str, Any] = {"device": device, "random_state": seed, "verbose": False}
    if method == "sorted-truth":
        model = SortedDAG.paper(**settings)
        mask, mask_val, test_mask = (
            order_to_mask(depth_first_order(torch.from_numpy(part.W))).numpy() for part in (train, validation, test)
        )
        tables |= {"mask": mask, "mask_val": mask_val}
    elif method == "sorted-fixed":
        start = time.perf_counter()
        fixed = FixedDAG.paper(device=COMPILED, random_state=seed).fit(**tables)
        seconds = time.perf_counter() - start
        graph = torch.from_numpy(fixed.select(n_edges=within_path(fixed, n_edges)).graph_)[None]
        model = SortedDAG.paper(order=depth_first_order(graph)[0].tolist(), **settings)
    else:
        model = ContextualDAG(**settings) if method == "ours" else ContextualDAG.paper(**settings)
    return _Task(model, tables, test, n_edges, test_mask, seconds)


def _rows(task: _Task, seconds: float) -> list[dict[str, Any]]:
    told = task.model.select(n_edges=within_path(task.model, task.n_edges))
    masks = () if task.test_mask is None else (task.test_mask,)
    return [
        {
            "choice": choice,
            **score_graphs(task.test.W, model.adjacency(task.test.Z, *masks)),
            "fit_seconds": task.seconds + seconds,
        }
        for choice, model in (("default", task.model), ("told", told))
    ]
