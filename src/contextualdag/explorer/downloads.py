"""The graph of a context as files."""

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.explorer.features import Feature
from contextualdag.explorer.view import Values

if TYPE_CHECKING:
    from contextualdag.tables import Array


def as_csv(W: "Array", names: Sequence[str]) -> str:
    """Edges as a table: source, target, weight.

    Parameters
    ----------
    W : array of shape (p, p)
        The graph.
    names : sequence of str
        Of the nodes.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.explorer.downloads import as_csv
    >>> print(as_csv(np.array([[0.0, 0.5], [0.0, 0.0]]), ["a", "b"]))
    source,target,weight
    a,b,0.5
    <BLANKLINE>
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["source", "target", "weight"])
    writer.writerows([names[j], names[k], repr(float(W[j, k]))] for j, k in zip(*np.nonzero(W), strict=True))
    return stream.getvalue()


def as_graphml(W: "Array", names: Sequence[str], features: Sequence[Feature], values: Values) -> str:
    """The graph for other programs, with the context as attributes of the graph.

    Parameters
    ----------
    W : array of shape (p, p)
        The graph.
    names : sequence of str
        Of the nodes.
    features : sequence of Feature
        Of the context.
    values : tuple
        The context.

    Returns
    -------
    str
    """
    import networkx as nx

    graph = nx.DiGraph(**{f"context {feature.name}": value for feature, value in zip(features, values, strict=True)})
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((names[j], names[k], float(W[j, k])) for j, k in zip(*np.nonzero(W), strict=True))
    stream = io.BytesIO()
    nx.write_graphml(graph, stream)
    return stream.getvalue().decode()
