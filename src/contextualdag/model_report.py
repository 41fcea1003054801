"""A fitted model as one page to read and to hand on."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag import __version__, report
from contextualdag.model_warnings import find_warnings
from contextualdag.plotting import contexts as of_model
from contextualdag.plotting import (
    order_flips,
    plot_edge,
    plot_graph,
    plot_graphs,
    plot_order_flips,
    plot_path,
    plot_sparsity,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

TYPICAL = {"low values": 0.1, "middle values": 0.5, "high values": 0.9}
N_EDGES, N_DRAWN_EDGES = 12, 4
CITATION = (
    "Thompson, R., Bonilla, E. V., and Kohn, R. (2024). Contextual Directed Acyclic Graphs. Proceedings of the 27th "
    "International Conference on Artificial Intelligence and Statistics (AISTATS). arXiv:2310.15627."
)
HOW_TO_READ = (
    "An arrow from a to b says that, in this context, b is predicted in part by a: its weight is how much b differs where a "
    "differs by one, the other parents of b being equal. No arrow says that no such dependence was needed.",
    "These are associations, not causes. From data that were only observed, several graphs often explain the same facts, "
    "and which way an arrow points rests on assumptions: linear effects within a context, no hidden common causes, and "
    "noise that is about equally large for all variables. Where the noise differs, or the units do, directions are less to "
    "be trusted than the presence of an edge. Standardise variables with different units before a fit.",
    "Weak edges come and go with the sample. Before an edge is believed, look whether it stays in neighbouring contexts, at "
    "neighbouring points of the path and in a fit on another half of the data. Graphs of contexts that the data do not "
    "cover are guesses.",
    "If the mean of a variable moves with the context, the model takes that out first, unless it was told not to "
    "(intercept). Where it was told not to, such movements show up as edges.",
)


def write_model_report(
    model: Any, path: str | os.PathLike[str], contexts: "pandas.DataFrame | None" = None, source: str = ""
) -> Path:
    """Write one HTML file that shows a fitted model and needs nothing but itself.

    Parameters
    ----------
    model : estimator
        A fitted one.
    path : path
        The file; missing folders are made.
    contexts : DataFrame of shape (n, m), optional
        Contexts to draw besides the typical ones.
    source : str, default=""
        Where the model comes from, for the page to say.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.model_report import write_model_report
    >>> data = make_fixed_dag(200, n_nodes=4, n_edges=3, random_state=0)
    >>> model = FixedDAG(random_state=0).fit(data.X, data.Z)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model_report(model, f"{folder}/report.html").name
    'report.html'
    """
    drawn = of_model.drawn_contexts(model)
    W = model.adjacency(drawn)
    warnings = find_warnings(model, W, contexts)
    parts = [
        report.paragraph(_in_short(model, W, source)),
        *([report.notes("Take care", warnings)] if warnings else []),
        *_typical(model),
        *_asked_for(model, contexts),
        *_varying(model, W),
        *_turning(model, drawn),
        *_sparsity(model),
        *_path(model),
        *_data(model),
        report.heading("How to read this"),
        *(report.paragraph(text) for text in HOW_TO_READ),
        report.heading("Citation"),
        report.paragraph(f"The method, which this software implements: {CITATION}"),
    ]
    footer = f"contextualdag {__version__}. A graph shows dependence as the model sees it; it is no proof of cause."
    return report.write_page(path, "One graph for every context" if _varies(W) else "One graph", parts, footer)


def varying_edges(model: Any, W: np.ndarray) -> "pandas.DataFrame":
    """Edges by how much their weight varies over given graphs.

    Parameters
    ----------
    model : estimator
        For the names.
    W : array of shape (n, p, p)
        Its graphs.

    Returns
    -------
    DataFrame
        Columns source, target, present (share of graphs), mean, smallest, largest (over all graphs; 0 where absent) and
        varies (standard deviation), the most varying first.
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
    return table.sort_values("varies", ascending=False, kind="stable", ignore_index=True)


def _in_short(model: Any, W: np.ndarray, source: str) -> str:
    counts = (W != 0).sum((1, 2))
    features = of_model.varying_features(model)
    context = f"{len(features)} context feature{'s' * (len(features) != 1)}" if features else "no context"
    edges = f"{counts.min()} to {counts.max()} edges, {counts.mean():.1f} on average" if _varies(W) else f"{counts[0]} edges"
    where = f" Model: {source}." if source else ""
    return f"{type(model).__name__} of {len(model.names_)} variables and {context}. Graphs have {edges}.{where}"


def _typical(model: Any) -> list[str]:
    import pandas as pd

    p = len(model.names_)
    if not of_model.varying_features(model):
        figure = _figure(8 if p <= 20 else 11, 5.5 if p <= 20 else 8)
        ax = plot_graph(model, ax=figure.subplots())
        ax.set_title("")
        return [report.heading("The graph"), report.picture(figure, _caption("The graph is the same for everyone."))]
    table = pd.concat([model.typical_context(quantile) for quantile in TYPICAL.values()], ignore_index=True)
    # Side by side where nodes are few, one under another where they need the width of the page.
    figure = _figure(11, 4.2) if p <= 12 else _figure(10, (5.4 if p <= 25 else 6.2) * len(table))
    axes = figure.subplots(*((1, len(table)) if p <= 12 else (len(table), 1)))
    plot_graphs(model, table, ax=axes)
    for ax, (words, quantile) in zip(axes, TYPICAL.items(), strict=True):
        ax.set_title(f"{words} (quantile {quantile})\n{ax.get_title()}", fontsize=ax.title.get_fontsize())
    caption = _caption(
        "Numeric features at the same quantile each, categories at the most frequent; nodes keep their places."
    )
    return [report.heading("Graphs at typical contexts"), report.picture(figure, caption)]


