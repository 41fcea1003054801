"""Tables from files: CSV and Parquet, and a sentence for everything that can be wrong with them."""

import csv
import difflib
import importlib.util
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextualdag.errors import InvalidInputError, PersistenceError

if TYPE_CHECKING:
    import pandas

PARQUET = (".parquet", ".pq")
NAMELESS = "unnamed column {}"  # row numbers, as programs write them in front of a table, have no name in the header
NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " "}

DelimiterOption = Annotated[
    str | None,
    typer.Option(metavar="SIGN", show_default="comma; tab for .tsv", help="Between columns of a CSV; tab for a tab."),
]
DecimalOption = Annotated[str, typer.Option(metavar="SIGN", help="Decimal sign of a CSV.")]


def read_table(path: Path, delimiter: str | None = None, decimal: str = ".", text: Sequence[str] = ()) -> "pandas.DataFrame":
    """A table with a name for every column, as text or as numbers.

    Parameters
    ----------
    path : Path
        Parquet if it ends in .parquet or .pq, else CSV in UTF-8.
    delimiter : str, optional
        Between the columns of a CSV.
    decimal : str, default="."
        Decimal sign of a CSV.
    text : sequence of str
        Columns to read as text, whatever they hold.

    Returns
    -------
    DataFrame

    Raises
    ------
    PersistenceError, InvalidInputError
        With one sentence.
    """
    content = _read(path)
    if path.suffix.lower() in PARQUET:
        frame = _parse_parquet(path, content)
    else:
        frame = _parse_csv(path, _decode(path, content), _delimiter(path, delimiter), decimal, text)
    if not len(frame):
        raise InvalidInputError(f"{path} has a header and no rows.")
    for name in text:
        if name in frame:
            frame[name] = frame[name].map(str, na_action="ignore").astype(object)
    return frame


def require_pyarrow() -> None:
    """Raise, with one sentence, where Parquet can be neither read nor written."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError("Parquet files need the package pyarrow: pip install pyarrow. CSV files need nothing more.")


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        raise PersistenceError(f"There is no file {path}.{did_you_mean(path.name, siblings, alike=0.8)}") from None
    except IsADirectoryError:
        raise PersistenceError(f"{path} is a folder where a CSV or Parquet file was expected.") from None
    except OSError as error:
        raise PersistenceError(f"{path} cannot be read: {error.strerror}.") from error
    if not content.strip():
        raise InvalidInputError(f"{path} is empty.")
    return content


def _parse_parquet(path: Path, content: bytes) -> "pandas.DataFrame":
    import pandas as pd

    require_pyarrow()
    try:
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except (OSError, ValueError, NotImplementedError) as error:
        what = "it is cut short or damaged" if content.startswith(b"PAR1") else "it is of another format"
        raise PersistenceError(f"{path} cannot be read as a Parquet file: {what} ({str(error).rstrip('.')}).") from error
    frame.columns = [str(name) for name in frame.columns]
    _refuse_duplicates(path, list(frame.columns))
    return frame


def _decode(path: Path, content: bytes) -> str:
    if content.startswith(b"PAR1"):
        raise InvalidInputError(f"{path} is a Parquet file; give it a name that ends in .parquet.")
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise InvalidInputError(f"{path} is a spreadsheet or an archive; save the table as CSV first.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"{path} is not UTF-8 text (line {line}); save it as CSV in UTF-8.") from None
    if "\0" in text:
        raise InvalidInputError(f"{path} is not text but binary data; CSV or Parquet was expected.")
    return text


def _delimiter(path: Path, given: str | None) -> str:
    if given is None:
        return "\t" if path.suffix.lower() == ".tsv" else ","
    delimiter = NAMED_DELIMITERS.get(given, given)
    if len(delimiter) != 1:
        raise typer.BadParameter(f"One character, tab or space was expected. Got {given!r}.", param_hint="--delimiter")
    return delimiter


def _parse_csv(path: Path, text: str, delimiter: str, decimal: str, as_text: Sequence[str]) -> "pandas.DataFrame":
    import pandas as pd

    if len(decimal) != 1 or decimal == delimiter:
        raise typer.BadParameter(
            f"One character other than the delimiter was expected. Got {decimal!r}.", param_hint="--decimal"
        )
    header = _header(path, text, delimiter)
    places = {place: str for place, name in enumerate(header) if name in as_text}

    def parse(dtypes: dict[int, type[str]]) -> "pandas.DataFrame":
        return pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            decimal=decimal,
            header=0,
            names=range(len(header)),
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
            dtype=dtypes,
        )

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = parse(places)
            flags = [place for place in frame if pd.api.types.is_bool_dtype(frame[place])]
            if flags:  # as they are written: TRUE stays TRUE
                frame = parse(places | dict.fromkeys(flags, str))
    except pd.errors.ParserWarning:
        raise InvalidInputError(
            f"{path} has {len(header)} names in its header and more fields in its rows; name every column, and quote fields "
            "that contain the delimiter."
        ) from None
    except pd.errors.ParserError as error:
        raise InvalidInputError(f"{path} cannot be read as a CSV: {_reworded(str(error), len(header))}") from None
    frame.columns = header
    return frame


def _header(path: Path, text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        header = [name.strip() for name in next(row for row in rows if row)]
    except (csv.Error, StopIteration) as error:
        raise InvalidInputError(f"{path} has no header that can be read ({error}).") from None
    others = [mark for mark in (";", "\t", "|", ",") if mark != delimiter and mark in header[0]]
    if len(header) == 1 and others:
        said = {"\t": "tab", ",": "','"}.get(others[0], f"'{others[0]}'")
        raise InvalidInputError(
            f"Only one column was found in {path}: its header is '{header[0][:60]}'. Try --delimiter {said}."
        )
    header = [name or NAMELESS.format(place + 1) for place, name in enumerate(header)]
    _refuse_duplicates(path, header)
    return header


def _refuse_duplicates(path: Path, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"{path} has more than one column named {listed(twice)}; rename or remove all but one.")


def has_name(column: str) -> bool:
    """Whether a column of `read_table` has a name of its own."""
    return re.fullmatch(NAMELESS.format(r"\d+"), column) is None


def _reworded(message: str, n_names: int) -> str:
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", message)
    if found:
        return f"line {found[1]} has {found[2]} fields and the header {n_names}; quote fields that contain the delimiter."
    return message.removeprefix("Error tokenizing data. C error: ")


def did_you_mean(name: str, known: Sequence[str], alike: float = 0.6) -> str:
    """A sentence with the nearest of the known names, or nothing; `alike` is 1 for the same name."""
    lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=alike)
    return f" Did you mean '{lower[near[0]]}'?" if near else ""


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names with commas between them, and a count of those beyond `most`."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
