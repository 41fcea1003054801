"""The demonstration of the paper's first figure: simulate, fit, compare with the truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contextualdag import __version__
from contextualdag.estimators import ContextualDAG
from contextualdag.metrics import estimation_error, f1_score, shd
from contextualdag.paper.illustration import N_FEATURES, N_NODES, context_label, draw_side_by_side, edge_table, learn

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

N_TEST = 1000


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

        table = edge_table(self.model.names_, {"true": self.truth[row], "learned": self.learned[row]})
        remark = np.select([table["learned"] == 0, table["true"] == 0], ["missed", "not there"], "")
        edge = table["source"] + " → " + table["target"]
        return pd.DataFrame({"edge": edge, "true": table["true"], "learned": table["learned"], "": remark})


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
    found = learn(n_samples, N_TEST, seed, verbose=verbose)
    truth = found.test.W
    return Demonstration(found.model, n_samples, found.seconds, found.test.Z, truth, found.graphs, _two_that_differ(truth))


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
        parts += [report.heading(f"Edges at {context_label(demo.Z[row])}"), report.table(demo.edges(row))]
    parts += [report.heading("The path over sparsity levels"), report.table(demo.model.path_)]
    footer = f"contextualdag {__version__}. A graph shows dependence as the model sees it; it is no proof of cause."
    return report.write_page(folder / "report.html", "One graph for every context", parts, footer)


def _draw(demo: Demonstration) -> "Figure":
    from matplotlib.figure import Figure

    rows = list(demo.shown)
    graphs = {"true": demo.truth[rows], "learned": demo.learned[rows]}
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    axes = figure.subplots(2, 2)  # a row for each context
    draw_side_by_side(axes.T, graphs, demo.model.names_)
    for row, row_of_axes in zip(rows, axes, strict=True):
        for ax, kind in zip(row_of_axes, graphs, strict=True):
            ax.set_title(f"{kind}, {context_label(demo.Z[row])}", fontsize=11)
    return figure


def _two_that_differ(W: np.ndarray) -> tuple[int, int]:
    linked = [int(row) for row in np.nonzero((W != 0).any((1, 2)))[0]]
    for second in linked[1:]:
        if ((W[linked[0]] != 0) & (W[second] != 0).T).any():
            return linked[0], second
    return linked[0], linked[-1]
