"""Graphs with named nodes as files (CSV, JSON, GraphML, DOT) and for other libraries, and from these."""

from contextualdag.export.files import as_cell, as_csv, as_dot, as_graphml, as_json, as_records, quoting
from contextualdag.export.graph import Edge, NamedGraph, Value, edge_text
from contextualdag.export.libraries import (
    as_causallearn,
    as_frame,
    as_networkx,
    from_causallearn,
    from_dowhy,
    from_lingam,
    from_networkx,
    from_pgmpy,
)

__all__ = [
    "Edge",
    "NamedGraph",
    "Value",
    "as_causallearn",
    "as_cell",
    "as_csv",
    "as_dot",
    "as_frame",
    "as_graphml",
    "as_json",
    "as_networkx",
    "as_records",
    "edge_text",
    "from_causallearn",
    "from_dowhy",
    "from_lingam",
    "from_networkx",
    "from_pgmpy",
    "quoting",
]
