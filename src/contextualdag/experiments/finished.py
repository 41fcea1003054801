"""Finished cells: one file each in a folder, written all of it or not at all."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextualdag.errors import InvalidInputError, InvalidParameterError, PersistenceError
from contextualdag.experiments.cells import cell_key, plain_rows
from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas as pd

_FIELDS = {"version", "cell", "rows", "seconds"}


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
    >>> from contextualdag.experiments.finished import load_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(load_results(folder))
    0
    """
    import pandas as pd

    target = Path(folder)
    if not target.is_dir():
        raise PersistenceError(f"There is no folder at {target}; check the path or run the sweep first.")
    found = [content for _, content in read_all(target, version)]
    of_cells = sorted({name for content in found for name in content["cell"]})
    of_rows = dict.fromkeys(name for content in found for row in content["rows"] for name in row)
    columns = [*of_cells, *(name for name in of_rows if name not in of_cells), "seconds"]
    records = [content["cell"] | row | {"seconds": content["seconds"]} for content in found for row in content["rows"]]
    return pd.DataFrame(records, columns=columns)


def results_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder of a sweep, made where it is missing."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise PersistenceError(f"{target} is a file where a folder was expected; give the path of a folder.") from None
    return target


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
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


def write_cell(folder: Path, key: str, content: dict[str, Any]) -> None:
    """Keep the result of one cell."""
    file = folder / f"{key}.json"
    try:
        write_file(file, json.dumps(content).encode())
    except OSError as error:
        raise PersistenceError(
            f"The result {file} cannot be written ({error}). Finished cells are kept; run the sweep again."
        ) from error


def read_all(folder: Path, version: int) -> list[tuple[str, dict[str, Any]]]:
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
        plain_rows(content["rows"], content["cell"])
    except (InvalidParameterError, InvalidInputError):
        sound = False
    if not sound or not isinstance(content["seconds"], float):
        raise PersistenceError(f"{file} does not hold the cell that its name says; delete it to run its cell again.")
    return content
