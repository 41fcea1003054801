"""The demonstration: simulate the design of the paper's first figure, fit, and compare with the truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.differences import differences, edge_changes
from contextualdag.estimators import ContextualDAG
from contextualdag.metrics import estimation_error, f1_score, shd
from contextualdag.paper.illustration import N_FEATURES, N_NODES, context_label, draw_side_by_side, learn
from contextualdag.report import page

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

N_TEST = 1000


@dataclass(frozen=True)
class Demonstration:
    """A fitted model, and the true and the learned graphs of contexts that it has not seen.

    Attributes
    ----------
    model : ContextualDAG
        Fitted model.
    n_samples : int
        Number of training rows.
    seconds : float
        Duration of the fit.
    Z : array of shape (n, m)
        New contexts.
    truth, learned : array of shape (n, p, p)
        Their true and their learned graphs.
    shown : tuple of int
        Rows of two contexts to show: the first with an edge, and the first after it in which an edge is reversed.
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
        """How well the graphs are recovered."""
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
        """Edges of one context with their true and their learned weight, and a remark on those that are wrong."""
        import pandas as pd

        names, rows = self.model.names_, []
        found = differences(self.truth[row], self.learned[row])
        for edge in sorted(found, key=lambda edge: (edge.source, edge.target)):
            remark = "missed" if edge.b == 0 else "not there" if edge.a == 0 else ""
            rows.append((f"{names[edge.source]} → {names[edge.target]}", edge.a, edge.b, remark))
        return pd.DataFrame(rows, columns=["edge", "true", "learned", ""])


def demonstrate(n_samples: int = 10_000, seed: int = 0, verbose: bool = True) -> Demonstration:
    """Simulate, fit, and predict the graphs of 1000 new contexts.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of training rows.
    seed : int, default=0
        Seed of the data and of the fit.
    verbose : bool, default=True
        Whether to show a progress bar on a terminal.

    Returns
    -------
    Demonstration
    """
    found = learn(n_samples, N_TEST, seed, verbose=verbose)
    truth = found.test.W
    return Demonstration(found.model, n_samples, found.seconds, found.test.Z, truth, found.graphs, _two_that_differ(truth))


def write_report(demo: Demonstration, folder: Path) -> Path:
    """Write ``report.html`` with the pictures to a folder and return its path."""
    import pandas as pd

    scores = pd.DataFrame({f"on {N_TEST} new contexts": list(demo.scores), "": [f"{v:.3f}" for v in demo.scores.values()]})
    parts = [
        page.paragraph(
            f"{demo.n_samples} samples of {N_NODES} variables were drawn from graphs that change with {N_FEATURES} context "
            f"features, and a graph for every context was learned from them in {demo.seconds:.0f} seconds. The true graphs, "
            "which the method never saw, are on the left."
        ),
        page.picture(
            _draw(demo), f"{page.COLOURS} Dotted: a true edge that was missed. Dashed: a learned edge that is not there."
        ),
        page.heading("Recovery"),
        page.table(scores),
    ]
    for row in demo.shown:
        parts += [page.heading(f"Edges at {context_label(demo.Z[row])}"), page.table(demo.edges(row))]
    parts += [page.heading("The path over sparsity levels"), page.table(demo.model.path_)]
    return page.write_page(folder / "report.html", "One graph for every context", parts)


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
        if edge_changes(W[linked[0]], W[second])["reversed"].any():
            return linked[0], second
    return linked[0], linked[-1]
