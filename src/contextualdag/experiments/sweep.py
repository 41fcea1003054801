"""Run a function on every cell of an experiment, on many processes or machines, and keep each result in a file.

The folder of a sweep holds one file per finished cell, named after the cell. The process that calls `run_sweep` writes
them as results arrive, so the workers need no shared file system. Whatever dies, finished cells stay, and the next run
does the rest.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from contextualdag.errors import ContextualDAGError, InvalidInputError, InvalidParameterError, PersistenceError

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client

Scalar: TypeAlias = str | int | float | bool | None
Cell: TypeAlias = Mapping[str, Scalar]
Row: TypeAlias = dict[str, Any]

_CONNECT_SECONDS = 10
# So many workers may die under a cell before it counts as failed. Dask also blames cells that only waited on the worker.
_ALLOWED_DEATHS = 3
_FIELDS = {"version", "cell", "rows", "seconds"}

_logger = logging.getLogger(__name__)


class SweepError(ContextualDAGError, RuntimeError):
    """A sweep could not start or go on. Its finished cells are kept."""


@dataclass(frozen=True)
class SweepReport:
    """What a sweep did: cells finished now, cells finished earlier, and (cell, message) for each that failed."""

    n_finished: int
    n_skipped: int
    failed: tuple[tuple[Cell, str], ...]


def cell_key(cell: Cell) -> str:
    """The name of a cell: 16 hexadecimal digits that depend on its content, not on the order of its entries.

    Parameters
    ----------
    cell : mapping of str to str, int, float, bool or None
        The whole number 1, the float 1.0 and True are three different values.

    Returns
    -------
    str

    Examples
    --------
    >>> from contextualdag.experiments.sweep import cell_key
    >>> cell_key({"n": 1000, "p": 20}) == cell_key({"p": 20, "n": 1000})
    True
    """
    return _digest(cell).hex()[:16]


def cell_seed(cell: Cell) -> int:
    """A seed in [0, 2**31) that belongs to a cell, the same on every machine.

    Parameters
    ----------
    cell : mapping of str to str, int, float, bool or None
        As for `cell_key`.

    Returns
    -------
    int

    Examples
    --------
    >>> from contextualdag.experiments.sweep import cell_seed
    >>> 0 <= cell_seed({"n": 1000, "p": 20}) < 2**31
    True
    """
    # Other bytes than those of the key, so that the seed does not repeat what the key says.
    return int.from_bytes(_digest(cell)[8:12], "big") >> 1


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
    >>> from contextualdag.experiments.sweep import load_results, run_sweep
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
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise PersistenceError(f"{target} is a file where a folder was expected; give the path of a folder.") from None
    finished = {key for key, _ in _read_all(target, version)}
    todo = {key: cell for key, cell in named.items() if key not in finished}
    n_skipped = len(named) - len(todo)
    if not todo:
        return SweepReport(0, n_skipped, ())

    failed = []
    # The lock comes last: a script without the guard runs again in its own workers, and should fail there for that.
    with _client(scheduler, n_workers, threads_per_worker) as client, _locked(target):
        for done, (key, outcome) in enumerate(_outcomes(client, run_cell, todo), n_skipped + 1):
            cell = todo[key]
            if isinstance(outcome, _Failure):
                failed.append((cell, outcome.message))
                _logger.error("The cell %s failed: %s", json.dumps(dict(cell)), outcome.message)
                _logger.debug("%s", outcome.traceback)
            else:
                rows, seconds = outcome
                _write(target, key, {"version": version, "cell": dict(cell), "rows": rows, "seconds": seconds})
            if begin is not None:
                begin(done, len(named), cell)
    return SweepReport(len(todo) - len(failed), n_skipped, tuple(failed))


def load_results(folder: str | os.PathLike[str], version: int = 1) -> "pd.DataFrame":
    """All rows of all finished cells as one table.

    Parameters
    ----------
    folder : path
        The folder of a sweep.
    version : int, default=1
        The version that the sweep was run with.

    Returns
    -------
    DataFrame
        The entries of the cell in alphabetical order, then those of the row, then `seconds`, the time that the whole cell
        took. The order of the rows depends on the cells alone, so a sweep that was interrupted gives the same table, up to
        `seconds`, as one that was not.

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag.experiments.sweep import load_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(load_results(folder))
    0
    """
    import pandas as pd

    target = Path(folder)
    if not target.is_dir():
        raise PersistenceError(f"There is no folder at {target}; check the path or run the sweep first.")
    found = [content for _, content in _read_all(target, version)]
    of_cells = sorted({name for content in found for name in content["cell"]})
    of_rows = dict.fromkeys(name for content in found for row in content["rows"] for name in row)
    columns = [*of_cells, *(name for name in of_rows if name not in of_cells), "seconds"]
    records = [content["cell"] | row | {"seconds": content["seconds"]} for content in found for row in content["rows"]]
    return pd.DataFrame(records, columns=columns)


@dataclass(frozen=True)
class _Failure:
    message: str
    traceback: str


def _canonical(cell: Cell) -> str:
    if not isinstance(cell, Mapping):
        raise InvalidParameterError(f"A cell must be a mapping. Got {cell!r} instead.")
    for name, value in cell.items():
        if not isinstance(name, str) or not (value is None or isinstance(value, str | int | float)):
            raise InvalidParameterError(
                f"A cell must map str to str, int, float, bool or None. Got {name!r}: {value!r} of {type(value).__name__}."
            )
        if isinstance(value, float) and not np.isfinite(value):
            raise InvalidParameterError(f"The numbers of a cell must be finite. Got {name!r}: {value!r}.")
    return json.dumps(dict(cell), sort_keys=True, separators=(",", ":"))


def _digest(cell: Cell) -> bytes:
    return hashlib.sha256(_canonical(cell).encode()).digest()


def _named(cells: Sequence[Cell]) -> dict[str, Cell]:
    named: dict[str, Cell] = {}
    for cell in cells:
        key = cell_key(cell)
        if key in named:
            raise InvalidParameterError(f"The cells of a sweep must differ. Got {dict(cell)} twice.")
        if "seconds" in cell:
            raise InvalidParameterError(f"A cell must have no entry 'seconds', the name of a column. Got {dict(cell)}.")
        # A plain copy, which the caller cannot change later.
        named[key] = json.loads(_canonical(cell))
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
        rows = _plain_rows(run_cell(dict(cell)), cell)
    # An exit of the worker would look like a crash and be tried again.
    except (Exception, SystemExit) as error:
        return _Failure("".join(traceback.format_exception_only(error)).strip(), traceback.format_exc())
    return rows, time.perf_counter() - start


def _plain_rows(rows: object, cell: Cell) -> list[Row]:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInputError(f"A cell must return a list of dicts. Got {rows!r:.200} instead.")
    plain = []
    for row in rows:
        values = {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
        for name, value in values.items():
            if not isinstance(name, str) or not (value is None or isinstance(value, str | int | float)):
                raise InvalidInputError(
                    f"A row must map str to a number, str, bool or None. Got {name!r} of type {type(value).__name__}."
                )
            if name in cell or name == "seconds":
                raise InvalidInputError(f"A row must not have the entry {name!r}: the table has it from the cell already.")
        plain.append(values)
    return plain


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
    futures = client.map(_attempt, [_canonical(cell) for cell in todo.values()], run_cell=run_cell, pure=False)
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


# The files.


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep the folder for this process. The system drops the lock when the process dies, however it dies."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PersistenceError(
                f"Another process runs a sweep in {folder}; wait until it is done, or use another folder."
            ) from None
        except OSError:
            pass  # This file system knows no locks.
        yield
    finally:
        os.close(descriptor)


def _write(folder: Path, key: str, content: dict[str, Any]) -> None:
    # What a killed run leaves of it is overwritten by the next one.
    temporary = folder / f".{key}.json.tmp"
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(folder / f"{key}.json")
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise PersistenceError(
            f"The result {folder / key}.json cannot be written ({error}). Finished cells are kept; run the sweep again."
        ) from error
    # Against power failures. Not every file system can do this for folders.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read_all(folder: Path, version: int) -> list[tuple[str, dict[str, Any]]]:
    """Every finished cell, in the order of the keys."""
    files = sorted(file for file in folder.iterdir() if file.suffix == ".json" and not file.name.startswith("."))
    return [(file.stem, _read(file, version)) for file in files]


def _read(file: Path, version: int) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, OSError) as error:
        raise PersistenceError(f"{file} cannot be read ({error}); delete it to run its cell again.") from error
    if not isinstance(content, dict) or content.keys() != _FIELDS:
        raise PersistenceError(f"{file} is not the result of a sweep; delete it or use another folder.")
    if content["version"] != version:
        raise PersistenceError(
            f"{file} has version {content['version']!r} and the sweep has version {version}; use another folder, or delete "
            "the file to run its cell again."
        )
    try:
        sound = cell_key(content["cell"]) == file.stem
        _plain_rows(content["rows"], content["cell"])
    except (InvalidParameterError, InvalidInputError):
        sound = False
    if not sound or not isinstance(content["seconds"], float):
        raise PersistenceError(f"{file} does not hold the cell that its name says; delete it to run its cell again.")
    return content
