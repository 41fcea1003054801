"""Graphs with named nodes as CSV, JSON, GraphML, DOT and networkx graphs."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contextualdag.colours import LIGHT
from contextualdag.tables import Array, Flags

if TYPE_CHECKING:
    import networkx

Value = float | str


class Edge(NamedTuple):
    """An edge between two named nodes; not `directed` if the data do not tell whether it points to the target."""

    source: str
    target: str
    weight: float
    directed: bool = True


@dataclass(frozen=True)
class NamedGraph:
    """A graph with the names of its nodes and the context it belongs to.

    Attributes
    ----------
    names : sequence of str
        Nodes, those without edges included.
    edges : sequence of Edge
        Edges, by the names of their nodes.
    context : mapping of str to float or str
        Value of each context feature; empty without a context.
    outside : bool
        Whether the context lies outside the range of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.export import NamedGraph, as_csv
    >>> graph = NamedGraph.from_array(np.array([[0.0, 0.5], [0.0, 0.0]]), ["a", "b"])
    >>> print(as_csv(graph))
    source,target,weight,directed
    a,b,0.5,True
    <BLANKLINE>
    """

    names: Sequence[str]
    edges: Sequence[Edge]
    context: Mapping[str, Value] = field(default_factory=dict)
    outside: bool = False

    @classmethod
    def from_array(
        cls,
        W: Array,
        names: Sequence[str],
        context: Mapping[str, Value] | None = None,
        outside: bool = False,
        undirected: Flags | None = None,
    ) -> "NamedGraph":
        """From a matrix (p, p) in which ``W[j, k]`` is the effect of j on k, and the pairs (p, p) without a direction."""
        directed = np.ones(W.shape, dtype=bool) if undirected is None else ~undirected
        edges = [Edge(names[j], names[k], float(W[j, k]), bool(directed[j, k])) for j, k in np.argwhere(W)]
        return cls(names, edges, context or {}, outside)


def edge_text(source: str, target: str, directed: bool = True) -> str:
    """An edge in words, with an arrow only if it has a direction.

    Examples
    --------
    >>> from contextualdag.export import edge_text
    >>> edge_text("a", "b"), edge_text("a", "b", directed=False)
    ('a → b', 'a — b')
    """
    return f"{source} {'→' if directed else '—'} {target}"


def as_records(graph: NamedGraph) -> list[dict[str, Any]]:
    """The edges, each as a dict of source, target, weight and directed."""
    return [edge._asdict() for edge in graph.edges]


def as_csv(graph: NamedGraph) -> str:
    """The edges as a table with the columns source, target, weight and directed."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(Edge._fields)
    writer.writerows(graph.edges)
    return stream.getvalue()


def as_json(names: Sequence[str], graphs: Sequence[NamedGraph]) -> bytes:
    """Graphs as one document: ``variables``, and in ``graphs`` the context and the edges of each.

    Parameters
    ----------
    names : sequence of str
        Nodes of all graphs.
    graphs : sequence of NamedGraph
        Any number of graphs with these nodes.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import json
    >>> from contextualdag.export import Edge, NamedGraph, as_json
    >>> document = json.loads(as_json(["a", "b"], [NamedGraph(["a", "b"], [Edge("a", "b", 0.5)], {"age": 30.0})]))
    >>> document["variables"], document["graphs"][0]["edges"]
    (['a', 'b'], [{'source': 'a', 'target': 'b', 'weight': 0.5, 'directed': True}])
    """
    found: list[dict[str, Any]] = [
        {"sample": sample, "context": dict(graph.context), "outside": graph.outside, "edges": as_records(graph)}
        for sample, graph in enumerate(graphs)
    ]
    return json.dumps({"variables": list(names), "graphs": found}, indent=2, allow_nan=False).encode() + b"\n"


def as_networkx(graph: NamedGraph) -> "networkx.DiGraph":
    """For networkx: edges have the attributes weight and directed, the graph has those of `as_graphml`."""
    import networkx as nx

    network = nx.DiGraph(**{f"context {name}": value for name, value in graph.context.items()}, outside=graph.outside)
    network.add_nodes_from(graph.names)
    for edge in graph.edges:
        network.add_edge(edge.source, edge.target, weight=edge.weight, directed=edge.directed)
    return network


def as_graphml(graph: NamedGraph) -> bytes:
    """For other programs: attributes of the graph are ``context <name>`` for each feature, and ``outside``.

    Examples
    --------
    >>> import networkx
    >>> from contextualdag.export import Edge, NamedGraph, as_graphml
    >>> read = networkx.parse_graphml(as_graphml(NamedGraph(["a", "b"], [Edge("a", "b", 0.5)], {"age": 30.0})).decode())
    >>> read.graph["context age"], read.edges["a", "b"]
    (30.0, {'weight': 0.5, 'directed': True})
    """
    import networkx as nx

    stream = io.BytesIO()
    nx.write_graphml_xml(as_networkx(graph), stream)
    return stream.getvalue()


def as_dot(graph: NamedGraph) -> bytes:
    """For Graphviz: edges have the colours of all other pictures; the exact weight is their attribute ``effect``.

    Edges without a direction have no arrowhead (``dir=none``).

    Examples
    --------
    >>> from contextualdag.export import Edge, NamedGraph, as_dot
    >>> print(as_dot(NamedGraph(["a", "b"], [Edge("a", "b", 0.5)], {"age": 30.0})).decode())
    digraph {
      label="age = 30";
      "a";
      "b";
      "a" -> "b" [label="0.50", color="#0072B2", effect="0.5"];
    }
    <BLANKLINE>
    """
    title = ", ".join(f"{n} = {v}" if isinstance(v, str) else f"{n} = {v:.4g}" for n, v in graph.context.items())
    if graph.outside:
        title += " (outside the range of the training data)"
    lines = ["digraph {", f"  label={_quoted(title)};", *(f"  {_quoted(name)};" for name in graph.names)]
    for edge in graph.edges:
        colour = LIGHT.positive if edge.weight > 0 else LIGHT.negative
        # Graphviz has a meaning of its own for the attribute weight, which must not be negative there.
        attributes = f'label="{edge.weight:.2f}", color="{colour}", effect="{edge.weight!r}"'
        attributes += "" if edge.directed else ", dir=none"
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [{attributes}];")
    return ("\n".join([*lines, "}"]) + "\n").encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
