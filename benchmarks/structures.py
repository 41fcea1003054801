"""How much varies, and which context features matter: `python -m benchmarks.structures runs.csv page.md`.

Data sets are those of `contextualdag reproduce`, in which the order of the variables varies, and others with the same sizes
whose edges keep to one order or are reversed in part. Fits have n training and n validation rows; graphs are compared with
the true ones in n new contexts. Each design is fitted by default, with an order that varies whatever rows held out say, and,
where there is one order, told that order. Of context features those that matter are told from noise by `context_test_`.
Finished runs are kept in the CSV, and the page is written from it.
"""

import argparse
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from benchmarks.runs import completed
from contextualdag import ContextualDAG, SortedDAG
from contextualdag.datasets import Dataset
from contextualdag.graphs import depth_first_order
from contextualdag.metrics import estimation_error, f1_score
from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.paper.recovery import simulate
from contextualdag.training.context_test import LEVEL

P = 20
DESIGNS: dict[str, dict[str, Any]] = {
    "one order, 10 pairs": {"reversals": False},
    "one order, 20 pairs": {"reversals": False, "n_edges": 20},
    "three tenths of 20 pairs reversed": {"reversals": 0.3, "n_edges": 20},
    "the paper's": {},
}
DEFAULT, FREE, TOLD = METHODS = ("default", "order that varies", "told the order")
N_FEATURES, N_NOISE = 3, 2
FEATURES = f"{N_FEATURES} features that matter, {N_NOISE} that do not"


def fit(design: str, method: str, n: int, data_set: int, p: int = P) -> dict[str, Any]:
    """Fit one data set and score it on new contexts."""
    options = {name: value for name, value in DESIGNS[design].items() if name != "n_edges"}
    if "n_edges" in DESIGNS[design]:
        options["n_edges"] = min(DESIGNS[design]["n_edges"], p * (p - 1) // 2)
    data, seed = drawn(n, p, 2, data_set, **options)
    train, validation, test = data[:n], data[n : 2 * n], data[2 * n :]
    model: Any = ContextualDAG(random_state=seed, device="cpu", verbose=False)
    if method == FREE:
        model.set_params(structure="varying")
    if method == TOLD:
        union = torch.from_numpy((data.W != 0).any(0)[None].astype(float))
        model = SortedDAG(order=depth_first_order(union)[0].tolist(), random_state=seed, device="cpu", verbose=False)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(train.X, train.Z, X_val=validation.X, Z_val=validation.Z)
    seconds = time.process_time() - start
    W = model.adjacency(test.Z)
    return {
        "f1": float(f1_score(test.W, W)),
        "error": float(estimation_error(test.W, W)),
        "structure": model.structure_,
        "reversed": n_reversed(W),
        "truly_reversed": n_reversed(test.W),
        "n_edges": float((W != 0).sum()) / n,
        "seconds": seconds,
    }


def test_features(n: int, data_set: int) -> dict[str, float]:
    """p-values of the context, of the features that matter, and of noise added to them."""
    data, seed = drawn(n, P, N_FEATURES, data_set)
    noise = np.random.default_rng(seed).uniform(-1, 1, (len(data), N_NOISE))
    names = [f"z{k + 1}" for k in range(N_FEATURES)] + [f"noise{k + 1}" for k in range(N_NOISE)]
    Z = pd.DataFrame(np.hstack([data.Z, noise]), columns=names)
    model = ContextualDAG(structure="constant", random_state=seed, device="cpu", verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(data.X[:n], Z[:n])
    test = model.context_test_
    if test is None:
        raise AssertionError("contexts vary, so there is a test")
    return {"p_value": test.p_value, **test.features}


def drawn(n: int, p: int, m: int, data_set: int, **options: Any) -> tuple[Dataset, int]:
    cell = {"design": "varying", "graph": "erdos-renyi", "n": n, "p": p, "m": m, "data_set": data_set}
    return simulate(cell, **options)


def n_reversed(W: NDArray[np.float64]) -> int:
    """Number of pairs that have one direction in some graphs and the other in others."""
    there = (W != 0).any(0)
    return int(np.triu(there & there.T).sum())


def table(runs: pd.DataFrame) -> str:
    """One line for each design, size and method."""
    lines = []
    for (design, n, method), its in runs.groupby(["design", "n", "method"], sort=False):
        chosen = ", ".join(f"{name} {count}" for name, count in Counter(its["structure"]).most_common())
        scores = [f"{its[name].mean():.3f} ± {its[name].sem():.3f}" for name in ("f1", "error")]
        pairs = [f"{its[name].mean():.1f}" for name in ("reversed", "truly_reversed", "n_edges")]
        none = int((its["reversed"] == 0).sum())
        lines.append([design, n, method, len(its), *scores, chosen, none, *pairs, f"{its['seconds'].median():.0f}"])
    head = ["edges", "n", "fit", "data sets", "F1", "error", "structure", "without reversed pairs", "pairs reversed"]
    return markdown_table([*head, "truly", "edges of a graph", "seconds"], lines)


def table_of_features(runs: pd.DataFrame) -> str:
    """How often each feature is said to matter."""
    names = [name for name in runs.columns if name not in ("n", "data_set", "p_value")]
    lines = []
    for n, its in runs.groupby("n"):
        found = [f"{(its[name] <= LEVEL).sum()}" for name in ("p_value", *names)]
        lines.append([n, len(its), *found])
    return markdown_table(["n", "data sets", "the context", *names], lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="CSV of finished runs; those that are missing are added")
    parser.add_argument("page", type=Path, nargs="?", help="page to write; its text before the tables is kept")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--data-sets", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--features", type=Path, help="CSV of finished tests of features; without it there are none")
    given = parser.parse_args(arguments)
    wanted = [
        {"design": design, "method": method, "n": given.rows, "data_set": data_set}
        for data_set in given.data_sets
        for design in given.designs
        for method in given.methods
        if method != TOLD or DESIGNS[design].get("reversals", True) is False
    ]
    if not wanted:
        parser.error("these designs have no one order, so none can be told")
    tables = [table(completed(given.runs, wanted, fit))]
    if given.features is not None:
        tests = [{"n": given.rows, "data_set": data_set} for data_set in given.data_sets]
        found = completed(given.features, tests, test_features)
        tables.append(f"{FEATURES}: number of data sets with p ≤ {LEVEL}.\n\n{table_of_features(found)}")
    print("\n\n".join(tables))
    if given.page is not None:
        page = given.page
        intro = page.read_text(encoding="utf-8").split("\n| edges |")[0].rstrip() if page.exists() else "# How much varies"
        write_page(page, [intro, *tables])


if __name__ == "__main__":
    main()
