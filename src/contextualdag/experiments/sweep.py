"""Run a function on every cell of an experiment, on many processes or machines, and keep each result in a file.

The folder of a sweep holds one file per finished cell, named after the cell. The process that calls `run_sweep` writes
them as results arrive, so the workers need no shared file system. Whatever dies, finished cells stay, and the next run
does the rest.
"""

import asyncio
import contextlib
import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextualdag.errors import InvalidParameterError, SweepError
from contextualdag.experiments.cells import Cell, Row, canonical, cell_key, plain_rows
from contextualdag.experiments.finished import locked, read_all, results_folder, write_cell

if TYPE_CHECKING:
    from distributed import Client


_CONNECT_SECONDS = 10
# So many workers may die under a cell before it counts as failed. Dask also blames cells that only waited on the worker.
_ALLOWED_DEATHS = 3

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SweepReport:
    """What a sweep did: cells finished now, cells finished earlier, and (cell, message) for each that failed."""

    n_finished: int
    n_skipped: int
    failed: tuple[tuple[Cell, str], ...]


def run_sweep(
    cells: Sequence[Cell],
    run_cell: Callable[[dict[str, Any]], list[Row]],
    folder: str | os.PathLike[str],
    *,
    scheduler: str | None = None,
    n_workers: int | None = None,
    threads_per_worker: int = 1,
    begin: Callable[[int, int, Cell], None] | None = None,
    version: int = 1,
) -> SweepReport:
    """Run a function on every cell that is not finished yet, with dask.distributed, and keep the results in a folder.

    A cell whose function raises is logged and reported, and the others go on. A cell whose worker dies is run again on
    another one. Failed cells leave no file, so the next run tries them again. A script that calls this must do so under
    ``if __name__ == "__main__":``, since every local worker imports the script.

    Parameters
    ----------
    cells : sequence of mappings
        What to run, each of str to str, int, float, bool or None. No two may be equal.
    run_cell : callable
        Takes a cell as a dict and returns a list of rows: dicts of str to number, str, bool or None, with names that the
        cell does not have. The workers must be able to import it.
    folder : path
        Created when missing. One process at a time may run a sweep there.
    scheduler : str, optional
        The address of a running dask scheduler, such as "tcp://10.0.0.5:8786". Without it, processes of this machine work.
    n_workers : int, optional
        The number of local processes; as many as there are CPUs by default. Not with `scheduler`.
    threads_per_worker : int, default=1
        How many cells a local process works on at a time. Not with `scheduler`.
    begin : callable, optional
        Called as ``begin(done, total, cell)`` in this process after each cell that was run. `done` counts the failed cells
        and those of earlier runs as well, so ``done - 1`` of the first call is the number that needed no time now.
    version : int, default=1
        The version of `run_cell`. Results of another version are refused.

    Returns
    -------
    SweepReport

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag.experiments.finished import load_results
    >>> from contextualdag.experiments.sweep import run_sweep
    >>> def square(cell):
    ...     return [{"square": cell["x"] ** 2}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_sweep([{"x": 2}, {"x": 3}], square, folder, n_workers=1)
    ...     table = load_results(folder)
    >>> report.n_finished, sorted(table["square"])
    (2, [4, 9])
    """
    _check_settings(scheduler, n_workers, threads_per_worker, version)
    named = _named(cells)
    target = results_folder(folder)
    finished = {key for key, _ in read_all(target, version)}
    todo = {key: cell for key, cell in named.items() if key not in finished}
    n_skipped = len(named) - len(todo)
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
                rows, seconds = outcome
                write_cell(target, key, {"version": version, "cell": dict(cell), "rows": rows, "seconds": seconds})
            if begin is not None:
                begin(done, len(named), cell)
    return SweepReport(len(todo) - len(failed), n_skipped, tuple(failed))


@dataclass(frozen=True)
class _Failure:
    message: str
    traceback: str


