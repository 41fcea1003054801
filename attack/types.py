"""Tables of every type of value in every container: what is read is what was given, or the table is refused."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from attack.program import Case, Found
from attack.tables import CONTEXTS, VARIABLES
from contextualdag.contexts import ContextEncoder
from contextualdag.errors import ContextualDAGError
from contextualdag.tables import read_variables

TITLE = "Tables of all types"
BATCH = 50
HOLE = 0.2  # share of missing values where there are some
CONTAINERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda columns: pd.DataFrame({name: pd.Series(list(values)) for name, values in columns.items()}),
    "pandas objects": lambda columns: pd.DataFrame(
        {name: pd.Series(list(values), dtype=object) for name, values in columns.items()}
    ),
    "polars": lambda columns: pl.DataFrame({name: list(values) for name, values in columns.items()}, strict=False),
    "arrow": lambda columns: pa.table({name: pa.array(list(values)) for name, values in columns.items()}),
}


def cases(short: bool) -> Iterator[Case]:
    """The tables of `attack.tables` first, then tables of random columns."""
    for start in range(0, max(len(VARIABLES), len(CONTEXTS)), BATCH):
        yield {"from": start, "to": start + BATCH}
    for seed in itertools.count():
        yield {"seed": seed, "count": 4 * BATCH}


def check(case: Case, scratch: Path) -> Found:
    """Read all tables of a batch."""
    if "seed" in case:
        problems = [_random(np.random.default_rng([case["seed"], number])) for number in range(case["count"])]
    else:
        here = slice(case["from"], case["to"])
        problems = [_read(f"X as {one.name}", _variables, one.make, one.columns) for one in VARIABLES[here]]
        problems += [_read(f"Z as {one.name}", _contexts, one.make, one.columns) for one in CONTEXTS[here]]
    return Found({"tables": float(len(problems))}, "; ".join([problem for problem in problems if problem][:5]))


def _read(what: str, read: Callable[[Any], list[Any]], make: Callable[[], Any], expected: Any) -> str:
    """What is wrong with how a table is read."""
    try:
        found = read(make())
    except ContextualDAGError as error:
        return "" if expected is None and str(error) else f"{what} is refused: {error}" if expected else f"{what}: no words"
    except Exception as error:  # that is what is looked for
        return f"{what}: {type(error).__name__}: {error}"
    if expected is None:
        return f"{what} is read, although it has no meaning"
    if len(found) != len(expected):
        return f"{what} has {len(found)} columns instead of {len(expected)}"
    wrong = [k for k, (one, other) in enumerate(zip(found, expected, strict=True)) if not _same(one, other)]
    return f"{what}: column {wrong[0]} is read as {list(found[wrong[0]])[:6]}" if wrong else ""


def _same(found: Any, expected: Any) -> bool:
    if len(found) != len(expected):
        return False
    return all(a == b or (a != a and b != b) for a, b in zip(list(found), list(expected), strict=True))


def _variables(table: Any) -> list[Any]:
    values, _ = read_variables(table, with_missing=True)
    return list(values.T)


def _contexts(table: Any) -> list[Any]:
    """Columns as they are encoded: numbers, and categories as text."""
    encoder = ContextEncoder.learn(table)
    encoded, found = encoder.encode(table), []
    for name, categories in zip(encoder.names, encoder.categories, strict=True):
        column = encoded[:, list(encoder.columns_of_features[name])]
        found.append(column[:, 0] if categories is None else np.array(categories, dtype=object)[column.argmax(1)])
    return found


def _random(rng: np.random.Generator) -> str:
    """Read a table of some columns of any kind in any container."""
    n, container = int(rng.integers(6, 40)), list(CONTAINERS)[rng.integers(len(CONTAINERS))]
    columns: dict[str, Any] = {}
    expected: list[Any] = []
    for position in range(int(rng.integers(1, 5))):
        kind = ("floats", "integers", "flags", "large", "few", "small")[rng.integers(6)]
        values: list[Any]
        match kind:
            case "floats":
                values = rng.standard_normal(n).tolist()
            case "integers":
                values = rng.integers(-(2**40), 2**40, n).tolist()
            case "flags":
                values = (rng.random(n) < 0.5).tolist()
                values[:2] = [True, False]
            case "large":
                values = (rng.standard_normal(n) * 1e20).tolist()
            case "few":
                values = [float(one) for one in rng.integers(0, 3, n)]
            case _:
                values = (rng.standard_normal(n) * 1e-20).tolist()
        read = [float(value) for value in values]
        if rng.random() < 0.3:
            for row in np.flatnonzero(rng.random(n) < HOLE)[:-1]:
                if row >= 2:
                    values[row], read[row] = None, float("nan")
        columns[f"c{position}"] = values
        expected.append(read)
    what = f"{container} of {', '.join(f'{type(v[0]).__name__}' for v in columns.values())}"
    return _read(what, _variables, lambda: CONTAINERS[container](columns), tuple(expected))
