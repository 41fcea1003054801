"""What the reader of a fitted model has to know besides its graphs, as sentences for terminal, report and explorer."""

import math
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.estimators.readable import cut_in_words, in_words, readable
from contextualdag.export import edge_text
from contextualdag.plotting.contexts import drawn_contexts
from contextualdag.training.context_test import FEW_ROWS, LEVEL, ContextTest
from contextualdag.training.noise import EQUAL
from contextualdag.training.structure import COMMON_ORDER, CONSTANT, VARYING
from contextualdag.transforms import BINARY, NONE

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

MOST_NAMED = 10
SURE, LIKELY = 0.9, 0.5  # smallest probabilities of edges that are called so
N_CONTEXTS = 200  # over which edges are counted
SHORT = {CONSTANT: "one graph", COMMON_ORDER: "one order", VARYING: "an order that varies"}
WORDS = {name: words.capitalize() for name, words in SHORT.items()}
ONE_GRAPH = "One graph serves all contexts"
WITH_CARE = 'Treat what varies with care; structure="constant", --structure constant, gives one graph.'
TOO_FEW_GROUPS = 3  # of which there are six permutations
SLIGHT = 1.0  # percent by which shares of variance may be below zero, or above all of it, by chance
CHOSEN = {
    COMMON_ORDER: "Edges change with the context along one order of the variables; none is reversed.",
    VARYING: "Edges and their directions change with the context.",
}


def remarks(model: "GraphEstimator", first_row: int = 0) -> list[str]:
    """Sentences on structure, context, how many edges are enough and how sure they are, noise, directions and rows.

    Rows are counted from `first_row`: 0 as in Python, or 1 as in the messages of the terminal.
    """
    opening = [*_kinds(model), *about_context(model), *_explained(model), *how_many(model), *sureness(model)]
    return [*opening, *_noise_and_rows(model, first_row)]


def remarks_below(model: "GraphEstimator") -> list[str]:
    """The remarks but for what a report says at its top: what varies with the context, and how many edges are enough."""
    return [*_kinds(model), *_explained(model), *sureness(model), *_noise_and_rows(model)]


def _noise_and_rows(model: "GraphEstimator", first_row: int = 0) -> list[str]:
    about_rows = [*_known_of_rows(model), *_outliers(model, first_row)]
    return [_noise(model), *_changing_noise(model), *directions(model), *about_rows]


def _kinds(model: "GraphEstimator") -> list[str]:
    """What kinds of variables there are and how they were transformed, and what that does to weights."""
    transforms = model._preparation.transforms
    found = transforms.in_words()
    if not found:
        return []
    said = [f"Variables: {found}."]
    if transforms.change:
        said.append(f"Weights and effects are in transformed units of {_listed(_transformed(model))}.")
    n_binary = transforms.kinds.count(BINARY)
    if n_binary:
        said.append("The weight of an edge into a binary variable is a difference of probability.")
    if n_binary > 1:
        said.append("The data hardly tell directions between two binary variables.")
    return [" ".join(said)]


def _transformed(model: "GraphEstimator") -> list[str]:
    return [name for name, transform in model.transforms_.items() if transform != NONE]


def about_context(model: "GraphEstimator") -> list[str]:
    """How much varies with the context, and whether the context matters."""
    return [*_structure(model), *_context(model)]


def _structure(model: "GraphEstimator") -> list[str]:
    """Which structure was chosen, and why."""
    scores = model.structure_scores_
    if len(scores) < 2 and model.structure_ != CONSTANT:
        return [f"{CHOSEN[model.structure_]} Nothing simpler was compared with that."]
    if len(scores) < 2:
        return one_graph(model)
    chosen = one_graph(model)[0] if model.structure_ == CONSTANT else CHOSEN[model.structure_]
    behind = ", ".join(
        f"{SHORT[name]} {score.behind:.2g} ± {score.standard_error:.1g}"
        for name, score in scores.items()
        if score.behind > 0
    )
    if not behind:
        return [f"{chosen} (All structures predict held-out rows alike.)"]
    best = next(name for name, score in scores.items() if score.behind == 0)
    numbers = f"Log likelihood of a held-out row: {SHORT[best]} predicts best; behind it are {behind}."
    few = f" With only {model.n_held_out_} rows held out this is uncertain." if 0 < model.n_held_out_ < FEW_ROWS else ""
    return [f"{chosen} ({numbers}){_why_not(model, best)}{few}"]


def _why_not(model: "GraphEstimator", best: str) -> str:
    """Why another structure than the one that predicts best was chosen, see `contextualdag.training.structure.simplest`."""
    chosen = model.structure_
    if chosen == best:
        return ""
    if chosen == CONSTANT:
        return f" {WORDS[CONSTANT]} is not clearly worse and there is no sign that the context matters, so it was chosen."
    if best == CONSTANT:
        return f" {WORDS[best]} is not clearly better and a test says the context matters, so {SHORT[chosen]} was chosen."
    return f" {WORDS[chosen]} predicts about as well and is simpler, so it was chosen."


