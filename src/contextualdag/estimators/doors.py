"""The model of one context as other libraries take it: pandas, networkx, lingam, causal-learn, pgmpy, DoWhy."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contextualdag.checks import optional_module
from contextualdag.columns import columns, has_names
from contextualdag.cpdag import cpdag
from contextualdag.errors import InvalidInputError
from contextualdag.export import NamedGraph, Value, as_causallearn, as_frame, as_networkx
from contextualdag.tables import Array

if TYPE_CHECKING:
    import networkx
    import pandas


class Doors:
    """Methods that hand the model of one context on. Optional packages are imported when they are asked for."""

    def to_frame(self, z: Any = None) -> "pandas.DataFrame":
        """Graph of one context as a table.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context. May be left out where there is one graph for all contexts.

        Returns
        -------
        DataFrame of shape (p, p)
            The row is the source of an edge, the column its target; zero where there is no edge. An edge whose direction
            the data do not tell is as in `adjacency`; `cpdag` and `undirected_edges_` tell which these are.
        """
        return as_frame(_named_graph(self, z))

    def cpdag(self, z: Any = None) -> "pandas.DataFrame":
        """Completed partially directed graph (CPDAG) of the graph of one context: what is common to its equivalence class.

        The class are all DAGs with the same conditional independences. Equal noise, a change of the graph with the context
        or a known order may tell more directions than this: those that the model leaves open are `undirected_edges_`.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context, as for `to_frame`.

        Returns
        -------
        DataFrame of bool, shape (p, p)
            A directed edge j -> k is true at row j, column k only. An undirected edge is true at both places.
        """
        frame = self.to_frame(z)
        return type(frame)(cpdag(frame.to_numpy()[None])[0], frame.index, frame.columns)

    def to_networkx(self, z: Any = None) -> "networkx.DiGraph":
        """Graph of one context for networkx.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context, as for `to_frame`.

        Returns
        -------
        networkx.DiGraph
            Nodes are the names of the variables; edges have the attributes weight and directed, as in `edges`, and those of
            a `BootstrapDAG` their probability. Attributes of the graph are ``context <name>`` for each context feature, and
            outside, as in `is_outside`.
            `contextualdag.export.from_networkx` reads it back.
        """
        encoded, graph = _read(self, z)
        model: Any = self
        probabilities = model._edge_probabilities(encoded)
        return as_networkx(graph if probabilities is None else graph.with_probabilities(probabilities))

    def to_lingam(self, z: Any = None) -> Array:
        """Adjacency matrix of one context in the convention of lingam, for its functions that take one.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context, as for `to_frame`.

        Returns
        -------
        array of shape (p, p)
            ``B[j, k]`` is the effect of variable k on j: the transpose of `adjacency`, undirected edges included. Variables
            are in the order of `names_`. `contextualdag.export.from_lingam` reads it back.
        """
        return np.array(as_frame(_named_graph(self, z)).to_numpy().T, order="C")

    def to_causallearn(self, z: Any = None) -> Any:
        """Graph of one context for causal-learn.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context, as for `to_frame`.

        Returns
        -------
        causallearn.graph.GeneralGraph.GeneralGraph
            An edge with a direction has a tail and an arrow, one of `undirected_edges_` two tails. It has no weights.
            `contextualdag.export.from_causallearn` reads it back.
        """
        return as_causallearn(_named_graph(self, z))

    def to_pgmpy(self, z: Any = None) -> Any:
        """Model of one context for pgmpy, ready for inference and simulation.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context. May be left out where neither graphs nor means change with the context.

        Returns
        -------
        pgmpy.models.LinearGaussianBayesianNetwork
            With a linear Gaussian distribution for each variable, given its parents. Means and covariances are those of
            the variables in this context, as `sample` draws them. Edges of `undirected_edges_` have the direction of
            `adjacency`; the distribution does not depend on it. `contextualdag.export.from_pgmpy` reads it back.
        """
        linear = _linear_model(self, z)
        what = "A network of pgmpy"
        networks = optional_module("pgmpy.models", "pgmpy", what)
        factors = optional_module("pgmpy.factors.continuous", "pgmpy", what)
        network = networks.LinearGaussianBayesianNetwork()
        network.add_nodes_from(linear.graph.names)
        network.add_edges_from([(edge.source, edge.target) for edge in linear.graph.edges])
        for name in linear.graph.names:
            parents = linear.parents(name)
            beta = [linear.intercepts[name], *parents.values()]
            network.add_cpds(factors.LinearGaussianCPD(name, beta=beta, std=linear.scales[name], evidence=list(parents)))
        return network

    def to_dowhy(self, z: Any = None) -> Any:
        """Structural causal model of one context for ``dowhy.gcm``, ready for samples, interventions and counterfactuals.

        Parameters
        ----------
        z : array of shape (m,) or (1, m), or DataFrame of one row, optional
            The context. May be left out where neither graphs nor means change with the context.

        Returns
        -------
        dowhy.gcm.InvertibleStructuralCausalModel
            Each variable is a linear function of its parents with normal noise. These functions are given, so it need not
            be fitted, and ``gcm.fit`` leaves them as they are. Edges of `undirected_edges_` have the direction of
            `adjacency`: what an intervention does across them is then one of several answers that fit the data.
            `contextualdag.export.from_dowhy` reads its graph and weights back.
        """
        from scipy.stats import norm

        linear = _linear_model(self, z)
        what = "A model of DoWhy"
        gcm = optional_module("dowhy.gcm", "dowhy", what)
        regression = optional_module("dowhy.gcm.ml", "dowhy", what)
        fitting = optional_module("dowhy.gcm.fitting_sampling", "dowhy", what)
        ordered_parents = optional_module("dowhy.graph", "dowhy", what).get_ordered_predecessors
        scm = gcm.InvertibleStructuralCausalModel(as_networkx(linear.graph))
        row = as_frame(linear.graph).iloc[:1]
        for name in linear.graph.names:
            weights = linear.parents(name)
            if weights:
                coefficients = [weights[parent] for parent in ordered_parents(scm.graph, name)]
                function = regression.create_linear_regressor_with_given_parameters(coefficients, linear.intercepts[name])
                noise = gcm.ScipyDistribution(norm, loc=0.0, scale=linear.scales[name])
                scm.set_causal_mechanism(name, gcm.AdditiveNoiseModel(function, noise))
            else:
                root = gcm.ScipyDistribution(norm, loc=linear.intercepts[name], scale=linear.scales[name])
                scm.set_causal_mechanism(name, root)
            # Any row will do: parameters that are given stay as they are, and DoWhy notes that the node is fitted.
            fitting.fit_causal_model_of_target(scm, name, row)
        return scm


class _LinearModel(NamedTuple):
    """x_k = intercept_k + sum over parents j of w_jk x_j + noise_k, with a standard deviation of the noise for each k."""

    graph: NamedGraph
    intercepts: dict[str, float]
    scales: dict[str, float]

    def parents(self, name: str) -> dict[str, float]:
        """Parents of a variable and their weights."""
        return {edge.source: edge.weight for edge in self.graph.edges if edge.target == name}


def _linear_model(model: Any, z: Any) -> _LinearModel:
    encoded, graph = _read(model, z, needs_means=True)
    mu = model._means(encoded)[0]
    intercepts = mu - mu @ as_frame(graph).to_numpy()  # x - mu = W^T (x - mu) + noise
    scales = np.broadcast_to(model.noise_scale_, mu.shape)
    return _LinearModel(graph, _by_name(graph, intercepts), _by_name(graph, scales))


def _by_name(graph: NamedGraph, values: Array) -> dict[str, float]:
    return dict(zip(graph.names, map(float, values), strict=True))


def _named_graph(model: Any, z: Any) -> NamedGraph:
    return _read(model, z)[1]


def _read(model: Any, z: Any, needs_means: bool = False) -> tuple[Array, NamedGraph]:
    """The encoded context (1, m) and its graph."""
    model._require_fit()
    if z is None:
        _check_may_be_left_out(model, needs_means)
    context = model.typical_context() if z is None else _one_row(z)
    encoded = model._encode(context)
    values = {} if z is None else _values(model, context)
    outside = bool(model._preparation.contexts.outside(encoded)[0])
    W = model._weights(encoded)[0]
    return encoded, NamedGraph.from_array(W, model.names_, values, outside, model._undirected())


def _check_may_be_left_out(model: Any, needs_means: bool) -> None:
    if model.varies_:
        raise InvalidInputError("z is missing: graphs of this model vary. Give a context, such as typical_context().")
    if needs_means and model._preparation.mean_network is not None:
        raise InvalidInputError(
            "z is missing: means of the variables change with the context. Give one, such as typical_context()."
        )


def _one_row(z: Any) -> Any:
    # A list may mix numbers and categories; NumPy would otherwise convert all of them to text.
    if has_names(z):
        columns(z, "z", "z")  # that it is a data frame in memory
    row = z if has_names(z) else np.atleast_2d(z if isinstance(z, np.ndarray) else np.asarray(z, dtype=object))
    if len(row) != 1:
        raise InvalidInputError(
            f"z must be a single context, for this is the graph of one context. Got {len(row)}; use adjacency or edges for "
            "several."
        )
    return row


def _values(model: Any, context: Any) -> dict[str, Value]:
    """The features of a context that was encoded without an error, by name."""
    features = model.context_features_
    if not features:
        return {}
    found, given = columns(context, "Z", "z")
    by_name = dict(zip(given if has_names(context) else [feature.name for feature in features], found, strict=True))
    number = model._preparation.contexts.encoder.number
    firsts = ((feature, by_name[feature.name][:1]) for feature in features)
    return {
        feature.name: float(number(value, feature.name)[0]) if feature.is_number else str(value[0])
        for feature, value in firsts
    }
