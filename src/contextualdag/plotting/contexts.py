"""Contexts as pictures need them: read, named, typical, along a feature; from any model with the estimators' methods."""

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from contextualdag.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

BEYOND = 0.15  # of the training range, shown on either side of it
N_DRAWN = 500


class GraphModel(Protocol):
    """What a picture asks of a model."""

    names_: list[str]

    @property
    def context_summary_(self) -> "pandas.DataFrame":
        """One row for each feature of the contexts."""

    def typical_context(self, quantile: float = 0.5) -> "pandas.DataFrame":
        """One context."""

    def is_outside(self, Z: Any) -> np.ndarray:
        """Which contexts lie outside the training range."""

    def adjacency(self, Z: Any) -> np.ndarray:
        """Graphs of contexts."""


def read_contexts(model: GraphModel, Z: Any) -> "pandas.DataFrame":
    """Contexts as a table with the columns of the fit.

    Parameters
    ----------
    model : estimator
        A fitted one.
    Z : array, DataFrame, mapping or None
        One context or several. A mapping names features and their values; those that it leaves out, and all if there is
        nothing at all, are typical.
    """
    import pandas as pd

    features = list(model.context_summary_["feature"])
    if Z is None:
        return model.typical_context()
    if isinstance(Z, Mapping):
        row = model.typical_context().astype(object)
        for name, value in Z.items():
            row[find_name(str(name), features, "context feature")] = [value]
        return row.infer_objects()
    if hasattr(Z, "columns"):
        return Z if isinstance(Z, pd.DataFrame) else Z.to_pandas()
    # A list may mix numbers and categories, which an array without this would all make text.
    values = np.atleast_2d(Z if isinstance(Z, np.ndarray) else np.asarray(Z, dtype=object))
    if values.shape[1] != len(features):
        raise InvalidInputError(f"A context has {len(features)} values, for {features}. Got {values.shape[1]} instead.")
    return pd.DataFrame(values, columns=features).infer_objects()


def read_context(model: GraphModel, z: Any) -> "pandas.DataFrame":
    """One context as a table of one row."""
    table = read_contexts(model, z)
    if len(table) != 1:
        raise InvalidInputError(f"z must be one context. Got {len(table)}; use plot_graphs for several.")
    return table


def find_name(name: str, known: Sequence[str], what: str) -> str:
    """The name itself if it is known; else an error that suggests the nearest."""
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."
    raise InvalidInputError(f"There is no {what} '{name}'; {hint}")


def context_words(model: GraphModel, context: "pandas.DataFrame", most: int = 8) -> str:
    """A context as a title says it: at most so many features, without those that never varied."""
    summary = model.context_summary_
    parts = [
        f"{name} = {value_words(context[name].iloc[0])}"
        for name, low, high in zip(summary["feature"], summary["low"], summary["high"], strict=True)
        if low != high  # also for categories, which have neither
    ]
    # Spaces that do not break, so that a long title is broken between features only.
    parts = [part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def value_words(value: Any) -> str:
    """A number with three digits, anything else as it is."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{float(value):.3g}".replace("-", "−")  # noqa: RUF001
    return str(value)


def varying_features(model: GraphModel) -> list[str]:
    """Features with more than one value in training."""
    summary = model.context_summary_
    categories = [
        kind == "category" and len(shares) > 1 for kind, shares in zip(summary["kind"], summary["shares"], strict=True)
    ]
    varies = np.array(categories) | (summary["low"] < summary["high"]).to_numpy()
    return list(summary["feature"][varies])


def values_along(model: GraphModel, feature: str, n: int) -> list[Any]:
    """Values of a feature: all categories, or `n` numbers over the training range and a little beyond."""
    row = model.context_summary_.set_index("feature").loc[feature]
    if row["kind"] == "category":
        return list(row["shares"])
    low, high = float(row["low"]), float(row["high"])
    beyond = BEYOND * (high - low)
    return list(np.linspace(low - beyond, high + beyond, n))


def contexts_along(model: GraphModel, values: Mapping[str, Sequence[Any]]) -> "pandas.DataFrame":
    """Typical contexts in which some features take the given values, one row for each."""
    import pandas as pd

    n = len(next(iter(values.values())))
    table = pd.concat([model.typical_context()] * n, ignore_index=True)
    return table.assign(**{name: list(column) for name, column in values.items()})


def drawn_contexts(model: GraphModel, n: int = N_DRAWN) -> "pandas.DataFrame":
    """Contexts like those of the fit, feature by feature: a model keeps no rows, so how features hang together is lost."""
    import pandas as pd

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    shares = np.linspace(0, 1, 101)
    grid = pd.concat([model.typical_context(share) for share in shares], ignore_index=True)
    for _, row in model.context_summary_.iterrows():
        if row["kind"] == "category":
            odds = np.array(list(row["shares"].values()))
            columns[row["feature"]] = rng.choice(list(row["shares"]), n, p=odds / odds.sum())
        else:
            spread = (np.arange(n) + 0.5) / n  # evenly over the distribution, in an order of its own for each feature
            columns[row["feature"]] = rng.permutation(np.interp(spread, shares, grid[row["feature"]].to_numpy(float)))
    return pd.DataFrame(columns)
