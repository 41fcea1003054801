"""Graphs as files: CSV, JSON, GraphML and DOT."""

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from contextualdag.checks import listed
from contextualdag.colours import LIGHT
from contextualdag.errors import InvalidInputError
from contextualdag.export.graph import Edge, NamedGraph
from contextualdag.export.libraries import as_networkx
from contextualdag.printable import printable

FORMULA = re.compile("'*[=+@\t\r\\-\uff1d\uff0b\uff0d\uff20]")  # how a formula begins, also if marked as text
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def as_records(graph: NamedGraph) -> list[dict[str, Any]]:
    """The edges, each as a dict of source, target, weight, directed, and probability where there is one."""
    return [{name: value for name, value in edge._asdict().items() if value is not None} for edge in graph.edges]


def as_cell(text: str) -> str:
    """A text for a CSV, with an apostrophe in front if a spreadsheet would take it for a formula and run it.

    Examples
    --------
    >>> from contextualdag.export import as_cell
    >>> as_cell("=1+1"), as_cell("a=1"), as_cell("'=1+1")
    ("'=1+1", 'a=1', "''=1+1")
    """
    return f"'{text}" if FORMULA.match(text) else text


def quoting(texts: Iterable[str]) -> Literal[0, 2]:
    """How the module csv shall quote these cells: it leaves a carriage return as it is, which then ends the line."""
    return csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL


def as_csv(graph: NamedGraph) -> str:
    """The edges as a table with the columns source, target, weight, directed, and probability where there is one.

    A name that a spreadsheet would take for a formula has an apostrophe in front.
    """
    stream = io.StringIO()
    has_probability = any(edge.probability is not None for edge in graph.edges)
    fields = Edge._fields if has_probability else [name for name in Edge._fields if name != "probability"]
    writer = csv.DictWriter(stream, fields, lineterminator="\n", quoting=quoting(graph.names))
    writer.writeheader()
    writer.writerows(
        {name: as_cell(value) if isinstance(value, str) else value for name, value in record.items()}
        for record in as_records(graph)
    )
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


def as_graphml(graph: NamedGraph) -> bytes:
    """For other programs: attributes of the graph are ``context <name>`` for each feature, and ``outside``.

    Control characters, which XML cannot hold, are written as in a string of Python.

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
    nx.write_graphml_xml(as_networkx(_without(NOT_IN_XML, graph, "GraphML")), stream)
    return stream.getvalue()


def as_dot(graph: NamedGraph) -> bytes:
    """For Graphviz: edges have the colours of all other pictures; the exact weight is their attribute ``effect``.

    Edges without a direction have no arrowhead (``dir=none``). Those with a probability have it as an attribute. Control
    characters are written as in a string of Python.

    Examples
    --------
    >>> from contextualdag.export import Edge, NamedGraph, as_dot
    >>> print(as_dot(NamedGraph(["a", "b"], [Edge("a", "b", 0.5)], {"age": 30.0})).decode())
    digraph {
      label="age = 30";
      "a";
      "b";
      "a" -> "b" [label="0.5", color="#0072B2", effect="0.5"];
    }
    <BLANKLINE>
    """
    graph = _without(NOT_IN_XML, graph, "DOT")
    title = ", ".join(f"{n} = {v}" if isinstance(v, str) else f"{n} = {v:.4g}" for n, v in graph.context.items())
    if graph.outside:
        title += " (outside the range of the training data)"
    lines = ["digraph {", f"  label={_quoted(title)};", *(f"  {_quoted(name)};" for name in graph.names)]
    for edge in graph.edges:
        colour = LIGHT.positive if edge.weight > 0 else LIGHT.negative
        # Graphviz has a meaning of its own for the attribute weight, which must not be negative there.
        attributes = f'label="{edge.weight:.3g}", color="{colour}", effect="{edge.weight!r}"'
        attributes += "" if edge.directed else ", dir=none"
        attributes += "" if edge.probability is None else f', probability="{edge.probability!r}"'
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [{attributes}];")
    return ("\n".join([*lines, "}"]) + "\n").encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _without(letters: re.Pattern[str], graph: NamedGraph, kind: str) -> NamedGraph:
    """A graph in whose names and categories some letters are written out."""

    def written(text: Any) -> Any:
        return letters.sub(lambda found: printable(found[0]), text) if isinstance(text, str) else text

    names = [written(name) for name in graph.names]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{kind} cannot tell these names apart: {listed(names)}. Write CSV or JSON, or rename them.")
    edges = [edge._replace(source=written(edge.source), target=written(edge.target)) for edge in graph.edges]
    context = {written(name): written(value) for name, value in graph.context.items()}
    return NamedGraph(names, edges, context, graph.outside)
