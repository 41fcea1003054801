"""Rows of a table with what a fitted model has for them: graphs, means, residuals."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import shown
from contextualdag.diagnostics.findings import with_values
from contextualdag.errors import InvalidInputError
from contextualdag.estimators.experiments import read_weights
from contextualdag.estimators.interventions import interventions_of
from contextualdag.tables import Array, Flags, check_aligned, check_same_samples, read_variables
from contextualdag.training.loss import array_residuals

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

MOST_WEIGHTS = 50_000_000  # of all graphs, which are held at once: 400 MB
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class FittedRows:
    """Rows with the graphs that a model has for them.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    X : array of shape (n, p)
        Variables, in the order of the model.
    Z : array of shape (n, m)
        Encoded contexts.
    mean : array of shape (n, p)
        Means of the variables given the context.
    W : array of shape (n, p, p)
        Graphs.
    outside : array of bool, shape (n,)
        Whether contexts are outside the range of the fit.
    intervened : array of bool, shape (n, p), optional
        Which variables were set or disturbed; their equations say nothing of these values.
    """

    names: list[str]
    X: Array
    Z: Array
    mean: Array
    W: Array
    outside: Flags
    intervened: Flags | None = None

    @classmethod
    def read(
        cls,
        model: "GraphEstimator",
        X: Any,
        Z: Any,
        most: int | None = None,
        interventions: Any = None,
        sample_weight: Any = None,
    ) -> "FittedRows":
        """From the user's tables, without rows of weight zero. Of more rows than `most` some are taken at equal steps."""
        _require_estimator(model)
        model._require_fit()
        if Z is None and model.context_features_:
            raise InvalidInputError("Z is missing: this model was fitted with contexts, so it needs them.")
        check_aligned({"X": X, "Z": Z, "sample_weight": sample_weight}, depth=4)
        _refuse_holes(X)
        values = model._read(X)
        contexts = model._encode(values if Z is None else Z)
        check_same_samples(values, contexts)
        intervened = None if interventions is None else interventions_of(interventions, X, model.names_)
        used = np.arange(len(values))
        if sample_weight is not None:
            used = np.flatnonzero(read_weights(sample_weight, len(values)))
        p = len(model.names_)
        used = used[:: max(-(-len(used) // (most or max(MOST_WEIGHTS // p**2, 1))), 1)]
        values, contexts = values[used], contexts[used]
        if intervened is not None:
            intervened = intervened[used] if intervened[used].any() else None
        parts = [contexts[first : first + ROWS_AT_ONCE] for first in range(0, len(contexts), ROWS_AT_ONCE)]
        W = np.concatenate([model._weights(part) for part in parts])
        mean = np.concatenate([model._means(part) for part in parts])
        outside = model._preparation.contexts.outside(contexts).astype(bool)
        return cls(model.names_, values, contexts, mean, W, outside, intervened)

    @cached_property
    def scored(self) -> Flags:
        """Values (n, p) that the equations of their variables account for."""
        scored: Flags = np.ones(self.X.shape, dtype=bool) if self.intervened is None else ~self.intervened
        return scored

    @cached_property
    def undisturbed(self) -> "FittedRows":
        """The rows without any intervention."""
        if self.intervened is None:
            return self
        rows = ~self.intervened.any(1)
        parts = {name: getattr(self, name)[rows] for name in ("X", "Z", "mean", "W", "outside")}
        return replace(self, **parts, intervened=None)

    @cached_property
    def centred(self) -> Array:
        """Variables without their means given the context."""
        return self.X - self.mean

    @cached_property
    def residuals(self) -> Array:
        """What means and graphs leave of the variables, (n, p)."""
        return array_residuals(self.centred, self.W)


def _require_estimator(model: Any) -> None:
    from contextualdag.estimators.base import GraphEstimator

    if not isinstance(model, GraphEstimator):
        raise InvalidInputError(
            "model must be a fitted estimator of contextualdag, such as ContextualDAG().fit(X, Z); it comes first, before X "
            f"and Z. Got {shown(model)} instead."
        )


def _refuse_holes(X: Any) -> None:
    """Raise if values are missing, with what to do: a model that is fitted does not fill them in."""
    values, names = read_variables(X, with_missing=True)
    holes = {name: int(count) for name, count in zip(names, np.isnan(values).sum(0), strict=True) if count}
    if holes:
        raise InvalidInputError(
            "X has missing values, and a model is checked on complete rows. Columns, and how many each misses: "
            f"{with_values(tuple(holes), list(holes.values()), '.0f')}. Drop the rows that miss some, in X and Z alike; in "
            "pandas: X = X.dropna(), then Z = Z.loc[X.index]."
        )
