"""A saved model and contexts for it: from a table, or from the command line."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import typer

from contextualdag.checks import did_you_mean, listed
from contextualdag.cli.tables import complete_rows, days, holds_days, numbers, read_table, require_columns
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators import load_model as load_estimator

if TYPE_CHECKING:
    from contextualdag.contexts import ContextFeature
    from contextualdag.estimators.base import GraphEstimator


def load_model(folder: Path, edges: float | None, explained: float | None = None) -> "GraphEstimator":
    """A saved model; with that many edges, or those that explain such a share, if a number is given."""
    if edges is not None and explained is not None:
        raise typer.BadParameter("Give --edges or --explained, not both.", param_hint="--explained")
    model = load_estimator(folder)
    if explained is not None:
        try:
            return model.select(explained=explained)
        except InvalidParameterError as error:
            raise typer.BadParameter(str(error), param_hint="--explained") from None
    if edges is None:
        return model
    try:
        return model.select(n_edges=edges)
    except InvalidParameterError as error:
        raise typer.BadParameter(str(error).replace("n_edges", "The number of edges", 1), param_hint="--edges") from None


def require_context(model: "GraphEstimator", option: str) -> None:
    """Raise if a model was fitted without a context, which `option` needs."""
    if not model.context_features_:
        raise typer.BadParameter(
            "This model was fitted without a context and has only one graph. Leave the option out.", param_hint=option
        )


def contexts_from_file(
    model: "GraphEstimator", path: Path, delimiter: str | None = None, decimal: str = "."
) -> pd.DataFrame:
    """Take the context columns of a model from a table; other columns are ignored.

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
    features = {feature.name: feature for feature in model.context_features_}
    frame = read_table(path, delimiter, decimal, [name for name, feature in features.items() if not feature.is_number])
    require_columns(frame, list(features), path)
    columns = {}
    for name, feature in features.items():
        if feature.origin is not None and holds_days(frame[name]):
            moments = days(frame, name, path)
            moments = moments if moments.dt.tz is None else moments.dt.tz_convert(None)
            columns[name] = (moments - pd.Timestamp(feature.origin)) / pd.Timedelta(days=1)
        else:
            columns[name] = numbers(frame, name, path) if feature.is_number else frame[name]
    (contexts,) = complete_rows([pd.DataFrame(columns)], path, False, "Fill them or remove these rows.")
    for name, feature in features.items():
        if feature.is_number:
            continue
        known = feature.known
        unknown = [str(value) for value in contexts[name].unique() if feature.category(value) is None]
        if unknown:
            row = int((contexts[name].map(str) == unknown[0]).to_numpy().argmax()) + 1
            raise InvalidInputError(
                f"Row {row} after the header of {path} has {name} = '{unknown[0]}', which the model has not seen."
                f"{did_you_mean(unknown[0], known)} Known: {listed(known)}."
            )
    return contexts


def context_from_options(model: "GraphEstimator", at: list[str]) -> pd.DataFrame:
    """One context from ``name=value`` pairs, with typical values for the other features.

    Parameters
    ----------
    model : estimator
        A fitted model.
    at : list of str
        The pairs.

    Returns
    -------
    DataFrame of one row
    """
    context = model.typical_context()
    features = {feature.name: feature for feature in model.context_features_}
    given: dict[str, Any] = {}
    for pair in at:
        name = name_before_equals(pair, list(features))
        if "=" not in pair:
            raise _bad(f"A feature and its value were expected, such as age=30. Got '{pair}'.")
        if name not in features:
            near = did_you_mean(name, list(features))
            raise _bad(f"The model has no context feature '{name}'.{near} It has: {listed(list(features))}.")
        if name in given:
            raise _bad(f"'{name}' is given twice.")
        given[name] = _value(features[name], pair[len(name) + 1 :])
    for name, value in given.items():
        context[name] = [value]
    return context


def name_before_equals(pair: str, known: list[str]) -> str:
    """The name in ``name=value``: the longest known one, as names may contain the equals sign as well."""
    return max((name for name in known if pair.startswith(f"{name}=")), key=len, default=pair.partition("=")[0])


def describe_context(context: pd.Series) -> str:
    """A context in words: ``age = 30, site = a``."""
    shown = (f"{value:.4g}" if isinstance(value, float | int) else str(value) for value in context)
    return ", ".join(f"{name} = {value}" for name, value in zip(context.index, shown, strict=True))


def describe_outside(model: "GraphEstimator", context: pd.Series) -> str:
    """The features of a context that are outside the range of the training data, in words; empty if none is."""
    return ", ".join(
        f"{feature.name} = {context[feature.name]:.4g} (the fit saw {feature.low:.4g} to {feature.high:.4g})"
        for feature in model.context_features_
        if feature.is_number and feature.name in context and not feature.contains(context[feature.name])
    )


def _value(feature: "ContextFeature", value: str) -> float | str:
    if not feature.is_number:
        known, category = feature.known, feature.category(value) or feature.category(value.strip())
        if category is None:
            raise _bad(f"'{value}' is no category of '{feature.name}'.{did_you_mean(value, known)} It has: {listed(known)}.")
        return category
    if feature.origin is not None:
        return _days(feature, value)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        span = f"from {feature.low:.4g} to {feature.high:.4g}"
        raise _bad(f"'{feature.name}' is a number, {span} in the training data. Got '{value}'.")
    return number


def _days(feature: "ContextFeature", value: str) -> float:
    """Days since the first of the fit, from a date or from their number."""
    first = pd.Timestamp(feature.origin)
    try:
        number = float(value)
    except ValueError:
        written = holds_days(pd.Series([value], dtype=object))
        date = pd.to_datetime(value.strip(), utc=True, errors="coerce") if written else pd.NaT
        number = math.nan if date is pd.NaT else (date.tz_convert(None) - first) / pd.Timedelta(days=1)
    if not math.isfinite(number):
        low, high = (f"{first + pd.Timedelta(days=end):%Y-%m-%d}" for end in (feature.low, feature.high))
        raise _bad(
            f"'{feature.name}' is a date, from {low} to {high} in the training data, or days since {feature.origin}. Got "
            f"'{value}'."
        )
    return number


def _bad(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="--at")
