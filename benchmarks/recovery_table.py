"""From finished cells of our defaults to results/recovery.md, beside the published means. Nothing is trained here.

First `contextualdag reproduce er-n --methods ours --out runs`, and er-p, sf-n, sf-p, fixed-n; for the variants
`python -m benchmarks.peers --methods ours --out runs`. Then
`python -m benchmarks.recovery_table runs/cells runs/peer-cells results/recovery.md`.
"""

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks.peers.comparison import peer_version
from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.paper.recovery import FIGURES, cell_version
from contextualdag.paper.recovery_figures import published
from contextualdag.sweeps.store import load_results

SIZE = ["design", "graph", "n", "p", "m"]
COLUMNS = {
    "ours, default": ("default", "f1"),
    "ours, given the number of edges": ("given", "f1"),
    "paper's contextual DAG": ("contextual", "f1"),
    "paper's oracle": ("sorted-truth", "f1"),
    "error: ours, default": ("default", "estimation_error"),
    "error: paper's contextual DAG": ("contextual", "estimation_error"),
    "error: paper's oracle": ("sorted-truth", "estimation_error"),
}
VARIANTS = {
    "paper": "the paper's design",
    "unequal-noise": "noise of unequal variances (standard deviations .5 to 2)",
    "standardised": "every variable standardised",
    "mean-shift": "means that move with the context",
    "weak-edges": "weak and negative edges",
    "correlated-context": "context features correlated (.8)",
    "other-units": "every column in units of its own (factors .1 to 10)",
    "heavy-tails": "noise of Student's distribution, three degrees of freedom",
    "outliers": "one row in a hundred multiplied by ten",
    "binary": "a third of the variables cut at the median",
    "counts": "a third of the variables counts",
    "missing": "one value in ten missing",
    "one-order": "edges along one order",
}


def cells(results: pd.DataFrame) -> pd.DataFrame:
    """One row for each of the 50 cells: our means and the published ones, as columns (method or choice, score)."""
    results = results[results["method"] == "ours"]
    grouped = results.groupby([*SIZE, "choice"])
    mine = grouped[["f1", "estimation_error"]].mean().assign(f1_se=grouped["f1"].sem(), data_sets=grouped.size())
    beside = published().set_index([*SIZE, "method"])
    rows = []
    for name, shown in FIGURES.items():
        for m, n, p in itertools.product(shown.m, shown.n, shown.p):
            size = (shown.design, shown.graph, n, p, m)
            row: dict[object, object] = {"figure": name, **dict(zip(SIZE, size, strict=True)), "data_sets": 0}
            for choice in ("default", "given"):
                if (*size, choice) in mine.index:
                    found = mine.loc[(*size, choice)]
                    row |= {(choice, score): found[score] for score in ("f1", "f1_se", "estimation_error")}
                    row["data_sets"] = int(found["data_sets"])
            for method in ("contextual", "sorted-truth", "clustered", "fixed"):
                if (*size, method) in beside.index:
                    found = beside.loc[(*size, method)]
                    row |= {(method, score): found[score] for score in ("f1", "estimation_error")}
            rows.append(row)
    return pd.DataFrame(rows)


def claims(table: pd.DataFrame) -> str:
    """The aims, in how many cells each was reached, and where it was not."""
    varying = table[table["design"] == "varying"]
    oracle, given, default = ("sorted-truth", "f1"), ("given", "f1"), ("default", "f1")
    error, oracle_error = ("default", "estimation_error"), ("sorted-truth", "estimation_error")
    small, large = varying[varying["n"] <= 1000], varying[varying["n"] > 1000]
    many = varying[varying["n"] >= 1000]
    fixed = table[(table["design"] == "fixed") & (table["m"] == 2)]
    wide = varying[(varying["p"] >= 40) & (varying["m"] == 2)]
    rows = [
        _claim("given, n ≤ 1000: at least .05 above the oracle", small, lambda r: r[given] - r[oracle] - 0.05),
        _claim("given, n ≥ 3162: not below the oracle", large, lambda r: r[given] - r[oracle]),
        _claim("default, n ≤ 3162: not below the oracle", varying[varying["n"] <= 3162], lambda r: r[default] - r[oracle]),
        _claim(
            "default, n = 10 000: within .01 of the oracle",
            varying[varying["n"] == 10_000],
            lambda r: r[default] - r[oracle] + 0.01,
        ),
        _claim(
            "default, n ≥ 316: within .03 of given", varying[varying["n"] >= 316], lambda r: r[default] - r[given] + 0.03
        ),
        _claim(
            "error by default, n ≥ 1000, m = 2: at most a third of the oracle's",
            many[many["m"] == 2],
            lambda r: r[oracle_error] / 3 - r[error],
        ),
        _claim(
            "error by default, n ≥ 1000, m = 5: at most a half",
            many[many["m"] == 5],
            lambda r: r[oracle_error] / 2 - r[error],
        ),
        _claim("graphs that do not vary, n = 1000, m = 2: .85", fixed[fixed["n"] == 1000], lambda r: r[default] - 0.85),
        _claim("the same, n = 10 000: .97", fixed[fixed["n"] == 10_000], lambda r: r[default] - 0.97),
        _claim(
            "p of 40 and 50, m = 2: .15 above the clustered DAG",
            wide,
            lambda r: r[default] - r[("clustered", "f1")] - 0.15,
        ),
    ]
    return markdown_table(["aim", "reached", "not reached"], rows)


