"""Columns of a table by name: those that were asked for, as numbers or as categories, without gaps."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contextualdag.cli.tables import did_you_mean, listed
from contextualdag.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

MOSTLY = 0.5  # share of numbers from which on a column of text is taken for a numeric one with mistakes in it


def split_names(names: str | None, option: str) -> list[str]:
    """Names of an option, with commas between them; one that contains a comma stands in double quotes."""
    if names is None:
        return []
    try:
        split = [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]
    except csv.Error as error:
        raise typer.BadParameter(f"{names!r} cannot be split into names: {error}.", param_hint=option) from None
    if not all(split) or not split:
        raise typer.BadParameter(f"Names with commas between them were expected. Got {names!r}.", param_hint=option)
    twice = sorted({name for name in split if split.count(name) > 1})
    if twice:
        raise typer.BadParameter(f"Named more than once: {listed(twice)}.", param_hint=option)
    return split


def require_columns(frame: "pandas.DataFrame", names: Sequence[str], path: Path) -> None:
    """Raise at the first name that is no column, and suggest the nearest."""
    known = list(frame.columns)
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"{path} has no column '{name}'.{did_you_mean(name, known)} Its columns are: {listed(known)}."
            )


def means_numbers(column: "pandas.Series") -> bool:
    """Whether a column holds numbers, or would but for a few mistakes."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        return False
    if pd.api.types.is_numeric_dtype(column):
        return True
    if not _is_text(column):
        return False
    there = column.notna()
    # With a decimal comma they are numbers too, and `numbers` says how to read them.
    parsed = _parsed(column.map(lambda value: str(value).replace(",", "."), na_action="ignore"))
    return bool(there.any()) and bool(parsed[there].notna().mean() > MOSTLY)


def numbers(frame: "pandas.DataFrame", name: str, path: Path, otherwise: str = "") -> "pandas.Series":
    """A column as finite numbers, with gaps where nothing was given; `otherwise` is added to the complaint."""
    import numpy as np
    import pandas as pd

    column = frame[name]
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    parsed = column if is_number else _parsed(column)
    values = pd.Series(parsed.to_numpy(dtype=np.float64, na_value=np.nan), index=frame.index)
    wrong = (values.isna() & column.notna()) | np.isinf(values)
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        value, count = str(column.iloc[place]), int(wrong.sum())
        hint = " Try --decimal ','." if re.fullmatch(r"[+-]?\d+,\d+", value) else ""
        others = f" ({count} such rows)" if count > 1 else ""
        raise InvalidInputError(
            f"Column '{name}' of {path} must hold finite numbers, but row {place + 1} after the header has "
            f"'{value[:40]}'{others}.{hint}{otherwise}"
        )
    return values


def categories(frame: "pandas.DataFrame", name: str, path: Path) -> "pandas.Series":
    """A column as text, with gaps where nothing was given. One that hardly repeats is no category."""
    column = frame[name].map(str, na_action="ignore").astype(object)
    distinct, there = column.nunique(), int(column.notna().sum())
    if there > 3 and distinct > there / 2:
        raise InvalidInputError(
            f"Column '{name}' of {path} has {distinct} different values in {there} rows, such as "
            f"'{column.dropna().iloc[0][:40]}'; that is too many for a category. Leave it out or code it as a number."
        )
    return column


def without_gaps(tables: Sequence["pandas.DataFrame"], path: Path, drop: bool, remedy: str) -> list["pandas.DataFrame"]:
    """Tables of the same rows, all complete: rows with gaps are dropped if `drop`, else an error that ends in `remedy`."""
    import pandas as pd

    gaps = pd.concat([table.isna() for table in tables], axis=1)
    rows = gaps.any(axis=1)
    if not rows.any():
        return list(tables)
    counts = gaps.sum()
    where = ", ".join(f"'{name}' ({count})" for name, count in counts[counts > 0].head(12).items())
    said = f"{int(rows.sum())} of the {len(rows)} rows of {path} have missing values, in {where}"
    if rows.all():
        raise InvalidInputError(f"All {len(rows)} rows of {path} have missing values, in {where}.")
    if not drop:
        raise InvalidInputError(f"{said}; the first is row {int(rows.to_numpy().argmax()) + 1} after the header. {remedy}")
    return [table[~rows] for table in tables]


def _is_text(column: "pandas.Series") -> bool:
    import pandas as pd

    return bool(pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column))


def _parsed(column: "pandas.Series") -> "pandas.Series":
    """Text as numbers, with gaps where it is none."""
    import pandas as pd

    return pd.to_numeric(column.map(str, na_action="ignore").astype(object), errors="coerce")
