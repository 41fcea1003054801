"""What the timing protocol found, as a page and a picture."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from contextualdag.experiments.figure_files import write_pictures
from contextualdag.experiments.timing import BASELINE_ITERATIONS, Timing
from contextualdag.experiments.timing_figures import FIXED, draw_times
from contextualdag.experiments.timing_table import to_table
from contextualdag.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_results(
    folder: str | os.PathLike[str],
    machine: str,
    timings: Sequence[Timing],
    projections: Sequence[dict[str, Any]],
    fits: Sequence[dict[str, Any]],
    profiles: dict[str, tuple[list[dict[str, Any]], dict[str, float]]],
) -> list[Path]:
    """Write ``timing-<machine>.md`` and ``.png`` into a folder, and return their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    name = "timing-" + re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    parts = [
        f"# The paper's timing protocol on {machine}",
        f"PyTorch {torch.__version__}. Ten epochs of pre-training and ten behind the projection, each with its validation: "
        "network (128, 128), training and validation sets of n samples, from a fresh network; the median of three runs "
        "after one that compiles. Batched inverses: Algorithm 1 with one `torch.linalg.inv` a step for the whole batch, in "
        f"the same run, ten times one epoch, at most {BASELINE_ITERATIONS} steps for one mu. Paper: the authors' program on "
        "one RTX 4090, means of ten runs. Seconds.",
        f"![timings]({name}.png)",
        _table(
            ["n", "p", "order", "log-det", "batched inverses", "paper", "batched inverses / order"],
            [
                [t.n, t.p, _short(t.order), _short(t.logdet), _short(t.baseline), _short(t.published),
                 "" if t.baseline is None else f"{t.baseline / t.order:.0f}"]
                for t in timings
            ],
        ),
    ]  # fmt: skip
    if projections:
        rows = [[row["projection"], row["p"], f"{row['milliseconds']:.3f}"] for row in projections]
        parts += [
            "## Projecting 1000 Gaussian graphs, the median of twenty",
            _table(["projection", "p", "milliseconds"], rows),
        ]
    if fits:
        rows = [[row["n"], row["p"], f"{row['seconds']:.2f}", f"{row['F1']:.3f}"] for row in fits]
        parts += [
            "## Whole default fits, path and refits and selection, on one data set each",
            _table(["n", "p", "seconds", "F1 on new contexts"], rows),
        ]
    for title, (kernels, totals) in profiles.items():
        rows = [[f"`{r['kernel'][:70]}`", f"{r['launches']:.0f}", f"{r['microseconds']:.1f}"] for r in kernels[:12]]
        parts += [
            f"## One epoch behind the order projection, {title}",
            _table(list(totals), [[f"{value:.0f}" for value in totals.values()]]),
            _table(["kernel", "launches", "microseconds"], rows),
        ]
    page = folder / f"{name}.md"
    write_file(page, ("\n\n".join(parts) + "\n").encode())
    return [page, *write_pictures(folder / name, _draw(timings, machine), ("png",))]


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


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _short(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}" if seconds < 10 else f"{seconds:.0f}"
