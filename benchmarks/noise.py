"""Units, unequal noise, heavy tails and outliers: `python -m benchmarks.noise runs.csv page.md`.

The data sets are those of `contextualdag reproduce` with p = 20, m = 2: the same graphs, contexts and noise before scaling
in every row of the table. Fits have n training and n validation rows; graphs are compared with the true ones in n new
contexts, and weights in units of the noise, so that units of the table do not count. Finished runs are kept in the CSV, and
the page is written from it.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.imperfect import skeletons
from benchmarks.runs import completed
from contextualdag import ContextualDAG
from contextualdag.datasets import Dataset
from contextualdag.metrics import estimation_error, f1_score
from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.paper.recovery import simulate

P, M = 20, 2
UNEQUAL = {"noise_scale": (0.5, 2.0)}
# Options of the design, and what `noise_` should say.
ROWS: dict[str, tuple[str, dict[str, Any], str]] = {
    "equal": ("varying", {}, "equal"),
    "units between .1 and 10": ("varying", {"units": 1.0}, "unequal"),
    "units between .001 and 1000": ("varying", {"units": 3.0}, "unequal"),
    "noise of .5 to 2": ("varying", UNEQUAL, "unequal"),
    "noise of .5 to 2, standardised": ("varying", UNEQUAL | {"standardise": True}, "unequal"),
    "Student noise, 3 degrees of freedom": ("varying", {"degrees_of_freedom": 3.0}, "equal"),
    "one row in a hundred times ten": ("varying", {"outliers": 0.01}, "equal"),
    "one graph, equal noise": ("fixed", {}, "equal"),
    "one graph, noise of .5 to 2": ("fixed", UNEQUAL, "unequal"),
}
FACTOR = 5.0  # squared rows larger than this, as a multiple of the same rows without outliers, were multiplied


def fit(row: str, n: int, data_set: int) -> dict[str, Any]:
    """Fit one data set and score it on new contexts."""
    design, options, noise = ROWS[row]
    cell = {"design": design, "graph": "erdos-renyi", "n": n, "p": P, "m": M, "data_set": data_set}
    data, seed = simulate(cell, **options)
    train, validation, test = data[:n], data[n : 2 * n], data[2 * n :]
    model = ContextualDAG(random_state=seed, device="cpu", verbose=False)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(train.X, train.Z, X_val=validation.X, Z_val=validation.Z)
    seconds = time.process_time() - start
    W, scale = model.adjacency(test.Z), noise_of(data)
    in_scale = scale[:, None] / scale
    told, right = directions(model, test, W)
    found = {
        "f1": float(f1_score(test.W, W)),
        "error": float(estimation_error(test.W * in_scale, W * in_scale)),
        "skeleton_f1": float(f1_score(skeletons(test.W), skeletons(W))),
        "directions": told,
        "right": right,
        "structure": model.structure_,
        "noise": model.noise_,
        "noise_right": model.noise_ == noise,
        "seconds": seconds,
    }
    outlying = multiplied(train, simulate(cell)[0][:n]) if "outliers" in options else np.zeros(n, dtype=bool)
    named = np.zeros(n, dtype=bool)
    named[[index for index in model.outliers_ if index < n]] = True
    return {
        **found,
        "outliers": int(outlying.sum()),
        "named": int((named & outlying).sum()),
        "named_others": int((named & ~outlying).sum()),
    }


def noise_of(data: Dataset) -> NDArray[np.float64]:
    """Scales of the noise, by medians, so that outliers do not count."""
    noise = data.X - np.einsum("ij,ijk->ik", data.X, data.W)
    return np.asarray(np.median(np.abs(noise), axis=0) / 0.6745)


def multiplied(data: Dataset, before: Dataset) -> NDArray[np.bool_]:
    """Which rows were made outliers."""
    return np.asarray((data.X**2).sum(1) > FACTOR * (before.X**2).sum(1))


def directions(model: ContextualDAG, test: Dataset, W: NDArray[np.float64]) -> tuple[int, int]:
    """Of one graph for all contexts: how many edges have a direction, and how many of these are right."""
    if (test.W[0] != test.W).any() or (W[0] != W).any():
        return 0, 0
    open_pairs = {frozenset(pair) for pair in model.undirected_edges_}
    names = model.names_
    told = [(j, k) for j, k in np.argwhere(W[0] != 0) if frozenset((names[j], names[k])) not in open_pairs]
    return len(told), sum(bool(test.W[0, j, k]) for j, k in told)


def table(runs: pd.DataFrame) -> str:
    """One line for each kind of data and size."""
    lines = []
    for (row, n), its in runs.groupby(["row", "n"], sort=False):
        scores = [f"{its[name].mean():.3f} ± {its[name].sem():.3f}" for name in ("f1", "error")]
        told = f"{its['right'].sum()} of {its['directions'].sum()}" if its["directions"].sum() else ""
        named = f"{its['named'].sum()} of {its['outliers'].sum()}, and {its['named_others'].sum()} others"
        lines.append(
            [
                row,
                n,
                len(its),
                *scores,
                f"{its['skeleton_f1'].mean():.3f}",
                told,
                f"{its['noise_right'].sum()} of {len(its)}",
                named if its["outliers"].sum() else "",
                f"{its['seconds'].median():.0f}",
            ]
        )
    head = ["data", "n", "data sets", "F1", "error", "F1 of skeletons", "directions right", "`noise_` right", "rows named"]
    return markdown_table([*head, "seconds of a core"], lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="CSV of finished runs; those that are missing are added")
    parser.add_argument("page", type=Path, nargs="?", help="page to write; its text before the table is kept")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="NAME")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000], help="training rows")
    parser.add_argument("--data-sets", type=int, nargs="+", default=list(range(10)))
    given = parser.parse_args(arguments)
    wanted = [
        {"row": row, "n": n, "data_set": data_set} for data_set in given.data_sets for n in given.sizes for row in given.rows
    ]
    found = table(completed(given.runs, wanted, fit))
    print(found)
    if given.page is not None:
        page = given.page
        intro = page.read_text(encoding="utf-8").split("\n| data |")[0].rstrip() if page.exists() else "# Units and noise"
        write_page(page, [intro, found])


if __name__ == "__main__":
    main()
