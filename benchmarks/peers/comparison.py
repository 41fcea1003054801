"""The comparison with other packages on the same data: its cells, and how they are run.

The four sizes start from the paper's n = 1000, p = 20, m = 2 and change one number each: fewer variables, fewer samples,
more context features. The variants have the same graphs and noise and drop, one at a time, what makes the design easy.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.peers.environment import CONTEXTUALIZED, GCASTLE, make_environment
from benchmarks.peers.methods import SOLVERS, Problem
from contextualdag.errors import SweepError
from contextualdag.paper.recovery import (
    DATA_SETS,
    QUICK_DATA_SETS,
    Cell,
    check_methods,
    method_version,
    score_graphs,
    simulate,
)
from contextualdag.sweeps.cluster import run_sweep
from contextualdag.sweeps.store import SweepReport, cell_key

# Raise it when the results of a method change although its package does not.
VERSION = 2
# In the order of tables and legends.
PEERS = {
    "ours": "ContextualDAG, its defaults",
    "contextualized": "contextualized-ml, its defaults",
    "contextualized-tuned": "contextualized-ml, tuned",
    "dagma": "dagma",
    "golem-nv": "GOLEM-NV (gCastle)",
    "naive": "sort by variance and regress",
}
IN_ENVIRONMENT = {"contextualized": CONTEXTUALIZED, "contextualized-tuned": CONTEXTUALIZED, "golem-nv": GCASTLE}

PAPER = "paper"
VARIANTS: dict[str, dict[str, Any]] = {
    PAPER: {},
    "unequal-noise": {"noise_scale": (0.5, 2.0)},
    "standardised": {"standardise": True},
    "mean-shift": {"mean_shift": 1.0},
    "weak-edges": {"weak_edges": True},
    "correlated-context": {"context_correlation": 0.8},
    "other-units": {"units": 1.0},
    "heavy-tails": {"degrees_of_freedom": 3.0},
    "outliers": {"outliers": 0.01},
    "binary": {"binary": 1 / 3},
    "counts": {"counts": 1 / 3},
    "missing": {"missing": 0.1},
    "one-order": {"reversals": False},
}
SIZES = ((1000, 20, 2), (1000, 10, 2), (316, 20, 2), (1000, 20, 5))  # n, p, m; the variants have the first
QUICK_SIZES = ((316, 10, 2),)
QUICK_VARIANTS = ("unequal-noise", "standardised")


def peer_settings(quick: bool = False) -> list[dict[str, Any]]:
    """The columns of the comparison: a size and a variant each."""
    sizes, variants = (QUICK_SIZES, QUICK_VARIANTS) if quick else (SIZES, [name for name in VARIANTS if name != PAPER])
    pairs = [(size, PAPER) for size in sizes] + [(sizes[0], variant) for variant in variants]
    return [
        {"design": "varying", "graph": "erdos-renyi", "n": n, "p": p, "m": m, "variant": variant}
        for (n, p, m), variant in pairs
    ]


def peer_cells(quick: bool = False, data_sets: int | None = None, methods: Sequence[str] | None = None) -> list[Cell]:
    """All cells of the comparison: every method on every data set of every size and variant."""
    chosen = list(PEERS if methods is None else methods)
    check_methods(chosen, PEERS)
    n_data_sets = data_sets or (QUICK_DATA_SETS if quick else DATA_SETS)
    return [
        setting | {"data_set": data_set, "method": method}
        for setting in peer_settings(quick)
        for data_set in range(n_data_sets)
        for method in chosen
    ]


def peer_version(cell: Cell) -> str:
    """Version of the result of a cell: it changes with the settings of our estimator and with the package of a peer."""
    method = cell.get("method", "")
    if method == "ours":
        return f"{VERSION}, {method_version('ours')}"
    environment = IN_ENVIRONMENT.get(method)
    return f"{VERSION}, {environment.install}" if environment else str(VERSION)


def run_peer_cell(
    cell: Cell,
    cache: str | os.PathLike[str],
    device: str = "auto",
    threads: int | None = None,
    why_no_environment: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Fit one method to one data set and score it on test data of the same size.

    Missing values are imputed by our estimator, and column means for the others.

    Two rows, as from `run_cell`: "default", and "given" the true number of edges of the validation set. Our estimator
    selects that point of its path; the others drop their smallest weights.

    Parameters
    ----------
    cell : dict
        Cell, one of `peer_cells`.
    cache : path
        Folder of the environments of other packages; the one of this method is created if missing.
    device : str, default="auto"
        Device to fit on. dagma, GOLEM and the regressions use the CPU only.
    threads : int, optional
        Number of threads of PyTorch.
    why_no_environment : mapping from str to str, optional
        Reasons why environments cannot be created, by their names, where known; their cells then fail with them at once.

    Returns
    -------
    list of dict
    """
    if threads is not None:
        torch.set_num_threads(threads)
    environment = IN_ENVIRONMENT.get(cell["method"])
    if why_no_environment and environment and environment.name in why_no_environment:
        raise SweepError(why_no_environment[environment.name])
    # The seed ignores the variant: all variants have the same graphs, contexts and noise as the paper's design.
    of_data = {name: value for name, value in cell.items() if name != "variant"}
    data, seed = simulate(of_data, **VARIANTS[cell["variant"]])
    n = cell["n"]
    if cell["method"] != "ours":
        data = replace(data, X=np.where(np.isnan(data.X), np.nanmean(data.X[: 2 * n], axis=0), data.X))
    train, validation, test = data[:n], data[n : 2 * n], data[2 * n :]
    n_edges = float((validation.W != 0).sum()) / n
    problem = Problem(train, validation, test, n_edges, seed, device, threads, Path(cache))
    answer = SOLVERS[cell["method"]](problem)
    seconds = {"fit_seconds": answer.fit_seconds, "graph_seconds": answer.graph_seconds}
    return [
        {"choice": choice, **score_graphs(test.W, W), **seconds}
        for choice, W in (("default", answer.default), ("given", answer.given))
    ]


