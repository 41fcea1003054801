"""The paper's real data: consumption of 18 substances, neuroticism and sensation seeking of 1885 people.

The file is downloaded once and cached. Every copy is checked by its content, wherever it comes from.
"""

import hashlib
import http.client
import io
import math
import os
import urllib.error
import urllib.request
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.checks import is_flag, require
from contextualdag.errors import ContextualDAGWarning, InvalidInputError, InvalidParameterError, PersistenceError
from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas

__all__ = ["PUBLISHED_HIGH", "PUBLISHED_LOW", "DrugConsumption", "load_drug_consumption"]

URL = "https://archive.ics.uci.edu/static/public/373/drug+consumption+quantified.zip"
TIMEOUT_SECONDS = 30.0

PUBLISHED_LOW = (
    ("Cannabis", "Nicotine"),
    ("Ecstasy", "Cannabis"),
    ("Legal highs", "Cannabis"),
)
"""Edges of the paper's graph for low scores, both at their 0.1 quantile: pairs of source and target."""

PUBLISHED_HIGH = (
    ("Amphetamines", "Benzodiazepines"),
    ("Cannabis", "Benzodiazepines"),
    ("Cannabis", "Legal highs"),
    ("Cannabis", "Nicotine"),
    ("Cocaine", "Heroin"),
    ("Cocaine", "Methadone"),
    ("Heroin", "Methadone"),
    ("Legal highs", "Amphetamines"),
    ("Legal highs", "Nicotine"),
    ("Methadone", "Amphetamines"),
    ("Methadone", "Benzodiazepines"),
)
"""Edges of the paper's graph for high scores, both at their 0.9 quantile: pairs of source and target."""

_OWNER = "load_drug_consumption"
_FILE = "drug_consumption.data"
# In the order of the file. UCI shortens the names; its "Meth" is the class of methadone consumption.
_SCORES = (
    *("age", "gender", "education", "country", "ethnicity"),
    *("neuroticism", "extraversion", "openness", "agreeableness", "conscientiousness", "impulsiveness", "sensation seeking"),
)
_SUBSTANCES = (
    *("Alcohol", "Amphetamines", "Amyl nitrite", "Benzodiazepines", "Caffeine", "Cannabis", "Chocolate", "Cocaine", "Crack"),
    *("Ecstasy", "Heroin", "Ketamine", "Legal highs", "LSD", "Methadone", "Mushrooms", "Nicotine", "Semeron", "VSA"),
)
_COLUMNS = ("ID", *_SCORES, *_SUBSTANCES)
_FICTITIOUS = "Semeron"
_CONTEXT = ("neuroticism", "sensation seeking")
_CLASSES = ("CL0", "CL1", "CL2", "CL3", "CL4", "CL5", "CL6")

# UCI left three of the survey's records out.
_IDS = np.setdiff1d(np.arange(1, 1889), (294, 299, 742))
# Digest of the numbers, row by row, as little-endian doubles: line ends and trailing zeros make no difference.
_SHA256 = "7328cf793f1d1513f89cd01067b44d5994cce677943b634fd78fdafe3f6ba7ca"
# The published file has a third of a megabyte; a file larger than this is not read to its end.
_MOST_BYTES = 8_000_000

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrugConsumption:
    """The answers of 1885 people, in the order of the file.

    Attributes
    ----------
    X : DataFrame of shape (1885, 18)
        When each substance was last used, from 0 (never) and 1 (over a decade ago) to 6 (in the last day).
    Z : DataFrame of shape (1885, 2)
        The paper's context: neuroticism and sensation seeking, as standardised scores.
    frame : DataFrame of shape (1885, 32)
        All columns. Age, gender, education, country and ethnicity are the numbers by which UCI encodes the categories.
        Semeron does not exist; the survey included it to identify people who overclaim.
    """

    X: "pandas.DataFrame"
    Z: "pandas.DataFrame"
    frame: "pandas.DataFrame"


