"""Cells of an experiment: named by their content, so that a result can always be found again."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from contextualdag.errors import InvalidInputError, InvalidParameterError

Scalar: TypeAlias = str | int | float | bool | None
Cell: TypeAlias = Mapping[str, Scalar]
Row: TypeAlias = dict[str, Any]


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
    >>> from contextualdag.experiments.cells import cell_key
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
    >>> from contextualdag.experiments.cells import cell_seed
    >>> 0 <= cell_seed({"n": 1000, "p": 20}) < 2**31
    True
    """
    # Other bytes than those of the key, so that the seed does not repeat what the key says.
    return int.from_bytes(_digest(cell)[8:12], "big") >> 1


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


def _digest(cell: Cell) -> bytes:
    return hashlib.sha256(canonical(cell).encode()).digest()


def plain_rows(rows: object, cell: Cell) -> list[Row]:
    """Rows as plain Python values; raise if they cannot be, or repeat a name of the cell."""
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
