"""Finished runs of a benchmark in a CSV, so that it can be interrupted and goes on where it stopped."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd


def completed(path: Path, wanted: Iterable[Mapping[str, Any]], run: Callable[..., Mapping[str, Any]]) -> pd.DataFrame:
    """All runs in a CSV, after those that are missing have been made and added, one after another.

    Parameters
    ----------
    path : Path
        The CSV; made if it is not there.
    wanted : iterable of mappings
        What identifies each run, the same columns for all.
    run : callable
        Is given these as arguments, and returns the other columns.
    """
    done = pd.read_csv(path) if path.exists() else pd.DataFrame()
    for key in wanted:
        if len(done) and (done[list(key)] == pd.Series(key)).all(axis=1).any():
            continue
        found = pd.DataFrame([{**key, **run(**key)}]).round(4)
        found.to_csv(path, mode="a", header=not path.exists(), index=False)
    return pd.read_csv(path) if path.exists() else done
