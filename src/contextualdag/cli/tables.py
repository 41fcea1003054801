"""Tables and their columns: read from CSV and Parquet, checked, with one sentence for everything that can be wrong."""

import csv
import importlib.util
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from contextualdag.categories import find_category
from contextualdag.checks import did_you_mean, listed
from contextualdag.columns import check_meaning, is_date
from contextualdag.dates import is_day
from contextualdag.errors import InvalidInputError, PersistenceError
from contextualdag.export import as_cell, quoting
from contextualdag.tables import counted, exact_numbers, too_many_categories, without_values

PARQUET = (".parquet", ".pq")
NAMELESS = "unnamed column {}"  # row numbers, which programs write in front of a table, have no name in the header
NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " "}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
FLAGS = {"true": 1.0, "false": 0.0}
MOSTLY = 0.5  # a column of text with a larger fraction of numbers is taken for a numeric one with errors in it


def read_table(path: Path, delimiter: str | None = None, decimal: str = ".", text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table. Every column gets a name, and its values are text or numbers.

    Parameters
    ----------
    path : Path
        Parquet if it ends in .parquet or .pq, else CSV in UTF-8.
    delimiter : str, optional
        Column separator of a CSV.
    decimal : str, default="."
        Decimal separator of a CSV.
    text : sequence of str
        Columns to read as text, whatever they contain.

    Returns
    -------
    DataFrame

    Raises
    ------
    PersistenceError, InvalidInputError
        If the file cannot be read or is no table.
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


def table_format(path: Path) -> str:
    """Format by the ending of a name: csv or parquet."""
    if path.suffix.lower() in PARQUET:
        require_pyarrow()
        return "parquet"
    if path.suffix.lower() == ".csv":
        return "csv"
    raise typer.BadParameter(f"A name that ends in .csv or .parquet was expected. Got '{path}'.")


def table_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    """A table as csv, in which names are no formulas, or parquet."""
    if kind == "csv":
        texts = [name for name in frame if _is_text(frame[name])]
        cells = {name: frame[name].map(lambda value: as_cell(value) if isinstance(value, str) else value) for name in texts}
        found = (value for column in cells.values() for value in column.unique() if isinstance(value, str))
        return bytes(frame.assign(**cells).to_csv(index=False, quoting=quoting(found), lineterminator="\n").encode())
    require_pyarrow()
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False, engine="pyarrow")
    return stream.getvalue()


