"""What holes, kinds of variables, experiments and persons cost: `python -m benchmarks.imperfect runs.csv page.md`.

The data sets are those of `contextualdag reproduce` with n = 1000, p = 20, m = 2: the same graphs, contexts and noise in
every row of the table. Fits have n training and n validation rows, as there; graphs are compared with the true ones in n new
contexts. Finished runs are kept in the CSV, and the page is written from it.
"""

import argparse
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.datasets import Dataset
from contextualdag.metrics import f1_score
from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.paper.recovery import simulate

N, P, M = 1000, 20, 2
THIRD, FIFTH = 1 / 3, 0.2
ROWS_OF_A_PERSON = 5


@dataclass(frozen=True)
class Row:
    """A row of the table: how data are drawn, and how they are fitted.

    `filled` is whether holes are filled with column means before the fit, `told` whether the fit is told of interventions or
    groups.
    """

    label: str
    design: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    filled: bool = False
    told: bool = True


IMPUTE = {"missing": "impute"}
MIXED = {"binary": THIRD, "counts": THIRD}
ROWS = {
    "complete": Row("complete, continuous"),
    "missing-10": Row('10 % missing at random, `missing="impute"`', {"missing": 0.1}, IMPUTE),
    "missing-10-means": Row("10 % missing at random, column means", {"missing": 0.1}, filled=True),
    "missing-30": Row('30 % missing at random, `missing="impute"`', {"missing": 0.3}, IMPUTE),
    "missing-30-means": Row("30 % missing at random, column means", {"missing": 0.3}, filled=True),
    "missing-by-value": Row(
        '10 % missing, large values more often, `missing="impute"`', {"missing": 0.1, "missing_by_value": True}, IMPUTE
    ),
    "binary": Row("a third cut at the median", {"binary": THIRD}),
    "counts": Row("a third counts", {"counts": THIRD}),
    "counts-none": Row('a third counts, `transform="none"`', {"counts": THIRD}, {"transform": "none"}),
    "binary-counts": Row("a third cut, a third counts", MIXED),
    "binary-counts-none": Row('a third cut, a third counts, `transform="none"`', MIXED, {"transform": "none"}),
    "interventions": Row("a fifth of the variables set in a fifth of the rows, targets given", {"interventions": FIFTH}),
    "interventions-untold": Row("the same, targets not given", {"interventions": FIFTH}, told=False),
    "groups": Row("five rows of each person, `groups` given", {"group_size": ROWS_OF_A_PERSON}),
    "groups-untold": Row("the same, groups not given", {"group_size": ROWS_OF_A_PERSON}, told=False),
}


def skeletons(W: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Graphs (n, p, p) whose edges all point from the first to the second variable of a pair."""
    sizes = np.abs(W)
    return np.triu(np.maximum(sizes, sizes.transpose(0, 2, 1)))


def run(row: Row, data_set: int, n: int = N, p: int = P, **settings: Any) -> dict[str, float]:
    """Fit one data set and score it on new rows."""
    cell = {"design": "varying", "graph": "erdos-renyi", "n": n, "p": p, "m": M, "data_set": data_set}
    data, seed = simulate(cell, **row.design)
    test, tables = data[2 * n :], tables_of(row, data, n)
    model = ContextualDAG(random_state=seed, device="cpu", verbose=False, **row.settings | settings)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(**tables)
    W = model.adjacency(test.Z)
    binary = np.array([len(np.unique(column[~np.isnan(column)])) == 2 for column in data.X.T])
    told = ~np.outer(binary, binary)
    complete = not (np.isnan(test.X).any() or test.interventions is not None)
    return {
        "f1": float(f1_score(test.W, W)),
        "f1_told": float(f1_score(test.W * told, W * told)),
        "skeleton_f1": float(f1_score(skeletons(test.W), skeletons(W))),
        "n_edges": float((W != 0).sum()) / n,
        "held_out": model.held_out_score_,
        "new_rows": model.score(test.X, test.Z) if complete else float("nan"),
        "seconds": time.process_time() - start,
    }


def tables_of(row: Row, data: Dataset, n: int) -> dict[str, Any]:
    """The arguments of `fit` for training and validation rows; rows of persons are not divided beforehand."""
    train, validation, both = data[:n], data[n : 2 * n], data[: 2 * n]
    if data.groups is not None:
        return {"X": both.X, "Z": both.Z} | ({"groups": both.groups} if row.told else {})
    tables: dict[str, Any] = {"X": train.X, "Z": train.Z, "X_val": validation.X, "Z_val": validation.Z}
    if row.filled:
        means = np.nanmean(both.X, axis=0)
        tables |= {name: np.where(np.isnan(tables[name]), means, tables[name]) for name in ("X", "X_val")}
    if row.told and data.interventions is not None:
        tables |= {"interventions": train.interventions, "interventions_val": validation.interventions}
    return tables


def table(runs: pd.DataFrame) -> str:
    """Means and standard errors over data sets, one line for each row of the table.

    The second F1 leaves out edges between two binary variables. Cut at their medians they are 1 in half of the rows of every
    context, so one number, their correlation, says all there is of such a pair, and nothing of a direction.
    """
    lines = []
    for name, row in ROWS.items():
        its = runs[runs["row"] == name]
        if its.empty:
            continue
        f1 = f"{its['f1'].mean():.3f}" + (f" ± {its['f1'].sem():.3f}" if len(its) > 1 else "")
        means = its[["f1_told", "skeleton_f1", "held_out", "new_rows"]].mean()
        scores = ["" if pd.isna(mean) else f"{mean:.3f}" for mean in means]
        lines.append([row.label, len(its), f1, *scores, f"{its['n_edges'].mean():.1f}"])
    head = ["data", "data sets", "F1", "F1 without pairs of binary variables", "F1 of skeletons"]
    head += ["score of held-out rows", "score of new rows", "edges"]
    return markdown_table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="CSV of finished runs; those that are missing are added")
    parser.add_argument("page", type=Path, nargs="?", help="page to write; its text before the table is kept")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=[], metavar="NAME", help="rows to run; none by default")
    parser.add_argument("--data-sets", type=int, nargs="+", default=list(range(10)))
    options = parser.parse_args()
    done = pd.read_csv(options.runs) if options.runs.exists() else pd.DataFrame(columns=["row", "data_set"])
    for data_set in options.data_sets:
        for name in options.rows:
            if ((done["row"] == name) & (done["data_set"] == data_set)).any():
                continue
            found = pd.DataFrame([{"row": name, "data_set": data_set, **run(ROWS[name], data_set)}]).round(4)
            found.to_csv(options.runs, mode="a", header=not options.runs.exists(), index=False)
    if options.page is not None:
        page = options.page
        intro = page.read_text(encoding="utf-8").split("\n| data |")[0].rstrip() if page.exists() else "# Imperfect tables"
        write_page(page, [intro, table(pd.read_csv(options.runs))])


if __name__ == "__main__":
    main()
