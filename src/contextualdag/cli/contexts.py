"""Contexts for a fitted model: from a table, or from the command line."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contextualdag.cli.columns import numbers, require_columns, without_gaps
from contextualdag.cli.tables import did_you_mean, listed, read_table
from contextualdag.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

    from contextualdag.estimators.path_estimator import PathEstimator


def has_context(model: "PathEstimator") -> bool:
    """Whether a model was fitted with a context."""
    from contextualdag.estimators.fixed import NO_CONTEXT

    return model.encoder_.names != (NO_CONTEXT,)


def contexts_from_file(
    model: "PathEstimator", path: Path, delimiter: str | None = None, decimal: str = "."
) -> "pandas.DataFrame":
    """The columns of a model's context from a table; other columns are left out.

    Parameters
    ----------
    model : estimator
        Fitted with a context.
    path : Path
        CSV or Parquet.
    delimiter, decimal
        As in `read_table`.

    Returns
    -------
    DataFrame
        One row for each row of the table.
    """
    import pandas as pd

    kinds = dict(zip(model.encoder_.names, model.encoder_.categories, strict=True))
    frame = read_table(path, delimiter, decimal, [name for name, known in kinds.items() if known is not None])
    require_columns(frame, list(kinds), path)
    columns = {name: numbers(frame, name, path) if known is None else frame[name] for name, known in kinds.items()}
    (contexts,) = without_gaps([pd.DataFrame(columns)], path, False, "Fill them or remove these rows.")
    for name, known in kinds.items():
        if known is None:
            continue
        strange = [value for value in contexts[name].unique() if value not in known]
        if strange:
            row = int((contexts[name] == strange[0]).to_numpy().argmax()) + 1
            raise InvalidInputError(
                f"Row {row} after the header of {path} has {name} = '{strange[0]}', which the model has not seen."
                f"{did_you_mean(strange[0], known)} Known: {listed(known)}."
            )
    return contexts


def context_from_options(model: "PathEstimator", at: list[str]) -> "pandas.DataFrame":
    """One context from ``name=value`` each, with typical values for the features that are not named.

    Parameters
    ----------
    model : estimator
        Fitted with a context.
    at : list of str
        The values given.

    Returns
    -------
    DataFrame of one row
    """
    context = model.typical_context()
    kinds = dict(zip(model.encoder_.names, model.encoder_.categories, strict=True))
    given: dict[str, Any] = {}
    for one in at:
        # A name may contain the sign as well.
        name, value = next(((n, one[len(n) + 1 :]) for n in kinds if one.startswith(f"{n}=")), (one.partition("=")[0], ""))
        if name not in kinds:
            near = did_you_mean(name, list(kinds))
            raise _bad(f"The model has no context feature '{name}'.{near} It has: {listed(list(kinds))}.")
        if name in given:
            raise _bad(f"'{name}' is given twice.")
        given[name] = _value(model, name, value.strip(), kinds[name])
    return context.assign(**{name: [value] for name, value in given.items()})


def _value(model: "PathEstimator", name: str, value: str, known: tuple[str, ...] | None) -> float | str:
    if known is not None:
        if value not in known:
            raise _bad(f"'{value}' is no category of '{name}'.{did_you_mean(value, known)} It has: {listed(known)}.")
        return value
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        low, high = _ranges(model)[name]
        raise _bad(f"'{name}' is a number, from {low:.4g} to {high:.4g} in the data of the fit. Got '{value}'.")
    return number


def described(context: "pandas.Series") -> str:
    """A context in words: ``age = 30, site = a``."""
    shown = (f"{value:.4g}" if isinstance(value, float | int) else str(value) for value in context)
    return ", ".join(f"{name} = {value}" for name, value in zip(context.index, shown, strict=True))


def beyond(model: "PathEstimator", context: "pandas.Series") -> str:
    """Which features of a context lie outside the range of the fit, in words; empty if none does."""
    out = []
    for name, (low, high) in _ranges(model).items():
        if not low <= context[name] <= high:
            out.append(f"{name} = {context[name]:.4g} (the fit saw {low:.4g} to {high:.4g})")
    return ", ".join(out)


def _ranges(model: "PathEstimator") -> dict[str, tuple[float, float]]:
    """Smallest and largest value of every numeric feature."""
    table = model.context_summary_
    numeric = table[table["kind"] == "number"]
    return {row.feature: (float(row.low), float(row.high)) for row in numeric.itertuples(index=False)}


def _bad(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="--at")