def require_pyarrow() -> None:
    """Raise if the package for Parquet files is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError("Parquet files need the package pyarrow: pip install pyarrow. CSV files need nothing more.")


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        raise PersistenceError(f"There is no file {path}.{did_you_mean(path.name, siblings, cutoff=0.8)}") from None
    except IsADirectoryError:
        raise PersistenceError(f"{path} is a folder where a CSV or Parquet file was expected.") from None
    except OSError as error:
        raise PersistenceError(f"{path} cannot be read: {error.strerror}.") from error
    if not content.strip():
        raise InvalidInputError(f"{path} is empty.")
    return content


def _parse_parquet(path: Path, content: bytes) -> pd.DataFrame:
    require_pyarrow()
    from pyarrow import parquet

    try:
        _refuse_duplicates(path, parquet.read_schema(io.BytesIO(content)).names)
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except InvalidInputError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        what = "it is cut short or damaged" if content.startswith(b"PAR1") else "it is of another format"
        raise PersistenceError(f"{path} cannot be read as a Parquet file: {what} ({str(error).rstrip('.')}).") from error
    frame = frame.reset_index(drop=True)  # rows are counted, whatever index pandas has kept in the file
    frame.columns = [str(name) or NAMELESS.format(place + 1) for place, name in enumerate(frame.columns)]
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


def _parse_csv(path: Path, text: str, delimiter: str, decimal: str, as_text: Sequence[str]) -> pd.DataFrame:
    if len(decimal) != 1 or decimal == delimiter:
        raise typer.BadParameter(
            f"One character other than the delimiter was expected. Got {decimal!r}.", param_hint="--decimal"
        )
    header = _header(path, text, delimiter)
    places = {place: str for place, name in enumerate(header) if name in as_text}

    def parse(dtypes: dict[int, type[str]]) -> pd.DataFrame:
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
            **exact_numbers(),
        )

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = parse(places)
            flags = [place for place in frame if pd.api.types.is_bool_dtype(frame[place])]
            if flags:  # keep them as written, such as TRUE
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


def require_columns(frame: pd.DataFrame, names: Sequence[str], path: Path) -> None:
    """Raise if a name is no column, and suggest the nearest."""
    known = list(frame.columns)
    for name in names:
        if name not in known:
            whole = next((one for one in known if "," in one and name in [part.strip() for part in one.split(",")]), None)
            hint = did_you_mean(name, known) if whole is None else f" A name with a comma needs quotes: '\"{whole}\"'."
            raise InvalidInputError(f"{path} has no column '{name}'.{hint} Its columns are: {listed(known)}.")


def holds_flags(column: pd.Series) -> bool:
    """Whether a column holds true and false, and nothing else but missing values."""
    if _is_text(column):
        return bool(column.notna().any()) and bool(_as_flags(column)[column.notna()].notna().all())
    return bool(pd.api.types.is_bool_dtype(column))


def is_mostly_numeric(column: pd.Series) -> bool:
    """Whether a column holds numbers, perhaps with a few errors among them; true and false are none."""
    if pd.api.types.is_bool_dtype(column):
        return False
    if pd.api.types.is_numeric_dtype(column):
        return True
    if not _is_text(column):
        return False
    there = column.notna()
    # Numbers with a decimal comma count too: the error message of `numbers` says how to read them.
    parsed = _to_numbers(column.map(lambda value: str(value).replace(",", "."), na_action="ignore"))
    return bool(there.any()) and bool(parsed[there].notna().mean() > MOSTLY)


def remedy_for_text(column: pd.Series) -> str:
    """What to do about a variable that holds text, with a space in front; empty where a few values are no numbers."""
    if is_mostly_numeric(column) or holds_flags(column) or not _is_text(column):
        return ""
    code = "Code it as 0 and 1" if column.nunique() == 2 else "Code it as numbers if its values have an order"
    return f" A variable must be numeric. {code}, or give it as --context."


def numbers(frame: pd.DataFrame, name: str, path: Path, hint: str = "") -> pd.Series:
    """A column as finite numbers or missing values, true and false as 1 and 0; `hint` is added to the error message."""
    column = _as_flags(frame[name]) if holds_flags(frame[name]) else frame[name]
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    parsed = column if is_number else _to_numbers(column)
    values = pd.Series(parsed.to_numpy(dtype=np.float64, na_value=np.nan), index=frame.index)
    wrong = (values.isna() & column.notna()) | np.isinf(values)
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        value, count = str(column.iloc[place]), int(wrong.sum())
        decimal = " Try --decimal ','." if re.fullmatch(r"[+-]?\d+,\d+", value) else ""
        others = f" ({count} such rows)" if count > 1 else ""
        raise InvalidInputError(
            f"Column '{name}' of {path} must hold finite numbers, but row {place + 1} after the header has "
            f"'{value[:40]}'{others}.{decimal}{hint}"
        )
    return values


def categories(frame: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """A column as text or missing values. One whose values hardly repeat is refused."""
    check_meaning(frame[name].to_numpy(), name, str(path))
    if is_date(frame[name].to_numpy()):
        raise InvalidInputError(
            f"Column '{name}' of {path} holds dates, times of day or spans of time, which are no categories. Add a "
            "column that codes them as a number, or as text."
        )
    column = frame[name].map(str, na_action="ignore").astype(object)
    there = column.dropna()
    problem = too_many_categories(there.nunique(), len(there), there.iloc[0]) if len(there) else ""
    if problem:
        raise InvalidInputError(f"Column '{name}' of {path} {problem}")
    return column


def holds_days(column: pd.Series) -> bool:
    """Whether a column holds dates, or text that is written like 2024-01-31 or 2024-01-31 12:30 throughout."""
    if is_day(column.to_numpy()):
        return True
    there = column.dropna()
    return _is_text(column) and bool(len(there)) and all(ISO_DATE.fullmatch(str(value).strip()) for value in there.unique())


def days(frame: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """A column of dates, or of text that `holds_days`, as dates in UTC or missing values."""
    column = frame[name]
    if not _is_text(column) or is_day(column.to_numpy()):
        return column
    parsed = pd.to_datetime(column.str.strip(), format="ISO8601", utc=True, errors="coerce").dt.tz_convert(None)
    wrong = parsed.isna() & column.notna()
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        others = f" ({int(wrong.sum())} such rows)" if wrong.sum() > 1 else ""
        raise InvalidInputError(
            f"Column '{name}' of {path} holds dates, but row {place + 1} after the header has '{column.iloc[place]}'"
            f"{others}, which is none. Correct it, or add --categorical {name} for categories."
        )
    return parsed


def ordered_categories(frame: pd.DataFrame, name: str, levels: Sequence[str], path: Path) -> pd.Series:
    """A column as ordered categories, from the lowest level to the highest, or missing values."""
    meant = {value: find_category(value, list(levels)) for value in frame[name].dropna().unique()}
    unknown = [value for value, level in meant.items() if level is None]
    if unknown:
        row = int((frame[name] == unknown[0]).to_numpy().argmax()) + 1
        raise InvalidInputError(
            f"Row {row} after the header of {path} has {name} = '{unknown[0]}', which is none of the levels of --ordered: "
            f"{listed(levels)}.{did_you_mean(str(unknown[0]), levels)} Name all levels from low to high."
        )
    values = frame[name].map(meant, na_action="ignore")
    return pd.Series(pd.Categorical(values, categories=list(levels), ordered=True), index=frame.index)


def complete_rows(tables: Sequence[pd.DataFrame], path: Path, drop: bool, remedy: str) -> list[pd.DataFrame]:
    """Tables of the same rows, without missing values: such rows are dropped, or an error that ends in `remedy`."""
    missing = pd.concat([table.isna() for table in tables], axis=1)
    rows = missing.any(axis=1)
    if not rows.any():
        return list(tables)
    counts = missing.sum()
    empty = list(counts.index[counts == len(rows)])
    if empty and len(rows) > 1:
        raise InvalidInputError(without_values(empty, len(rows), str(path)))
    where = counted(counts[counts > 0].to_dict())
    said = f"{int(rows.sum())} of the {len(rows)} rows of {path} have missing values, in {where}"
    if rows.all():
        raise InvalidInputError(
            f"All {len(rows)} rows of {path} have missing values, in {where}. Leave out columns that miss many."
        )
    if not drop:
        raise InvalidInputError(f"{said}; the first is row {int(rows.to_numpy().argmax()) + 1} after the header. {remedy}")
    return [table[~rows] for table in tables]


def _as_flags(column: pd.Series) -> pd.Series:
    """True and false, however they are written, as 1 and 0; all else becomes missing."""
    return column.map(lambda value: FLAGS.get(str(value).lower()), na_action="ignore").astype("Float64")


def _is_text(column: pd.Series) -> bool:
    return bool(pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column))


def _to_numbers(column: pd.Series) -> pd.Series:
    """Text as numbers; what is no number becomes missing."""
    return pd.to_numeric(column.map(str, na_action="ignore").astype(object), errors="coerce")
