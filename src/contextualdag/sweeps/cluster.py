"""Run a function on every cell of a sweep with dask.distributed, on many processes or machines.

The process that calls `run_sweep` writes the results as they arrive, so the workers need no shared file system. Finished
cells survive any crash, and the next run does the rest.
"""

import contextlib
import json
import logging
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextualdag.checks import is_count, require
from contextualdag.cluster import client_of, require_distributed
from contextualdag.errors import InvalidParameterError, SweepError
from contextualdag.sweeps.store import (
    Cell,
    Row,
    SweepReport,
    Version,
    canonical,
    locked,
    plain_rows,
    unfinished,
    write_cell,
)

if TYPE_CHECKING:
    from distributed import Client

# Number of workers that may die under a cell before it counts as failed. Dask also blames cells that only waited there.
_ALLOWED_DEATHS = 3

_logger = logging.getLogger(__name__)


def run_sweep(
    cells: Sequence[Cell],
    run_cell: Callable[[dict[str, Any]], list[Row]],
    folder: str | os.PathLike[str],
    *,
    scheduler: str | None = None,
    n_workers: int | None = None,
    threads_per_worker: int = 1,
    progress: Callable[[int, int, Cell], None] | None = None,
    version: Version = 1,
) -> SweepReport:
    """Run a function on every cell that is not finished yet, with dask.distributed, and keep the results in a folder.

    A cell whose function raises is logged and reported, and the others go on. A cell whose worker dies is run again on
    another one. Failed cells leave no file, so the next run tries them again. A script that calls this must do so under
    ``if __name__ == "__main__":``, since every local worker imports the script.

    Parameters
    ----------
    cells : sequence of mappings
        Cells to run, each a mapping of str to str, int, float, bool or None. No two may be equal.
    run_cell : callable
        Function that takes a cell as a dict and returns a list of rows: dicts of str to number, str, bool or None, with
        names that the cell does not have. The workers must be able to import it.
    folder : path
        Folder of the results, created if missing. One process at a time may run a sweep there.
    scheduler : str, optional
        Address of a running Dask scheduler, such as "tcp://10.0.0.5:8786". By default, local processes are used.
    n_workers : int, optional
        Number of local processes; by default the number of CPUs. Not with `scheduler`.
    threads_per_worker : int, default=1
        Number of cells that a local process runs at a time. Not with `scheduler`.
    progress : callable, optional
        Function called as ``progress(done, total, cell)`` in this process after each cell that was run. `done` also counts
        failed cells and those of earlier runs, so ``done - 1`` of the first call is the number of cells skipped.
    version : int, str or callable, default=1
        Version of `run_cell`, or a function that gives it for a cell. Results of another version are refused.

    Returns
    -------
    SweepReport

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag.sweeps.cluster import run_sweep
    >>> from contextualdag.sweeps.store import load_results
    >>> def square(cell):
    ...     return [{"square": cell["x"] ** 2}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_sweep([{"x": 2}, {"x": 3}], square, folder, n_workers=1)
    ...     table = load_results(folder)
    >>> report.n_finished, sorted(table["square"])
    (2, [4, 9])
    """
    _check_settings(scheduler, n_workers, threads_per_worker, version)
    target, todo = unfinished(cells, folder, version)
    n_skipped = len(cells) - len(todo)
    if not todo:
        return SweepReport(0, n_skipped, ())

    failed = []
    # The lock comes last: a script without the guard runs again in its own workers, and should fail there for that.
    with _client(scheduler, n_workers, threads_per_worker) as client, locked(target):
        for done, (key, outcome) in enumerate(_outcomes(client, run_cell, todo), n_skipped + 1):
            cell = todo[key]
            if isinstance(outcome, _Failure):
                failed.append((cell, outcome.message))
                _logger.error("The cell %s failed: %s", json.dumps(dict(cell)), outcome.message)
                _logger.debug("%s", outcome.traceback)
            else:
                write_cell(target, cell, *outcome, version)
            if progress is not None:
                progress(done, len(cells), cell)
    return SweepReport(len(todo) - len(failed), n_skipped, tuple(failed))


@dataclass(frozen=True)
class _Failure:
    message: str
    traceback: str


