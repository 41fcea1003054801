"""The graphs of a model at the levels of sparsity and contexts that a page shows."""

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.estimators.bootstrap import BootstrapDAG
from contextualdag.estimators.poor_fit import poor_fit
from contextualdag.estimators.readable import SHARE, readable
from contextualdag.estimators.remarks import directions, remarks
from contextualdag.estimators.summary import in_words, readable_table
from contextualdag.explorer.features import Control, Value
from contextualdag.explorer.response import Response
from contextualdag.explorer.view import Level, Values, View, varying
from contextualdag.plotting.contexts import drawn_contexts, units
from contextualdag.printable import printable
from contextualdag.tables import Array, Flags

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

FEW, COARSER = 20, 1.15  # levels are integers up to the first, then grow by at least this factor
ALIKE = 0.25  # levels that differ by fewer edges are hardly distinguishable
N_SEEN = 200  # contexts that determine the places of nodes and the scale of widths
PIECE = 125  # contexts computed at once for a map
ALONG, MAP = 81, 25  # points of a curve over a feature, and along one side of the map
KEPT, ROOM = 512, 8_000_000  # results kept of one kind, and bytes that they may take
LEVEL = 0.9  # of intervals of weights and effects


def levels_of(model: "GraphEstimator") -> list[Level]:
    """Levels from the sparsest graph, which has the required edges only, to the densest of the path.

    The selected one is among them and, if there is one, the readable one too.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.explorer.graphs import levels_of
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> X[:, 2] += X[:, 0]
    >>> levels = levels_of(FixedDAG(random_state=0).fit(X))
    >>> levels[0].label, [level.selected for level in levels].count(True)
    ('0 edges on average', 1)
    """
    most = float(model.path_["n_edges"].max())
    fewest = float(model._solution.n_required)
    counts, count = [fewest], fewest + 1
    while count <= most:
        counts.append(count)
        count = count + 1 if count < FEW else float(round(max(count + 1, count * COARSER)))
    counts += [most] if most - counts[-1] >= ALIKE else []
    selected = min(float(model.chosen_["n_edges"]), most)
    named = [Level(selected, True)]
    if (fewer := readable(model)) is not None:
        named.append(Level(float(fewer.chosen_["n_edges"]), explained=True))
    # They replace neighbours from which they are hardly distinguishable.
    others = [Level(count) for count in counts if all(abs(count - one.n_edges) >= ALIKE for one in named)]
    return sorted([*others, *named], key=lambda level: level.n_edges)


