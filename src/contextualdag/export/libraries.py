"""Graphs for other libraries, and from them: networkx, pandas, lingam, pgmpy, DoWhy and causal-learn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextualdag.checks import listed, optional_module
from contextualdag.errors import InvalidInputError
from contextualdag.export.graph import Edge, NamedGraph

if TYPE_CHECKING:
    import networkx
    import pandas


def as_networkx(graph: NamedGraph) -> "networkx.DiGraph":
    """For networkx: edges have the attributes weight, directed and probability, the graph has those of `as_graphml`."""
    import networkx as nx

    network = nx.DiGraph(**{f"context {name}": value for name, value in graph.context.items()}, outside=graph.outside)
    network.add_nodes_from(graph.names)
    for edge in graph.edges:
        sure = {} if edge.probability is None else {"probability": edge.probability}
        network.add_edge(edge.source, edge.target, weight=edge.weight, directed=edge.directed, **sure)
    return network


def from_networkx(graph: "networkx.Graph") -> NamedGraph:
    """From networkx, with all that `as_networkx` writes; edges without the attribute weight get the weight 1.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.Graph
        Nodes become names. The edges of a Graph have no direction.

    Returns
    -------
    NamedGraph

    Examples
    --------
    >>> import networkx
    >>> from contextualdag.export import from_networkx
    >>> from_networkx(networkx.DiGraph([("a", "b")])).edges
    [Edge(source='a', target='b', weight=1.0, directed=True, probability=None)]
    """
    if graph.is_multigraph():
        raise InvalidInputError("graph must have at most one edge between two nodes. Got a multigraph instead.")
    names = _distinct([str(node) for node in graph])
    edges = []
    for source, target, data in graph.edges(data=True):
        directed = graph.is_directed() and bool(data.get("directed", True))
        probability = None if data.get("probability") is None else float(data["probability"])
        edges.append(Edge(str(source), str(target), float(data.get("weight", 1.0)), directed, probability))
    context = {key.removeprefix("context "): value for key, value in graph.graph.items() if str(key).startswith("context ")}
    return NamedGraph(names, edges, context, bool(graph.graph.get("outside", False)))


def as_frame(graph: NamedGraph) -> "pandas.DataFrame":
    """The weights as a DataFrame: rows are sources, columns are targets.

    Examples
    --------
    >>> from contextualdag.export import Edge, NamedGraph, as_frame
    >>> W = as_frame(NamedGraph(["a", "b"], [Edge("a", "b", 0.5)]))
    >>> W.loc["a", "b"].item(), W.loc["b", "a"].item()
    (0.5, 0.0)
    """
    import pandas as pd

    place = {name: i for i, name in enumerate(graph.names)}
    W = np.zeros((len(place), len(place)))
    for edge in graph.edges:
        W[place[edge.source], place[edge.target]] = edge.weight
    return pd.DataFrame(W, pd.Index(graph.names, name="source"), pd.Index(graph.names, name="target"))


def from_lingam(B: Any, names: Sequence[str]) -> NamedGraph:
    """From an adjacency matrix of lingam, in which ``B[j, k]`` is the effect of k on j.

    Parameters
    ----------
    B : array of shape (p, p)
        The attribute ``adjacency_matrix_`` of a fitted model of lingam.
    names : sequence of str
        Names of the p variables.

    Returns
    -------
    NamedGraph

    Examples
    --------
    >>> from contextualdag.export import from_lingam
    >>> from_lingam([[0, 0], [0.5, 0]], ["a", "b"]).edges
    [Edge(source='a', target='b', weight=0.5, directed=True, probability=None)]
    """
    matrix = np.asarray(B, dtype=np.float64)
    if matrix.shape != (len(names), len(names)):
        raise InvalidInputError(f"B must have a row and a column for each of the {len(names)} names. Got {matrix.shape}.")
    unknown = np.argwhere(~np.isfinite(matrix))
    if len(unknown):
        effect, cause = unknown[0]
        raise InvalidInputError(
            f"B must be finite. Got {matrix[effect, cause]} for '{names[cause]}' and '{names[effect]}'; lingam marks pairs "
            "with a hidden common cause by NaN, which a graph of directed edges cannot hold. Set them to zero to drop them."
        )
    return NamedGraph.from_array(matrix.T, _distinct(names))


def from_pgmpy(network: Any) -> NamedGraph:
    """From a linear Gaussian network of pgmpy: its edges with their coefficients.

    Parameters
    ----------
    network : pgmpy.models.LinearGaussianBayesianNetwork
        With a distribution for each variable, as after its `fit`.

    Returns
    -------
    NamedGraph
        Names are those of the network, as text. Intercepts and scales of the noise are left out.

    Examples
    --------
    >>> from contextualdag.export import from_pgmpy
    >>> from pgmpy.factors.continuous import LinearGaussianCPD  # doctest: +SKIP
    >>> from pgmpy.models import LinearGaussianBayesianNetwork  # doctest: +SKIP
    >>> network = LinearGaussianBayesianNetwork([("a", "b")])  # doctest: +SKIP
    >>> b = LinearGaussianCPD("b", beta=[0, 0.5], std=1, evidence=["a"])  # doctest: +SKIP
    >>> network.add_cpds(LinearGaussianCPD("a", beta=[0], std=1), b)  # doctest: +SKIP
    >>> from_pgmpy(network).edges  # doctest: +SKIP
    [Edge(source='a', target='b', weight=0.5, directed=True, probability=None)]
    """
    if not hasattr(network, "get_cpds") or not hasattr(network, "nodes"):
        raise InvalidInputError(f"network must be a LinearGaussianBayesianNetwork of pgmpy. Got {type(network)}.")
    names = list(network.nodes())
    edges = []
    for name in names:
        cpd = network.get_cpds(name)
        parents = list(network.predecessors(name))
        if not hasattr(cpd, "beta") or not hasattr(cpd, "evidence"):
            raise InvalidInputError(
                f"network must have a linear Gaussian distribution for every variable; '{name}' has "
                f"{'none' if cpd is None else type(cpd).__name__}. Fit it first, or add one with add_cpds."
            )
        beta = dict(zip(cpd.evidence, (float(number) for number in list(cpd.beta)[1:]), strict=True))
        if set(beta) != set(parents):
            raise InvalidInputError(f"The distribution of '{name}' must have a coefficient for each parent. Got {cpd}.")
        edges += [Edge(str(parent), str(name), beta[parent]) for parent in parents]
    return NamedGraph(_distinct([str(name) for name in names]), edges)


def from_dowhy(scm: Any) -> NamedGraph:
    """From a structural causal model of ``dowhy.gcm``: its edges with their coefficients.

    Parameters
    ----------
    scm : dowhy.gcm.ProbabilisticCausalModel
        Whose variables with parents are linear functions of them and noise, and fitted.

    Returns
    -------
    NamedGraph
        Names are those of the graph, as text. Intercepts and noise are left out.

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.export import as_frame, from_dowhy
    >>> model = FixedDAG(random_state=0).fit(make_fixed_dag(200, n_nodes=3, n_edges=2, random_state=0).X)
    >>> as_frame(from_dowhy(model.to_dowhy()))  # doctest: +SKIP
    """
    if not hasattr(scm, "causal_mechanism") or not hasattr(scm, "graph"):
        raise InvalidInputError(f"scm must be a structural causal model of dowhy.gcm. Got {type(scm)}.")
    names, edges = list(scm.graph.nodes), []
    for name in names:
        parents = sorted(scm.graph.predecessors(name))  # the order that DoWhy has
        if not parents:
            continue
        found = getattr(scm.causal_mechanism(name), "prediction_model", None)
        # Given parameters are an attribute, learned ones are those of a model of scikit-learn.
        of_sklearn = getattr(getattr(found, "sklearn_model", None), "coef_", None)
        coefficients = getattr(found, "coefficients", of_sklearn)
        if coefficients is None or np.size(coefficients) != len(parents):
            raise InvalidInputError(
                f"scm must have a fitted linear function for every variable with parents; that of '{name}' has no "
                f"coefficient for each of {listed([str(parent) for parent in parents])}. Use create_linear_regressor, and "
                "gcm.fit."
            )
        weights = zip(parents, np.ravel(coefficients).tolist(), strict=True)
        edges += [Edge(str(parent), str(name), float(weight)) for parent, weight in weights]
    return NamedGraph(_distinct([str(name) for name in names]), edges)


def as_causallearn(graph: NamedGraph) -> Any:
    """For causal-learn: a GeneralGraph, a --> b where an edge has a direction and a --- b where it has none; no weights.

    Examples
    --------
    >>> from contextualdag.export import Edge, NamedGraph, as_causallearn
    >>> graph = NamedGraph(["a", "b", "c"], [Edge("a", "b", 0.5), Edge("b", "c", 1.0, directed=False)])
    >>> print(*as_causallearn(graph).get_graph_edges(), sep=", ")  # doctest: +SKIP
    a --> b, b --- c
    """
    what = "A graph of causal-learn"
    general = optional_module("causallearn.graph.GeneralGraph", "causal-learn", what)
    edges = optional_module("causallearn.graph.Edge", "causal-learn", what)
    end = optional_module("causallearn.graph.Endpoint", "causal-learn", what).Endpoint
    node = optional_module("causallearn.graph.GraphNode", "causal-learn", what).GraphNode
    nodes = {name: node(name) for name in graph.names}
    drawn = general.GeneralGraph(list(nodes.values()))
    for edge in graph.edges:
        mark = end.ARROW if edge.directed else end.TAIL
        drawn.add_edge(edges.Edge(nodes[edge.source], nodes[edge.target], end.TAIL, mark))
    return drawn


def from_causallearn(graph: Any) -> NamedGraph:
    """From a graph of causal-learn with directed and undirected edges, all with the weight 1.

    Parameters
    ----------
    graph : causallearn.graph.GeneralGraph.GeneralGraph
        A DAG or CPDAG; of the result of ``pc`` its attribute ``G``, of that of ``ges`` the item ``"G"``.

    Returns
    -------
    NamedGraph
        The source of an undirected edge is the node that comes first in `graph`.

    Examples
    --------
    >>> from contextualdag.export import Edge, NamedGraph, as_causallearn, from_causallearn
    >>> graph = as_causallearn(NamedGraph(["a", "b"], [Edge("a", "b", 0.5)]))  # doctest: +SKIP
    >>> from_causallearn(graph).edges  # doctest: +SKIP
    [Edge(source='a', target='b', weight=1.0, directed=True, probability=None)]
    """
    if not hasattr(graph, "get_graph_edges"):
        raise InvalidInputError(
            f"graph must be a GeneralGraph of causal-learn, such as the attribute G of the result of pc. Got {type(graph)}."
        )
    edges = []
    for edge in graph.get_graph_edges():
        marks = (edge.get_endpoint1().name, edge.get_endpoint2().name)
        if marks not in (("TAIL", "ARROW"), ("TAIL", "TAIL")):
            raise InvalidInputError(f"graph must have edges --> and --- only, as DAGs and CPDAGs have. Got {edge}.")
        edges.append(Edge(edge.get_node1().get_name(), edge.get_node2().get_name(), 1.0, marks[1] == "ARROW"))
    return NamedGraph(_distinct(graph.get_node_names()), edges)


def _distinct(names: Sequence[str]) -> Sequence[str]:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InvalidInputError(f"Names of nodes must differ. Found more than once: {listed(twice)}.")
    return names
