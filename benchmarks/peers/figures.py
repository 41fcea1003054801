"""The comparison with other packages as tables and a picture. Nothing is fitted here."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.comparison import PAPER, PEERS, peer_settings
from contextualdag.errors import InvalidInputError
from contextualdag.paper.outputs import markdown_table, write_page, write_pictures, write_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTING = ["design", "graph", "n", "p", "m", "variant"]
AVERAGED = ["f1", "shd", "cpdag_shd", "estimation_error", "n_edges", "acyclic", "fit_seconds", "graph_seconds"]
# The column of the page, its heading and its decimals; with a standard error where there are data sets for one.
SHOWN = {
    "f1": ("F1", 3), "shd": ("SHD", 2), "estimation_error": ("estimation error", 3), "n_edges": ("edges", 1),
    "acyclic": ("acyclic", 2), "fit_seconds": ("seconds to fit", 1), "graph_seconds": ("seconds for n graphs", 2),
}  # fmt: skip
PANELS = {"f1": "F1 score", "shd": "structural Hamming distance", "fit_seconds": "seconds to fit"}
COLORS = {
    "ours": "#000000", "contextualized": "#0072B2", "contextualized-tuned": "#56B4E9", "dagma": "#D55E00",
    "golem-nv": "#CC79A7", "naive": "#E69F00",
}  # fmt: skip
ABOUT = """\
Mean ± standard error over data sets. Methods are given n training and n validation samples and are scored on n test
contexts. dagma, GOLEM and the regressions use the training samples alone, contextualized-ml stops by a random half of
both, and each network of ContextualDAG holds out another third of both, so that together they learn from all. "default" is
what a method selects by itself; with "given" it is given the true mean number of edges of the validation set. "acyclic" is
the fraction of the test graphs that are DAGs. PyTorch uses one thread; "seconds for n graphs" is the time for the graphs of
all test contexts.
"""
# Of methods whose settings are not the package's.
SETTINGS = {
    "contextualized-tuned": "The tuned contextualized-ml has an l1 penalty of 0.01, batches of 16 and a patience of 10.",
    "golem-nv": "GOLEM-NV has the penalties of its paper and starts from the solution for equal noise variances, as there; "
    "each of the two takes 30,000 iterations instead of 100,000.",
}


def summarise_peers(results: "pandas.DataFrame", quick: bool = False) -> "pandas.DataFrame":
    """Means, standard errors and numbers of data sets, in the order of sizes, variants and methods."""
    import pandas as pd

    settings = pd.DataFrame(peer_settings(quick))
    missing = [name for name in [*SETTING, "method", "choice", *AVERAGED] if name not in results.columns]
    if missing:
        raise InvalidInputError(f"The results of the comparison must have the columns {missing}. Run its cells first.")
    mine = settings.assign(column=range(len(settings))).merge(results, on=SETTING)
    if mine.empty:
        raise InvalidInputError("There are no results for this comparison yet. Run its cells first.")
    mine = mine.assign(rank=mine["method"].map({method: rank for rank, method in enumerate(PEERS)}))
    mine[AVERAGED] = mine[AVERAGED].astype(float)  # a column without values would have the type object
    grouped = mine.groupby(["column", "rank", *SETTING, "method", "choice"])
    table = grouped[AVERAGED].mean()
    for name in AVERAGED:
        table[f"{name}_se"] = grouped[name].std(ddof=1) / grouped[name].count() ** 0.5
    table["data_sets"] = grouped["data_set"].nunique()
    return table.reset_index().drop(columns=["column", "rank"])


def peers_page(table: "pandas.DataFrame", title: str) -> list[str]:
    """The parts of a Markdown page: one table for each size and variant."""
    present = set(table["method"])
    parts = [f"# {title}", ABOUT.strip(), *(text for method, text in SETTINGS.items() if method in present)]
    for setting, rows in table.groupby(SETTING, sort=False):
        head = ["method", "choice", *(heading for heading, _ in SHOWN.values()), "data sets"]
        lines = []
        for row in rows.to_dict("records"):
            values = [_with_error(row[name], row[f"{name}_se"], digits) for name, (_, digits) in SHOWN.items()]
            lines.append([PEERS[row["method"]], row["choice"], *values, str(row["data_sets"])])
        parts += [
            f"## {_title(dict(zip(SETTING, setting, strict=True)))}",
            markdown_table(head, lines),
        ]
    return parts


def draw_peers(table: "pandas.DataFrame", title: str) -> "Figure":
    """Scores and times over the sizes on the left, over the variants on the right; one row of panels for each score.

    Filled points are given the number of edges, open ones are not. Bars are one standard error.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    settings = table[SETTING].drop_duplicates().to_dict("records")
    sizes = [setting for setting in settings if setting["variant"] == PAPER]
    variants = [setting for setting in settings if setting["variant"] != PAPER]
    groups = [group for group in (sizes, variants) if group]
    canvas = Figure(figsize=(12.5, 10), layout="constrained")
    widths = [len(group) for group in groups]
    axes = canvas.subplots(len(PANELS), len(groups), squeeze=False, sharey="row", width_ratios=widths)
    methods = [method for method in PEERS if method in set(table["method"])]
    for row, (score, label) in enumerate(PANELS.items()):
        for ax, group in zip(axes[row], groups, strict=True):
            _draw_panel(ax, table, group, methods, score)
        axes[row, 0].set_ylabel(label)
    for ax, group in zip(axes[0], groups, strict=True):
        first = group[0]
        what = "the paper's design" if group is sizes else f"harder variants, n={first['n']}, p={first['p']}, m={first['m']}"
        ax.set_title(what)
    handles = [Line2D([], [], color=COLORS[method], marker="o", linestyle="", label=PEERS[method]) for method in methods]
    handles.append(Line2D([], [], color="#777777", marker="o", linestyle="", label="given the number of edges"))
    handles.append(Line2D([], [], color="#777777", marker="o", linestyle="", mfc="white", label="default"))
    canvas.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    canvas.suptitle(title)
    return canvas


