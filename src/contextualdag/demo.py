"""The demonstration of the paper's first figure: simulate, fit, compare with the truth."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contextualdag import __version__
from contextualdag.datasets import make_varying_dag
from contextualdag.estimators import ContextualDAG
from contextualdag.metrics import estimation_error, f1_score, shd

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

N_NODES, N_FEATURES, N_EDGES, N_TEST = 5, 2, 6, 1000


@dataclass(frozen=True)
class Demonstration:
    """A model and the truth it is compared with, on contexts it has not seen.

    `shown` are the rows of two contexts: the first with an edge, and the first after it whose graph turns an edge round.
    """

    model: ContextualDAG
    n_samples: int
    seconds: float
    Z: np.ndarray
    truth: np.ndarray
    learned: np.ndarray
    shown: tuple[int, int]

    @property
    def scores(self) -> dict[str, float]:
        """How well graphs are recovered."""
        same = ((self.truth != 0) == (self.learned != 0)).all((1, 2))
        return {
            "F1 of edges": f1_score(self.truth, self.learned),
            "structural Hamming distance": shd(self.truth, self.learned),
            "estimation error": estimation_error(self.truth, self.learned),
            "graphs recovered exactly": float(same.mean()),
            "edges, true": float((self.truth != 0).sum()) / len(self.truth),
            "edges, learned": float((self.learned != 0).sum()) / len(self.learned),
        }

    def edges(self, row: int) -> "pandas.DataFrame":
        """Edges of one context with their true and their learned weight, and what went wrong."""
        import pandas as pd

        names = self.model.names_
        true, learned = self.truth[row], self.learned[row]
        rows = [
            {
                "edge": f"{names[j]} → {names[k]}",
                "true": true[j, k],
                "learned": learned[j, k],
                "": "missed" if learned[j, k] == 0 else "not there" if true[j, k] == 0 else "",
            }
            for j, k in zip(*np.nonzero((true != 0) | (learned != 0)), strict=True)
        ]
        return pd.DataFrame(rows, columns=["edge", "true", "learned", ""])


def demonstrate(n_samples: int = 10_000, seed: int = 0, verbose: bool = True) -> Demonstration:
    """Simulate, fit and predict for a thousand new contexts.

    Parameters
    ----------
    n_samples : int, default=10_000
        Rows to learn from.
    seed : int, default=0
        Of the data and of the fit.
    verbose : bool, default=True
        A progress bar on a terminal.

    Returns
    -------
    Demonstration
    """
    data = make_varying_dag(n_samples + N_TEST, N_NODES, N_FEATURES, n_edges=N_EDGES, random_state=seed)
    train, test = data[:n_samples], data[n_samples:]
    start = time.perf_counter()
    model = ContextualDAG(random_state=seed, verbose=verbose).fit(train.X, train.Z)
    seconds = time.perf_counter() - start
    learned = model.adjacency(test.Z)
    return Demonstration(model, n_samples, seconds, test.Z, test.W, learned, _two_that_differ(test.W))


def write_report(demo: Demonstration, folder: Path) -> Path:
    """Write ``report.html`` with the pictures into a folder and return its path."""
    import pandas as pd

    from contextualdag import report

    scores = pd.DataFrame({"on 1000 new contexts": list(demo.scores), "": [f"{v:.3f}" for v in demo.scores.values()]})
    parts = [
        report.paragraph(
            f"{demo.n_samples} samples of {N_NODES} variables were drawn from graphs that change with {N_FEATURES} context "
            f"features, and a graph for every context was learned from them in {demo.seconds:.0f} seconds. The true graphs, "
            "which the method never saw, are on the left."
        ),
        report.picture(
            _draw(demo),
            "Blue edges are positive, red ones negative; width is strength. Dotted: a true edge that was missed. Dashed: a "
            "learned edge that is not there.",
        ),
        report.heading("Recovery"),
        report.table(scores),
    ]
    for row in demo.shown:
        parts += [report.heading(f"Edges at {_context(demo.Z[row])}"), report.table(demo.edges(row))]
    parts += [report.heading("The path over sparsity levels"), report.table(demo.model.path_)]
    footer = f"contextualdag {__version__}. A graph shows dependence as the model sees it; it is no proof of cause."
    return report.write_page(folder / "report.html", "One graph for every context", parts, footer)


def _draw(demo: Demonstration) -> "Figure":
    from matplotlib.figure import Figure

    from contextualdag.plotting import draw_graph, layered_layout

    rows = list(demo.shown)
    graphs = np.concatenate([demo.truth[rows], demo.learned[rows]])
    places, largest = layered_layout(graphs), float(np.abs(graphs).max())
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    axes = figure.subplots(2, 2)
    for i, row in enumerate(rows):
        for ax, W, truth, what in zip(
            axes[i], (demo.truth[row], demo.learned[row]), (None, demo.truth[row]), ("true", "learned"), strict=True
        ):
            draw_graph(W, demo.model.names_, places=places, truth=truth, largest=largest, ax=ax)
            ax.set_title(f"{what}, {_context(demo.Z[row])}", fontsize=11)
    return figure


def _context(z: np.ndarray) -> str:
    return "z = (" + ", ".join(f"{value:.2f}" for value in z) + ")"


def _two_that_differ(W: np.ndarray) -> tuple[int, int]:
    linked = [int(row) for row in np.nonzero((W != 0).any((1, 2)))[0]]
    for second in linked[1:]:
        if ((W[linked[0]] != 0) & (W[second] != 0).T).any():
            return linked[0], second
    return linked[0], linked[-1]
