"""From the finished cells of the paper's grid to the files in results/. Nothing is trained here.

First `contextualdag reproduce er-n --out runs`, and er-p, sf-n, sf-p, fixed-n, whose cells all go to runs/cells; then
`python -m benchmarks.paper_grid runs/cells results`.
"""

import argparse
import itertools
from pathlib import Path

import pandas as pd

from contextualdag.paper.outputs import markdown_table, write_page, write_table
from contextualdag.paper.recovery import FIGURES, METHODS, cell_version
from contextualdag.paper.recovery_figures import summarise, with_published, write_figure
from contextualdag.sweeps.store import load_results

OF_THE_PAPER = [method for method in METHODS if method != "ours"]
NEAR = -2.0  # standard errors below the published mean that still count as the same
IDENTITY = ["design", "graph", "n", "p", "m", "data_set", "method", "choice"]
SCORES = ["f1", "shd", "cpdag_shd", "estimation_error", "n_edges"]


def cells(results: pd.DataFrame) -> pd.DataFrame:
    """All rows of the figures. A size of two figures is in both, as in the paper's 50 cells."""
    tables = [with_published(summarise(results, shown)).assign(figure=name) for name, shown in FIGURES.items()]
    return pd.concat(tables, ignore_index=True)


def agreement(table: pd.DataFrame) -> list[str]:
    """Ours against the paper's, method by method and cell by cell, as parts of a page."""
    given = table[table["choice"] == "given"]
    by_method = []
    for method in OF_THE_PAPER:
        mine = given[given["method"] == method]
        good = int(((mine["paper_gap"] >= NEAR) | (mine["f1"] >= mine["paper_f1"])).sum())  # no gap without an error
        by_method.append([METHODS[method], len(mine), good, f"{(mine['f1'] - mine['paper_f1']).mean():+.3f}"])
    by_cell = []
    for name, shown in FIGURES.items():
        for m, n, p in itertools.product(shown.m, shown.n, shown.p):
            here = given[(given["figure"] == name) & (given["n"] == n) & (given["p"] == p) & (given["m"] == m)]
            by_cell.append([name, n, p, m, *(_pair(here, method) for method in OF_THE_PAPER)])
    return [
        markdown_table(["method", "cells", "within two standard errors, or better", "mean difference of F1"], by_method),
        "F1, ours / the paper's. An asterisk: more than two combined standard errors below. In brackets: the number of "
        "data sets, if not ten.",
        markdown_table(["figure", "n", "p", "m", *(METHODS[method] for method in OF_THE_PAPER)], by_cell),
    ]


def _pair(here: pd.DataFrame, method: str) -> str:
    rows = here[here["method"] == method]
    if rows.empty:
        return "not run"
    row = rows.iloc[0]
    mark = "*" if row["paper_gap"] < NEAR else ""
    sets = "" if row["data_sets"] == 10 else f" ({row['data_sets']})"
    return f"{row['f1']:.3f}{mark} / {row['paper_f1']:.3f}{sets}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", type=Path, help="the folder of finished cells")
    parser.add_argument("out", type=Path, help="where to write")
    options = parser.parse_args()
    results = load_results(options.cells, cell_version)
    for name, shown in FIGURES.items():
        write_figure(name, results, shown, options.out)
    write_table(options.out / "cells.csv", results[IDENTITY + SCORES].sort_values(IDENTITY), float_format="%.4f")
    write_page(options.out / "agreement.md", agreement(cells(results)))


if __name__ == "__main__":
    main()
