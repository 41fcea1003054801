"""Fits to real data sets, against what is known about them: `python -m benchmarks.real results/real.md results/sachs.csv`.

Settings were fixed before anything was compared: defaults, logarithms and the condition as context for the protein data.
Finished runs of these are kept in the CSV. What is written before the tables in the page stays.
"""

import argparse
import contextlib
import importlib
import io
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import load_actg175, load_drug_consumption, load_sachs, load_weather
from contextualdag.paper.outputs import markdown_table

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

TABLES = "## Protein signalling"
DAGMA_THRESHOLD = 0.3  # the package's default
MERGED = ", pairs of any condition"
RUNGS = ("constant", "common-order", "varying")
SACHS_COLUMNS = {  # of the CSV, as the page calls their means over seeds
    "pairs": "pairs",
    "precision": "precision",
    "recall": "recall",
    "distance": "SHD",
    "right": "directions right",
    "shared": "pairs of the consensus",
    "open": "directions left open",
    "reversed": "pairs reversed",
    "held_out": "held out",
}
PUBLISHED_COLUMNS = ("method", "cells", "edges of the consensus", "edges found", "SHD", "source")
PUBLISHED = (
    ("NOTEARS", 7466, 20, 16, 22, "Zheng, Aragam, Ravikumar and Xing, NeurIPS 2018, section 5.4"),
    ("CoLiDE-EV", 853, "", "", 13, "Saboksayr, Mateos and Tepper, ICLR 2024, table 3"),
    ("CoLiDE-NV", 853, "", "", 12, "the same"),
)
PUBLISHED_WORDS = (
    "These are not comparable with the table above, and hardly with one another. The 853 cells are those of the first "
    "condition alone. The consensus differs: 18 edges in cdt, as used here, 20 for NOTEARS, and often 17. An SHD may count "
    "a reversed edge once or twice, and that of an empty graph is the number of edges of the consensus. The figures were "
    "taken from summaries of the papers; what is empty, and GOLEM and DAGMA, which are missing, could not be checked."
)
OTHER_COLUMNS = ("data set", "rows", "variables", "context", "structure", "pairs", "p of the context", "held out", "seconds")


def as_graph(edges: Iterable[tuple[str, str]], names: Sequence[str]) -> Flags:
    """Flags of shape (p, p) of edges given by name."""
    graph = np.zeros((len(names), len(names)), dtype=bool)
    for source, target in edges:
        graph[names.index(source), names.index(target)] = True
    return graph


def against(consensus: Flags, graphs: Flags) -> dict[str, float]:
    """How graphs (n, p, p) compare with the consensus (p, p), which may have cycles but no pair in both directions.

    Precision and recall are of pairs, whatever their direction; the distance counts pairs that are missing, superfluous or
    reversed. All are means over the graphs. `shared` and `right` count the pairs in both, and those of the same direction;
    `reversed` counts the pairs that have one direction in some graphs and the other in others.
    """
    upper = np.triu(np.ones(consensus.shape, dtype=bool), 1)
    known = (consensus | consensus.T) & upper
    found = (graphs | graphs.transpose(0, 2, 1)) & upper
    shared = (found & known).sum((1, 2))
    right = (graphs & consensus).sum((1, 2))
    pairs = found.sum((1, 2))
    distance = (found != known).sum((1, 2)) + shared - right
    directed = graphs.any(0)
    return {
        "pairs": float(pairs.mean()),
        "precision": float((shared / np.maximum(pairs, 1)).mean()),
        "recall": float((shared / known.sum()).mean()),
        "distance": float(distance.mean()),
        "shared": float(shared.mean()),
        "right": float(right.mean()),
        "reversed": float((directed & directed.T & upper).sum()),
    }


def merged(graphs: Flags) -> Flags:
    """The pairs that any of graphs (n, p, p) joins, in their more frequent direction, as one graph of shape (1, p, p)."""
    counts = graphs.sum(0)
    ties = (counts == counts.T) & (counts > 0)
    chosen: Flags = (counts > counts.T) | np.triu(ties)
    return chosen[None]


def dagma(X: Array) -> Array:
    """The graph of the package dagma, with its defaults."""
    linear = importlib.import_module("dagma.linear")
    with contextlib.redirect_stderr(io.StringIO()):  # it always shows a progress bar
        weights: Array = linear.DagmaLinear(loss_type="l2").fit(X.copy(), w_threshold=DAGMA_THRESHOLD)
    return weights


