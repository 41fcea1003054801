"""How far a fit is: one bar for all of it on a terminal, a line now and then anywhere else."""

import math
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from contextualdag.training.path import DECAY, FEWEST_EDGES, PathPoint
from contextualdag.training.problem import Stage
from contextualdag.training.selection import COARSE
from contextualdag.training.trainer import Progress as Epochs

MOST_NEIGHBOURS = 4  # points that are refitted around the best
SECONDS_BETWEEN_DRAWINGS = 0.1
SECONDS_BETWEEN_LINES = 30.0


class FitProgress:
    """Budget, edges, losses and the time left. Use it as a context manager, and as the observer of a fit.

    Parameters
    ----------
    show : bool
        Whether anything is shown.
    n_budgets : int
        Maximum number of budgets.
    until_empty : bool
        Whether the path ends where graphs are empty.
    refits : bool
        Whether points will be refitted.
    """

    def __init__(self, show: bool, n_budgets: int, until_empty: bool, refits: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._n_budgets, self._until_empty, self._refits = n_budgets, until_empty, refits
        self._done, self._total, self._edges = -1, n_budgets, ""
        self._console = console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.fields[numbers]}"),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not (show and console.is_terminal),
            refresh_per_second=1 / SECONDS_BETWEEN_DRAWINGS,
        )
        self._task = self._bar.add_task("starting", total=None, numbers="", left="")
        self._what, self._left = "", ""
        self._start = self._last_line = time.monotonic()
        self._prints_lines = show and not console.is_terminal

    def __enter__(self) -> "FitProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def __call__(self, stage: Stage, follows: Sequence[PathPoint[Any]], l1_budget: float | None) -> Epochs:
        """A training begins, after those of `follows`."""
        self._done += 1
        if follows:
            self._edges = f"{follows[-1].n_edges:.1f} edges, "
        if stage in (Stage.PRETRAINING, Stage.BUDGET):
            left = self._budgets_left(follows)
            self._total = self._done + left + self._expected_refits(len(follows) + left)
        total = max(self._total, self._done + 1)
        passed = time.monotonic() - self._start
        self._what = _words(stage, l1_budget)
        self._left = _clock(passed * (total - self._done) / self._done) if self._done > 2 else ""
        self._bar.update(self._task, description=self._what, completed=self._done, total=total, left=self._left)
        return self._epoch

    def _epoch(self, epoch: int, train_loss: float, validation_loss: float) -> None:
        numbers = f"{self._edges}loss {train_loss:.3f}, validation {validation_loss:.3f}"
        self._bar.update(self._task, numbers=numbers)
        if self._prints_lines and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            line = ", ".join(part for part in (f"{self._what}: {numbers}", self._left) if part)
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _budgets_left(self, points: Sequence[PathPoint[Any]]) -> int:
        left = self._n_budgets - len(points) + 1
        if self._until_empty and points:
            ratio = max(points[-1].n_edges, FEWEST_EDGES) / FEWEST_EDGES
            left = min(left, 1 + math.ceil(math.log(ratio) / -math.log(DECAY)))
        return left

    def _expected_refits(self, n_points: int) -> int:
        return n_points // COARSE + MOST_NEIGHBOURS if self._refits else 0


def _words(stage: Stage, l1_budget: float | None) -> str:
    if stage is Stage.BUDGET:
        return "without a budget" if l1_budget is None or l1_budget == math.inf else f"budget {l1_budget:.3g}"
    return {Stage.PRETRAINING: "pre-training", Stage.REFIT: "refit", Stage.POLISHING: "final refit"}[stage]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} left"