def _claim(aim: str, rows: pd.DataFrame, margin: Callable[[pd.Series], float]) -> list[str]:
    run = rows[rows["data_sets"] > 0]
    margins = run.apply(margin, axis=1) if len(run) else pd.Series(dtype=float)
    short = [
        f"{row['figure']} n={row['n']} p={row['p']} m={row['m']} (short by {-gap:.3f})"
        for (_, row), gap in zip(run.iterrows(), margins, strict=True)
        if gap < 0
    ]
    not_run = len(rows) - len(run)
    missing = [f"{not_run} not run"] if not_run else []
    return [aim, f"{len(run) - len(short)} of {len(rows)} cells", "; ".join(short + missing) or "none"]


def grid(table: pd.DataFrame) -> str:
    """All cells side by side."""
    rows = [
        [row["figure"], row["n"], row["p"], row["m"], row["data_sets"] or "not run"]
        + [_number(row, *column) for column in COLUMNS.values()]
        for _, row in table.iterrows()
    ]
    return markdown_table(["figure", "n", "p", "m", "data sets", *COLUMNS], rows)


def comparisons(table: pd.DataFrame) -> str:
    """The cells in which another method of the paper is strong: one graph for all, or one for each cluster."""
    rows = [
        [row["figure"], row["n"], row["p"], row["m"]]
        + [_number(row, name, "f1") for name in ("default", "fixed", "clustered")]
        for _, row in table[(table["design"] == "fixed") | (table["p"] >= 40)].iterrows()
    ]
    return markdown_table(["", "n", "p", "m", "ours, default", "paper's Fixed DAG", "paper's Clustered DAG"], rows)


def variants(results: pd.DataFrame, of_the_paper: pd.DataFrame) -> str:
    """The defaults on harder data: graphs, contexts and noise as in the same data sets of the paper's design."""
    plain = of_the_paper[of_the_paper["data_set"].isin(results["data_set"])]
    at = {"design": "varying", "graph": "erdos-renyi", "n": 1000, "p": 20, "m": 2, "method": "ours"}
    for name, value in at.items():
        plain, results = plain[plain[name] == value], results[results[name] == value]
    both = pd.concat([plain.assign(variant="paper"), results[results["variant"] != "paper"]])
    lines = []
    for name, label in VARIANTS.items():
        rows = both[both["variant"] == name]
        if rows.empty:
            continue
        default, given = rows[rows["choice"] == "default"], rows[rows["choice"] == "given"]
        error = f" ± {default['f1'].sem():.3f}" if len(default) > 1 else ""
        numbers = [f"{default['f1'].mean():.3f}{error}", f"{given['f1'].mean():.3f}"]
        numbers += [f"{default['estimation_error'].mean():.3f}", f"{default['n_edges'].mean():.1f}"]
        lines.append([label, len(default), *numbers])
    head = ["data", "data sets", "F1, default", "F1, given", "estimation error, default", "edges, default"]
    return markdown_table(head, lines)


def _number(row: pd.Series, name: str, score: str) -> str:
    value = row.get((name, score))
    if value is None or pd.isna(value):
        return ""
    se = row.get((name, f"{score}_se"))
    with_se = name == "default" and score == "f1" and se is not None and not pd.isna(se)
    return f"{value:.3f} ± {se:.3f}" if with_se else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", type=Path, help="the folder of finished cells")
    parser.add_argument("variants", type=Path, help="the folder of finished cells of the comparison with other packages")
    parser.add_argument("out", type=Path, help="the page; its text before the first section is kept")
    options = parser.parse_args()
    results = load_results(options.cells, cell_version)
    table = cells(results)
    sections = {
        "Aims": [claims(table)],
        "All 50 cells": ["F1, and the estimation error (relative, squared).", grid(table)],
        "Against one graph for all, and one for each cluster": [comparisons(table)],
    }
    if not (found := load_results(options.variants, peer_version)).empty:
        sections["Harder data"] = [variants(found, results)]
    intro = options.out.read_text(encoding="utf-8").split("\n## ")[0].rstrip() if options.out.exists() else "# Recovery"
    write_page(options.out, [intro, *(part for title, parts in sections.items() for part in (f"## {title}", *parts))])


if __name__ == "__main__":
    main()
