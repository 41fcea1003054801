"""Is what is said of edges and effects true? `python -m benchmarks.trust FOLDER [page.md]`.

Data sets are those of `make_varying_dag`, with seeds that nothing was tuned on. There are three parts, each with a CSV of
finished runs in the folder, which the page is written from:

- tiers: F1 with the true tiers given and without, on data whose edges keep to one order.
- edges: how many graphs of a fit lack a required edge or have a forbidden one, over all estimators and methods.
- effects: a bootstrap against simulation under interventions in the true graphs: error of effects, share of the 90 %
  intervals that hold them, and the consensus: whether its graphs are acyclic, and its F1 beside that of the fit.
"""

import argparse
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from benchmarks.effects import relative_error
from benchmarks.runs import completed
from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import Dataset, make_varying_dag
from contextualdag.effects import sample_under
from contextualdag.estimators.base import GraphEstimator
from contextualdag.graphs import depth_first_order, is_acyclic
from contextualdag.metrics import f1_score
from contextualdag.paper.outputs import markdown_table, write_page

Array = NDArray[np.float64]

FIRST_SEED = 2000  # calibration was learned from those from 3000 on
N_NEW, N_EFFECTS = 500, 100  # new contexts, and those of them whose effects are looked at
N_TIERS = 4
LEVEL = 0.9
KINDS = ("contextual", "fixed", "clustered", "sorted", "bootstrap")
PARTS = TIERS, EDGES, EFFECTS = ("tiers", "edges", "effects")
INTRO = "# Trust"


def drawn(n: int, p: int, data_set: int, **options: Any) -> tuple[Dataset, Dataset]:
    """Rows to fit and new ones."""
    data = make_varying_dag(n + N_NEW, p, 2, random_state=FIRST_SEED + data_set, **options)
    return data[:n], data[n:]


def fit_with_tiers(n: int, p: int, data_set: int) -> dict[str, float]:
    """F1 in new contexts with the true tiers and without."""
    data, new = drawn(n, p, data_set, reversals=False, n_edges=min(20, p))
    union = torch.from_numpy((data.W != 0).any(0)[None].astype(np.float64))
    tiers = [tier.tolist() for tier in np.array_split(depth_first_order(union)[0].numpy(), N_TIERS)]
    found = {}
    for name, known in (("without", None), ("with_tiers", tiers)):
        model = ContextualDAG(tiers=known, random_state=0, device="cpu", verbose=False).fit(data.X, data.Z)
        found[f"f1_{name}"] = float(f1_score(new.W, model.adjacency(new.Z)))
    return found


def estimator_of(kind: str, p: int, **known: Any) -> GraphEstimator:
    """An estimator that is told required and forbidden edges."""
    network: dict[str, Any] = {"random_state": 0, "device": "cpu", "verbose": False, **known}
    if kind == "contextual":
        return ContextualDAG(**network)
    if kind == "fixed":
        return FixedDAG(random_state=0, **known)
    if kind == "clustered":
        return ClusteredDAG(random_state=0, **known)
    if kind == "sorted":
        return SortedDAG(order=range(p), **network)
    return BootstrapDAG(ContextualDAG(**network), n_resamples=6, verbose=False)


def count_violations(kind: str, n: int, p: int, data_set: int) -> dict[str, int]:
    """How many graphs lack a required edge or have a forbidden one.

    The required edge joins two variables that no true graph joins, the forbidden one those that most true graphs do.
    """
    data, new = drawn(n, p, data_set)
    present = (data.W != 0).mean(0)
    joined = np.triu(present + present.T, 1)
    j, k = np.argwhere(np.triu(joined == 0, 1))[0].tolist()
    a, b = np.argwhere(joined == joined.max())[0].tolist()
    required, forbidden = (j, k), (a, b)
    model: Any = estimator_of(kind, p, required_edges=[required], forbidden_edges=[forbidden])
    model.fit(data.X, data.Z)
    names = model.names_
    there, absent = (names[j], names[k]), (names[a], names[b])

    asked: dict[str, Array] = {"new rows": model.adjacency(new.Z), "rows of the fit": model.adjacency(data.Z)}
    for share in (0.5, 0.9):
        asked[f"explained {share}"] = model.select(explained=share).adjacency(new.Z)
    for budget in model.path_["l1_budget"]:
        asked[f"budget {budget:.3g}"] = model.select(l1_budget=budget).adjacency(new.Z)
    if kind == "bootstrap":
        for threshold in (0.0, 0.5, 1.0):
            asked[f"consensus {threshold}"] = model.consensus(new.Z, threshold)
        asked["probabilities"] = model.edge_probabilities(new.Z)
    lacking = sum(int((W[:, j, k] == 0).sum()) for W in asked.values())
    having = sum(int((W[:, a, b] != 0).sum()) for W in asked.values())

    table = model.edges(new.Z)
    pairs = pd.MultiIndex.from_frame(table[["source", "target"]])
    lacking += len(new) - int((pairs == there).sum())
    having += int((pairs == absent).sum())
    for row in list(new.Z[:20]):
        graph = model.to_networkx(row)
        lacking += not graph.has_edge(*there)
        having += graph.has_edge(*absent)
    n_graphs = sum(map(len, asked.values())) + len(new) + min(20, len(new))
    return {"graphs": n_graphs, "lacking": lacking, "having": having}


