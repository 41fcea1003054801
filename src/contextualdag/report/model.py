"""The report of a fitted model."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.effects import total_effects
from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.estimators.poor_fit import poor_fit
from contextualdag.estimators.readable import in_words, readable
from contextualdag.estimators.remarks import about_context, remarks_below
from contextualdag.estimators.summary import EXPLAINED as EXPLAINED_SUMMARY
from contextualdag.estimators.summary import in_words as summary_in_words
from contextualdag.estimators.summary import readable_table
from contextualdag.export import edge_text
from contextualdag.plotting import (
    order_flips,
    plot_edge,
    plot_graph,
    plot_graphs,
    plot_order_flips,
    plot_path,
    plot_sparsity,
)
from contextualdag.plotting.contexts import drawn_contexts, units, varying_features
from contextualdag.report import page
from contextualdag.report.warnings import find_warnings
from contextualdag.training.noise import EQUAL

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from contextualdag.estimators.base import GraphEstimator

TYPICAL = {"low values": 0.1, "middle values": 0.5, "high values": 0.9}
LEVEL = 0.9  # of intervals of effects
N_EDGES, N_DRAWN_EDGES, N_SUMMARISED = 12, 4, 25
HOW_TO_SEE_ALL = (
    "This page shows these; for all of them write it with contextualdag report --explained 1, or of "
    "model.select(explained=1)."
)
CITATION = (
    "Thompson, R., Bonilla, E. V., and Kohn, R. (2024). Contextual Directed Acyclic Graphs. Proceedings of the 27th "
    "International Conference on Artificial Intelligence and Statistics (AISTATS). arXiv:2310.15627."
)
HOW_SURE = (
    "Probability: how sure the edge is, in this direction unless it has none. It comes from how often random halves of the "
    "rows have the edge, and was calibrated on simulated data, so that there, of edges with a probability of 0.8, about "
    "four in five are true. Between 0.2 and 0.6 it may be off by a quarter, and on data unlike those by more."
)
EXPLAINED = (
    "Explained: shares of the variance of rows held out, by the means given the context, by edges that are the same in all "
    "contexts, and by the change of edges with the context. A share below zero is luck or harm."
)
ASSOCIATIONS = (
    "Edges are associations, not causes. Several graphs often explain observational data equally well, and the direction of "
    "an edge rests on assumptions: linear effects within a context, no hidden common causes, and noise whose size does not "
    "change with the context."
)
TOLD_BY_EQUAL_NOISE = (
    "Here the noise was taken to have the same size in all variables, in the units given, and directions rest on that, too. "
    "In other units they might be different."
)
TOLD_BY_CHANGE = (
    "Here the size of the noise was learned for each variable, so units do not matter. Then an edge has a direction if its "
    "weight changes with the context, or if the direction follows from other edges. An edge without an arrowhead is one "
    "whose direction the data do not tell."
)
WHAT_AN_EDGE_IS = (
    "An edge from a to b means that, in this context, a helps to predict b: its weight is the difference in b for a "
    "difference of one in a, with the other parents of b held fixed. No edge means that no such dependence was needed."
)
WHAT_TO_CHECK = (
    "Weak edges differ from sample to sample. Before you rely on an edge, check that it stays in neighbouring contexts, at "
    "neighbouring points of the path and in a fit on another half of the data. Graphs of contexts that the data do not "
    "cover are guesses.",
    "If the mean of a variable depends on the context, the model removes it first, unless the parameter intercept says "
    "otherwise. A mean that is not removed can show up as edges.",
)


def write_model_report(
    model: "GraphEstimator", path: str | os.PathLike[str], contexts: "pandas.DataFrame | None" = None, source: str = ""
) -> Path:
    """Write a report of a fitted model as one self-contained HTML file.

    Parameters
    ----------
    model : estimator
        Fitted model.
    path : path
        File to write; missing folders are created.
    contexts : DataFrame of shape (n, m), optional
        Contexts to draw besides the typical ones.
    source : str, default=""
        Where the model comes from; shown on the page.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.report.model import write_model_report
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> model = FixedDAG(random_state=0).fit(data.X, data.Z)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model_report(model, f"{folder}/report.html").name
    'report.html'
    """
    whole, fewer = model, readable(model)
    model = fewer or whole
    drawn = drawn_contexts(model)
    W = model.adjacency(drawn)
    warnings = find_warnings(model, W, contexts)
    has_failed = bool(poor_fit(whole))
    noted = [page.notes("Warnings", warnings)] if warnings else []
    parts = [
        *(noted if has_failed else []),
        *_summary(whole),
        page.paragraph(_in_short(model, W, source)),
        *(page.paragraph(sentence) for sentence in about_context(whole)),
        *([page.paragraph(f"{in_words(whole, fewer)}. {HOW_TO_SEE_ALL}")] if fewer is not None else []),
        *([] if has_failed else noted),
        *_typical(model, W),
        *_asked_for(model, contexts),
        *_varying(model, W, drawn),
        *_reversals(model, drawn),
        *_effects(model),
        *_sparsity(model, W),
        *_path(model),
        *_data(whole),
        page.heading("How to read this"),
        *(page.paragraph(text) for text in how_to_read(model)),
        page.heading("Citation"),
        page.paragraph(f"The method is described in: {CITATION}"),
    ]
    return page.write_page(path, "One graph for every context" if _varies(W) else "One graph", parts)


def how_to_read(model: "GraphEstimator") -> list[str]:
    """What edges mean and what their directions rest on, as paragraphs."""
    told = TOLD_BY_EQUAL_NOISE if model.noise_ == EQUAL else TOLD_BY_CHANGE
    return [WHAT_AN_EDGE_IS, f"{ASSOCIATIONS} {told}", *WHAT_TO_CHECK]


def varying_edges(model: "GraphEstimator", W: np.ndarray) -> "pandas.DataFrame":
    """Edges, sorted by how much their weight varies over given graphs, in standard deviations of the variables.

    Parameters
    ----------
    model : estimator
        Fitted model.
    W : array of shape (n, p, p)
        Some of its graphs.

    Returns
    -------
    DataFrame
        Columns source, target, present (share of graphs), mean, smallest, largest (over all graphs; 0 where absent) and
        varies (standard deviation).
    """
    import pandas as pd

    sources, targets = np.nonzero((W != 0).any(0))
    weights = W[:, sources, targets]
    names = np.array(model.names_, dtype=object)
    table = pd.DataFrame(
        {
            "source": names[sources],
            "target": names[targets],
            "present": (weights != 0).mean(0),
            "mean": weights.mean(0),
            "smallest": weights.min(0),
            "largest": weights.max(0),
            "varies": weights.std(0),
        }
    )
    # Compared in standard deviations, so that units do not matter.
    order = np.argsort(-(table["varies"].to_numpy() * units(model)[sources, targets]), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _in_short(model: "GraphEstimator", W: np.ndarray, source: str) -> str:
    counts = (W != 0).sum((1, 2))
    first = int(counts[0])
    features = varying_features(model)
    context = f"{len(features)} context feature{'s' * (len(features) != 1)}" if features else "no context"
    edges = f"The graph has {first} edge{'s' * (first != 1)}."
    if _varies(W):
        edges = f"Graphs have {counts.min()} to {counts.max()} edges, {counts.mean():.1f} on average."
    where = f" Model: {source}." if source else ""
    return f"{type(model).__name__} of {len(model.names_)} variables and {context}. {edges}{where}"


def _summary(model: "GraphEstimator") -> list[str]:
    """What is the same in all contexts and what is not, if the model knows."""
    sentence = summary_in_words(model)
    if not sentence:
        return []
    table = model.summary()
    shown = table.head(N_SUMMARISED)
    more = f" The {len(shown)} strongest of {len(table)}; model.summary() has all." if len(shown) < len(table) else ""
    return [
        page.heading("What changes with the context"),
        page.paragraph(sentence),
        page.table(readable_table(shown)),
        page.paragraph(f"{EXPLAINED_SUMMARY}{more}"),
    ]


def _typical(model: "GraphEstimator", W: np.ndarray) -> list[str]:
    import pandas as pd

    if not _varies(W):
        figure = _figure_of_one_graph(model)
        ax = plot_graph(model, ax=figure.subplots())
        ax.set_title("")
        same = "The graph is the same for every context." if varying_features(model) else "The model has no context."
        return [page.heading("The graph"), page.picture(figure, f"{page.COLOURS} {same}"), *_how_sure(model)]
    p = len(model.names_)
    table = pd.concat([model.typical_context(quantile) for quantile in TYPICAL.values()], ignore_index=True)
    # Side by side if there are few nodes, else one below another over the width of the page.
    figure = _figure(11, 4.2) if p <= 12 else _figure(10, (5.4 if p <= 25 else 6.2) * len(table))
    axes = figure.subplots(*((1, len(table)) if p <= 12 else (len(table), 1)))
    plot_graphs(model, table, ax=axes)
    for ax, (words, quantile) in zip(axes, TYPICAL.items(), strict=True):
        ax.set_title(f"{words} (quantile {quantile})\n{ax.get_title()}", fontsize=ax.title.get_fontsize())
    where = "All numeric features are at the same quantile, categories at the most frequent one."
    return [page.heading("Graphs at typical contexts"), page.picture(figure, f"{page.COLOURS} {where}")]


def _how_sure(model: "GraphEstimator") -> list[str]:
    """The edges of the one graph of a model that tells their probabilities."""
    if not isinstance(model, BootstrapDAG):
        return []
    table = model.edges(model.typical_context()).sort_values("probability", ascending=False, kind="stable")
    if not len(table):
        return []
    edges = [edge_text(*row) for row in table[["source", "target", "directed"]].itertuples(index=False)]
    words = table.assign(edge=edges, probability=table["probability"].map("{:.2f}".format))
    return [page.table(words[["edge", "weight", "probability"]]), page.paragraph(HOW_SURE)]


def _asked_for(model: "GraphEstimator", contexts: "pandas.DataFrame | None") -> list[str]:
    if contexts is not None and not model.varies_:
        return [
            page.heading("The context asked for"),
            page.paragraph("Its graph is the one above, as that of all contexts."),
        ]
    parts: list[str] = []
    for i in range(0 if contexts is None else len(contexts)):
        figure = _figure_of_one_graph(model)
        plot_graph(model, contexts.iloc[[i]], ax=figure.subplots())  # type: ignore[union-attr]
        parts += [page.heading("The context asked for"), page.picture(figure, page.COLOURS)]
    return parts


def _varying(model: "GraphEstimator", W: np.ndarray, drawn: "pandas.DataFrame") -> list[str]:
    if not _varies(W):
        return []
    table = varying_edges(model, W)
    shown = table.head(N_EDGES)
    figure = _figure(10, 5.4)
    # One picture shows an edge and its reverse.
    pairs = [frozenset(pair) for pair in zip(shown["source"], shown["target"], strict=True)]
    few = shown[[pair not in pairs[:i] for i, pair in enumerate(pairs)]].head(N_DRAWN_EDGES)
    axes = figure.subplots(2, 2).ravel()
    for ax, (_, edge) in zip(axes, few.iterrows(), strict=False):
        plot_edge(model, edge["source"], edge["target"], ax=ax)
        ax.set_title("")
    for ax in axes[len(few) :]:
        figure.delaxes(ax)
    edges = [f"{a} → {b}" for a, b in zip(shown["source"], shown["target"], strict=True)]
    words = shown.assign(edge=edges, present=[f"{100 * x:.0f} %" for x in shown["present"]])
    columns = ["edge", "present", "mean", "smallest", "largest", "varies"]
    sure = []
    if isinstance(model, BootstrapDAG):
        means = _mean_probabilities(model, W, drawn)
        pairs_shown = zip(shown["source"], shown["target"], strict=True)
        words = words.assign(probability=[f"{means[pair]:.2f}" for pair in pairs_shown])
        columns.append("probability")
        sure = [page.paragraph(f"{HOW_SURE} Here it is the mean over the contexts with the edge.")]
    return [
        page.heading("Edges that vary most"),
        page.table(words[columns]),
        page.paragraph(
            f"Over {len(W)} contexts, drawn from the distribution of each feature in the training data. Present: the share "
            "of contexts with the edge. The mean, smallest and largest weight count an absent edge as 0; varies is the "
            "standard deviation."
        ),
        *sure,
        page.picture(
            figure,
            "Weights along the feature with which they vary most, with the others at typical values. Shaded: the range of "
            "the data. Dotted: outside it, a guess. At 0 there is no edge.",
        ),
    ]


def _mean_probabilities(model: BootstrapDAG, W: np.ndarray, drawn: "pandas.DataFrame") -> dict[tuple[str, str], float]:
    """The mean probability of each edge over the contexts that have it, by source and target."""
    P = model.edge_probabilities(drawn)
    return {
        (model.names_[j], model.names_[k]): float(P[:, j, k][W[:, j, k] != 0].mean())
        for j, k in np.argwhere((W != 0).any(0))
    }


def _reversals(model: "GraphEstimator", drawn: "pandas.DataFrame") -> list[str]:
    flips = order_flips(model, drawn)
    if not len(flips):
        return []
    figure = _figure(9, 1.3 + 0.28 * min(len(flips), 15))
    plot_order_flips(model, drawn, ax=figure.subplots())
    caption = "Pairs whose edge has one direction in some contexts and the other in others: share of the contexts drawn."
    return [page.heading("Edges that reverse"), page.picture(figure, caption)]


def _effects(model: "GraphEstimator") -> list[str]:
    """The strongest total effects in a typical context, with intervals if the model tells them."""
    import pandas as pd

    context = model.typical_context()
    T, W = total_effects(model.adjacency(context))[0], model.adjacency(context)[0]
    pairs = sorted(np.argwhere(T).tolist(), key=lambda pair: -abs((T * units(model))[*pair]))[:N_EDGES]
    if not pairs:
        return []
    columns: dict[str, list[object]] = {
        "effect": [f"{model.names_[j]} on {model.names_[k]}" for j, k in pairs],
        "total": [T[j, k] for j, k in pairs],
        "direct": [W[j, k] for j, k in pairs],
    }
    said = "Of a difference of one in the first variable, set by an intervention, over all directed paths; direct: the edge."
    if isinstance(model, BootstrapDAG):
        low, high = model.effect_intervals(context, LEVEL)
        columns |= {name: [bound[0, j, k] for j, k in pairs] for name, bound in (("low", low), ("high", high))}
        said += f" From low to high: a {100 * LEVEL:.0f} % interval of the total effect."
    if model.undirected_edges_:
        said += " The data do not tell all directions, so these are the effects of one possible graph."
    where = " in a typical context" if model.varies_ else ""
    return [
        page.heading(f"Strongest effects{where}"),
        page.table(pd.DataFrame(columns)),
        page.paragraph(f"{said} They are causal only if the graph is."),
    ]


def _sparsity(model: "GraphEstimator", W: np.ndarray) -> list[str]:
    if len(varying_features(model)) < 2 or not _varies(W):
        return []
    figure = _figure(7, 4.8)
    plot_sparsity(model, ax=figure.subplots())
    caption = "Number of edges over the first two features that vary, with the others at typical values."
    return [page.heading("Where graphs are dense"), page.picture(figure, caption)]


def _path(model: "GraphEstimator") -> list[str]:
    if not hasattr(model, "path_"):
        return []
    figure = _figure(8, 4.2)
    plot_path(model, ax=figure.subplots())
    path = model.path_
    selected = ["selected" if is_selected else "" for is_selected in path["selected"]]
    shown = path.assign(epochs=path["epochs"].round().astype("Int64"), selected=selected)
    return [
        page.heading("Path and selection"),
        page.picture(figure, "Errors on training and validation rows along the path. The star is the selected point."),
        page.table(shown),
    ]


def _data(model: "GraphEstimator") -> list[str]:
    import pandas as pd

    parameters = model.get_params()
    values = [type(value).__name__ if hasattr(value, "get_params") else str(value) for value in parameters.values()]
    settings = pd.DataFrame({"setting": list(parameters), "value": values})
    explained = model.explained_.iloc[:-1].map(lambda share: "" if share != share else f"{100 * share:.0f} %")
    explained.columns = [f"explained by {kind}" for kind in explained.columns]
    variables = pd.DataFrame({"variable": model.names_, "sd of the noise": model.noise_scale_})
    variables = pd.concat([variables, explained.reset_index(drop=True)], axis=1)
    return [
        page.heading("Data"),
        page.paragraph(f"{model.n_samples_} rows."),
        *(page.paragraph(remark) for remark in remarks_below(model)),
        *([page.table(_context_table(model))] if model.context_features_ else []),
        page.table(variables),
        page.paragraph(EXPLAINED),
        page.heading("Settings"),
        page.table(settings),
    ]


def _context_table(model: "GraphEstimator") -> "pandas.DataFrame":
    shares = [
        ", ".join(f"{name} {100 * share:.0f} %" for name, share in feature.shares.items())
        for feature in model.context_features_
    ]
    summary = model.context_summary_
    return summary.assign(shares=shares) if any(shares) else summary.drop(columns="shares")


def _varies(W: np.ndarray) -> bool:
    return bool(np.ptp(W, axis=0).any())


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _figure_of_one_graph(model: "GraphEstimator") -> "Figure":
    return _figure(8, 5.5) if len(model.names_) <= 20 else _figure(11, 8)