def load_drug_consumption(
    path: str | os.PathLike[str] | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> DrugConsumption:
    """Load the drug consumption data of the UCI repository, on which the paper shows its method.

    The first call downloads 345 kB and caches them; later calls need no network.

    Parameters
    ----------
    path : str or path-like, optional
        UCI's ``drug_consumption.data``, or the zip file that holds it. By default the cache is used.
    cache : str or path-like, optional
        Folder for the downloaded file. By default ``contextualdag`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.
    download : bool, default=True
        Whether to download the file if neither `path` nor the cache has it.

    Returns
    -------
    DrugConsumption
        A small frozen object with X, Z and frame.

    Raises
    ------
    InvalidInputError
        If the file is not the published one. The message says where it differs.
    PersistenceError
        If the file cannot be read or downloaded. The message says where to put it by hand.
    InvalidParameterError
        If both `path` and `cache` are given, or one of the arguments has the wrong type.

    Notes
    -----
    The data are published under CC BY 4.0 [1]_. The paper's graphs for low and high scores are in ``PUBLISHED_LOW`` and
    ``PUBLISHED_HIGH`` of this module.

    References
    ----------
    .. [1] E. Fehrman, A. K. Muhammad, E. M. Mirkes, V. Egan and A. N. Gorban, "The Five Factor Model of personality and
       evaluation of drug consumption risk", 2017. https://archive.ics.uci.edu/dataset/373

    Examples
    --------
    >>> from contextualdag.datasets.drug_consumption import PUBLISHED_LOW, load_drug_consumption
    >>> data = load_drug_consumption()  # doctest: +SKIP
    >>> data.X.shape, data.Z.shape  # doctest: +SKIP
    ((1885, 18), (1885, 2))
    >>> PUBLISHED_LOW
    (('Cannabis', 'Nicotine'), ('Ecstasy', 'Cannabis'), ('Legal highs', 'Cannabis'))
    """
    require(is_flag(download), "download", _OWNER, "a bool", download)
    if path is not None and cache is not None:
        raise InvalidParameterError(
            f"load_drug_consumption takes a 'path' or a 'cache', not both. Got {path!r} and {cache!r}."
        )
    if path is not None:
        file, remedy = _as_path("path", path), f"Get it from {URL}."
    else:
        file, remedy = _cache_folder(cache) / _FILE, "It is a cached copy: delete it to download it again."
    try:
        content = _read(file)
        if content is not None:
            data = _unpack(content, str(file), must_be_zip=file.suffix.lower() == ".zip")
            return _tables(_published(data, str(file)))
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} {remedy}") from error
    if path is not None:
        raise PersistenceError(f"There is no file {file}; check the 'path', or leave it out to download the data.")
    return _tables(_download(file, allowed=download))


def _as_path(name: str, value: Any) -> Path:
    require(isinstance(value, str | os.PathLike), name, _OWNER, "a str or a path", value)
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise PersistenceError(f"There is no home folder for {value} ({error}); give the '{name}' in full.") from error


def _cache_folder(cache: Any) -> Path:
    if cache is not None:
        return _as_path("cache", cache)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    return _as_path("cache", base if Path(base).is_absolute() else "~/.cache") / "contextualdag"


def _read(file: Path) -> bytes | None:
    """Read a file; None if it is missing."""
    try:
        with file.open("rb") as stream:
            return _read_stream(stream, str(file))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PersistenceError(f"{file} cannot be read: {error.strerror or error}.") from error


def _read_stream(stream: IO[bytes] | http.client.HTTPResponse, where: str) -> bytes:
    content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise InvalidInputError(f"{where} is not the published file: it has over {_MOST_BYTES} bytes.")
    return content


def _unpack(content: bytes, where: str, *, must_be_zip: bool) -> bytes:
    """Extract the data from UCI's zip file. Anything else is returned unchanged, unless it must be a zip file."""
    if not content.startswith(b"PK"):
        if must_be_zip:
            raise InvalidInputError(f"{where} is not a zip file: it begins with {content[:20]!r}.")
        return content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [name for name in archive.namelist() if name.rsplit("/", 1)[-1] == _FILE]
            if len(members) == 1:
                with archive.open(members[0]) as stream:
                    return _read_stream(stream, where)
            held = ", ".join(archive.namelist()[:5]) or "nothing"
    except InvalidInputError:
        raise
    except Exception as error:
        # Broken bytes can make any decoder of any compression fail, with many kinds of errors that share no base.
        raise InvalidInputError(f"{where} is a broken zip file ({error}).") from error
    raise InvalidInputError(f"{where} must hold one {_FILE}. It holds {len(members)} of them ({held}).")


