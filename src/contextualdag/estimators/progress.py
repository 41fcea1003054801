"""Progress of a fit: one bar for all of it on a terminal, a line every thirty seconds elsewhere."""

import math
import time
from collections.abc import Sequence
from typing import Any

from contextualdag.progress import ProgressDisplay, time_left
from contextualdag.training.path import DECAY, FEWEST_EDGES, PathPoint
from contextualdag.training.problem import Stage
from contextualdag.training.selection import COARSE
from contextualdag.training.trainer import Progress

MOST_NEIGHBOURS = 4  # points that are refitted around the best


class FitProgress(ProgressDisplay):
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
        super().__init__(show, bar_width=10)
        self._n_budgets, self._until_empty, self._refits = n_budgets, until_empty, refits
        self._done, self._total, self._edges = -1, n_budgets, ""
        self._begun = time.monotonic()
        self.start("starting")

    def __call__(self, stage: Stage, follows: Sequence[PathPoint[Any]], l1_budget: float | None) -> Progress:
        """A training begins, after those of `follows`."""
        self._done += 1
        if follows:
            self._edges = f"{follows[-1].n_edges:.1f} edges, "
        if stage in (Stage.PRETRAINING, Stage.BUDGET):
            left = self._budgets_left(follows)
            self._total = self._done + left + self._expected_refits(len(follows) + left)
        total = max(self._total, self._done + 1)
        rest = time_left(time.monotonic() - self._begun, self._done, total) if self._done > 2 else ""
        self.update(_describe(stage, l1_budget), self._done, total, rest)
        return self._epoch

    def _epoch(self, epoch: int, train_loss: float, validation_loss: float) -> None:
        self.report(f"{self._edges}loss {train_loss:.3f}, validation {validation_loss:.3f}")

    def _budgets_left(self, points: Sequence[PathPoint[Any]]) -> int:
        left = self._n_budgets - len(points) + 1
        if self._until_empty and points:
            ratio = max(points[-1].n_edges, FEWEST_EDGES) / FEWEST_EDGES
            left = min(left, 1 + math.ceil(math.log(ratio) / -math.log(DECAY)))
        return left

    def _expected_refits(self, n_points: int) -> int:
        return n_points // COARSE + MOST_NEIGHBOURS if self._refits else 0


def _describe(stage: Stage, l1_budget: float | None) -> str:
    if stage is Stage.BUDGET:
        return "without a budget" if l1_budget is None or l1_budget == math.inf else f"budget {l1_budget:.3g}"
    return {Stage.PRETRAINING: "pre-training", Stage.REFIT: "refit", Stage.POLISHING: "final refit"}[stage]
