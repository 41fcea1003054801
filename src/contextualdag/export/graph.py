"""A graph with named nodes and the context it belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from contextualdag.tables import Array, Flags

Value = float | str


class Edge(NamedTuple):
    """An edge between two named nodes; not `directed` if the data do not tell whether it points to the target.

    Files have the `probability` only where there is one, as in a `BootstrapDAG`.
    """

    source: str
    target: str
    weight: float
    directed: bool = True
    probability: float | None = None


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
        probabilities: Array | None = None,
    ) -> "NamedGraph":
        """From a matrix (p, p) in which ``W[j, k]`` is the effect of j on k.

        Pairs without a direction and probabilities of edges are matrices (p, p) as well.
        """
        directed = np.ones(W.shape, dtype=bool) if undirected is None else ~undirected
        edges = [
            Edge(
                names[j],
                names[k],
                float(W[j, k]),
                bool(directed[j, k]),
                None if probabilities is None else float(probabilities[j, k]),
            )
            for j, k in np.argwhere(W)
        ]
        return cls(names, edges, context or {}, outside)

    def with_probabilities(self, P: Array) -> "NamedGraph":
        """The same graph with the probability ``P[j, k]`` of each edge j -> k."""
        place = {name: i for i, name in enumerate(self.names)}
        edges = [edge._replace(probability=float(P[place[edge.source], place[edge.target]])) for edge in self.edges]
        return replace(self, edges=edges)


def edge_text(source: str, target: str, directed: bool = True) -> str:
    """An edge in words, with an arrow only if it has a direction.

    Examples
    --------
    >>> from contextualdag.export import edge_text
    >>> edge_text("a", "b"), edge_text("a", "b", directed=False)
    ('a → b', 'a — b')
    """
    return f"{source} {'→' if directed else '—'} {target}"
