"""A sweep in this process alone, for machines with one GPU: cells of a size are run side by side, none by Dask."""

import logging
import os
import time
import traceback
from collections.abc import Callable, Sequence

from contextualdag.experiments.cells import Cell, Row, cell_key, plain_rows
from contextualdag.experiments.finished import locked, read_all, results_folder, write_cell
from contextualdag.experiments.sweep import SweepReport

MOST_ENTRIES = 1 << 22  # of all training graphs at once, n p^2 for each cell; more would wait for the slowest
MOST_CELLS = 40

_logger = logging.getLogger(__name__)


def run_side_by_side(
    cells: Sequence[Cell],
    run_cells: Callable[[Sequence[Cell]], list[list[Row]]],
    folder: str | os.PathLike[str],
    *,
    begin: Callable[[int, int, Cell], None] | None = None,
    version: int = 1,
) -> SweepReport:
    """Run all cells that are not finished yet, many at once, and keep their results as `run_sweep` does.

    Parameters
    ----------
    cells : sequence of mappings
        With the entries method, n, p and m, by which they are grouped.
    run_cells : callable
        Takes cells and returns a list of rows for each.
    folder, begin, version
        As for `run_sweep`. If one cell of a group fails, the whole group is reported as failed.

    Returns
    -------
    SweepReport
    """
    target = results_folder(folder)
    finished = {key for key, _ in read_all(target, version)}
    todo = [cell for cell in cells if cell_key(cell) not in finished]
    done = n_skipped = len(cells) - len(todo)
    failed: list[tuple[Cell, str]] = []
    with locked(target):
        for group in _groups(todo):
            start = time.perf_counter()
            try:
                rows = [plain_rows(found, cell) for cell, found in zip(group, run_cells(group), strict=True)]
            except Exception as error:  # The other groups may still come to an end.
                message = "".join(traceback.format_exception_only(error)).strip()
                failed += [(cell, message) for cell in group]
                _logger.error("%d cells like %s failed: %s", len(group), dict(group[0]), message)
                _logger.debug("%s", traceback.format_exc())
            else:
                seconds = (time.perf_counter() - start) / len(group)
                for cell, found in zip(group, rows, strict=True):
                    content = {"version": version, "cell": dict(cell), "rows": found, "seconds": seconds}
                    write_cell(target, cell_key(cell), content)
            done += len(group)
            if begin is not None:
                begin(done, len(cells), group[-1])
    return SweepReport(len(todo) - len(failed), n_skipped, tuple(failed))


def wants_one_process(device: str) -> bool:
    """Whether fits on a device gain more from being side by side in one process than from many processes."""
    import torch

    return torch.cuda.is_available() if device == "auto" else torch.device(device).type == "cuda"


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells of one method and size together, as many as the memory holds."""
    alike: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        alike.setdefault((cell["method"], cell["n"], cell["p"], cell["m"]), []).append(cell)
    groups = []
    for (_, n, p, _), members in alike.items():
        most = max(1, min(MOST_CELLS, MOST_ENTRIES // (int(str(n)) * int(str(p)) ** 2)))
        groups += [members[first : first + most] for first in range(0, len(members), most)]
    return groups