def one_graph(model: "GraphEstimator") -> list[str]:
    """What one graph for all contexts means, with the shares of the variance behind it, if that is what the model has."""
    if model.structure_ != CONSTANT or not any(feature.varies for feature in model.context_features_):
        return []
    shares = model.explained_.iloc[-1]
    means, edges = 100 * shares["means"], 100 * shares["common edges"]
    was_compared = len(model.structure_scores_) > 1
    one = ONE_GRAPH if was_compared else f"{ONE_GRAPH}; none that vary were fitted"
    if not math.isfinite(means + edges):
        return [f"{one}."]
    is_noise = min(means, edges) < -SLIGHT or means + edges > 100 + SLIGHT
    too_few = f"The {model.n_held_out_} held-out rows are too few to tell how much of their variance"
    if model.intercept != "contextual":
        return [f"{one}. {too_few} its edges explain." if is_noise else f"{one}. Its edges explain {_held_out(edges)}."]
    test = model.context_test_
    if not was_compared or (test is not None and test.context_matters):
        if is_noise:
            return [f"{one}. {too_few} means and edges explain."]
        return [f"{one}. Means given the context explain {_held_out(means)}, the edges {_percent(max(edges, 0))} more."]
    if is_noise or means < SLIGHT:
        same = f"{ONE_GRAPH}: the variables depend on one another in the same way in all"
        explained = f"{too_few} means and edges explain." if is_noise else f"The edges explain {_held_out(edges)}."
        return [f"{same}. {explained}"]
    return [
        f"{ONE_GRAPH}: the context moves the means of the variables, which explains {_held_out(means)}, and not how they "
        f"depend on one another; the edges, the same everywhere, explain {_percent(max(edges, 0))} more."
    ]


def _held_out(percent: float) -> str:
    return f"{_percent(max(percent, 0))} of the variance of held-out rows"


def _percent(number: float) -> str:
    """A number of percent, without an exponent."""
    return f"{number:.0f} %" if abs(number) >= 10 else f"{number:.2g} %"


def _context(model: "GraphEstimator") -> list[str]:
    """Whether the context matters, how much, and which of its features."""
    test = model.context_test_
    if test is None:
        return _no_test(model)
    what = "groups" if test.n_groups else "rows"
    power = f" With so few {what} it can only see strong effects." if test.has_low_power else ""
    power = " With so few groups it cannot see any effect." if 0 < test.n_groups <= TOO_FEW_GROUPS else power
    swapped = f", whose {test.n_groups} groups swap their contexts" if test.n_groups else ""
    numbers = f"p = {test.p_value:.2g}, permutation test on {test.n_rows} rows{swapped}"
    if not test.context_matters:
        if model.structure_ != CONSTANT and CONSTANT in model.structure_scores_:
            return [f"{_better_yet_untested(model)} ({numbers}).{power} {WITH_CARE}"]
        no_sign = "There is no sign that dependence between the variables changes with the context as a whole"
        return [f"{no_sign} ({numbers}).{power}{_single_features(test)}"]
    gain = ""
    if test.gain is not None and test.gain_interval is not None:
        low, high = (_percent(100 * bound).removesuffix(" %") for bound in test.gain_interval)
        saved = f"{_percent(100 * test.gain)} ({low} to {high})"
        gain = f" Graphs of their own contexts save {saved} of the squared error of rows."
    said = f"Dependence between the variables changes with the context ({numbers}).{gain}{power}"
    if model.structure_ == CONSTANT and len(model.structure_scores_) > 1:
        said += " That is too little to learn from so many rows: graphs that follow it predict no better."
    if not test.features:
        return [said]
    by_p_value = sorted(test.features, key=lambda name: test.features[name])
    named = ", ".join(f"{name} ({_of_feature(test, name)})" for name in by_p_value)
    return [f"{said} By feature, given the others: {named}."]


def _of_feature(test: ContextTest, name: str) -> str:
    p_value = f"p = {test.features[name]:.2g}"
    gain = test.feature_gains.get(name)
    return p_value if gain is None else f"{p_value}, saves {_percent(100 * max(gain, 0))}"


def _single_features(test: ContextTest) -> str:
    """That the test of a single feature says otherwise than that of all, corrected for their number."""
    if test.has_low_power:
        return ""
    named = [f"{name} (p = {p:.2g})" for name, p in test.features.items() if p * len(test.features) <= LEVEL]
    return f" Of single features, {_listed(named)} may change it." if named else ""


def _no_test(model: "GraphEstimator") -> list[str]:
    features = model.context_features_
    if not features:
        return []
    if not any(feature.varies for feature in features):
        return ["The context does not vary, so there is no test of whether it matters."]
    if model.rows_.n_intervened and "structure" in model.get_params(deep=False):
        return ["There was no test of whether the context matters."]
    return []


