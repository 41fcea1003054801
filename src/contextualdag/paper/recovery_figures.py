"""The paper's recovery figures from a table of results, with the published points beside ours. Nothing is trained here."""

import importlib.resources
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag.errors import InvalidInputError
from contextualdag.paper.outputs import write_pictures, write_table
from contextualdag.paper.recovery import METHODS, Figure

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

SCORES = {"f1": "F1 score", "shd": "structural Hamming distance", "estimation_error": "estimation error"}
COLORS = {
    "ours": "#000000", "contextual": "#0072B2", "sorted-truth": "#009E73", "sorted-fixed": "#CC79A7",
    "clustered": "#E69F00", "fixed": "#D55E00",
}  # fmt: skip
SIZE = ["design", "graph", "n", "p", "m"]


def published() -> "pandas.DataFrame":
    """Means and standard errors of the authors' result files, one row for each method and size."""
    import pandas as pd

    with (importlib.resources.files("contextualdag.paper") / "published.csv").open("rb") as file:
        return pd.read_csv(file)


def summarise(results: "pandas.DataFrame", shown: Figure) -> "pandas.DataFrame":
    """Means, standard errors and numbers of data sets for each method, size and choice of sparsity."""
    mine = results[(results["design"] == shown.design) & (results["graph"] == shown.graph)]
    mine = mine[mine["n"].isin(shown.n) & mine["p"].isin(shown.p) & mine["m"].isin(shown.m)]
    if mine.empty:
        raise InvalidInputError("There are no results for this figure yet. Run its cells first.")
    scores = [*SCORES, "cpdag_shd", "n_edges", "fit_seconds"]
    grouped = mine.groupby([*SIZE, "method", "choice"])
    table = grouped[scores].mean()
    for score in scores:
        table[f"{score}_se"] = grouped[score].std(ddof=1) / grouped[score].count() ** 0.5
    table["data_sets"] = grouped["data_set"].nunique()
    return table.reset_index()


def with_published(table: "pandas.DataFrame") -> "pandas.DataFrame":
    """The summary with the published means beside it, where the paper has the size and the method.

    `paper_gap` is how far our F1 is above the published one, in standard errors of both together.
    """
    columns = [*SIZE, "method", "f1", "f1_se", "shd", "estimation_error"]
    beside = published()[columns].rename(columns={name: f"paper_{name}" for name in columns[len(SIZE) + 1 :]})
    both = table.merge(beside, on=[*SIZE, "method"], how="left")
    both["paper_gap"] = (both["f1"] - both["paper_f1"]) / (both["f1_se"] ** 2 + both["paper_f1_se"] ** 2) ** 0.5
    return both


def draw(table: "pandas.DataFrame", shown: Figure, title: str | None = None) -> "matplotlib.figure.Figure":
    """One row of panels for each number of context features, one column for each score.

    Filled points are ours, with one standard error; open ones are the paper's. Methods are given the true number of edges,
    as in the paper; a dashed line shows our default, which selects it.
    """
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

    beside = published()
    canvas = Canvas(figsize=(12, 3.4 * len(shown.m) + 0.8), layout="constrained")
    axes = canvas.subplots(len(shown.m), len(SCORES), squeeze=False)
    methods = [method for method in METHODS if method in set(table["method"])]
    any_published = False
    for row, m in enumerate(shown.m):
        for ax, (score, label) in zip(axes[row], SCORES.items(), strict=True):
            for method in methods:
                lines = [("given", "-", True)] + ([("default", "--", False)] if method == "ours" else [])
                for choice, line, with_bars in lines:
                    mine = table[(table["m"] == m) & (table["method"] == method) & (table["choice"] == choice)]
                    mine = mine.sort_values(shown.along)
                    error = mine[f"{score}_se"] if with_bars else None
                    ax.errorbar(
                        mine[shown.along], mine[score], error, color=COLORS[method], linestyle=line, marker="o",
                        markersize=4, capsize=2, linewidth=1.3,
                    )  # fmt: skip
                theirs = beside[(beside["m"] == m) & (beside["method"] == method) & (beside["design"] == shown.design)]
                theirs = theirs[(theirs["graph"] == shown.graph) & theirs["n"].isin(shown.n) & theirs["p"].isin(shown.p)]
                ax.plot(theirs[shown.along], theirs[score], "o", mfc="none", color=COLORS[method], markersize=7)
                any_published |= len(theirs) > 0
            ax.set(xlabel=shown.along, ylabel=label, title=f"m = {m}")
            if shown.along == "n":
                ax.set_xscale("log")
            ax.set_xticks(getattr(shown, shown.along), [f"{size}" for size in getattr(shown, shown.along)], minor=False)
            ax.set_xticks([], minor=True)
            ax.grid(alpha=0.25)
    handles = [Line2D([], [], color=COLORS[method], marker="o", markersize=4, label=METHODS[method]) for method in methods]
    if "ours" in methods:
        handles.append(Line2D([], [], color=COLORS["ours"], linestyle="--", label="the same, number of edges not given"))
    if any_published:  # the paper does not have the sizes of small versions
        handles.append(
            Line2D([], [], color="#777777", linestyle="", marker="o", mfc="none", markersize=7, label="published")
        )
    canvas.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    canvas.suptitle(title or shown.title)
    return canvas


def write_figure(
    name: str, results: "pandas.DataFrame", shown: Figure, folder: str | os.PathLike[str], title: str | None = None
) -> Sequence[Path]:
    """Write ``<name>.png``, ``<name>.svg`` and the table ``<name>.csv``, and return their paths."""
    table = summarise(results, shown)
    stem = Path(folder) / name
    written = write_table(Path(folder) / f"{name}.csv", with_published(table), float_format="%.4f")
    return [written, *write_pictures(stem, draw(table, shown, title))]
