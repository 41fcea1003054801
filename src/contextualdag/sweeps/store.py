"""Cells of a sweep and their results: one file per finished cell, written in full or not at all.

A cell is a mapping of names to plain values, such as the sizes of a data set and the name of a method. Its key and its
seed depend on its content alone, so a result can always be found again.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from contextualdag.errors import InvalidInputError, InvalidParameterError, PersistenceError
from contextualdag.files import exclusive_lock, write_file

if TYPE_CHECKING:
    import pandas as pd

Scalar: TypeAlias = str | int | float | bool | None
Cell: TypeAlias = Mapping[str, Scalar]
Row: TypeAlias = dict[str, Any]
Version: TypeAlias = int | str | Callable[[Cell], int | str]

_FIELDS = {"version", "cell", "rows", "seconds"}
_LOCK = ".lock"


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
        The integer 1, the float 1.0 and True are three different values.

    Returns
    -------
    str

    Examples
    --------
    >>> from contextualdag.sweeps.store import cell_key
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
    >>> from contextualdag.sweeps.store import cell_seed
    >>> 0 <= cell_seed({"n": 1000, "p": 20}) < 2**31
    True
    """
    # Other bytes than those of the key, so that key and seed are independent.
    return int.from_bytes(_digest(cell)[8:12], "big") >> 1


def load_results(folder: str | os.PathLike[str], version: Version = 1) -> "pd.DataFrame":
    """All rows of all finished cells as one table.

    Parameters
    ----------
    folder : path
        Folder of a sweep.
    version : int, str or callable, default=1
        Version that the sweep was run with, as for `run_sweep`.

    Returns
    -------
    DataFrame
        The entries of the cell in alphabetical order, then those of the row, then `seconds`, the time that the whole cell
        took. The order of the rows depends on the cells alone, so a sweep that was interrupted gives the same table, up to
        `seconds`, as one that was not.

    Examples
    --------
    >>> import tempfile
    >>> from contextualdag.sweeps.store import load_results
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


def unfinished(cells: Sequence[Cell], folder: str | os.PathLike[str], version: Version) -> tuple[Path, dict[str, Cell]]:
    """The folder of a sweep, created if missing, and the cells by key that have no result there.

    Raises if two cells are equal, if a cell has no valid key, or if a file of the folder is not a result of this version.
    """
    named: dict[str, Cell] = {}
    for cell in cells:
        key = cell_key(cell)
        if key in named:
            raise InvalidParameterError(f"The cells of a sweep must differ. Got {dict(cell)} twice.")
        if "seconds" in cell:
            raise InvalidParameterError(f"A cell must have no entry 'seconds', the name of a column. Got {dict(cell)}.")
        # A plain copy, which the caller cannot change later.
        named[key] = json.loads(canonical(cell))
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise PersistenceError(f"{target} is a file where a folder was expected; give the path of a folder.") from None
    finished = {key for key, _ in _read_all(target, version)}
    return target, {key: cell for key, cell in named.items() if key not in finished}


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a folder for this process. The system drops the lock when the process ends, in whatever way."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(folder / _LOCK))
        except BlockingIOError:
            raise PersistenceError(
                f"Another process is running in {folder}; wait until it is done, or use another folder."
            ) from None
        except OSError as error:
            raise PersistenceError(f"{folder} cannot be written ({error}); use another folder.") from error
        yield


def write_cell(folder: Path, cell: Cell, rows: list[Row], seconds: float, version: Version = 1) -> None:
    """Write the result of one cell."""
    file = folder / f"{cell_key(cell)}.json"
    content = {"version": _version_of(cell, version), "cell": dict(cell), "rows": rows, "seconds": seconds}
    try:
        write_file(file, json.dumps(content).encode())
    except OSError as error:
        raise PersistenceError(
            f"The result {file} cannot be written ({error}). Finished cells are kept; run the sweep again."
        ) from error


def canonical(cell: Cell) -> str:
    """A cell as text, the same whatever the order of its entries."""
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


def plain_rows(rows: object, cell: Cell) -> list[Row]:
    """Rows as plain Python values; raise if that is impossible, or if a row repeats a name of the cell."""
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
                raise InvalidInputError(f"A row must not have the entry {name!r}: the table already has it from the cell.")
        plain.append(values)
    return plain


def _digest(cell: Cell) -> bytes:
    return hashlib.sha256(canonical(cell).encode()).digest()


def _version_of(cell: Cell, version: Version) -> int | str:
    return version(cell) if callable(version) else version


def _read_all(folder: Path, version: Version) -> list[tuple[str, dict[str, Any]]]:
    """Every finished cell, in the order of the keys."""
    files = sorted(file for file in folder.iterdir() if file.suffix == ".json" and not file.name.startswith("."))
    return [(file.stem, _read(file, version)) for file in files]


def _read(file: Path, version: Version) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, OSError) as error:
        raise PersistenceError(f"{file} cannot be read ({error}); delete it to run its cell again.") from error
    if not isinstance(content, dict) or content.keys() != _FIELDS:
        raise PersistenceError(f"{file} is not the result of a sweep; delete it or use another folder.")
    try:
        sound = cell_key(content["cell"]) == file.stem
        plain_rows(content["rows"], content["cell"])
    except (InvalidParameterError, InvalidInputError):
        sound = False
    if not sound or not isinstance(content["seconds"], float):
        raise PersistenceError(f"{file} does not hold the cell that its name says; delete it to run its cell again.")
    expected = _version_of(content["cell"], version)
    if content["version"] != expected:
        raise PersistenceError(
            f"{file} has version {content['version']!r} and the sweep has version {expected!r}: the method or its settings "
            "have changed since. Use another folder, or delete the file to run its cell again."
        )
    return content
