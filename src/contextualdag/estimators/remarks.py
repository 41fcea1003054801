"""What the reader of a fitted model has to know besides its graphs, as sentences for terminal, report and explorer."""

from typing import TYPE_CHECKING

from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.export import edge_text
from contextualdag.plotting.contexts import drawn_contexts
from contextualdag.training.context_test import FEW_ROWS
from contextualdag.training.noise import EQUAL
from contextualdag.training.structure import COMMON_ORDER, CONSTANT, VARYING
from contextualdag.transforms import BINARY, NONE

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

MOST_NAMED = 10
MANY_EDGES, FAR_FEWER = 1.5, 0.7  # edges for each variable; share of them
SURE, LIKELY = 0.9, 0.5  # smallest probabilities of edges that are called so
N_CONTEXTS = 200  # over which edges are counted
SHORT = {CONSTANT: "one graph", COMMON_ORDER: "one order", VARYING: "an order that varies"}
CHOSEN = {
    CONSTANT: "One graph serves all contexts.",
    COMMON_ORDER: "Edges change with the context along one order of the variables; none is reversed.",
    VARYING: "Edges and their directions change with the context.",
}


def remarks(model: "GraphEstimator") -> list[str]:
    """Sentences on structure, context, how many edges are enough and how sure they are, noise, directions and odd rows."""
    about_edges = [*_kinds(model), *_structure(model), *_context(model), *_readable(model), *_sureness(model)]
    return [*about_edges, _noise(model), *directions(model), *_outliers(model)]


def _kinds(model: "GraphEstimator") -> list[str]:
    """What kinds of variables there are and how they were transformed, and what that does to weights."""
    transforms = model._preparation.transforms
    found = transforms.in_words()
    if not found:
        return []
    said = [f"Variables: {found}."]
    if transforms.change:
        changed = [name for name, transform in model.transforms_.items() if transform != NONE]
        said.append(f"Weights and effects are in transformed units of {_listed(changed)}.")
    n_binary = transforms.kinds.count(BINARY)
    if n_binary:
        said.append("The weight of an edge into a binary variable is a difference of probability.")
    if n_binary > 1:
        said.append("The data hardly tell directions between two binary variables.")
    return [" ".join(said)]


def _structure(model: "GraphEstimator") -> list[str]:
    """Which structure was chosen, and why."""
    scores = model.structure_scores_
    if len(scores) < 2:
        return []
    behind = ", ".join(
        f"{SHORT[name]} {score.behind:.2g} ± {score.standard_error:.1g}"
        for name, score in scores.items()
        if score.behind > 0
    )
    best = next(SHORT[name] for name, score in scores.items() if score.behind == 0)
    return [f"{CHOSEN[model.structure_]} (Log likelihood of a held-out row: {best} predicts best; behind it are {behind}.)"]


def _context(model: "GraphEstimator") -> list[str]:
    """Whether the context matters, how much, and which of its features."""
    test = model.context_test_
    if test is None:
        features = model.context_features_
        is_still = bool(features) and not any(feature.varies for feature in features)
        return ["The context does not vary, so there is no test of whether it matters."] if is_still else []
    power = " With so few rows it can only see strong effects." if test.n_rows < FEW_ROWS else ""
    numbers = f"p = {test.p_value:.2g}, permutation test on {test.n_rows} rows"
    if not test.context_matters:
        return [f"There is no sign that dependence between the variables changes with the context ({numbers}).{power}"]
    gain = ""
    if test.gain is not None and test.gain_interval is not None:
        low, high = (f"{100 * bound:.2g}" for bound in test.gain_interval)
        gain = f" Graphs of their own contexts save {100 * test.gain:.2g} % ({low} to {high}) of the squared error of rows."
    said = f"Dependence between the variables changes with the context ({numbers}).{gain}{power}"
    if not test.features:
        return [said]
    named = ", ".join(f"{name} (p = {p:.2g})" for name, p in sorted(test.features.items(), key=lambda item: item[1]))
    return [f"{said} By feature, given the others: {named}."]


def _sureness(model: "GraphEstimator") -> list[str]:
    """How many edges are sure, likely and doubtful, if the model tells probabilities."""
    if not isinstance(model, BootstrapDAG):
        return []
    contexts = drawn_contexts(model, N_CONTEXTS) if model.varies_ else model.typical_context()
    probabilities = model.edges(contexts)["probability"]
    if not len(probabilities):
        return []
    on_average = " on average" if model.varies_ else ""
    sure, likely = (probabilities >= SURE).sum(), ((probabilities >= LIKELY) & (probabilities < SURE)).sum()
    counts = (sure, likely, len(probabilities) - sure - likely, len(probabilities))
    sure, likely, doubtful, there = (f"{count / len(contexts):.3g}" for count in counts)
    return [
        f"Of {there} edge{'' if there == '1' else 's'}{on_average}, {sure} are sure (probability at least {SURE:g}), "
        f"{likely} likely (at least {LIKELY:g}) and {doubtful} doubtful. Probabilities come from how often an edge is found "
        f"in {model.n_resamples_} random halves of the rows, and are calibrated on simulated data."
    ]


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


def _readable(model: "GraphEstimator") -> list[str]:
    """How many edges are enough, where that is far fewer."""
    all_of_them = model.chosen_["n_edges"]
    if not model.chosen_.get("refitted") or all_of_them < MANY_EDGES * len(model.names_):
        return []
    fewer = model.select(explained=0.9).chosen_["n_edges"]
    if fewer > FAR_FEWER * all_of_them:
        return []
    return [f"{all_of_them:.3g} edges predict best; the {fewer:.3g} strongest explain nine tenths of it (explained=0.9)."]


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
