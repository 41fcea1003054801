"""What all estimators share once they can tell the graphs and the means of given contexts."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from contextualdag.contexts import ContextEncoder, ContextFeature, ContextSummary
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.estimators.notebook import NotebookSummary
from contextualdag.estimators.pictures import Pictures
from contextualdag.tables import Array, check_same_samples, has_names, read_variables

if TYPE_CHECKING:
    import networkx
    import pandas

ROWS_AT_ONCE = 4096


class GraphEstimator(NotebookSummary, Pictures, BaseEstimator):  # type: ignore[misc]
    """A fitted one has names_ (variables), encoder_ and _summary (contexts), and noise_scale_ (its sd for each variable)."""

    names_: list[str]
    encoder_: ContextEncoder
    noise_scale_: Array
    _summary: ContextSummary

    @property
    def n_features_in_(self) -> int:
        """Number of variables, under scikit-learn's name."""
        if not hasattr(self, "names_"):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet, so it has no n_features_in_.")
        return len(self.names_)

    @property
    def context_features_(self) -> tuple[ContextFeature, ...]:
        """The contextual features as the fit saw them; empty if there was no context."""
        self._require_encoder()
        return self._summary.features

    @property
    def context_summary_(self) -> "pandas.DataFrame":
        """The contexts of the fit, one row for each feature: feature, kind, low, q25, median, q75, high, shares."""
        self._require_encoder()
        return self._summary.table()

    def typical_context(self, quantile: float = 0.5) -> "pandas.DataFrame":
        """A context of the fit: this quantile of every numeric feature, the most frequent category of the others.

        Parameters
        ----------
        quantile : float, default=0.5
            From 0, the smallest values, to 1, the largest.

        Returns
        -------
        DataFrame of one row
        """
        self._require_encoder()
        if not 0 <= quantile <= 1:
            raise InvalidParameterError(f"quantile must be a number from 0 to 1. Got {quantile!r} instead.")
        return self._summary.typical(quantile)

    def is_outside(self, Z: Any) -> Array:
        """Whether contexts lie outside the range of those of the fit, where a graph is a guess.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        array of bool, shape (n,)
            True where some feature is smaller or larger than it ever was in training.
        """
        encoded = self._encode(Z)
        return self._summary.outside(encoded)

    @abstractmethod
    def _weights(self, Z: Array, mask: Array | None = None) -> Array:
        """Graphs (n, p, p) for encoded contexts, within a mask for each sample if there is one."""

    @abstractmethod
    def _means(self, Z: Array) -> Array:
        """Means (n, p) of the variables for encoded contexts."""

    def adjacency(self, Z: Any) -> Array:
        """Graphs of given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        array of shape (n, p, p)
            ``W[i, j, k]`` is the effect of variable j on k in context i. Every ``W[i]`` is acyclic.
        """
        Z = self._encode(Z)
        return np.concatenate([self._weights(part) for part in _parts(Z)])

    def edges(self, Z: Any) -> "pandas.DataFrame":
        """Edges of given contexts as a table, built without holding all graphs at once.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        DataFrame
            Columns sample (row of Z), source, target, weight; one row for each edge.
        """
        import pandas as pd

        Z = self._encode(Z)
        names = np.array(self.names_, dtype=object)
        tables, first = [], 0
        for part in _parts(Z):
            W = self._weights(part)
            sample, source, target = np.nonzero(W)
            columns = {"sample": first + sample, "source": names[source], "target": names[target]}
            tables.append(pd.DataFrame(columns | {"weight": W[sample, source, target]}))
            first += len(part)
        return pd.concat(tables, ignore_index=True)

    def to_networkx(self, z: Any) -> "networkx.DiGraph":
        """Graph of one context.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row
            The context.

        Returns
        -------
        networkx.DiGraph
            Nodes are the names of the variables; edges have the attribute weight.
        """
        import networkx as nx

        context: Any = z if hasattr(z, "columns") else np.atleast_2d(np.asarray(z))
        if len(context) != 1:
            raise InvalidInputError(
                f"to_networkx draws the graph of one context. Got {len(context)}; use edges for several."
            )
        graph = nx.DiGraph()
        graph.add_nodes_from(self.names_)
        table = self.edges(context)
        graph.add_weighted_edges_from(zip(table["source"], table["target"], table["weight"], strict=True))
        return graph

    def score(self, X: Any, Z: Any = None) -> float:
        """Share of the variance of X that contexts and edges explain, the mean over variables; higher is better.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables.
        Z : array or DataFrame of shape (n, m)
            Contexts; may be left out if the model was fitted without.

        Returns
        -------
        float
            One at best; zero if nothing is explained. Variables that do not vary in `X` are left out.
        """
        Z = self._encode(self._without_context(X) if Z is None else Z)
        values = self._variables(X, "X")
        check_same_samples(values, Z)
        error = np.concatenate([self._residuals(x, z) for x, z in zip(_parts(values), _parts(Z), strict=True)])
        return explained_variance(error, values)

    def sample(self, Z: Any, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw variables from the fitted model, with normal noise.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        random_state : int or numpy.random.Generator, optional
            Source of randomness.

        Returns
        -------
        array of shape (n, p)
        """
        Z = self._encode(Z)
        rng = np.random.default_rng(random_state)
        drawn = []
        for part in _parts(Z):
            noise = rng.standard_normal((len(part), len(self.names_))) * self.noise_scale_
            A = np.eye(len(self.names_)) - self._weights(part).transpose(0, 2, 1)
            drawn.append(self._means(part) + np.linalg.solve(A, noise[:, :, None])[:, :, 0])
        return np.concatenate(drawn)

    def _residuals(self, X: Array, Z: Array, mask: Array | None = None) -> Array:
        """X - mu(z) - W(z)^T (x - mu(z))."""
        centred = X - self._means(Z)
        explained: Array = np.einsum("nj,njk->nk", centred, self._weights(Z, mask))
        return centred - explained

    def _without_context(self, X: Any) -> Any:
        """What stands for the contexts of X where there are none."""
        raise InvalidInputError("Z is missing: this model was fitted with contexts, so it needs them.")

    def _encode(self, Z: Any) -> Array:
        self._require_encoder()
        return self.encoder_.encode(Z)

    def _require_encoder(self) -> None:
        if not hasattr(self, "encoder_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit(X, Z) first.")

    def _variables(self, X: Any, what: str) -> Array:
        """The variables of the fit in their order: by name where X has names, by position where it has none."""
        values, names = read_variables(X)
        if len(names) != len(self.names_):
            raise InvalidInputError(
                f"{what} has {len(names)} features, but {type(self).__name__} is expecting {len(self.names_)} features as "
                f"input: {self.names_}."
            )
        if not has_names(X) or names == self.names_:
            return values
        if set(names) != set(self.names_):
            raise InvalidInputError(f"{what} has the columns {names}; the model was fitted on {self.names_}.")
        return values[:, [names.index(name) for name in self.names_]]


def explained_variance(errors: Array, values: Array) -> float:
    """Share of the variance of values (n, p) that errors (n, p) leave explained, the mean over columns that vary."""
    total = ((values - values.mean(0)) ** 2).sum(0)
    varies = total > 0
    return float((1 - (errors**2).sum(0)[varies] / total[varies]).mean()) if varies.any() else 0.0


def _parts(Z: Array) -> list[Array]:
    return [Z[first : first + ROWS_AT_ONCE] for first in range(0, max(len(Z), 1), ROWS_AT_ONCE)]
