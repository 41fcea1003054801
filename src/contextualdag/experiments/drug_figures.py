"""Pictures, comparison and text of the drug study, from the tables that `run_drug` wrote. Nothing is trained here."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.experiments.drug import FOLDER
from contextualdag.experiments.drug_comparison import (
    CHOICE_WORDS,
    INTERCEPT_WORDS,
    PUBLISHED,
    SETTINGS_WORDS,
    DrugStudy,
    Edge,
    comparison,
    counted,
    describe,
    read_study,
)
from contextualdag.experiments.figure_files import write_pictures, write_table
from contextualdag.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_drug_figures(folder: str | os.PathLike[str]) -> list[Path]:
    """Draw the drug study and write its text, from what `run_drug` left in the same folder.

    Parameters
    ----------
    folder : path
        That of `run_drug`.

    Returns
    -------
    list of Path
        ``drug.md``, ``comparison.csv`` and the pictures, in the folder ``drug``.

    Examples
    --------
    >>> from contextualdag.experiments.drug_figures import write_drug_figures
    >>> files = write_drug_figures("results")  # doctest: +SKIP
    """
    home = Path(folder) / FOLDER
    study = read_study(home)
    table = comparison(study)
    files = [write_table(home / "comparison.csv", table, float_format="%.4f")]
    files += write_pictures(home / "sparsity", draw_sparsity(study))
    for settings, choice in study.variants():
        if choice == "told":
            files += write_pictures(home / f"graphs-{settings}", draw_graphs(study, settings))
    page = home / "drug.md"
    write_file(page, (describe(study, table) + "\n").encode())
    return [page, *files]


def draw_sparsity(study: DrugStudy) -> "Figure":
    """Number of edges over the two scores, one row for each way to choose it, without and with the intercept."""
    from matplotlib.figure import Figure

    variants, (across, up) = study.variants(), study.summary["scores"]
    figure = Figure(figsize=(9, 3.9 * len(variants) + 0.5), layout="constrained")
    axes = figure.subplots(len(variants), 2, squeeze=False, sharex=True, sharey=True)
    for row, (settings, choice) in zip(axes, variants, strict=True):
        mine = study.sparsity[(study.sparsity["settings"] == settings) & (study.sparsity["choice"] == choice)]
        for ax, intercept in zip(row, INTERCEPT_WORDS, strict=True):
            # Where nobody is, graphs get far denser than anywhere else; without a limit they would take all the colours.
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
    """The low-score and the high-score graph, without and with the intercept, and the published ones behind them."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from contextualdag.plotting import MISSING, POSITIVE, draw_graph

    published = {context: _matrix(study, dict.fromkeys(edges, 1.0)) for context, edges in PUBLISHED.items()}
    told = [key[0] for key in study.variants() if key[1] == "told"]
    ours = {
        (key, intercept, context): _matrix(study, study.edges(key, intercept, "told", context))
        for key in told
        for intercept in INTERCEPT_WORDS
        for context in PUBLISHED
    }
    # One layout for all settings, so that their pictures can be laid side by side. Substances that no graph joins stay out.
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
    figure.suptitle(f"Drug consumption, {SETTINGS_WORDS[settings]}, told five edges on average", fontsize=14)
    return figure


def _on_ellipse(joins: np.ndarray) -> np.ndarray:
    """Places around an ellipse, nodes that are often joined near one another.

    Layers, which suit one graph, put these nodes into one tall column, since the graphs together have nearly every order.
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
