"""The paper's first figure: five variables whose graph changes with two context features.

`run_illustration` fits the models and keeps their graphs in a folder; `write_illustration` draws them and trains nothing.
"""

import io
import os
import shutil
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.datasets import Dataset, make_varying_dag
from contextualdag.errors import PersistenceError
from contextualdag.estimators import ContextualDAG, FixedDAG
from contextualdag.files import write_file
from contextualdag.metrics import f1_score
from contextualdag.paper.outputs import write_pictures, write_table
from contextualdag.plotting import draw_graph

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

N_NODES, N_FEATURES, N_EDGES = 5, 2, 6
N_SAMPLES, QUICK_SAMPLES, N_CONTEXTS = 10_000, 1000, 10_000
VERSION = 1
# The centres of the four quarters of the square of contexts.
CORNERS = np.array([[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]])
N_SQUARES = 20


@dataclass(frozen=True)
class Learned:
    """A model, the data that it is fitted to, and test data of the same design with their predicted graphs."""

    model: ContextualDAG
    train: Dataset
    test: Dataset
    graphs: np.ndarray
    seconds: float


@dataclass(frozen=True)
class Illustration:
    """Graphs of new contexts: the true ones, those of a contextual model and that of a fixed one."""

    names: tuple[str, ...]
    n_samples: int
    Z: np.ndarray
    truth: np.ndarray
    contextual: np.ndarray
    fixed: np.ndarray


def learn(
    n_samples: int,
    n_contexts: int,
    seed: int = 0,
    *,
    device: str = "auto",
    verbose: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Learned:
    """Simulate, fit, and predict the graphs of new contexts."""
    data = make_varying_dag(n_samples + n_contexts, N_NODES, N_FEATURES, n_edges=N_EDGES, random_state=seed)
    train, test = data[:n_samples], data[n_samples:]
    start = time.perf_counter()
    # With so many samples one network with more patience is accurate enough, and faster than the default ensemble.
    model = ContextualDAG(n_members=1, patience=20, random_state=seed, device=device, verbose=verbose)
    model.fit(train.X, train.Z, checkpoint=checkpoint)
    seconds = time.perf_counter() - start
    return Learned(model, train, test, model.adjacency(test.Z), seconds)


def run_illustration(
    folder: str | os.PathLike[str], *, quick: bool = False, device: str = "auto", random_state: int = 0, verbose: bool = True
) -> Path:
    """Fit the models of the first figure and keep them and their graphs in a folder, unless it has them already.

    Parameters
    ----------
    folder : path
        Folder for ``graphs.npz``, all that the figure needs, and for the fitted models.
    quick : bool, default=False
        Whether to take 1000 samples instead of 10 000.
    device : str, default="auto"
        Device to fit on.
    random_state : int, default=0
        Seed of the data and of the fits.
    verbose : bool, default=True
        Whether to show a progress bar on a terminal.

    Returns
    -------
    Path
        ``graphs.npz``.
    """
    folder = Path(folder)
    file = folder / "graphs.npz"
    if file.exists():
        load_illustration(folder)
        return file
    n_samples = QUICK_SAMPLES if quick else N_SAMPLES
    checkpoint = folder / "checkpoint"
    found = learn(n_samples, N_CONTEXTS, random_state, device=device, verbose=verbose, checkpoint=checkpoint)
    fixed = FixedDAG(random_state=random_state, device=device).fit(found.train.X)
    found.model.save(folder / "contextual")
    fixed.save(folder / "fixed")
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        version=VERSION,
        names=np.array(found.model.names_),
        n_samples=n_samples,
        Z=found.test.Z,
        truth=found.test.W,
        contextual=found.graphs,
        fixed=fixed.graph_,
    )
    write_file(file, buffer.getvalue())
    shutil.rmtree(checkpoint, ignore_errors=True)
    return file


def load_illustration(folder: str | os.PathLike[str]) -> Illustration:
    """Read what `run_illustration` has written."""
    file = Path(folder) / "graphs.npz"
    try:
        # From memory, since NumPy leaves a file open if it cannot read it.
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored:
            arrays = dict(stored)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise PersistenceError(f"{file} cannot be read ({error}); delete it to fit again.") from error
    expected = {"version", "names", "n_samples", "Z", "truth", "contextual", "fixed"}
    if arrays.keys() != expected or int(arrays["version"]) != VERSION:
        raise PersistenceError(f"{file} is of another version of contextualdag; delete it to fit again.")
    names = tuple(str(name) for name in arrays["names"])
    graphs = (arrays["truth"], arrays["contextual"], arrays["fixed"])
    return Illustration(names, int(arrays["n_samples"]), arrays["Z"], *graphs)


def edge_table(names: tuple[str, ...] | list[str], graphs: Mapping[str, np.ndarray]) -> "pandas.DataFrame":
    """Every edge of any of the graphs, with its weight in each: source, target and one column per graph."""
    import pandas as pd

    anywhere = np.any([W != 0 for W in graphs.values()], axis=0)
    rows = [
        {"source": names[j], "target": names[k], **{kind: float(W[j, k]) for kind, W in graphs.items()}}
        for j, k in zip(*np.nonzero(anywhere), strict=True)
    ]
    return pd.DataFrame(rows, columns=["source", "target", *graphs])


def context_label(z: np.ndarray) -> str:
    """A context as a title shows it."""
    return "z = (" + ", ".join(f"{value:.2f}" for value in z) + ")"


def draw_side_by_side(axes: Any, graphs: Mapping[str, np.ndarray], names: tuple[str, ...] | list[str]) -> None:
    """Draw graphs of several kinds at several contexts, with nodes in the same places and weights on one scale.

    Parameters
    ----------
    axes : array of Axes, of shape (kinds, contexts)
        Axes to draw on.
    graphs : mapping of str to array of shape (contexts, p, p)
        Graphs of each kind. The first kind is the truth, with which the others are compared.
    names : sequence of str
        Names of the nodes.
    """
    p = len(names)
    # Edges are reversed from context to context, so layers suit no more than one graph; on a circle no edge is hidden.
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
        "Dotted: missed. Dashed: extra."
    )
    return figure


def write_illustration(folder: str | os.PathLike[str], stem: Path) -> list[Path]:
    """Draw the graphs of a folder as ``<stem>.png`` and ``.svg``, with the edges in ``<stem>.csv``, and return the paths."""
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
    """The context nearest to the centre of each quarter: chosen by place, not by how well it is recovered."""
    distance = np.linalg.norm(shown.Z[:, None] - CORNERS, axis=2)
    return [int(row) for row in distance.argmin(0)]


def _edges_over(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Mean number of edges in small squares of contexts; NaN where there is no context."""
    square = np.clip(((Z + 1) / 2 * N_SQUARES).astype(int), 0, N_SQUARES - 1)
    total, count = np.zeros((2, N_SQUARES, N_SQUARES))
    np.add.at(total, tuple(square.T), (W != 0).sum((1, 2)))
    np.add.at(count, tuple(square.T), 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _halo() -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2, foreground="black")]
