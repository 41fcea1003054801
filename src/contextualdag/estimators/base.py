"""What all estimators share: a fitted path with one point selected, and what can be asked of it."""

import copy
import importlib
import os
import webbrowser
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator

from contextualdag.checks import generator, is_flag, is_number, shown
from contextualdag.contexts import ContextFeature
from contextualdag.cpdag import cpdag
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError
from contextualdag.estimators.doors import Doors
from contextualdag.estimators.effects import Effects
from contextualdag.estimators.experiments import check_some_scored, read_weights
from contextualdag.estimators.fitting import Tables
from contextualdag.estimators.imputation import IMPUTE
from contextualdag.estimators.interventions import interventions_of
from contextualdag.estimators.knowledge import Edges, Knowledge, Node
from contextualdag.estimators.pictures import NotebookSummary, Pictures
from contextualdag.estimators.rows_of_fit import RowsOfFit
from contextualdag.estimators.saving import load_as, save_model
from contextualdag.estimators.scaling import Preparation
from contextualdag.estimators.summary import Summary
from contextualdag.plotting.contexts import drawn_contexts
from contextualdag.progress import ProgressDisplay
from contextualdag.tables import Array, Flags, check_aligned, check_same_samples, check_scaled, read_columns
from contextualdag.training.context_test import ContextTest
from contextualdag.training.explaining import explaining
from contextualdag.training.loss import array_residuals, explained_variance
from contextualdag.training.noise import EQUAL
from contextualdag.training.packing import Tensors
from contextualdag.training.problem import GroupSettings, NetworkSettings
from contextualdag.training.solution import ConstantGraph, Solution
from contextualdag.training.structure import StructureScore

if TYPE_CHECKING:
    import pandas

ROWS_AT_ONCE = 4096


