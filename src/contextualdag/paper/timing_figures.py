"""The paper's timing figure from a table of times, and the page of `contextualdag benchmark`. Nothing is timed here."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from contextualdag.paper.fit_timing import Timed
from contextualdag.paper.outputs import markdown_table, write_page, write_pictures
from contextualdag.paper.timing import BASELINE_ITERATIONS, Timing, read_table, to_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIXED = {"n": ("p", 20), "p": ("n", 1000)}
SERIES = {
    "published (RTX 4090)": ("published", "#8A8A8A", "s"),
    "Algorithm 1 as batched inverses": ("baseline", "#D55E00", "^"),
    "log-det": ("logdet", "#56B4E9", "D"),
    "order": ("order", "#0072B2", "o"),
}
ABOUT_FITS = (
    "n training and n validation rows of the paper's design with two context features, default settings unless said. Every "
    "line is a process of its own, after a fit that compiles; of fits at once the slowest counts. F1 on n new contexts."
)


def draw_times(table: "pandas.DataFrame", along: str, ax: "Axes") -> "Axes":
    """Draw the seconds for ten epochs along n at p = 20, or along p at n = 1000."""
    from matplotlib.ticker import FixedLocator, NullLocator

    fixed, value = FIXED[along]
    mine = table[table[fixed] == value].sort_values(along)
    for label, (column, color, marker) in SERIES.items():
        points = mine[mine[column].notna()]
        if len(points):
            ax.plot(points[along], points[column], marker=marker, color=color, label=label)
    ax.set(xscale="log", yscale="log", xlabel=along, ylabel="seconds for ten epochs", title=f"{fixed} = {value}")
    ax.xaxis.set_major_locator(FixedLocator(mine[along].tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(alpha=0.3)
    return ax


def write_timing_figure(file: Path, along: str) -> list[Path]:
    """Draw a table of times as pictures beside it, and return the paths of table and pictures."""
    from matplotlib.figure import Figure

    table = read_table(file)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = draw_times(table, along, figure.subplots())
    ax.legend(frameon=False)
    figure.suptitle(f"Training on {', '.join(dict.fromkeys(table['device']))}")
    return [file, *write_pictures(file.with_suffix(""), figure)]


def write_results(
    folder: str | os.PathLike[str],
    machine: str,
    timings: Sequence[Timing],
    projections: Sequence[dict[str, Any]],
    fits: Sequence[Timed],
) -> list[Path]:
    """Write ``timing-<machine>.md`` and ``.png`` into a folder, and return their paths."""
    name = "timing-" + re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    stem = Path(folder) / name
    parts, pictures = [f"# Times on {machine}", f"PyTorch {torch.__version__}. Seconds, unless said."], []
    if timings:
        parts += _protocol(timings, name)
        pictures = write_pictures(stem, _draw(timings, machine), ("png",))
    if projections:
        rows = [[row["projection"], row["p"], f"{row['milliseconds']:.3f}"] for row in projections]
        parts += [
            "## Projecting 1000 Gaussian graphs, the median of twenty",
            markdown_table(["projection", "p", "milliseconds"], rows),
        ]
    if fits:
        parts += ["## Whole fits: path, refits, and the choice of sparsity and structure", ABOUT_FITS, _fits_table(fits)]
    return [write_page(stem.with_name(f"{name}.md"), parts), *pictures]


def _protocol(timings: Sequence[Timing], name: str) -> list[str]:
    return [
        "## The paper's timing protocol",
        "Ten epochs of pre-training and ten behind the projection, each with its validation: "
        "network (128, 128), training and validation sets of n samples, from a fresh network; the median of three runs "
        "after one that compiles. Batched inverses: Algorithm 1 with one `torch.linalg.inv` a step for the whole batch, in "
        f"the same run, ten times one epoch, at most {BASELINE_ITERATIONS} steps for one mu. Paper: the authors' program on "
        "one RTX 4090, means of ten runs.",
        f"![timings]({name}.png)",
        markdown_table(
            ["n", "p", "order", "log-det", "batched inverses", "paper", "batched inverses / order"],
            [
                [t.n, t.p, _short(t.order), _short(t.logdet), _short(t.baseline), _short(t.published),
                 "" if t.baseline is None else f"{t.baseline / t.order:.0f}"]
                for t in timings
            ],
        ),
    ]  # fmt: skip


def _fits_table(fits: Sequence[Timed]) -> str:
    rows = []
    for timed in fits:
        work, every = timed.work, ", ".join(_seconds(one) for one in sorted(timed.every))
        memory = "" if timed.megabytes is None else f"{timed.megabytes:.0f}"
        rows.append([work.what, work.n, work.p, _seconds(timed.seconds), every, f"{timed.f1:.3f}", memory])
    return markdown_table(["work", "n", "p", "median seconds", "seconds", "mean F1", "most memory, MB"], rows)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"


def _draw(timings: Sequence[Timing], machine: str) -> "Figure":
    from matplotlib.figure import Figure

    table = to_table(timings, machine)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, along in zip(axes, FIXED, strict=True):
        draw_times(table, along, ax)
    axes[1].set_ylabel("")
    axes[0].legend(frameon=False)
    figure.suptitle(machine)
    return figure


def _short(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}" if seconds < 10 else f"{seconds:.0f}"
