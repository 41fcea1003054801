"""One cell of an experiment: simulate, fit, score."""

import time
from typing import Any

import torch

from contextualdag import metrics
from contextualdag.datasets import Dataset, make_fixed_dag, make_varying_dag
from contextualdag.estimators import ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.experiments.cells import cell_seed
from contextualdag.experiments.designs import Cell
from contextualdag.graphs import order_to_mask, topological_order

SCORES = {
    "f1": metrics.f1_score,
    "shd": metrics.shd,
    "cpdag_shd": metrics.cpdag_shd,
    "estimation_error": metrics.estimation_error,
    "precision": metrics.precision,
    "recall": metrics.recall,
}


def run_cell(cell: Cell, device: str = "auto", threads: int | None = None) -> list[dict[str, Any]]:
    """Fit one method to one data set and score it on test data of the same size.

    Two rows: the graphs of the method's own choice of sparsity ("default"), and those with the true number of edges, as on
    the validation set ("told"), which is what the paper reports.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    data, seed = simulate(cell)
    n = cell["n"]
    train, validation, test = data[:n], data[n : 2 * n], data[2 * n :]
    n_edges = float((validation.W != 0).sum()) / n
    start = time.perf_counter()
    default, told = _graphs(cell["method"], train, validation, test, n_edges, seed, device)
    seconds = time.perf_counter() - start
    rows = []
    for choice, W in (("default", default), ("told", told)):
        scores = {name: float(score(test.W, W)) for name, score in SCORES.items()}
        row = {"choice": choice, **scores, "n_edges": float((W != 0).sum()) / n, "acyclic": metrics.acyclic_rate(W)}
        rows.append(row | {"fit_seconds": seconds})
    return rows


def simulate(cell: Cell) -> tuple[Dataset, int]:
    """Training, validation and test data in one, and their seed: the same for all methods."""
    seed = cell_seed({name: value for name, value in cell.items() if name != "method"})
    sizes = (3 * cell["n"], cell["p"], cell["m"])
    if cell["design"] == "fixed":
        return make_fixed_dag(*sizes, graph=cell["graph"], random_state=seed), seed
    return make_varying_dag(*sizes, graph=cell["graph"], random_state=seed), seed


def _graphs(
    method: str, train: Dataset, validation: Dataset, test: Dataset, n_edges: float, seed: int, device: str
) -> tuple[Any, Any]:
    """Graphs of the test contexts by the method's own choice, and with the given number of edges."""
    sets = (train.X, train.Z, validation.X, validation.Z)
    common: dict[str, Any] = {"device": device, "random_state": seed}
    if method == "sorted-truth":
        masks = [order_to_mask(topological_order(torch.from_numpy(part.W))).numpy() for part in (train, validation, test)]
        told_order = SortedDAG.paper(verbose=False, **common).fit(*sets, mask=masks[0], mask_val=masks[1])
        fewer = told_order.select(n_edges=_within(told_order, n_edges))
        return told_order.adjacency(test.Z, masks[2]), fewer.adjacency(test.Z, masks[2])
    if method == "sorted-fixed":
        fixed = FixedDAG.paper(**common).fit(*sets)
        graph = torch.from_numpy(fixed.select(n_edges=_within(fixed, n_edges)).graph_)[None]
        order = topological_order(graph)[0].tolist()
        model: Any = SortedDAG.paper(order=order, verbose=False, **common)
    elif method == "ours":
        model = ContextualDAG(verbose=False, **common)
    elif method == "contextual":
        model = ContextualDAG.paper(verbose=False, **common)
    else:
        model = {"fixed": FixedDAG, "clustered": ClusteredDAG}[method].paper(**common)
    model.fit(*sets)
    return model.adjacency(test.Z), model.select(n_edges=_within(model, n_edges)).adjacency(test.Z)


def _within(model: Any, n_edges: float) -> float:
    """As many edges, or as the densest point of the path has."""
    return min(n_edges, float(model.path_["n_edges"].max()))
