"""The drug study against the published graphs, edge by edge: pictures, comparison and text. Nothing is trained here."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.datasets.drug_consumption import PUBLISHED_HIGH, PUBLISHED_LOW
from contextualdag.paper.drug import FOLDER, KEY, DrugStudy, read_study
from contextualdag.paper.outputs import markdown_table, write_page, write_pictures, write_table
from contextualdag.training.noise import EQUAL

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Edge = tuple[str, str]

PUBLISHED: dict[str, tuple[Edge, ...]] = {"low": PUBLISHED_LOW, "high": PUBLISHED_HIGH}
SETTINGS_WORDS = {"paper": "the paper's settings", "default": "our defaults"}
CHOICE_WORDS = {"given": "given five edges", "own": "own selection"}
INTERCEPT_WORDS = {"constant": "one mean for all", "contextual": "mean by context"}
VERDICTS = ("same", "reversed", "missing", "extra")


def write_drug_report(folder: str | os.PathLike[str]) -> list[Path]:
    """Draw the drug study and write its text, from the tables that `run_drug` wrote to the same folder.

    Parameters
    ----------
    folder : path
        Folder that was given to `run_drug`.

    Returns
    -------
    list of Path
        ``drug.md``, ``comparison.csv`` and the pictures, in the folder ``drug``.

    Examples
    --------
    >>> from contextualdag.paper.drug_report import write_drug_report
    >>> files = write_drug_report("results")  # doctest: +SKIP
    """
    home = Path(folder) / FOLDER
    study = read_study(home)
    table = comparison(study)
    files = [write_table(home / "comparison.csv", table, float_format="%.4f")]
    files += write_pictures(home / "sparsity", draw_sparsity(study))
    for settings, choice in study.variants():
        if choice == "given":
            files += write_pictures(home / f"graphs-{settings}", draw_graphs(study, settings))
    return [write_page(home / "drug.md", describe(study, table)), *files]


def compare_edges(published: Iterable[Edge], ours: Mapping[Edge, float]) -> list[dict[str, Any]]:
    """One row for every pair of nodes that is joined in either graph.

    The verdict is "same", "reversed" (ours points the other way), "missing" (ours lacks it) or "extra" (the published graph
    lacks it); the structural Hamming distance is the number of rows that are not "same". A row has the published direction
    of a published edge.

    Examples
    --------
    >>> from contextualdag.paper.drug_report import compare_edges
    >>> [row["verdict"] for row in compare_edges([("a", "b"), ("b", "c")], {("b", "a"): 0.5, ("a", "c"): 0.2})]
    ['reversed', 'missing', 'extra']
    """
    rows = []
    known = list(published)
    for source, target in known:
        forward, back = ours.get((source, target)), ours.get((target, source))
        verdict = "same" if forward is not None else "missing" if back is None else "reversed"
        weight = forward if forward is not None else back
        rows.append({"source": source, "target": target, "published": True, "weight": weight, "verdict": verdict})
    for (source, target), weight in ours.items():
        if (source, target) not in known and (target, source) not in known:
            rows.append({"source": source, "target": target, "published": False, "weight": weight, "verdict": "extra"})
    return rows


def comparison(study: DrugStudy) -> "pandas.DataFrame":
    """All graphs against the published ones, edge by edge."""
    import pandas as pd

    rows = [
        {"settings": graph["settings"], "intercept": graph["intercept"], "choice": graph["choice"], "context": context} | row
        for graph in study.summary["graphs"]
        for context, published in PUBLISHED.items()
        for row in compare_edges(published, study.edges(graph["settings"], graph["intercept"], graph["choice"], context))
    ]
    return pd.DataFrame(rows)


def describe(study: DrugStudy, table: "pandas.DataFrame") -> list[str]:
    """The parts of a Markdown page: what was done, what the intercept changes, how near the published graphs are."""
    given = [settings for settings, choice in study.variants() if choice == "given"]
    contexts = "; ".join(
        f"{context}: " + ", ".join(f"{score} {value:.2f}" for score, value in place.items())
        for context, place in study.summary["contexts"].items()
    )
    parts = [
        "# The drug study",
        f"{study.summary['n_people']} people, {len(study.summary['names'])} substances, a graph for every pair of scores "
        f"({' and '.join(study.summary['scores'])}). The contexts that are drawn have both scores at their 0.1 and 0.9 "
        f"quantiles ({contexts}). One fit each, with the seed {study.summary['random_state']}.",
        "## What the contextual intercept changes",
        *(intercept_changes(study, table, settings) for settings in given),
        "![Number of edges over the scores](sparsity.png)",
        "## Distance to the published graphs",
        f"Structural Hamming distance, then how many of the {len(PUBLISHED_LOW)} and {len(PUBLISHED_HIGH)} published edges "
        f"are found, found reversed and missed, and how many edges are extra. A graph without edges has the distances "
        f"{len(PUBLISHED_LOW)} and {len(PUBLISHED_HIGH)}.",
        _scores(study, table),
    ]
    for settings in given:
        parts += [
            f"## Edge by edge: {SETTINGS_WORDS[settings]}, given five edges",
            f"![Low-score and high-score graphs](graphs-{settings}.png)",
            _edge_table(table[(table["settings"] == settings) & (table["choice"] == "given")]),
        ]
    return [*parts, "## How this differs from the paper", _differences(study)]


def intercept_changes(study: DrugStudy, table: "pandas.DataFrame", settings: str) -> str:
    """What changes with an intercept that follows the context, in a few sentences."""
    without, within = ({(c, *e) for c in PUBLISHED for e in study.edges(settings, i, "given", c)} for i in INTERCEPT_WORDS)
    reversed_ = {edge for edge in without - within if (edge[0], edge[2], edge[1]) in within}
    counts = {
        intercept: [len(study.edges(settings, intercept, "given", context)) for context in PUBLISHED]
        for intercept in INTERCEPT_WORDS
    }
    found = {intercept: _verdicts(table, settings, intercept, "given") for intercept in INTERCEPT_WORDS}
    distance = {intercept: sum(sum(v[verdict] for verdict in VERDICTS[1:]) for v in found[intercept]) for intercept in found}
    same = {intercept: sum(v["same"] for v in found[intercept]) for intercept in found}
    explained = study.fit(settings, "contextual")["explained_by_means"]
    n = len(PUBLISHED_LOW) + len(PUBLISHED_HIGH)
    mean = {intercept: study.mean_edges(settings, intercept, "given") for intercept in INTERCEPT_WORDS}
    text = (
        f"With {SETTINGS_WORDS[settings]}: a mean that follows the scores explains {100 * explained:.0f} % of the variance "
        f"of held-out rows before any edge, on average over the substances. Once it is removed, the "
        f"low-score graph has {counted(counts['contextual'][0], 'edge')} (with one mean for all: {counts['constant'][0]}) "
        f"and the high-score graph {counts['contextual'][1]} ({counts['constant'][1]}), at {mean['contextual']:.1f} "
        f"({mean['constant']:.1f}) on average over all people. Of the {counted(len(without), 'edge')} of the two graphs "
        f"with one mean for all, {len(without & within)} remain, {len(without - within - reversed_)} disappear and the "
        f"direction changes for {len(reversed_)}; new ones: {len(within - without) - len(reversed_)}. They differ from the "
        f"published graphs in {counted(distance['contextual'], 'pair')} of substances ({distance['constant']}; graphs "
        f"without edges would in {n}), and have {same['contextual']} ({same['constant']}) of the {n} published edges."
    )
    if (settings, "own") in study.variants():
        own = [study.mean_edges(settings, intercept, "own") for intercept in ("contextual", "constant")]
        text += f" With the estimator's own selection there are {own[0]:.1f} edges on average ({own[1]:.1f})."
    constant = [words for intercept, words in INTERCEPT_WORDS.items() if not study.fit(settings, intercept)["varies"]]
    if constant:
        text += " Graphs that vary do not predict clearly better than one for all people, which is selected: "
        text += f"{' and '.join(constant)}."
    return text


def _verdicts(table: "pandas.DataFrame", settings: str, intercept: str, choice: str) -> list[dict[str, int]]:
    """Number of edges with each verdict, for the low-score and the high-score graph."""
    mine = table[(table[KEY] == [settings, intercept, choice]).all(axis=1)]
    return [
        {verdict: int(((mine["context"] == context) & (mine["verdict"] == verdict)).sum()) for verdict in VERDICTS}
        for context in PUBLISHED
    ]


def _scores(study: DrugStudy, table: "pandas.DataFrame") -> str:
    rows = []
    for settings, choice in study.variants():
        for intercept, words in INTERCEPT_WORDS.items():
            cells = []
            for verdicts in _verdicts(table, settings, intercept, choice):
                cells += [
                    f"**{sum(verdicts[verdict] for verdict in VERDICTS[1:])}**",
                    " / ".join(str(verdicts[verdict]) for verdict in VERDICTS),
                ]
            seconds = study.fit(settings, intercept)["seconds"]
            rows.append([
                SETTINGS_WORDS[settings], CHOICE_WORDS[choice], words, *cells,
                f"{study.mean_edges(settings, intercept, choice):.1f}", "" if seconds is None else f"{seconds:.0f}",
            ])  # fmt: skip
    of_graph = [f"{context}: {what}" for context in PUBLISHED for what in ("SHD", " / ".join(VERDICTS))]
    return markdown_table(["settings", "choice", "intercept", *of_graph, "edges on average", "seconds of the fit"], rows)


def _edge_table(table: "pandas.DataFrame") -> str:
    """One row per edge that is published or ours, with weights and verdicts without and with the contextual intercept."""
    rows = []
    for context in PUBLISHED:
        mine = table[table["context"] == context]
        edges = (
            mine[["source", "target", "published"]]
            .drop_duplicates()
            .sort_values("published", ascending=False, kind="stable")
        )
        for source, target, published in edges.itertuples(index=False):
            here = mine[(mine["source"] == source) & (mine["target"] == target)].set_index("intercept")
            cells = [_cell(here.loc[intercept]) if intercept in here.index else "" for intercept in INTERCEPT_WORDS]
            rows.append([context, f"{source} → {target}", "yes" if published else "", *cells])
    return markdown_table(["graph", "edge", "published", *INTERCEPT_WORDS.values()], rows)


def _cell(row: "pandas.Series") -> str:
    return "missing" if row["verdict"] == "missing" else f"{row['verdict']}, {row['weight']:.2f}"


def _differences(study: DrugStudy) -> str:
    notes = [
        f"- Every substance is centred by its training mean, as in the paper. {_scaling(study)} Weights are in the units of "
        "the data in any case. Scores are standardised by both.",
        "- With the mean by context, a separate network for the mean given the scores is fitted first and subtracted.",
        "- The split into training and validation rows and the initial weights are drawn by our generators.",
    ]
    if any(settings == "paper" for settings, _ in study.variants()):
        notes.append(
            "- The paper's settings: hidden layers of 32 and 32, ReLU, 100 equispaced budgets, the one whose validation "
            "graphs have nearest to five edges, weights shrunken. The log-det projection treats every sample by itself in "
            "few steps and never leaves a cycle; the authors' program stops the whole batch together and repairs cycles "
            "afterwards."
        )
    else:
        notes.append("- This is the quick version: the paper's own settings were not fitted.")
    notes.append(
        "- Our defaults, given five edges: the strongest weights of a refit without shrinkage, cut to that number. Their "
        "own selection has the least refit loss; its graphs are too dense to draw and are in `graphs.csv` and "
        "`comparison.csv`."
    )
    notes.append(
        "- Codes from 0 (never) to 6 (in the last day) are treated as numbers, and nobody knows the true graphs: the "
        "published ones are another estimate. An edge is an association, not a cause."
    )
    return "\n".join(notes)


def _scaling(study: DrugStudy) -> str:
    """By what substances are divided in the fits, which depends on the noise that each found."""
    one, each = "by one common number, their root mean square", "each by the scale of its noise"
    by_settings: dict[str, list[str]] = {}
    for fit in study.summary["fits"]:
        by_settings.setdefault(fit["settings"], []).append(one if fit["noise"] == EQUAL else each)
    said = [
        f"with {SETTINGS_WORDS[settings]} {' or '.join(dict.fromkeys(how))}" for settings, how in sorted(by_settings.items())
    ]
    return f"Then substances are divided, {'; '.join(said)}. The paper does not scale at all."


def counted(number: int, what: str) -> str:
    """A number and what it counts, in the singular or plural."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def draw_sparsity(study: DrugStudy) -> "Figure":
    """Number of edges over the two scores, one row per way to select it, without and with the contextual intercept."""
    from matplotlib.figure import Figure

    variants, (across, up) = study.variants(), study.summary["scores"]
    figure = Figure(figsize=(9, 3.9 * len(variants) + 0.5), layout="constrained")
    axes = figure.subplots(len(variants), 2, squeeze=False, sharex=True, sharey=True)
    for row, (settings, choice) in zip(axes, variants, strict=True):
        mine = study.sparsity[(study.sparsity["settings"] == settings) & (study.sparsity["choice"] == choice)]
        for ax, intercept in zip(row, INTERCEPT_WORDS, strict=True):
            # Where nobody is, graphs are far denser than elsewhere; without a limit they would use up the colour scale.
            grid = mine[mine["intercept"] == intercept].pivot(index=up, columns=across, values="n_edges")
            mesh = ax.pcolormesh(
                grid.columns, grid.index, grid, cmap="viridis", shading="nearest", vmin=mine["n_edges"].min(),
                vmax=mine["n_edges"].quantile(0.95), rasterized=True,
            )  # fmt: skip
            people = study.people
            ax.scatter(people[across], people[up], s=2 + 1.5 * people["people"], c="white", alpha=0.35, linewidths=0)
            for context, place in study.summary["contexts"].items():
                ax.plot(place[across], place[up], "o", mfc="none", mec="#D55E00", mew=1.8, markersize=9)
                ax.annotate(context, (place[across], place[up]), xytext=(7, 5), textcoords="offset points", color="#D55E00",
                            fontweight="bold", bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 1})  # fmt: skip
            ax.set_title(f"{SETTINGS_WORDS[settings]}, {CHOICE_WORDS[choice]}\n{INTERCEPT_WORDS[intercept]}", fontsize=10)
        row[0].set_ylabel(up)
        figure.colorbar(mesh, ax=list(row), label="number of edges", pad=0.01, extend="max")
    for ax in axes[-1]:
        ax.set_xlabel(across)
    figure.suptitle("How dense the graphs are; white: the people of the survey, orange: the contexts that are drawn")
    return figure