def _parse(content: bytes, where: str, n_rows: int) -> Array:
    """Parse `n_rows` rows of text into numbers, one column for each of `_COLUMNS`."""
    try:
        lines = content.decode("utf-8-sig").strip().splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{where} is not a text file ({error}).") from error
    # Before the cells: the last row of a truncated file is likely to be broken too, but the number of rows says why.
    if len(lines) != n_rows:
        cause = " It seems to be truncated." if len(lines) < n_rows else ""
        raise InvalidInputError(f"{where} has {len(lines)} rows, {n_rows} were expected.{cause}")
    values = np.empty((n_rows, len(_COLUMNS)))
    for row, line in enumerate(lines):
        cells = line.split(",")
        if len(cells) != len(_COLUMNS):
            raise InvalidInputError(f"Row {row + 1} of {where} has {len(cells)} columns, {len(_COLUMNS)} were expected.")
        for column, cell in enumerate(cells):
            values[row, column] = _number(cell.strip(), row, column, where)
    return values


def _number(cell: str, row: int, column: int, where: str) -> float:
    is_class = _COLUMNS[column] in _SUBSTANCES
    try:
        number = float(_CLASSES.index(cell) if is_class else cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        expected = "one of CL0 to CL6" if is_class else "a finite number"
        raise InvalidInputError(
            f"Row {row + 1}, column {column + 1} ({_COLUMNS[column]}) of {where} must be {expected}. "
            f"Got {cell[:40]!r} instead."
        )
    return number


def _published(content: bytes, where: str) -> Array:
    """Parse the data, and check that they are the published ones."""
    values = _parse(content, where, len(_IDS))
    wrong = np.flatnonzero(values[:, 0] != _IDS)
    if wrong.size:
        row = wrong[0]
        raise InvalidInputError(
            f"{where} is not the published file: row {row + 1} must have the ID {_IDS[row]}. Got {values[row, 0]:g} instead."
        )
    found = hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()
    if found != _SHA256:
        raise InvalidInputError(
            f"{where} is not the published file: it has the right shape, but other values. "
            f"The sha256 of its numbers must be {_SHA256}. Got {found} instead."
        )
    return values


def _download(file: Path, *, allowed: bool) -> Array:
    """Download the data and cache them in `file`. Nothing is written before everything is checked."""
    by_hand = f"Put {_FILE} at {file} by hand, or give its place as 'path' (in the terminal, --data)."
    if not allowed:
        raise PersistenceError(f"There is no {file}, and download=False forbids downloading it from {URL}. {by_hand}")
    try:
        content = _unpack(_fetch(), "The answer", must_be_zip=True)
        values = _published(content, "The answer")
    except (OSError, http.client.HTTPException, InvalidInputError) as error:
        raise PersistenceError(f"The download from {URL} failed: {str(error).rstrip('.')}. {by_hand}") from error
    try:
        _keep(content, file)
    except OSError as error:
        # The data are sound, so failing to cache them is no reason to fail.
        warnings.warn(
            f"The data could not be cached at {file} ({error.strerror or error}), so they will be downloaded again. "
            "Give a 'cache' folder that can be written.",
            ContextualDAGWarning,
            stacklevel=3,
        )
    return values


def _fetch() -> bytes:
    try:
        response = urllib.request.urlopen(URL, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()  # a refusal is an open connection too
        raise
    with response:
        content = _read_stream(response, "The answer")
        announced = response.headers.get("Content-Length")
    # A connection that breaks off early looks like the end of the file.
    if announced is not None and announced.isdecimal() and len(content) < int(announced):
        raise InvalidInputError(f"only {len(content)} of {announced} bytes arrived.")
    return content


def _keep(content: bytes, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, content)


def _tables(values: Array) -> DrugConsumption:
    import pandas as pd

    frame = pd.DataFrame(values, columns=list(_COLUMNS)).astype({"ID": np.int64})
    real = [name for name in _SUBSTANCES if name != _FICTITIOUS]
    return DrugConsumption(frame[real].copy(), frame[list(_CONTEXT)].copy(), frame)
