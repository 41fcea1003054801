"""Files that commands write: in which format, and never over something else unless told to."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextualdag.cli.tables import PARQUET, require_pyarrow
from contextualdag.errors import PersistenceError
from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas

OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what is there already.")]


def check_output(path: Path, overwrite: bool) -> None:
    """Raise, before any work is done, if a file cannot or must not be written there."""
    if path.is_dir():
        raise PersistenceError(f"{path} is a folder where a file is to be written.")
    if path.exists() and not overwrite:
        raise PersistenceError(f"{path} exists already; add --overwrite to replace it, or choose another name.")
    if path.suffix.lower() in PARQUET:
        require_pyarrow()


def write_output(path: Path, content: bytes) -> None:
    """Write a file in one step, in a folder that may not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)


def table_format(path: Path) -> str:
    """What the ending of a name says: csv or parquet."""
    if path.suffix.lower() in PARQUET:
        return "parquet"
    if path.suffix.lower() == ".csv":
        return "csv"
    raise typer.BadParameter(f"A name that ends in .csv or .parquet was expected. Got '{path}'.")


def table_bytes(frame: "pandas.DataFrame", kind: str) -> bytes:
    """A table as csv or parquet."""
    if kind == "csv":
        return bytes(frame.to_csv(index=False).encode())
    require_pyarrow()
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False, engine="pyarrow")
    return stream.getvalue()