def _asked_for(model: Any, contexts: "pandas.DataFrame | None") -> list[str]:
    parts = []
    for i in range(0 if contexts is None else len(contexts)):
        figure = _figure(8 if len(model.names_) <= 20 else 11, 5.5 if len(model.names_) <= 20 else 8)
        plot_graph(model, contexts.iloc[[i]], ax=figure.subplots())  # type: ignore[union-attr]
        parts += [report.heading("The context asked for"), report.picture(figure, _caption(""))]
    return parts


def _varying(model: Any, W: np.ndarray) -> list[str]:
    if not _varies(W):
        return []
    table = varying_edges(model, W)
    shown = table.head(N_EDGES)
    figure = _figure(10, 5.4)
    # Of an edge and its reverse one picture is enough: it shows both.
    pairs = [frozenset(pair) for pair in zip(shown["source"], shown["target"], strict=True)]
    few = shown[[pair not in pairs[:i] for i, pair in enumerate(pairs)]].head(N_DRAWN_EDGES)
    axes = figure.subplots(2, 2).ravel()
    for ax, (_, edge) in zip(axes, few.iterrows(), strict=False):
        plot_edge(model, edge["source"], edge["target"], ax=ax)
        ax.set_title("")
    for ax in axes[len(few) :]:
        figure.delaxes(ax)
    words = shown.assign(
        edge=shown["source"] + " → " + shown["target"], present=[f"{100 * x:.0f} %" for x in shown["present"]]
    )
    columns = ["edge", "present", "mean", "smallest", "largest", "varies"]
    return [
        report.heading("The edges that vary most"),
        report.table(words[columns], digits=2),
        report.paragraph(
            f"Over {len(W)} contexts drawn from what the model remembers of its data, feature by feature. Present: in how "
            "many of them. Mean, smallest and largest weight count an absent edge as 0; varies is the standard deviation."
        ),
        report.picture(
            figure,
            "Weights along the feature with which they vary most, the others at typical values. Shaded: the range of the "
            "data; dotted: beyond it, a guess. A line that stops is an edge that is not there.",
        ),
    ]


def _turning(model: Any, drawn: "pandas.DataFrame") -> list[str]:
    flips = order_flips(model, drawn)
    if not len(flips):
        return []
    figure = _figure(9, 1.3 + 0.28 * min(len(flips), 15))
    plot_order_flips(model, drawn, ax=figure.subplots())
    caption = "Pairs joined one way in some contexts and the other way in others: in which share of the contexts drawn."
    return [report.heading("Edges that turn round"), report.picture(figure, caption)]


def _sparsity(model: Any) -> list[str]:
    if len(of_model.varying_features(model)) < 2:
        return []
    figure = _figure(7, 4.8)
    plot_sparsity(model, ax=figure.subplots())
    caption = "Number of edges over the first two features that vary, the others at typical values."
    return [report.heading("Where graphs are dense"), report.picture(figure, caption)]


def _path(model: Any) -> list[str]:
    if not hasattr(model, "path_"):
        return []
    figure = _figure(8, 4.2)
    plot_path(model, ax=figure.subplots())
    path = model.path_
    chosen = ["chosen" if chosen else "" for chosen in path["selected"]]
    shown = path.assign(epochs=path["epochs"].round().astype("Int64"), selected=chosen)
    return [
        report.heading("Path and selection"),
        report.picture(
            figure, "Errors on rows in and out of training, from empty graphs to dense ones. The star was chosen."
        ),
        report.table(shown),
    ]


def _data(model: Any) -> list[str]:
    import pandas as pd

    summary = model.context_summary_
    shares = [
        "" if kind == "number" else ", ".join(f"{name} {100 * share:.0f} %" for name, share in found.items())
        for kind, found in zip(summary["kind"], summary["shares"], strict=True)
    ]
    settings = pd.DataFrame(
        {
            "setting": list(model.get_params(deep=False)),
            "value": [str(value) for value in model.get_params(deep=False).values()],
        }
    )
    variables = pd.DataFrame({"variable": model.names_, "sd of the noise": model.noise_scale_})
    return [
        report.heading("Data"),
        report.paragraph(f"{model.n_samples_} rows."),
        report.table(summary.assign(shares=shares) if any(shares) else summary.drop(columns="shares")),
        report.table(variables),
        report.heading("Settings"),
        report.table(settings),
    ]


def _caption(more: str) -> str:
    return f"Blue edges are positive, orange ones negative; width is strength. {more}".strip()


def _varies(W: np.ndarray) -> bool:
    return bool(np.ptp(W, axis=0).any())


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