def _named(cells: Sequence[Cell]) -> dict[str, Cell]:
    named: dict[str, Cell] = {}
    for cell in cells:
        key = cell_key(cell)
        if key in named:
            raise InvalidParameterError(f"The cells of a sweep must differ. Got {dict(cell)} twice.")
        if "seconds" in cell:
            raise InvalidParameterError(f"A cell must have no entry 'seconds', the name of a column. Got {dict(cell)}.")
        # A plain copy, which the caller cannot change later.
        named[key] = json.loads(canonical(cell))
    return named


def _check_settings(scheduler: str | None, n_workers: int | None, threads_per_worker: int, version: int) -> None:
    numbers = {"threads_per_worker": threads_per_worker, "version": version}
    if n_workers is not None:
        numbers["n_workers"] = n_workers
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidParameterError(f"The {name!r} parameter of run_sweep must be an int >= 1. Got {value!r} instead.")
    if scheduler is not None and (n_workers is not None or threads_per_worker != 1):
        raise InvalidParameterError(
            "The 'n_workers' and 'threads_per_worker' parameters of run_sweep are for local workers; those of the "
            f"scheduler at {scheduler} are set where they are started. Leave them out."
        )


# What happens on the workers.


def _attempt(text: str, run_cell: Callable[[dict[str, Any]], list[Row]]) -> tuple[list[Row], float] | _Failure:
    """Run one cell. An exception comes back as text, since not every exception can be pickled."""
    start = time.perf_counter()
    try:
        cell = json.loads(text)
        rows = plain_rows(run_cell(dict(cell)), cell)
    # An exit of the worker would look like a crash and be tried again.
    except (Exception, SystemExit) as error:
        return _Failure("".join(traceback.format_exception_only(error)).strip(), traceback.format_exc())
    return rows, time.perf_counter() - start


# What dask.distributed does.


@contextlib.contextmanager
def _client(scheduler: str | None, n_workers: int | None, threads_per_worker: int) -> "Iterator[Client]":
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            'Sweeps need the package distributed, which is not installed. Try: pip install "contextualdag[sweeps]"'
        ) from error
    with contextlib.ExitStack() as stack:
        address = scheduler
        if address is None:
            address = stack.enter_context(_local_cluster(n_workers or os.cpu_count() or 1, threads_per_worker))
        else:
            _check_answers(address)
        client = stack.enter_context(Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))  # type: ignore[no-untyped-call]
        if scheduler is not None and not client.nthreads():
            _logger.warning("The scheduler at %s has no workers yet; the sweep waits for them.", scheduler)
        yield client


def _check_answers(address: str) -> None:
    """Shake hands with the scheduler. A dask client alone would wait for ever where something else listens."""
    from distributed.comm.core import connect
    from distributed.security import Security

    async def shake_hands() -> None:
        arguments = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        async with asyncio.timeout(_CONNECT_SECONDS):
            comm = await connect(address, timeout=_CONNECT_SECONDS, **arguments)  # type: ignore[no-untyped-call]
        await comm.close()

    try:
        # In a thread, since a notebook has an event loop of its own.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, shake_hands()).result()
    # Whatever else may listen there, it can say anything.
    except Exception as error:
        raise SweepError(
            f"No dask scheduler answered at {address} within {_CONNECT_SECONDS} seconds ({str(error) or 'silence'}). "
            "Check the address and that the scheduler runs (`dask scheduler`), or leave it out to use this machine."
        ) from error


@contextlib.contextmanager
def _local_cluster(n_workers: int, threads_per_worker: int) -> Iterator[str]:
    import dask
    from distributed import LocalCluster

    # Dask sets these for its workers, and in this process too, which is none of its business.
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
                # The scheduler listens for HTTP even so; on any port, so that two sweeps do not want the same one.
                scheduler_kwargs={"allowed_failures": _ALLOWED_DEATHS, "dashboard_address": "127.0.0.1:0"},
                # Otherwise dask stops a worker for good once a fit holds its share of the memory.
                memory_limit=0,
                # Ctrl-C reaches the workers too, and each would print a traceback; this process stops them anyway.
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
            yield cluster.scheduler_address
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
