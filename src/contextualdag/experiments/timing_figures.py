"""The paper's timing figure from a table of times. Nothing is timed here."""

from pathlib import Path
from typing import TYPE_CHECKING

from contextualdag.experiments.figure_files import write_pictures
from contextualdag.experiments.timing_table import read_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

FIXED = {"n": ("p", 20), "p": ("n", 1000)}
SERIES = {
    "published (RTX 4090)": ("published", "#8A8A8A", "s"),
    "Algorithm 1 as batched inverses": ("baseline", "#D55E00", "^"),
    "log-det": ("logdet", "#56B4E9", "D"),
    "order": ("order", "#0072B2", "o"),
}


def draw_times(table: "pandas.DataFrame", along: str, ax: "Axes") -> "Axes":
    """Seconds for ten epochs along n at p = 20, or along p at n = 1000."""
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
    """Draw a table of times as a picture beside it, and return the paths of table and pictures."""
    from matplotlib.figure import Figure

    table = read_table(file)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = draw_times(table, along, figure.subplots())
    ax.legend(frameon=False)
    figure.suptitle(f"Training on {', '.join(dict.fromkeys(table['device']))}")
    return [file, *write_pictures(file.with_suffix(""), figure)]