def run_peers(
    folder: str | os.PathLike[str],
    *,
    quick: bool = False,
    device: str = "auto",
    data_sets: int | None = None,
    methods: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int, Any], None] | None = None,
) -> SweepReport:
    """Run the cells of the comparison that are not finished yet, and keep the result of each.

    If the environment of a package cannot be created, its cells fail with the reason, and the others are run.

    Parameters
    ----------
    folder : path
        Folder of the finished cells, as for `run_sweep`.
    quick : bool, default=False
        Whether to run one small size, two of its variants, and few data sets.
    device : str, default="auto"
        Device to fit on.
    data_sets : int, optional
        Number of data sets for each size and variant; 10 by default, 2 if quick.
    methods : sequence of str, optional
        Methods to run, keys of `PEERS`; all by default.
    cache : path, optional
        Folder for the environments of contextualized-ml and gCastle, 1.4 GB each; ``environments`` in `folder` by default.
    scheduler, workers, progress
        As for `run_sweep`. The workers of a scheduler create the environments on their machines.

    Returns
    -------
    SweepReport

    Examples
    --------
    >>> from benchmarks.peers.comparison import run_peers
    >>> run_peers("results/peer-cells", quick=True, methods=["ours", "naive"])  # doctest: +SKIP
    """
    cells = peer_cells(quick, data_sets, methods)
    target = Path(folder)
    cache = target / "environments" if cache is None else Path(cache)
    waiting = {
        IN_ENVIRONMENT[cell["method"]]
        for cell in cells
        if cell["method"] in IN_ENVIRONMENT and not (target / f"{cell_key(cell)}.json").exists()
    }
    why_not = {}
    for environment in waiting if scheduler is None else ():  # once here, not once for each cell
        try:
            make_environment(cache, environment)
        except SweepError as error:
            why_not[environment.name] = str(error)
    run = functools.partial(run_peer_cell, device=device, threads=1, cache=str(cache.absolute()), why_no_environment=why_not)
    return run_sweep(cells, run, target, scheduler=scheduler, n_workers=workers, progress=progress, version=peer_version)
