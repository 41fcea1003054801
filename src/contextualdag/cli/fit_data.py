"""The data of a fit: columns of a table by their roles, without missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contextualdag.cli.row_columns import RowColumns

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class FitData:
    """Data of a fit, without missing values.

    Attributes
    ----------
    X : DataFrame
        The variables. Its index counts the rows of the file after the header, from 0.
    Z : DataFrame or None
        The contexts of the same rows; None without a context.
    n_dropped : int
        Number of rows that were dropped because of missing values.
    left_out : list of str
        Columns of the table that are not used.
    more : dict
        Further arguments of `fit`, see `RowColumns`.
    """

    X: "pandas.DataFrame"
    Z: "pandas.DataFrame | None"
    n_dropped: int
    left_out: list[str]
    more: dict[str, Any] = field(default_factory=dict)


def choose_data(
    frame: "pandas.DataFrame",
    path: Path,
    nodes: list[str],
    context: list[str],
    categorical: list[str],
    drop_missing: bool,
    of_rows: RowColumns | None = None,
    impute: bool = False,
    ordered: Mapping[str, Sequence[str]] | None = None,
) -> FitData:
    """Select the columns of a fit from a table.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : Path
        Its file, for error messages.
    nodes : list of str
        Columns of the variables; if empty, all numeric columns outside the context.
    context : list of str
        Columns of the context features; may be empty.
    categorical : list of str
        Context features that are categories although they look like numbers.
    drop_missing : bool
        Whether to drop rows with missing values; otherwise they are an error.
    impute : bool, default=False
        Whether missing values of the variables stay, to be filled in by the fit.
    ordered : mapping, optional
        Levels of context features whose categories have an order, from low to high.
    of_rows : RowColumns, optional
        Columns that say something of rows. They are neither variables nor context features.

    Returns
    -------
    FitData
    """
    import pandas as pd

    from contextualdag.checks import listed
    from contextualdag.cli.tables import (
        categories,
        complete_rows,
        days,
        has_name,
        holds_days,
        holds_flags,
        is_mostly_numeric,
        numbers,
        ordered_categories,
        remedy_for_text,
        require_columns,
    )
    from contextualdag.errors import InvalidInputError

    of_rows = of_rows or RowColumns()
    require_columns(frame, [*nodes, *context, *of_rows.names], path)
    of_rows.check_roles(nodes, context)
    both = [name for name in nodes if name in context]
    if both:
        raise typer.BadParameter(
            f"A column is a variable or a context feature, not both: {listed(both)}.", param_hint="--nodes"
        )
    others = [name for name in categorical if name not in context]
    if others:
        raise typer.BadParameter(f"Not in --context: {listed(others)}.", param_hint="--categorical")
    left_out: list[str] = []
    if not nodes:
        rest = [name for name in frame.columns if name not in context and name not in of_rows.names]
        are_numbers = [name for name in rest if holds_flags(frame[name]) or is_mostly_numeric(frame[name])]
        nodes = [name for name in are_numbers if has_name(name)]
        left_out = [name for name in rest if name not in nodes]
    if len(nodes) < 2:
        raise InvalidInputError(
            f"A graph needs at least two variables. Got {listed(nodes) or 'none'} from {path}, whose columns are: "
            f"{listed(list(frame.columns))}."
        )
    leave_out = " To leave the column out, name the others with --nodes."
    hints = {name: leave_out if left_out else remedy_for_text(frame[name]) for name in nodes}
    X = pd.DataFrame({name: numbers(frame, name, path, hint) for name, hint in hints.items()})
    levels: dict[str, Sequence[str]] = {
        name: list(map(str, dtype.categories))
        for name, dtype in frame.dtypes.items()
        if getattr(dtype, "ordered", False) and name not in categorical
    }
    levels |= ordered or {}
    features = {}
    for name in context:
        if name in levels:
            features[name] = ordered_categories(frame, name, levels[name], path)
        elif name not in categorical and holds_days(frame[name]):
            features[name] = days(frame, name, path)
        elif name not in categorical and is_mostly_numeric(frame[name]):
            features[name] = numbers(frame, name, path, f" If '{name}' is a category, add --categorical {name}.")
        else:
            features[name] = categories(frame, name, path)
    Z = pd.DataFrame(features, index=frame.index)
    said = of_rows.read(frame, path)
    remedy = "Fill them, or add --drop-missing to drop these rows."
    lacking = int(Z.isna().any(axis=1).sum())
    if lacking:
        remedy = f"A row without a context has no graph, and {lacking} {'lacks' if lacking == 1 else 'lack'} one. {remedy}"
    needed = [Z, said.drop(columns=of_rows.may_be_empty)]
    if impute:
        Z, _ = complete_rows(needed, path, drop_missing, remedy)
        X = X.loc[Z.index]
    else:
        more = " Missing values of variables can be filled in by the fit: --impute." if X.isna().any(axis=None) else ""
        X, Z, _ = complete_rows([X, *needed], path, drop_missing, remedy + more)
    of_rows.check(said.loc[X.index], nodes, path)
    return FitData(X, Z if context else None, len(frame) - len(X), left_out, of_rows.arguments(said.loc[X.index]))


def check_kinds(
    periods: Mapping[str, float], ordered: Mapping[str, Sequence[str]], context: list[str], categorical: list[str]
) -> None:
    """Raise if a cyclic feature is no numeric context feature, or an ordered one is of another kind as well."""
    from contextualdag.checks import did_you_mean, listed

    for name in periods:
        if name not in context:
            known = f"It has: {listed(context)}." if context else "There is no --context."
            raise typer.BadParameter(
                f"'{name}' is not in --context.{did_you_mean(name, context)} {known}", param_hint="--cyclic"
            )
        if name in categorical:
            raise typer.BadParameter(f"'{name}' is in --categorical, too; it can be only one.", param_hint="--cyclic")
    for name in ordered:
        for other, option in ((categorical, "--categorical"), (periods, "--cyclic")):
            if name in other:
                raise typer.BadParameter(f"'{name}' is in {option}, too; it can be only one.", param_hint="--ordered")


def check_transforms(transforms: str | Mapping[str, str], variables: Sequence[str]) -> None:
    """Raise if a transform is given for what is no variable, by its name or its position."""
    from contextualdag.checks import did_you_mean, listed

    for name in [] if isinstance(transforms, str) else transforms:
        if name not in variables and not (name.isdecimal() and int(name) < len(variables)):
            raise typer.BadParameter(
                f"'{name}' is not a variable.{did_you_mean(name, variables)} The variables are: {listed(variables)}.",
                param_hint="--transform",
            )
