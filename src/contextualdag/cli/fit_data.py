"""From a table to what a fit needs: numeric variables, and a context of numbers and categories."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contextualdag.cli.columns import categories, means_numbers, numbers, require_columns, without_gaps
from contextualdag.cli.tables import has_name, listed
from contextualdag.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class FitData:
    """Variables and contexts of the same rows, without gaps; `Z` is None where there is no context."""

    X: "pandas.DataFrame"
    Z: "pandas.DataFrame | None"
    n_dropped: int
    left_out: list[str]


def choose_data(
    frame: "pandas.DataFrame",
    path: Path,
    nodes: list[str],
    context: list[str],
    categorical: list[str],
    drop_missing: bool,
) -> FitData:
    """Take the columns of a fit out of a table.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : Path
        Where it comes from.
    nodes : list of str
        The variables; if empty, all numeric columns that are no context.
    context : list of str
        The context features; may be empty.
    categorical : list of str
        Those of them that are categories, though they may look like numbers.
    drop_missing : bool
        Drop rows with gaps instead of complaining.

    Returns
    -------
    FitData
    """
    import pandas as pd

    require_columns(frame, [*nodes, *context], path)
    both = [name for name in nodes if name in context]
    if both:
        raise typer.BadParameter(f"A column is a variable or context, not both: {listed(both)}.", param_hint="--nodes")
    others = [name for name in categorical if name not in context]
    if others:
        raise typer.BadParameter(f"No columns of --context: {listed(others)}.", param_hint="--categorical")
    left_out: list[str] = []
    if not nodes:
        rest = [name for name in frame.columns if name not in context]
        nodes = [name for name in rest if has_name(name) and means_numbers(frame[name])]
        left_out = [name for name in rest if name not in nodes]
    if len(nodes) < 2:
        raise InvalidInputError(
            f"A graph needs two variables at least. Got {listed(nodes) or 'none'} from {path}, whose columns are: "
            f"{listed(list(frame.columns))}."
        )
    hint = " To leave the column out, name the others with --nodes."
    X = pd.DataFrame({name: numbers(frame, name, path, hint if left_out else "") for name in nodes})
    features = {}
    for name in context:
        if name not in categorical and means_numbers(frame[name]):
            features[name] = numbers(frame, name, path, f" If '{name}' is a category, add --categorical {name}.")
        else:
            features[name] = categories(frame, name, path)
    tables = [X, pd.DataFrame(features, index=frame.index)]
    X, Z = without_gaps(tables, path, drop_missing, "Fill them, or add --drop-missing to leave these rows out.")
    return FitData(X, Z if context else None, len(frame) - len(X), left_out)
