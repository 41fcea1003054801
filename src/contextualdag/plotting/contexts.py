"""Contexts for pictures: reading, naming and drawing them, typical ones, and values along a feature."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from contextualdag.checks import did_you_mean, listed
from contextualdag.columns import check_meaning, columns, has_names
from contextualdag.contexts import N_QUANTILES, ContextFeature
from contextualdag.errors import InvalidInputError
from contextualdag.printable import printable, shortened

if TYPE_CHECKING:
    import pandas

BEYOND = 0.15  # of the training range, shown on either side of it
N_DRAWN = 500


class GraphModel(Protocol):
    """What a picture needs of a model."""

    names_: list[str]

    @property
    def context_features_(self) -> tuple[ContextFeature, ...]:
        """Features of the contexts; empty if there are none."""

    def typical_context(self, quantile: float = 0.5) -> "pandas.DataFrame":
        """One context."""

    def is_outside(self, Z: Any) -> np.ndarray:
        """Which contexts lie outside the training range."""

    def adjacency(self, Z: Any) -> np.ndarray:
        """Graphs of contexts."""


def standardised(model: GraphModel, W: np.ndarray) -> np.ndarray:
    """Weights (..., p, p) in standard deviations of the variables, so that edges can be compared whatever the units."""
    found: np.ndarray = W * units(model)
    return found


def units(model: GraphModel) -> np.ndarray:
    """What weights (p, p) are multiplied by to be in standard deviations; one for models that do not tell these."""
    scale = np.asarray(getattr(model, "scale_", np.ones(len(model.names_))))
    found: np.ndarray = scale[:, None] / scale
    return found


def read_contexts(model: GraphModel, Z: Any) -> "pandas.DataFrame":
    """Contexts as a table with the columns of the fit.

    Parameters
    ----------
    model : estimator
        Fitted model.
    Z : array, DataFrame, mapping or None
        One context or several. A mapping gives the values of some features; the others are typical. None is a typical
        context.

    Returns
    -------
    DataFrame
    """
    import pandas as pd

    names = [feature.name for feature in model.context_features_]
    if Z is None:
        return model.typical_context()
    if isinstance(Z, Mapping):
        given = {find_name(str(name), names, "context feature"): value for name, value in Z.items()}
        row = model.typical_context().iloc[0].to_dict() | given
        Z = [[row[name] for name in names]]
    if isinstance(Z, pd.DataFrame):
        table = Z
    elif has_names(Z):
        found, known = columns(Z, "Z", "z")
        table = pd.DataFrame(dict(zip(known, found, strict=True)))
    else:
        # A list may mix numbers and categories; NumPy would otherwise convert all of them to text.
        found, _ = columns(np.atleast_2d(Z if isinstance(Z, np.ndarray) else np.asarray(Z, dtype=object)), "Z", "z")
        if len(found) != len(names):
            raise InvalidInputError(f"A context has {len(names)} values, for {names}. Got {len(found)} instead.")
        for name, column in zip(names, found, strict=True):
            check_meaning(column, name, "Z")
        table = pd.DataFrame(dict(zip(names, found, strict=True)))
    if not len(table):
        raise InvalidInputError("Z must hold at least one context. Got none.")
    return table


def read_context(model: GraphModel, z: Any, name: str = "z", several: str = "plot_graphs") -> "pandas.DataFrame":
    """One context as a table of one row; an error calls it `name`, and says that `several` takes more than one."""
    table = read_contexts(model, z)
    if len(table) != 1:
        raise InvalidInputError(f"{name} must be one context. Got {len(table)}; use {several} for several.")
    return table


def find_name(name: str, known: Sequence[str], what: str) -> str:
    """The name itself if it is known; else an error that suggests the nearest."""
    if name not in known:
        hint = did_you_mean(name, known) or f" Known: {listed(known)}."
        raise InvalidInputError(f"There is no {what} '{name}'.{hint}")
    return name


def find_feature(model: GraphModel, name: str) -> ContextFeature:
    """The context feature of that name."""
    features = {feature.name: feature for feature in model.context_features_}
    return features[find_name(name, list(features), "context feature")]


def varying_features(model: GraphModel) -> list[str]:
    """Names of the features with more than one value in training."""
    return [feature.name for feature in model.context_features_ if feature.varies]


def context_text(model: GraphModel, context: "pandas.DataFrame", most: int = 8) -> str:
    """A context for a title: at most `most` features, without those that never varied."""
    values = {name: value_text(context[name].iloc[0]) for name in varying_features(model)}
    parts = [f"{shortened(printable(name))} = {shortened(printable(value))}" for name, value in values.items()]
    # No-break spaces, so that a long title is broken between features only.
    parts = [part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def value_text(value: Any) -> str:
    """A value for people: numbers with about three digits, no exponent in the usual range and a real minus sign.

    Examples
    --------
    >>> from contextualdag.plotting.contexts import value_text
    >>> value_text(12.345), value_text(20700.4), value_text("Leeds")
    ('12.3', '20700', 'Leeds')
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return str(value)
    number, size = float(value), abs(float(value))
    if size >= 1e6 or 0 < size < 1e-3:
        text = f"{number:.3g}"
    else:
        text = f"{number:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "\N{MINUS SIGN}")


def values_along(feature: ContextFeature, n: int, beyond: float = BEYOND) -> list[Any]:
    """Values of a feature: all categories, or `n` numbers over the training range and a share of it on either side.

    Numbers that are cyclic stay within one period.
    """
    if not feature.is_number:
        return list(feature.shares)
    return list(np.linspace(*feature.beyond(beyond), n))


def contexts_along(
    model: GraphModel, values: Mapping[str, Sequence[Any]], context: "pandas.DataFrame | None" = None
) -> "pandas.DataFrame":
    """Contexts in which some features take the given values, one row for each; the others are those of a context.

    That is by default a typical one.
    """
    import pandas as pd

    n = len(next(iter(values.values())))
    table = pd.concat([model.typical_context() if context is None else context] * n, ignore_index=True)
    for name, column in values.items():
        table[name] = list(column)
    return table


def drawn_contexts(model: GraphModel, n: int = N_DRAWN) -> "pandas.DataFrame":
    """Contexts with the distribution of those of the fit, each feature drawn on its own.

    A model keeps no rows, so how features depend on one another is lost.
    """
    import pandas as pd

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for feature in model.context_features_:
        if feature.is_number:
            spread = (np.arange(n) + 0.5) / n  # evenly over the distribution, in a separate order for each feature
            values = np.interp(spread, np.linspace(0, 1, N_QUANTILES), feature.quantiles)
            columns[feature.name] = rng.permutation(values)
        else:
            shares = np.array(list(feature.shares.values()))
            columns[feature.name] = rng.choice(list(feature.shares), n, p=shares / shares.sum())
    return pd.DataFrame(columns, index=range(n))
