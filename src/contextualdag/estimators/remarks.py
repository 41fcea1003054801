"""What the reader of a fitted model has to know besides its graphs, as sentences for terminal, report and explorer."""

from typing import TYPE_CHECKING

from contextualdag.export import edge_text
from contextualdag.training.noise import EQUAL

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

MOST_NAMED = 10


def remarks(model: "GraphEstimator") -> list[str]:
    """Sentences on the context, on the noise, on directions that data do not tell, and on rows that look like errors."""
    return [*_context(model), _noise(model), *directions(model), *_outliers(model)]


def _context(model: "GraphEstimator") -> list[str]:
    test = model.context_test_
    if test is None:
        return []
    numbers = f"p = {test.p_value:.2g} in a permutation test on {test.n_rows} held-out rows"
    if not test.context_matters:
        return [f"There is no sign that the graph depends on the context ({numbers})."]
    saved = f"the graph of a row's own context saves {100 * test.gain:.2g} % of the squared error against those of others"
    chosen = "" if model.varies_ else ", but one graph for all predicts as well"
    return [f"The context matters to the graph ({numbers}): {saved}{chosen}."]


def _noise(model: "GraphEstimator") -> str:
    if model.noise_ == EQUAL:
        return (
            "Noise: of one size for all variables in the units given, which is part of what tells directions. In other "
            "units the graphs may differ."
        )
    low, high = model.noise_scale_.min(), model.noise_scale_.max()
    return (
        f"Noise: a size of its own for each variable, learned from the data (from {low:.3g} to {high:.3g} in their units). "
        "Units do not matter."
    )


def directions(model: "GraphEstimator") -> list[str]:
    """A sentence on the edges whose direction the data do not tell, if there are any."""
    pairs = model.undirected_edges_
    if not pairs:
        return []
    named = _listed([edge_text(a, b, directed=False) for a, b in pairs])
    return [
        "One graph serves all contexts and the size of the noise is unknown, so the data do not tell the direction of "
        f"{len(pairs)} edge{'' if len(pairs) == 1 else 's'}, shown without an arrowhead: {named}."
    ]


def _outliers(model: "GraphEstimator") -> list[str]:
    rows = model.outliers_
    if not rows:
        return []
    return [
        f"Far from all other rows of the table, and given little weight: {len(rows)}, which may be errors (counted from 0): "
        f"{_listed([str(row) for row in rows])}."
    ]


def _listed(words: list[str]) -> str:
    more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return ", ".join(words[:MOST_NAMED]) + more