def _draw_panel(ax: "Axes", table: "pandas.DataFrame", group: list[dict[str, Any]], methods: list[str], score: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    step = 0.84 / len(methods)
    # Side by side, since they are often equal. Both choices come from one fit, so there is one time.
    aside = {"given": 0.0} if score == "fit_seconds" else {"default": -0.2 * step, "given": 0.2 * step}
    for rank, method in enumerate(methods):
        for choice, shift in aside.items():
            middle = (rank - (len(methods) - 1) / 2) * step + shift
            mine = table[(table["method"] == method) & (table["choice"] == choice)]
            found = [(x + middle, row) for x, setting in enumerate(group) for row in _rows(mine, setting)]
            ax.errorbar(
                [x for x, _ in found], [row[score] for _, row in found], [row[f"{score}_se"] for _, row in found],
                color=COLORS[method], marker="o", markersize=5.5, mfc=COLORS[method] if choice == "given" else "white",
                linestyle="", capsize=2, linewidth=1.2,
            )  # fmt: skip
    for boundary in range(len(group) - 1):
        ax.axvline(boundary + 0.5, color="#DDDDDD", linewidth=0.8)
    ax.set_xlim(-0.5, len(group) - 0.5)
    ax.set_xticks(range(len(group)), [_label(setting) for setting in group])
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y", alpha=0.25)
    if score == "f1":
        ax.set_ylim(0, 1.02)
    else:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if score == "shd" else (1,)))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_locator(NullLocator())


def write_peers(folder: str | os.PathLike[str], results: "pandas.DataFrame", *, quick: bool = False) -> list[Path]:
    """Write the comparison as ``peers.csv``, ``peers.md``, ``peers.png`` and ``peers.svg``.

    Parameters
    ----------
    folder : path
        Folder of these files, created if missing.
    results : DataFrame
        Results of `run_peers`, as loaded by `load_results`.
    quick : bool, default=False
        Whether these are results of the small version, whose files are called ``peers-quick``.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> from benchmarks.peers.comparison import peer_version
    >>> from benchmarks.peers.figures import write_peers
    >>> from contextualdag.sweeps.store import load_results
    >>> write_peers("results", load_results("results/peer-cells", peer_version))  # doctest: +SKIP
    """
    stem = Path(folder) / ("peers-quick" if quick else "peers")
    title = "Other packages on the same data" + (", small version" if quick else "")
    table = summarise_peers(results, quick)
    written = write_table(stem.with_suffix(".csv"), table, float_format="%.4f")
    page = write_page(stem.with_suffix(".md"), peers_page(table, title))
    return [written, page, *write_pictures(stem, draw_peers(table, title))]


def _rows(table: "pandas.DataFrame", setting: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one size and variant."""
    for name, value in setting.items():
        table = table[table[name] == value]
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _label(setting: dict[str, Any]) -> str:
    if setting["variant"] == PAPER:
        return f"n={setting['n']}\np={setting['p']}, m={setting['m']}"
    return str(setting["variant"]).replace("-", "\n")


def _title(setting: dict[str, Any]) -> str:
    size = f"n={setting['n']}, p={setting['p']}, m={setting['m']}"
    return (
        f"{size}: the paper's design" if setting["variant"] == PAPER else f"{size}: {setting['variant'].replace('-', ' ')}"
    )


def _with_error(mean: float, error: float, digits: int) -> str:
    # No error for a single data set, nor one that would be printed as zero.
    return f"{mean:.{digits}f}" if not error >= 0.5 * 10**-digits else f"{mean:.{digits}f} ± {error:.{digits}f}"
