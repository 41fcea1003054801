"""The paper's experiments as tables of cells: which method on which data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextualdag.errors import InvalidParameterError

Cell = dict[str, Any]

# As the paper calls them, and ours with its defaults; in the order in which a legend lists them.
METHODS = {
    "ours": "ContextualDAG, its defaults",
    "contextual": "Contextual DAG",
    "sorted-truth": "Sorted DAG (truth)",
    "sorted-fixed": "Sorted DAG (fixed)",
    "clustered": "Clustered DAG",
    "fixed": "Fixed DAG",
}
N_GRID = (100, 316, 1000, 3162, 10_000)
P_GRID = (10, 20, 30, 40, 50)


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
    check_methods(methods)
    return [
        {"design": shown.design, "graph": shown.graph, "n": n, "p": p, "m": m, "data_set": data_set, "method": method}
        for m in shown.m
        for n in shown.n
        for p in shown.p
        for data_set in range(n_data_sets)
        for method in methods
    ]


def check_methods(methods: Sequence[str]) -> None:
    """Raise if a method is not known."""
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise InvalidParameterError(f"There is no method {unknown}. There are: {', '.join(METHODS)}.")