def _explained(model: "GraphEstimator") -> list[str]:
    """What means, edges that are the same everywhere, and their change explain, for graphs that vary."""
    if model.structure_ == CONSTANT:
        return []  # told with the one graph
    shares = 100 * model.explained_.iloc[-1].to_numpy()
    means, common, change = shares.tolist()
    if not math.isfinite(means + change) or min(means, change) < -SLIGHT or np.nansum(shares) > 100 + SLIGHT:
        return []
    of_means = "" if model.intercept != "contextual" else f"means given the context explain {_percent(max(means, 0))}, "
    if not math.isfinite(common):
        return [f"Of the variance of held-out rows {of_means}edges {_percent(max(change, 0))}."]
    edges = f"edges common to all contexts {_percent(max(common, 0))}, their change {_percent(max(change, 0))}"
    return [f"Of the variance of held-out rows {of_means}{edges} (explained_ has each variable)."]


def _better_yet_untested(model: "GraphEstimator") -> str:
    """That graphs that vary predict better although a test sees no change."""
    scores = model.structure_scores_
    better = scores[CONSTANT].behind - scores[model.structure_].behind
    return (
        f"Graphs that vary predict held-out rows better than one graph, by {better:.2g} of log likelihood for a row, but a "
        "test of the covariances sees no sign that dependence between the variables changes with the context"
    )


def sureness(model: "GraphEstimator") -> list[str]:
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
        f"in {model.n_resamples_} random halves of the rows, and are calibrated on simulated data; on "
        "others they may be off, most of all those in the middle."
    ]


def _noise(model: "GraphEstimator") -> str:
    has_transforms = model._preparation.transforms.change
    transformed = f"transformed units of {_listed(_transformed(model))}" if has_transforms else ""
    if model.noise_ == EQUAL:
        others = f", and {transformed}," if has_transforms else ","
        return (
            f"Noise: of one size for all variables in the units given{others} which is part of what tells directions. In "
            "other units the graphs may differ."
        )
    low, high = model.noise_scale_.min(), model.noise_scale_.max()
    units = f"in {transformed}" if has_transforms else "in their units"
    whose = "Units of variables that were not transformed" if has_transforms else "Units"
    return (
        f"Noise: a size of its own for each variable, learned from the data (from {low:.3g} to {high:.3g} {units}). "
        f"{whose} do not matter."
    )


def _changing_noise(model: "GraphEstimator") -> list[str]:
    """Variables whose noise changes with the context, which directions should not be trusted at."""
    found = model.noise_changes_
    if not found:
        return []
    named = _listed([name for name, _ in sorted(found.items(), key=lambda item: -item[1])])
    return [
        f"The size of the noise changes with the context for {named}. Directions rest on noise of one size in all contexts, "
        "so do not trust those of edges at these variables; an edge that is missing looks like this, too. "
        "contextualdag check --model, or contextualdag.diagnostics.check_model, looks closer."
    ]


def directions(model: "GraphEstimator") -> list[str]:
    """A sentence on the edges whose direction the data do not tell, if there are any."""
    pairs = model.undirected_edges_
    if not pairs:
        return []
    named = _listed([edge_text(a, b, directed=False) for a, b in pairs])
    if not model.varies_:
        return [
            "One graph serves all contexts and the size of the noise is unknown, so the data do not tell the direction of "
            f"{len(pairs)} edge{'' if len(pairs) == 1 else 's'}, shown without an arrowhead: {named}."
        ]
    which = "that of one edge, whose weight does" if len(pairs) == 1 else f"those of {len(pairs)} edges, whose weights do"
    return [
        "The size of the noise is unknown, so directions are told by weights that change with the context. The data do not "
        f"tell {which} not clearly change; shown without an arrowhead: {named}."
    ]


def how_many(model: "GraphEstimator") -> list[str]:
    """How many edges are enough, where that is far fewer or only so many were asked for."""
    if cut := cut_in_words(model):
        return [f"{cut}."]
    fewer = readable(model)
    return [] if fewer is None else [f"{in_words(model, fewer)} (select(explained=0.9), --explained 0.9)."]


def _known_of_rows(model: "GraphEstimator") -> list[str]:
    """What was done with missing values, interventions, weights and groups."""
    said = model.rows_.in_words()
    return [said] if said else []


def _outliers(model: "GraphEstimator", first_row: int) -> list[str]:
    rows = model.outliers_
    if not rows:
        return []
    counted = "row 1 is the first after the header" if first_row else "counted from 0"
    return [
        f"Far from all other rows of the table, and given little weight: {len(rows)}, which may be errors ({counted}): "
        f"{_listed([str(row + first_row) for row in rows])}."
    ]


def _listed(words: list[str]) -> str:
    more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return ", ".join(words[:MOST_NAMED]) + more