def fit(model: Any, *tables: Any, **options: Any) -> tuple[Any, float]:
    """A fitted model and the seconds of a core that it took."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # remarks on the data, which the page makes in words
        model.fit(*tables, **options)
    return model, time.process_time() - begin


def run_sachs(path: str | None, n_rows: int, seed: int) -> pd.DataFrame:
    """One row for each method; the seed draws the cells, too."""
    data = load_sachs(path)
    consensus = as_graph(data.consensus, list(data.X))
    drawn = np.sort(np.random.default_rng(seed).permutation(len(data.X))[:n_rows])
    X, Z = data.X.iloc[drawn], data.condition.iloc[drawn]
    told: dict[str, Any] = {"interventions": data.interventions.iloc[drawn]}
    ours: dict[str, Any] = {"random_state": seed, "verbose": False}
    models: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
        "ContextualDAG": (ContextualDAG(**ours), (X, Z), {}),
        "ContextualDAG, told the targets": (ContextualDAG(**ours), (X, Z), told),
        "FixedDAG, means by condition": (FixedDAG(random_state=seed), (X, Z), {}),
        "FixedDAG, means by condition, told the targets": (FixedDAG(random_state=seed), (X, Z), told),
        "FixedDAG, pooled": (FixedDAG(random_state=seed), (X,), {}),
    }
    rows = []
    for name, (model, tables, options) in models.items():
        model, seconds = fit(model, *tables, **options)
        W = model.adjacency(Z if len(tables) > 1 else np.empty((1, 0)))
        rows.append({"method": name, "seconds": seconds} | of_model(model) | against(consensus, W != 0))
        if isinstance(model, ContextualDAG):
            every = model.adjacency(pd.DataFrame({"condition": Z["condition"].unique()}))
            rows.append({"method": name + MERGED, "seconds": seconds} | against(consensus, merged(every != 0)))
    centred = X - X.groupby(Z["condition"], observed=True).transform("mean")
    for name, values in {"dagma, centred by condition": centred, "dagma, pooled": X}.items():
        begin = time.process_time()
        weights = dagma(values.to_numpy())
        rows.append({"method": name, "seconds": time.process_time() - begin} | against(consensus, weights[None] != 0))
    return pd.DataFrame([{"seed": seed, **row} for row in rows]).round(4)


def of_model(model: Any) -> dict[str, Any]:
    """What a fitted model says of itself: its structure, and by how much each of the three predicts worse than the best."""
    scores = {f"behind, {name}": score.behind for name, score in getattr(model, "structure_scores_", {}).items()}
    found = {"structure": model.structure_, "open": len(model.undirected_edges_), "held_out": model.held_out_score_}
    return found | scores


def sachs_tables(runs: pd.DataFrame) -> list[str]:
    """Means over seeds with their standard errors, and which structure was chosen how often."""
    means, rungs = [], []
    for name, its in runs.groupby("method", sort=False):
        cells = []
        for column in SACHS_COLUMNS:
            error = its[column].sem()
            cells.append("" if its[column].isna().all() else f"{its[column].mean():.2f} ± {error:.2f}")
        means.append([name, len(its), *cells, f"{its['seconds'].median():.0f}"])
        if str(name).startswith("ContextualDAG") and not its["structure"].isna().all():
            counts = [int((its["structure"] == rung).sum()) for rung in RUNGS]
            behind = [its[f"behind, {rung}"].mean() for rung in RUNGS]
            rungs.append([name, *counts, *("" if pd.isna(one) else f"{one:.3f}" for one in behind)])
    head = [f"behind, {rung}" for rung in RUNGS]
    return [
        markdown_table(["method", "seeds", *SACHS_COLUMNS.values(), "seconds"], means),
        markdown_table(["method", *RUNGS, *head], rungs),
    ]


def published_table() -> str:
    """What papers report of other methods on these data."""
    return f"{markdown_table(PUBLISHED_COLUMNS, PUBLISHED)}\n\n{PUBLISHED_WORDS}"


def other_rows(n_rows: int, drugs: str | None = None) -> list[list[object]]:
    """One row for each of the other data sets, with defaults."""
    from sklearn.datasets import load_diabetes

    weather, trial = load_weather(), load_actg175()
    drawn = np.sort(np.random.default_rng(0).permutation(len(weather.X))[:n_rows])
    days = (31 * weather.frame["month"] + weather.frame["day"]).iloc[drawn]
    diabetes = load_diabetes(as_frame=True, scaled=False).frame
    # Variables, contexts, what the contexts are, parameters of the estimator, arguments of the fit.
    sets: dict[str, tuple[Any, Any, str, dict[str, Any], dict[str, Any]]] = {
        "weather, without humid; groups: days": (
            weather.X.drop(columns="humid").iloc[drawn],
            weather.Z.iloc[drawn],
            "airport, month, hour",
            {"cyclic": {"month": 12, "hour": 24}},
            {"groups": days},
        ),
        "ACTG 175, square roots": (np.sqrt(trial.X), trial.Z, "arm, age", {"tiers": trial.tiers}, {}),
        "diabetes": (diabetes.drop(columns=["age", "sex"]), diabetes[["age", "sex"]], "age, sex", {}, {}),
    }
    if drugs is not None:
        study = load_drug_consumption(drugs)
        sets["drug consumption"] = (study.X, study.Z, "neuroticism, sensation seeking", {}, {})
    table: list[list[object]] = []
    for name, (X, Z, context, parameters, options) in sets.items():
        model, seconds = fit(ContextualDAG(random_state=0, verbose=False, **parameters), X, Z, **options)
        pairs = (model.adjacency(Z) != 0).sum((1, 2)).mean()
        test = model.context_test_
        row = [name, len(X), X.shape[1], context, model.structure_, f"{pairs:.1f}"]
        table.append([*row, "" if test is None else f"{test.p_value:.3f}", f"{model.held_out_score_:.3f}", f"{seconds:.0f}"])
        print(*table[-1], sep=" | ", flush=True)
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="page to write; its text before the tables is kept")
    parser.add_argument("runs", type=Path, help="CSV of finished runs on the protein data; those that are missing are added")
    parser.add_argument("--sachs", help="cyto_full_data.csv of cdt, or its folder; by default the installed cdt is used")
    parser.add_argument("--drugs", help="UCI's drug_consumption.data; without it the drug study is left out")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args(arguments)
    done = pd.read_csv(given.runs) if given.runs.exists() else pd.DataFrame({"seed": []})
    for seed in set(range(given.seeds)) - set(done["seed"]):
        run_sachs(given.sachs, given.rows, seed).to_csv(given.runs, mode="a", header=not given.runs.exists(), index=False)
    proteins = "\n\n".join(sachs_tables(pd.read_csv(given.runs)))
    others = markdown_table(OTHER_COLUMNS, other_rows(given.rows, given.drugs))
    words = given.page.read_text().split(TABLES)[0].rstrip() if given.page.exists() else "# Real data"
    parts = (words, TABLES, proteins, "### Published figures", published_table(), "## Other data sets", others)
    given.page.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