class GraphEstimator(NotebookSummary, Summary, Pictures, Effects, Doors, BaseEstimator):  # type: ignore[misc]
    """The base of all estimators. A subclass has parameters, checks them, and turns them into settings of the recipe.

    Besides its parameters a fitted model has the attributes declared here: how it reads tables, what it has learned, and
    what is reported of the fit.
    """

    _wraps: ClassVar[dict[str, type["GraphEstimator"]]] = {}  # estimators that may be a parameter, by name
    selection: str | float | tuple[str, float]
    intercept: str
    noise: str
    robust: bool
    forbidden_edges: Edges | None
    required_edges: Edges | None
    tiers: Iterable[Iterable[Node]] | None
    cyclic: Mapping[str, float] | None
    missing: str
    validation_fraction: float
    device: str
    random_state: int | None

    _preparation: Preparation
    _solution: Solution
    names_: list[str]
    n_samples_: int  # rows that fit was given, those held out included
    noise_: str
    structure_: str
    structure_scores_: dict[str, StructureScore]
    context_test_: ContextTest | None
    rows_: RowsOfFit  # how many rows the fit used, and which values, weights and groups it was told of
    outliers_: list[int]  # rows of X that were given little weight
    noise_scale_: Array
    _noise_changes: Array  # how much the noise of each variable changes with the context, (p,); zero where it does not
    _untold: Flags  # pairs (p, p) of graphs that vary whose direction the data do not tell, in both orders
    _explained: Array  # shares of the variance of each variable, by means, common edges and change of edges
    n_held_out_: int

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise at the first parameter that is not as it should be."""

    @abstractmethod
    def _settings(self, x_scale: float, n_rows: int | None = None) -> NetworkSettings | GroupSettings:
        """The parameters as the recipe takes them; X is divided by `x_scale` before.

        `n_rows` are those to train on and those held out; None where rows come in groups.
        """

    def _check_tables(self, tables: Tables) -> Tables:
        """Raise unless the arguments of `fit` fit together."""
        if tables.Z is None:
            raise InvalidInputError(f"Z is missing: {type(self).__name__} needs a context for every row of X.")
        if tables.mask is not None or tables.mask_val is not None:
            raise InvalidInputError(f"{type(self).__name__} takes no mask; SortedDAG does.")
        return tables

    def _knowledge(self, names: list[str]) -> Knowledge:
        """Edges that are allowed and edges that are required."""
        return Knowledge.read(names, type(self).__name__, self.forbidden_edges, self.required_edges, self.tiers)

    @property
    def transform(self) -> str | Mapping[str, str]:
        """Not to be read: scikit-learn takes whatever has an attribute `transform` for a transformer."""
        raise AttributeError("The parameter 'transform' is read by get_params()['transform'].")

    @transform.setter
    def transform(self, value: str | Mapping[str, str]) -> None:
        self.__dict__["transform"] = value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the estimator, and with `deep` those of an estimator among them, as scikit-learn has them."""
        found = {name: vars(self)[name] for name in self._get_param_names()}
        if deep:
            inner = {name: value for name, value in found.items() if isinstance(value, GraphEstimator)}
            found |= {f"{name}__{key}": value for name, one in inner.items() for key, value in one.get_params().items()}
        return found

    @property
    def n_features_in_(self) -> int:
        """Number of variables, under scikit-learn's name."""
        if not hasattr(self, "names_"):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet, so it has no n_features_in_.")
        return len(self.names_)

    @property
    def scale_(self) -> Array:
        """Standard deviations (p,) of the variables in the rows of the fit, in their units; one for those that do not vary.

        An edge from j to k has the standardised weight ``W[j, k] * scale_[j] / scale_[k]``: the difference of k, in its
        standard deviations, for one standard deviation of j. Pictures draw edges as wide as that, whatever the units.
        """
        self._require_fit()
        return self._preparation.scaling.x_scale.copy()

    @property
    def varies_(self) -> bool:
        """Whether graphs differ from context to context; False where there is one graph for all."""
        self._require_fit()
        return self._solution.varies

    @property
    def kinds_(self) -> dict[str, str]:
        """What each variable seems to be: "binary", "ordinal", "count", "skewed" or "continuous"."""
        self._require_fit()
        return dict(zip(self.names_, self._preparation.transforms.kinds, strict=True))

    @property
    def transforms_(self) -> dict[str, str]:
        """How each variable was transformed: "none", "log", "log1p" or "normal-scores"."""
        self._require_fit()
        return dict(zip(self.names_, self._preparation.transforms.names_of_transforms, strict=True))

    @property
    def held_out_score_(self) -> float:
        """The `score` of rows held out; NaN if there are none."""
        self._require_fit()
        of_variables = np.nansum(self._explained, axis=1)
        known = np.isfinite(self._explained[:, 0])
        return float(of_variables[known].mean()) if known.any() else float("nan")

    @property
    def explained_(self) -> "pandas.DataFrame":
        """What explains the variance of rows held out: one row for each variable, and their mean as the row "mean".

        Columns are shares: of the means given the context, of edges common to all contexts, that is of the best single
        graph, and of the change of edges with the context, which is what the graphs of the model explain more. Their sum is
        the score; a share below zero is luck or harm. Where no single graph was fitted its share is NaN, and the last is
        that of all edges. NaN for variables that do not vary.
        """
        import pandas as pd

        self._require_fit()
        table = pd.DataFrame(self._explained + 0.0, index=self.names_, columns=["means", "common edges", "change of edges"])
        table.loc["mean"] = table.mean()
        return table

    @property
    def noise_changes_(self) -> dict[str, float]:
        """Variables whose noise changes with the context, as far as the rows of the fit tell.

        The number is the standard deviation of its variance over the contexts, as a share of its mean. Directions rest on
        noise of one size in all contexts, so those at these variables may be wrong; a missing edge looks like this too. A
        test errs for about one model out of a hundred. `contextualdag.diagnostics.check_model` looks closer.
        """
        self._require_fit()
        return {name: float(change) for name, change in zip(self.names_, self._noise_changes, strict=True) if change > 0}

    @property
    def undirected_edges_(self) -> list[tuple[str, str]]:
        """Edges whose direction the data do not tell, as pairs of names in alphabetical order.

        Where noise is not equal, only the change of graphs with the context tells all directions. Of one graph for all
        contexts the data tell the Markov equivalence class; `adjacency` then gives one DAG of it. Of graphs that vary they
        also tell the directions of edges whose weights vary (`varies` of `summary`), and those that follow. Empty where
        noise is equal or the order of the variables is given.
        """
        self._require_fit()
        return sorted({tuple(sorted((self.names_[j], self.names_[k]))) for j, k in np.argwhere(self._undirected())})

    @property
    def path_(self) -> "pandas.DataFrame":
        """The path as a table, one row for each sparsity level.

        Numbers of edges count the required ones; losses are those of what was learned, before these were added.
        """
        import pandas as pd

        self._require_fit()
        return pd.DataFrame(self._solution.path_table())

    @property
    def chosen_(self) -> dict[str, float | bool]:
        """The selected point: n_edges on average, its validation loss, l1_budget, and refitted, whether its weights are.

        `n_edges` counts the required edges; the loss is that of what was learned, before these were added.
        """
        self._require_fit()
        return asdict(self._solution.describe())

    def select(self, n_edges: float | None = None, l1_budget: float | None = None, explained: float | None = None) -> Self:
        """Another point of the fitted path; nothing is refitted.

        Where a refit was made on the way to the default selection its weights are reported, else the shrunken ones. The
        noise of `sample` and `held_out_score_` stay those of the first selection; there is no `summary`, which needs rows.

        Parameters
        ----------
        n_edges : float, optional
            Number of edges on average: the strongest of a refit that has as many, else the nearest point. All
            edges of the model's own selection if these are up to a tenth fewer. Required edges count, so there are no
            fewer than these.
        l1_budget : float, optional
            Budget, of which the nearest point is taken.
        explained : float, optional
            A share, up to 1: the strongest edges of the present selection, as few as explain that share of what all of them
            explain of the variances of the variables, on average, as the model sees them. No edge is reversed.

        Returns
        -------
        estimator
            A model of its own; this one does not change.
        """
        self._require_fit()
        if sum(given is not None for given in (n_edges, l1_budget, explained)) != 1:
            raise InvalidParameterError("select takes one of n_edges, l1_budget and explained.")
        model = copy.copy(self)
        if explained is None:
            model._solution = self._solution.select(n_edges, l1_budget)
        else:
            contexts = self._encode(drawn_contexts(self)) if self._solution.varies else self._no_context()
            model._solution = explaining(self._solution, explained, self._preparation.scaling.contexts(contexts))
        model._variation = None
        if self._untold.any():
            joined = (model._weights(self._encode(drawn_contexts(self))) != 0).any(0)
            model._untold = self._untold & (joined | joined.T)
        return model

    @property
    def context_features_(self) -> tuple[ContextFeature, ...]:
        """The contextual features as the fit saw them; empty if there was no context."""
        self._require_fit()
        return self._preparation.contexts.features

    @property
    def context_summary_(self) -> "pandas.DataFrame":
        """The contexts of the fit, one row for each feature: feature, kind, low, q25, median, q75, high, shares."""
        self._require_fit()
        return self._preparation.contexts.table()

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
        self._require_fit()
        if not is_number(quantile, 0, 1):
            raise InvalidParameterError(f"quantile must be a number from 0 to 1. Got {shown(quantile)} instead.")
        return self._preparation.contexts.typical(quantile)

    def is_outside(self, Z: Any) -> Array:
        """Whether contexts lie outside the range of those of the fit, where a graph is a guess.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.

        Returns
        -------
        array of bool, shape (n,)
            True where some feature is smaller or larger than it ever was in training. No value of a cyclic feature is
            outside if those of the fit cover its period, but for a quarter of it.
        """
        encoded = self._encode(Z)
        return self._preparation.contexts.outside(encoded)

    def adjacency(self, Z: Any, standardised: bool = False) -> Array:
        """Graphs of given contexts.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        standardised : bool, default=False
            Whether weights are in standard deviations of the variables over the rows of the fit: for one standard deviation
            more of j, variable k changes by so many of its own. Otherwise they are in the units of X, as transformed (see
            `transforms_`); those of edges into binary variables are differences of probability.

        Returns
        -------
        array of shape (n, p, p)
            ``W[i, j, k]`` is the effect of variable j on k in context i. Every ``W[i]`` is acyclic.
        """
        Z = self._encode(Z)
        unit = self._unit(standardised)
        return np.concatenate([self._weights(part) * unit for part in parts(Z)])

    def edges(self, Z: Any, standardised: bool = False) -> "pandas.DataFrame":
        """Edges of given contexts as a table, built without holding all graphs at once.

        Parameters
        ----------
        Z : array or DataFrame of shape (n, m)
            Contexts.
        standardised : bool, default=False
            Whether weights are in standard deviations, as for `adjacency`.

        Returns
        -------
        DataFrame
            Columns sample (row of Z), source, target, weight, directed; one row for each edge. `directed` is False where
            the data do not tell the direction (see `undirected_edges_`); source and target are then as in `adjacency`.
        """
        import pandas as pd

        Z = self._encode(Z)
        names, undirected, unit = np.array(self.names_, dtype=object), self._undirected(), self._unit(standardised)
        tables, first = [], 0
        for part in parts(Z):
            W = self._weights(part) * unit
            sample, source, target = np.nonzero(W)
            columns = {"sample": first + sample, "source": names[source], "target": names[target]}
            columns |= {"weight": W[sample, source, target], "directed": ~undirected[source, target]}
            tables.append(pd.DataFrame(columns))
            first += len(part)
        return pd.concat(tables, ignore_index=True)

    def score(self, X: Any, Z: Any = None, sample_weight: Any = None, interventions: Any = None) -> float:
        """Share of the variance of X that contexts and edges explain, the mean over variables; higher is better.

        A share has no unit, so each variable counts the same, whatever it is measured in. Variables count as they were
        transformed in the fit (see `transforms_`).

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables. With ``missing="impute"`` some values may be missing: they are not scored, and where they predict
            others they count as their means given the context, whatever the rest of the row is.
        Z : array or DataFrame of shape (n, m)
            Contexts; may be left out if the model was fitted without.
        sample_weight : sequence of length n, optional
            How much each row counts.
        interventions : array, DataFrame, dict or sequence, optional
            Which variables were set or disturbed in which rows, as in `fit`. These values are not scored: their equations
            say nothing of them. They still predict others. If no value is left to score that is an error.

        Returns
        -------
        float
            One at best; zero if nothing is explained. Variables that do not vary in `X` are left out.
        """
        self._require_fit()
        if Z is None and self.context_features_:
            raise InvalidInputError("Z is missing: this model was fitted with contexts, so it needs them.")
        check_aligned({"X": X, "Z": Z, "sample_weight": sample_weight}, depth=3)
        values = self._read(X, with_missing=self.missing == IMPUTE)
        Z = self._encode(values if Z is None else Z)
        check_same_samples(values, Z)
        scored = observed = ~np.isnan(values)
        if not observed.all():
            values = np.where(observed, values, np.concatenate([self._means(z) for z in parts(Z)]))
        if interventions is not None:
            scored = observed & ~interventions_of(interventions, X, self.names_, depth=4)
        weight = None if sample_weight is None else read_weights(sample_weight, len(values))
        check_some_scored(scored, weight)
        error = np.concatenate([self._residuals(x, z) for x, z in zip(parts(values), parts(Z), strict=True)])
        return explained_variance(error, values, weight, scored)

    def sample(self, Z: Any, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw variables from the fitted model, with normal noise, in the units of X.

        Transforms of the fit are undone. Binary variables and levels are drawn as numbers, not rounded.

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
        rng = generator(random_state, "sample")
        drawn = []
        for part in parts(Z):
            noise = rng.standard_normal((len(part), len(self.names_))) * self.noise_scale_
            A = np.eye(len(self.names_)) - self._weights(part).transpose(0, 2, 1)
            drawn.append(self._means(part) + np.linalg.solve(A, noise[:, :, None])[:, :, 0])
        return self._preparation.transforms.back(np.concatenate(drawn))

    def explore(self, host: str = "127.0.0.1", port: int = 8050, browser: bool = True) -> None:
        """Open a local page to move through the contexts of the model, as `contextualdag explore` does of a saved one.

        It ends by Ctrl-C, or an interrupt of the notebook. Needs ``pip install 'contextualdag[explorer]'``.

        Parameters
        ----------
        host : str, default="127.0.0.1"
            Address to serve at; by default only this machine can reach it.
        port : int, default=8050
            Port to serve at; 0 for any free one.
        browser : bool, default=True
            Whether to open the page in the browser. Its address is shown in any case.

        Examples
        --------
        >>> from contextualdag import FixedDAG
        >>> from contextualdag.datasets import make_fixed_dag
        >>> data = make_fixed_dag(200, n_nodes=3, n_edges=2, random_state=0)
        >>> FixedDAG(random_state=0).fit(data.X).explore()  # doctest: +SKIP
        Explore the model at http://127.0.0.1:8050/ (Ctrl-C ends it)
        """
        self._require_fit()

        def show(address: str, sentence: str) -> None:
            ProgressDisplay().say(sentence)
            if browser:
                webbrowser.open(address)

        # Imports point down, and the explorer is above: it is found by its name.
        importlib.import_module("contextualdag.explorer").serve(self, host, port, show)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder, as safetensors and JSON, all of it or nothing.

        Parameters
        ----------
        path : path
            Folder to write. One that holds a model is replaced, any other is left alone with an error.
        """
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto") -> Self:
        """Read a model that `save` wrote.

        Parameters
        ----------
        path : path
            Folder to read.
        device : str, default="auto"
            Device of the model; it need not be the one on which it was fitted.
        """
        return load_as(cls, path, device)

    def _read(self, X: Any, with_missing: bool = False) -> Array:
        """The variables of a table (n, p), transformed as in the fit. Missing values, if they are allowed, are NaN."""
        values = read_columns(X, self.names_, "X", type(self).__name__, with_missing)
        return self._preparation.transforms.forward(values, "X")

    def _unit(self, standardised: bool) -> Array | float:
        """What weights (p, p) are multiplied by."""
        if not is_flag(standardised):
            raise InvalidParameterError(
                "standardised must be True, for weights in standard deviations, or False, for those in the units of X. Got "
                f"{shown(standardised)} instead."
            )
        scale = self._preparation.scaling.x_scale
        return scale[:, None] / scale if standardised else 1.0

    def _weights(self, Z: Array, mask: Array | None = None) -> Array:
        """Graphs (n, p, p) for encoded contexts, within a mask for each sample if there is one."""
        scaling = self._preparation.scaling
        graphs = self._solution.graphs(scaling.contexts(Z), None if mask is None else scaling.tensor(mask))
        return scaling.weights(graphs.double().cpu().numpy()) + 0.0  # no negative zeros

    def _edge_probabilities(self, Z: Array) -> Array | None:
        """Probabilities (p, p) of the edges of one encoded context (1, m), as in `edges`; None if the model tells none."""
        return None

    def _undirected(self) -> Flags:
        """Pairs (p, p), in both orders, with an edge whose direction neither the data nor the allowed edges tell."""
        if self._solution.varies:
            return self._untold
        if self.noise_ == EQUAL:
            return np.zeros((len(self.names_), len(self.names_)), dtype=bool)
        W = self._weights(self._no_context())
        edges = cpdag(W, ~self._knowledge(self.names_).allowed.T)[0]
        undirected: Flags = edges & edges.T
        if isinstance(self._solution, ConstantGraph) and self._solution.doubtful is not None:
            undirected |= self._solution.doubtful.cpu().numpy() & ((W[0] != 0) | (W[0].T != 0))
        return undirected

    def _mask(self, mask: Any, n: int) -> Array | None:
        """The mask that a method was given for n contexts, checked; only a `SortedDAG` takes one."""
        if mask is not None:
            raise InvalidInputError(f"{type(self).__name__} takes no mask; SortedDAG does.")
        return None

    def _no_context(self) -> Array:
        """An encoded context for models with one graph for all."""
        return np.zeros((1, len(self._preparation.scaling.z_mean)))

    def _means(self, Z: Array) -> Array:
        """Means (n, p) of the variables for encoded contexts."""
        return self._preparation.scaling.means(Z, self._preparation.mean_network)

    def _residuals(self, X: Array, Z: Array, mask: Array | None = None) -> Array:
        """X - mu(z) - W(z)^T (x - mu(z))."""
        return array_residuals(X - self._means(Z), self._weights(Z, mask))

    def _pack_more(self) -> tuple[dict[str, Any], Tensors]:
        """What a kind of estimator keeps besides what all have, as JSON and named tensors."""
        return {}, {}

    def _unpack_more(self, metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> None:
        """Take back what `_pack_more` packed."""

    def _encode(self, Z: Any) -> Array:
        self._require_fit()
        encoder, scaling = self._preparation.contexts.encoder, self._preparation.scaling
        encoded = encoder.encode(Z)
        check_scaled((encoded - scaling.z_mean) / scaling.z_scale, encoder.feature_names, "Z")
        return encoded

    def _require_fit(self) -> None:
        if not hasattr(self, "_solution"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit(X, Z) first.")


def parts(Z: Array, size: int = ROWS_AT_ONCE) -> list[Array]:
    """Blocks of rows, so that not all graphs are held at once; one if there are none."""
    return [Z[first : first + size] for first in range(0, max(len(Z), 1), size)]
