"""The graphs of a model at the levels and contexts that a page asks for."""

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.explorer.features import Feature, Value, read_features
from contextualdag.explorer.levels import Level, levels_of
from contextualdag.explorer.view import Values, View, varying

if TYPE_CHECKING:
    from contextualdag.estimators.path_estimator import PathEstimator
    from contextualdag.tables import Array

N_SEEN = 200  # contexts that places and widths are settled on
ALONG, MAP = 81, 25  # points of a curve over a feature, and along one side of the map
KEPT = 512


class FittedGraphs:
    """Answers for one model, each computed once. Threads may ask at the same time.

    Parameters
    ----------
    model : estimator
        Fitted; it is not changed.

    Attributes
    ----------
    features : tuple of Feature
        Of the contexts.
    levels : list of Level
        Of sparsity.
    names : list of str
        Of the variables.
    default : View
        The median context beside a high one, at the level that the fit chose.
    """

    features: tuple[Feature, ...]
    levels: list[Level]

    def __init__(self, model: "PathEstimator") -> None:
        self._model = model
        # One at a time: several at once would only take longer each.
        self._lock = threading.Lock()
        self.names = model.names_
        self.features = read_features(model)
        self.levels = levels_of(model)
        chosen = next(position for position, level in enumerate(self.levels) if level.chosen)
        self.default = View(self._typical(0.5), self._typical(0.9), chosen, axes=tuple(varying(self.features)[:2]))
        self._at_level = functools.lru_cache(len(self.levels))(self._select)
        self.graph = functools.lru_cache(KEPT)(self._graph)
        self.along = functools.lru_cache(64)(self._along)
        self._counts = functools.lru_cache(64)(self._count_over)

    @functools.cached_property
    def seen(self) -> "Array":
        """Graphs of contexts all over the training range, (n, p, p), at the level of the fit, or denser if that is empty."""
        rng = np.random.default_rng(0)
        columns: list[list[Value]] = []
        for feature in self.features:
            if feature.is_number:
                columns.append([float(v) for v in np.interp(rng.random(N_SEEN), np.linspace(0, 1, 101), feature.quantiles)])
            else:
                columns.append([str(v) for v in rng.choice(list(feature.shares), N_SEEN, p=_normed(feature.shares))])
        contexts = list(zip(*columns, strict=True))
        W = self._graphs(self.default.level, contexts)
        return W if W.any() else self._graphs(len(self.levels) - 1, contexts)

    @property
    def vary(self) -> bool:
        """Whether graphs differ from context to context, as far as is seen."""
        return bool((self.seen != self.seen[0]).any())

    def counts(self, level: int, values: Values, axes: tuple[int, ...]) -> "Array":
        """Numbers of edges over one or two features, the others held: (points of the last axis, points of the first)."""
        others = tuple("" if position in axes else value for position, value in enumerate(values))
        return self._counts(level, others, axes)

    def _typical(self, quantile: float) -> Values:
        row = self._model.typical_context(quantile).iloc[0]
        return tuple(
            feature.rounded(float(row[feature.name])) if feature.is_number and feature.varies else row[feature.name]
            for feature in self.features
        )

    def _select(self, level: int) -> "PathEstimator":
        wanted = self.levels[level]
        return self._model if wanted.chosen else self._model.select(n_edges=wanted.n_edges)

    def _graphs(self, level: int, contexts: Sequence[Values]) -> "Array":
        import pandas as pd

        columns = zip(*contexts, strict=True)
        Z = pd.DataFrame({feature.name: list(column) for feature, column in zip(self.features, columns, strict=True)})
        with self._lock:
            return self._at_level(level).adjacency(Z)

    def _graph(self, level: int, values: Values) -> "Array":
        """The graph (p, p) of one context."""
        graph: Array = self._graphs(level, [values])[0]
        return graph

    def _along(self, level: int, values: Values) -> "list[tuple[list[Value], Array]]":
        """For each feature its values from end to end, and the graphs (n, p, p) there with the others held."""
        grids = [feature.grid(ALONG) if feature.varies else [] for feature in self.features]
        contexts = [
            (*values[:position], value, *values[position + 1 :]) for position, grid in enumerate(grids) for value in grid
        ]
        if not contexts:
            return [([], np.zeros((0, len(self.names), len(self.names)))) for _ in grids]
        parts = np.split(self._graphs(level, contexts), np.cumsum([len(grid) for grid in grids])[:-1])
        return list(zip(grids, parts, strict=True))

    def _count_over(self, level: int, values: Values, axes: tuple[int, ...]) -> "Array":
        grids = [self.features[axis].grid(MAP) for axis in axes]
        contexts = []
        for last in grids[1] if len(axes) > 1 else [None]:
            for first in grids[0]:
                row = list(values)
                row[axes[0]] = first
                if last is not None:
                    row[axes[1]] = last
                contexts.append(tuple(row))
        counts: Array = (self._graphs(level, contexts) != 0).sum((1, 2)).reshape(-1, len(grids[0]))
        return counts


def _normed(shares: dict[str, float]) -> "Array":
    values = np.array(list(shares.values()))
    normed: Array = values / values.sum()
    return normed
