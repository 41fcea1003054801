"""The paper's first figure from what was learned for it. Nothing is trained here."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.experiments.figure_files import write_pictures, write_table
from contextualdag.experiments.illustration import Illustration, edge_table, load_illustration
from contextualdag.metrics import f1_score
from contextualdag.plotting import draw_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The middles of the four quarters of the square of contexts.
CORNERS = np.array([[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]])
N_SQUARES = 20


def context_label(z: np.ndarray) -> str:
    """A context as a title shows it."""
    return "z = (" + ", ".join(f"{value:.2f}" for value in z) + ")"


def draw_side_by_side(axes: Any, graphs: Mapping[str, np.ndarray], names: tuple[str, ...] | list[str]) -> None:
    """Graphs of several kinds at several contexts, nodes in the same places, weights on one scale.

    Parameters
    ----------
    axes : array of Axes, of shape (kinds, contexts)
        Where to draw.
    graphs : mapping of str to array of shape (contexts, p, p)
        The first kind is the truth, with which the others are compared.
    names : sequence of str
        Of the nodes.
    """
    p = len(names)
    # Edges turn round from context to context, so no order from top to bottom serves all; on a circle none is hidden.
    angles = np.pi / 2 - 2 * np.pi * np.arange(p) / p
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1) * max(1.0, p / 5)
    largest = max(float(np.abs(some).max()) for some in graphs.values())
    truth = next(iter(graphs.values()))
    for kind, (row, some) in enumerate(zip(axes, graphs.values(), strict=True)):
        for ax, W, true in zip(row, some, truth, strict=True):
            draw_graph(W, names, places=places, truth=true if kind else None, largest=largest, ax=ax)


def draw(shown: Illustration) -> "Figure":
    """Graphs at four contexts, and the number of edges over all contexts."""
    from matplotlib.figure import Figure

    rows = _shown_rows(shown)
    graphs = _graphs(shown, rows)
    figure = Figure(figsize=(13, 7.6), layout="constrained")
    halves: Any = figure.subfigures(1, 2, width_ratios=(3, 1.2))
    left, right = halves
    axes = left.subplots(len(graphs), len(rows))
    draw_side_by_side(axes, graphs, shown.names)
    for column, row in enumerate(rows):
        axes[0, column].set_title(f"{column + 1}.  {context_label(shown.Z[row])}", fontsize=11)
    for row_of_axes, kind in zip(axes, graphs, strict=True):
        row_of_axes[0].text(
            -0.06, 0.5, kind, rotation=90, ha="center", va="center", transform=row_of_axes[0].transAxes, fontsize=11
        )
    counts = {"true": _edges_over(shown.Z, shown.truth), "learned": _edges_over(shown.Z, shown.contextual)}
    most = max(float(np.nanmax(values)) for values in counts.values())
    maps = right.subplots(2, 1, sharex=True, sharey=True)
    for ax, (kind, values) in zip(maps, counts.items(), strict=True):
        image = ax.imshow(values.T, origin="lower", extent=(-1, 1, -1, 1), vmin=0, vmax=most, cmap="viridis")
        ax.set(title=f"number of edges, {kind}", ylabel="z2", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        for number, row in enumerate(rows, 1):
            ax.text(*shown.Z[row], str(number), color="white", ha="center", va="center", weight="bold", path_effects=_halo())
    maps[1].set_xlabel("z1")
    right.colorbar(image, ax=maps, location="bottom", shrink=0.8, pad=0.02)
    fixed = np.broadcast_to(shown.fixed, shown.truth.shape)
    figure.suptitle(
        f"Learned from {shown.n_samples} samples. F1 of edges over {len(shown.Z)} new contexts: "
        f"contextual {f1_score(shown.truth, shown.contextual):.2f}, fixed {f1_score(shown.truth, fixed):.2f}. "
        "Dotted: missed. Dashed: not there."
    )
    return figure


def write_illustration(folder: str | os.PathLike[str], stem: Path) -> list[Path]:
    """Draw what a folder keeps as ``<stem>.png`` and ``.svg``, with the edges as ``<stem>.csv``, and return the paths."""
    import pandas as pd

    shown = load_illustration(folder)
    tables = []
    for number, row in enumerate(_shown_rows(shown), 1):
        table = edge_table(shown.names, {kind: some[0] for kind, some in _graphs(shown, [row]).items()})
        z1, z2 = (float(value) for value in shown.Z[row])
        tables.append(pd.concat([pd.DataFrame({"context": number, "z1": z1, "z2": z2}, index=table.index), table], axis=1))
    written = write_table(stem.with_name(f"{stem.name}.csv"), pd.concat(tables), float_format="%.4f")
    return [written, *write_pictures(stem, draw(shown))]


def _graphs(shown: Illustration, rows: list[int]) -> dict[str, np.ndarray]:
    fixed = np.broadcast_to(shown.fixed, (len(rows), *shown.fixed.shape))
    return {"true": shown.truth[rows], "contextual": shown.contextual[rows], "fixed": fixed}


def _shown_rows(shown: Illustration) -> list[int]:
    """The context nearest to the middle of each quarter: chosen by place, not by how well it came out."""
    distance = np.linalg.norm(shown.Z[:, None] - CORNERS, axis=2)
    return [int(row) for row in distance.argmin(0)]


def _edges_over(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Mean numbers of edges in small squares of contexts; NaN where there is none."""
    square = np.clip(((Z + 1) / 2 * N_SQUARES).astype(int), 0, N_SQUARES - 1)
    total, count = np.zeros((2, N_SQUARES, N_SQUARES))
    np.add.at(total, tuple(square.T), (W != 0).sum((1, 2)))
    np.add.at(count, tuple(square.T), 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _halo() -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2, foreground="black")]