class FittedGraphs:
    """The graphs of one model, each computed once. It may be used by several threads.

    Parameters
    ----------
    model : estimator
        Fitted model; it is not changed.

    Attributes
    ----------
    features : tuple of Control
        Features of the contexts.
    levels : list of Level
        Levels of sparsity.
    names, labels : list of str
        Names of the variables, and as the page shows them.
    default : View
        The median context beside a high one, at the level that the fit selected, or the readable one.
    selected : int
        Position of the level that the fit selected.
    """

    def __init__(self, model: "GraphEstimator") -> None:
        self._model = model
        self._lock = threading.Lock()  # computing several at once would only slow down each
        self.names = model.names_
        self.labels = [printable(name) for name in model.names_]
        self.features = tuple(
            Control(one.name, one.quantiles, one.shares, one.cycle, one.origin) for one in model.context_features_
        )
        self.levels = levels_of(model)
        self.selected = next(position for position, level in enumerate(self.levels) if level.selected)
        first = next((position for position, level in enumerate(self.levels) if level.explained), self.selected)
        self.default = View(self._typical(0.5), self._typical(0.9), first, axes=tuple(varying(self.features)[:2]))
        size = 8 * len(self.names) ** 2  # of one graph in bytes
        kept, curves = (max(min(KEPT, ROOM // (size * n)), 4) for n in (1, ALONG * max(len(varying(self.features)), 1)))
        self._at_level = functools.lru_cache(len(self.levels))(self._select)
        self.graph = functools.lru_cache(kept)(self._graph)
        self._means = functools.lru_cache(KEPT)(self._means_of)
        self._told = functools.lru_cache(kept)(self._probabilities_told)
        self.intervals = functools.lru_cache(min(kept, 64))(self._intervals)
        self.effect_intervals = functools.lru_cache(min(kept, 64))(self._effect_intervals)
        self.undirected = functools.lru_cache(len(self.levels))(self._undirected)
        self.along = functools.lru_cache(curves)(self._along)
        self._counts = functools.lru_cache(64)(self._count_over)

    @functools.cached_property
    def seen(self) -> Array:
        """Graphs (n, p, p) of contexts like those of the fit, at the first level, or the densest if that is empty."""
        contexts = drawn_contexts(self._model, N_SEEN)
        W = self._adjacency(self.default.level, contexts)
        return W if W.any() else self._adjacency(len(self.levels) - 1, contexts)

    @functools.cached_property
    def units(self) -> Array:
        """What weights (p, p) are multiplied by to be in standard deviations, in which they are drawn and compared."""
        return units(self._model)

    @property
    def vary(self) -> bool:
        """Whether the graphs of `seen` differ from context to context."""
        return bool((self.seen != self.seen[0]).any())

    @functools.cached_property
    def remarks(self) -> list[str]:
        """Sentences about the model, the same for all contexts."""
        return remarks(self._model)

    @functools.cached_property
    def poor_fit(self) -> list[str]:
        """Sentences on what the model predicts worse than no model would."""
        return poor_fit(self._model)

    @functools.cached_property
    def summary(self) -> tuple[str, list[list[str]]]:
        """What changes with the context, as a sentence and as a table, its names first; empty if the model does not know."""
        sentence = in_words(self._model)
        if not sentence:
            return "", []
        table = readable_table(self._model.summary())
        for name in ("weight", "spread"):
            table[name] = [f"{number:.3g}" for number in table[name]]
        return sentence, [list(table.columns), *table.to_numpy().tolist()]

    @property
    def tells_probabilities(self) -> bool:
        """Whether the model tells how sure each edge is."""
        return isinstance(self._model, BootstrapDAG)

    def probabilities(self, level: int, values: Values) -> Array | None:
        """Probabilities (p, p) of edges in one context, in either direction where that is not told; None if unknown.

        At every level of sparsity they are those of the model itself, which votes for the edges of its own selection;
        with votes of another one they would not be calibrated.
        """
        if not self.tells_probabilities:
            return None
        P = self._told(values)
        return np.where(self.undirected(level), P + P.T, P)

    def directions(self, level: int) -> list[str]:
        """A sentence on the edges without a direction, if there are any."""
        with self._lock:
            return directions(self._at_level(level))

    def response(self, view: View, values: Values) -> Response | None:
        """How a context responds to the cause of a view; None if there is no cause."""
        if view.cause is None:
            return None
        W, means = self.graph(view.level, values), self._means(view.level, values)
        transforms = self._model._preparation.transforms
        means = transforms.forward(means[None], "the means")[0]
        return Response.of(view.cause, view.shift, W, means, self._model.noise_scale_, lambda x: transforms.back(x[None])[0])

    def counts(self, level: int, values: Values, axes: tuple[int, ...]) -> Array:
        """Numbers of edges over one or two features, the others held: (points of the last axis, points of the first)."""
        others = tuple("" if position in axes else value for position, value in enumerate(values))
        return self._counts(level, others, axes)

    def _typical(self, quantile: float) -> Values:
        values: list[Value] = []
        for feature in self.features:
            value = feature.typical(quantile)
            values.append(value if isinstance(value, str) or not feature.varies else feature.rounded(value))
        return tuple(values)

    def _select(self, level: int) -> "GraphEstimator":
        wanted = self.levels[level]
        if wanted.selected:
            return self._model
        return self._model.select(explained=SHARE) if wanted.explained else self._model.select(n_edges=wanted.n_edges)

    def _contexts(self, contexts: Sequence[Values]) -> Any:
        """Contexts as a table with the columns of the fit."""
        import pandas as pd

        columns = {feature.name: [values[i] for values in contexts] for i, feature in enumerate(self.features)}
        return pd.DataFrame(columns, index=range(len(contexts)))

    def _adjacency(self, level: int, contexts: Any) -> Array:
        with self._lock:
            return self._at_level(level).adjacency(contexts)

    def _graphs(self, level: int, contexts: Sequence[Values]) -> Array:
        """Graphs (n, p, p) of several contexts."""
        return self._adjacency(level, self._contexts(contexts))

    def _graph(self, level: int, values: Values) -> Array:
        """The graph (p, p) of one context."""
        graph: Array = self._graphs(level, [values])[0]
        return graph

    def _probabilities_told(self, values: Values) -> Array:
        """Probabilities (p, p) of edges in one context, each in its direction."""
        with self._lock:
            P: Array = self._model.edge_probabilities(self._contexts([values]))[0]
        return P

    def _intervals(self, level: int, values: Values) -> tuple[Array, Array]:
        """Bounds (p, p) of the weights of one context, if the model tells probabilities."""
        with self._lock:
            model: Any = self._at_level(level)
            low, high = model.weight_intervals(self._contexts([values]), LEVEL)
        return low[0], high[0]

    def _effect_intervals(self, level: int, values: Values) -> tuple[Array, Array]:
        """Bounds (p, p) of the total effects in one context, if the model tells probabilities."""
        with self._lock:
            model: Any = self._at_level(level)
            low, high = model.effect_intervals(self._contexts([values]), LEVEL)
        return low[0], high[0]

    def _means_of(self, level: int, values: Values) -> Array:
        """The means (p,) of the variables in one context."""
        with self._lock:
            means: Array = self._at_level(level).means(self._contexts([values])).to_numpy()[0]
        return means

    def _undirected(self, level: int) -> Flags:
        """Pairs (p, p), in both orders, with an edge whose direction the data do not tell."""
        found = np.zeros((len(self.names), len(self.names)), dtype=bool)
        with self._lock:
            pairs = self._at_level(level).undirected_edges_
        for pair in pairs:
            j, k = (self.names.index(name) for name in pair)
            found[j, k] = found[k, j] = True
        return found

    def _along(self, level: int, values: Values) -> list[tuple[list[Value], Array]]:
        """For each feature its values from end to end, and their graphs (n, p, p) with the other features held."""
        grids = [feature.grid(ALONG) if feature.varies else [] for feature in self.features]
        contexts = [
            (*values[:position], value, *values[position + 1 :]) for position, grid in enumerate(grids) for value in grid
        ]
        if not contexts:
            return [([], np.zeros((0, len(self.names), len(self.names)))) for _ in grids]
        parts = np.split(self._graphs(level, contexts), np.cumsum([len(grid) for grid in grids])[:-1])
        return list(zip(grids, parts, strict=True))

    def _count_over(self, level: int, values: Values, axes: tuple[int, ...]) -> Array:
        grids = [self.features[axis].grid(MAP) for axis in axes]
        contexts = []
        for last in grids[1] if len(axes) > 1 else [None]:
            for first in grids[0]:
                row = list(values)
                row[axes[0]] = first
                if last is not None:
                    row[axes[1]] = last
                contexts.append(tuple(row))
        # In pieces, between which graphs can be drawn that others wait for.
        pieces = [self._graphs(level, contexts[start : start + PIECE]) for start in range(0, len(contexts), PIECE)]
        counts: Array = np.concatenate([(W != 0).sum((1, 2)) for W in pieces]).reshape(-1, len(grids[0]))
        return counts