def draw_graphs(study: DrugStudy, settings: str) -> "Figure":
    """The low-score and the high-score graph, without and with the contextual intercept, beside the published edges."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from contextualdag.plotting import MISSING, POSITIVE, draw_graph

    published = {context: _matrix(study, dict.fromkeys(edges, 1.0)) for context, edges in PUBLISHED.items()}
    given = [key[0] for key in study.variants() if key[1] == "given"]
    ours = {
        (key, intercept, context): _matrix(study, study.edges(key, intercept, "given", context))
        for key in given
        for intercept in INTERCEPT_WORDS
        for context in PUBLISHED
    }
    # One layout for all settings, so that their pictures can be compared. Substances without edges are left out.
    every = np.stack([*published.values(), *ours.values()])
    joined = (every != 0).any((0, 1)) | (every != 0).any((0, 2))
    names = [name for name, kept in zip(study.summary["names"], joined, strict=True) if kept]
    places = _on_ellipse((every != 0).sum(0)[joined][:, joined])
    largest = max(float(np.abs(W).max()) for key, W in ours.items() if key[0] == settings)
    figure = Figure(figsize=(13, 11), layout="constrained")
    for row, context in zip(figure.subplots(2, 2), PUBLISHED, strict=True):
        for ax, intercept in zip(row, INTERCEPT_WORDS, strict=True):
            W, truth = (A[joined][:, joined] for A in (ours[settings, intercept, context], published[context]))
            draw_graph(W, names, places=places, truth=truth, largest=largest or None, ax=ax)
            ax.set_title(
                f"{context} scores, {INTERCEPT_WORDS[intercept]}: {counted(int((W != 0).sum()), 'edge')}", fontsize=12
            )
    solid = Line2D([], [], color=POSITIVE, linewidth=2, label="ours and published")
    dashed = Line2D([], [], color=POSITIVE, linewidth=2, linestyle="dashed", label="ours alone")
    dotted = Line2D([], [], color=MISSING, linewidth=2, linestyle="dotted", label="published alone")
    figure.legend(handles=[solid, dashed, dotted], loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"Drug consumption, {SETTINGS_WORDS[settings]}, given five edges on average", fontsize=14)
    return figure


def _on_ellipse(joins: np.ndarray) -> np.ndarray:
    """Places on an ellipse, with nodes that are often joined near one another.

    Layers suit a single graph; these graphs together have nearly every order and would fill one tall column.
    """
    import networkx as nx

    order = nx.spectral_ordering(nx.from_numpy_array(joins + joins.T), seed=0)
    angles = np.empty(len(order))
    angles[order] = 2 * np.pi * np.arange(len(order)) / len(order)
    return np.stack([1.3 * np.sin(angles), np.cos(angles)], axis=1) * max(len(order), 3) / (2 * np.pi)


def _matrix(study: DrugStudy, edges: Mapping[Edge, float]) -> np.ndarray:
    position = {name: index for index, name in enumerate(study.summary["names"])}
    W = np.zeros((len(position), len(position)))
    for (source, target), weight in edges.items():
        W[position[source], position[target]] = weight
    return W