def _check_settings(scheduler: str | None, n_workers: int | None, threads_per_worker: int, version: Version) -> None:
    counts = {"n_workers": n_workers, "threads_per_worker": threads_per_worker}
    for name, value in counts.items():
        allowed = is_count(value) or (name == "n_workers" and value is None)
        require(allowed, name, "run_sweep", "an integer of at least 1", value)
    known = is_count(version) or isinstance(version, str) or callable(version)
    require(known, "version", "run_sweep", "an integer of at least 1, a str or a callable", version)
    if scheduler is not None and (n_workers is not None or threads_per_worker != 1):
        raise InvalidParameterError(
            "The 'n_workers' and 'threads_per_worker' parameters of run_sweep are for local workers; those of the "
            f"scheduler at {scheduler} are set where they are started. Leave them out."
        )


def _attempt(text: str, run_cell: Callable[[dict[str, Any]], list[Row]]) -> tuple[list[Row], float] | _Failure:
    """Run one cell on a worker. An exception comes back as text, since not every exception can be pickled."""
    start = time.perf_counter()
    try:
        cell = json.loads(text)
        rows = plain_rows(run_cell(dict(cell)), cell)
    # An exit of the worker would look like a crash and be tried again.
    except (Exception, SystemExit) as error:
        return _Failure("".join(traceback.format_exception_only(error)).strip(), traceback.format_exc())
    return rows, time.perf_counter() - start


@contextlib.contextmanager
def _client(scheduler: str | None, n_workers: int | None, threads_per_worker: int) -> "Iterator[Client]":
    require_distributed("Sweeps")
    with contextlib.ExitStack() as stack:
        address = scheduler
        if address is None:
            address = stack.enter_context(_local_cluster(n_workers or os.cpu_count() or 1, threads_per_worker))
        yield stack.enter_context(client_of(address))


@contextlib.contextmanager
def _local_cluster(n_workers: int, threads_per_worker: int) -> Iterator[str]:
    import dask
    from distributed import LocalCluster

    # Dask sets these for its workers, but in this process too; they are restored at the end.
    names = [*dask.config.get("distributed.nanny.pre-spawn-environ"), "PYTHONHASHSEED", "__DASK_PARENT_PID"]
    before = {name: os.environ.get(name) for name in names}
    try:
        # With many cells, a worker gets its next one when it is free: none waits, and is blamed, behind one that crashes.
        with dask.config.set({"distributed.scheduler.worker-saturation": 1.0}):
            cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=n_workers,
                threads_per_worker=threads_per_worker,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                # The scheduler listens for HTTP even so; on any free port, so that two sweeps can run at once.
                scheduler_kwargs={"allowed_failures": _ALLOWED_DEATHS, "dashboard_address": "127.0.0.1:0"},
                # Otherwise dask stops a worker for good once a fit holds its share of the memory.
                memory_limit=0,
                # Ctrl-C also reaches the workers, and each would print a traceback; this process stops them anyway.
                preload=["import signal\n\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"],
            )
    except RuntimeError as error:
        _restore(before)
        raise SweepError(
            f"The local workers could not be started ({error}). A script must call run_sweep under "
            '`if __name__ == "__main__":`, since every worker imports it.'
        ) from error
    try:
        with cluster:
            try:
                yield cluster.scheduler_address
            except KeyboardInterrupt:
                # What they work on is lost anyway; dask would wait five seconds for them to finish it.
                for worker in cluster.workers.values():
                    worker.auto_restart = False
                    if worker.pid:
                        os.kill(worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has only the latter
                raise
    finally:
        _restore(before)


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _outcomes(
    client: "Client", run_cell: Callable[[dict[str, Any]], list[Row]], todo: Mapping[str, Cell]
) -> Iterator[tuple[str, tuple[list[Row], float] | _Failure]]:
    """The outcomes of all cells by key, as they arrive."""
    from distributed import as_completed

    # Impure, so that a scheduler does not answer with what it remembers of an earlier run.
    futures = client.map(_attempt, [canonical(cell) for cell in todo.values()], run_cell=run_cell, pure=False)
    keys = dict(zip(futures, todo, strict=True))
    del futures
    for future in as_completed(list(keys), loop=client.loop):  # type: ignore[no-untyped-call]
        if future.cancelled():
            raise SweepError(
                "The dask scheduler went away or dropped the work. Finished cells are kept; run the sweep again."
            )
        error = future.exception()
        if error is None:
            yield keys.pop(future), future.result()
        else:  # Not from the cell: its worker died again and again, or cannot import the function.
            message = "".join(traceback.format_exception_only(error)).strip()
            yield keys.pop(future), _Failure(message, message)
