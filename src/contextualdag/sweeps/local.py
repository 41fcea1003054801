"""A sweep in this process alone: groups of cells are run together, for machines with one GPU. Dask is not needed."""

import logging
import os
import time
import traceback
from collections.abc import Callable, Iterable, Sequence

from contextualdag.sweeps.store import Cell, Row, SweepReport, Version, locked, plain_rows, unfinished, write_cell

_logger = logging.getLogger(__name__)


def run_in_groups(
    cells: Sequence[Cell],
    run_cells: Callable[[Sequence[Cell]], list[list[Row]]],
    folder: str | os.PathLike[str],
    *,
    group: Callable[[Sequence[Cell]], Iterable[Sequence[Cell]]],
    progress: Callable[[int, int, Cell], None] | None = None,
    version: Version = 1,
) -> SweepReport:
    """Run a function on groups of cells that are not finished yet, and keep the results as `run_sweep` does.

    Parameters
    ----------
    cells : sequence of mappings
        As for `run_sweep`.
    run_cells : callable
        Function that takes a group of cells and returns a list of rows for each.
    folder : path
        As for `run_sweep`.
    group : callable
        Function that divides cells into groups. If one cell of a group fails, the whole group is reported as failed.
    progress : callable, optional
        Function called as ``progress(done, total, cell)`` after each group, with its last cell.
    version : int, str or callable, default=1
        As for `run_sweep`.

    Returns
    -------
    SweepReport

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag.sweeps.local import run_in_groups
    >>> def squares(cells):
    ...     return [[{"square": cell["x"] ** 2}] for cell in cells]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_in_groups([{"x": 2}, {"x": 3}], squares, folder, group=lambda cells: [cells])
    >>> report.n_finished
    2
    """
    target, todo = unfinished(cells, folder, version)
    done = n_skipped = len(cells) - len(todo)
    failed: list[tuple[Cell, str]] = []
    with locked(target):
        for some in group(list(todo.values())):
            start = time.perf_counter()
            try:
                rows = [plain_rows(found, cell) for cell, found in zip(some, run_cells(some), strict=True)]
            except Exception as error:  # the other groups may still succeed
                message = "".join(traceback.format_exception_only(error)).strip()
                failed += [(cell, message) for cell in some]
                _logger.error("%d cells like %s failed: %s", len(some), dict(some[0]), message)
                _logger.debug("%s", traceback.format_exc())
            else:
                seconds = (time.perf_counter() - start) / len(some)
                for cell, found in zip(some, rows, strict=True):
                    write_cell(target, cell, found, seconds, version)
            done += len(some)
            if progress is not None:
                progress(done, len(cells), some[-1])
    return SweepReport(len(todo) - len(failed), n_skipped, tuple(failed))