def simulated_effects(data: Dataset, seed: int) -> Array:
    """Effects (n, p, p) by simulation in the true graphs: what each variable does to all where it is set one unit higher.

    The noise is the same with and without, so that its chance is no part of the error.
    """
    noise = np.random.default_rng(seed).standard_normal(data.X.shape)
    found = np.zeros_like(data.W)
    p = len(data.names)
    for j in range(p):
        low, high = (sample_under(data.W, np.zeros_like(noise), noise, {j: value}) for value in (0.0, 1.0))
        found[:, j] = high - low
    off_diagonal: Array = found * (1 - np.eye(p))  # what a variable does to itself is no effect
    return off_diagonal


def fit_bootstrap(n: int, p: int, data_set: int, n_resamples: int) -> dict[str, float]:
    """Effects, their intervals and the consensus of a bootstrap, in new contexts."""
    data, new = drawn(n, p, data_set)
    estimator = ContextualDAG(random_state=0, device="cpu", verbose=False)
    model = BootstrapDAG(estimator, n_resamples=n_resamples, verbose=False).fit(data.X, data.Z)
    few = new[:N_EFFECTS]
    true = simulated_effects(few, data_set)
    low, high = model.effect_intervals(few.Z, LEVEL)
    there = np.abs(true) > 1e-9
    holds = (low - 1e-9 <= true) & (true <= high + 1e-9)
    agreed = model.consensus(new.Z)
    return {
        "error": relative_error(true, model.total_effects(few.Z)),
        "covered": float(holds[there].mean()),
        "covered_all": float(holds[:, ~np.eye(p, dtype=bool)].mean()),
        "acyclic": float(is_acyclic(torch.from_numpy(agreed)).double().mean()),
        "f1_fit": float(f1_score(new.W, model.adjacency(new.Z))),
        "f1_consensus": float(f1_score(new.W, agreed)),
    }


def table_of_tiers(runs: pd.DataFrame) -> str:
    lines = []
    for (n, p), its in runs.groupby(["n", "p"]):
        no_lower = int((its["f1_with_tiers"] >= its["f1_without"]).sum())
        lines.append([n, p, len(its), f"{its['f1_without'].mean():.3f}", f"{its['f1_with_tiers'].mean():.3f}", no_lower])
    return markdown_table(["rows", "variables", "data sets", "F1 without tiers", "F1 with tiers", "not lower"], lines)


def table_of_edges(runs: pd.DataFrame) -> str:
    sums = runs.groupby("kind", sort=False)[["graphs", "lacking", "having"]].sum()
    lines = [[kind, *map(int, row)] for kind, row in zip(sums.index, sums.to_numpy(), strict=True)]
    return markdown_table(["estimator", "graphs", "lack the required edge", "have the forbidden edge"], lines)


def table_of_effects(runs: pd.DataFrame) -> str:
    lines = []
    for (n, p, b), its in runs.groupby(["n", "p", "n_resamples"]):
        cells = [
            f"{its[name].mean():.3f}" for name in ("error", "covered", "covered_all", "acyclic", "f1_fit", "f1_consensus")
        ]
        lines.append([n, p, b, len(its), *cells])
    head = ["rows", "variables", "halves", "data sets", "error of effects", "intervals that hold the effect"]
    head += ["that hold it or zero", "acyclic", "F1 of the fit", "F1 of the consensus"]
    return markdown_table(head, lines)


RUNS: Mapping[str, tuple[Callable[..., Mapping[str, Any]], Callable[[pd.DataFrame], str], str]] = {
    TIERS: (fit_with_tiers, table_of_tiers, f"True tiers, {N_TIERS} of them, of edges that keep to one order."),
    EDGES: (
        count_violations,
        table_of_edges,
        "A required edge that is not there in truth, and a forbidden one that is: graphs of new rows and of the fit, at "
        "every point of the path, as tables and in networkx, the consensus, and probabilities.",
    ),
    EFFECTS: (
        fit_bootstrap,
        table_of_effects,
        "Effects in new contexts against simulation under interventions in the true graphs. The error is relative to the "
        f"root mean square of the true effects; intervals are those of {100 * LEVEL:.0f} %.",
    ),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of finished runs; those that are missing are added")
    parser.add_argument("page", type=Path, nargs="?", help="page to write; its text before the first part is kept")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--rows", type=int, nargs="+", default=[316, 1000, 3162], help="of the effects; of the others 1000")
    parser.add_argument("--variables", type=int, default=20)
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--data-sets", type=int, nargs="+", default=list(range(10)))
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    n = 1000 if 1000 in given.rows else max(given.rows)
    p, sets = given.variables, given.data_sets
    wanted: dict[str, list[dict[str, Any]]] = {
        TIERS: [{"n": n, "p": p, "data_set": one} for one in sets],
        EDGES: [{"kind": kind, "n": n, "p": p, "data_set": one} for one in sets for kind in given.kinds],
        EFFECTS: [
            {"n": rows, "p": p, "data_set": one, "n_resamples": given.resamples} for rows in given.rows for one in sets
        ],
    }
    sections = []
    for part in given.parts:
        run, table, words = RUNS[part]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # directions that the data do not tell
            runs = completed(given.folder / f"{part}.csv", wanted[part], run)
        sections.append(f"## {part.capitalize()}\n\n{words}\n\n{table(runs)}")
        print(f"{sections[-1]}\n", flush=True)
    if given.page is not None:
        page = given.page
        intro = page.read_text(encoding="utf-8").split("\n## ")[0].rstrip() if page.exists() else INTRO
        write_page(page, [intro, *sections])


if __name__ == "__main__":
    main()
