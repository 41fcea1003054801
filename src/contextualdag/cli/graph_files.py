"""Graphs of contexts as CSV, Parquet, JSON, GraphML and DOT."""

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from contextualdag.cli.tables import table_bytes
from contextualdag.errors import PersistenceError
from contextualdag.files import look, replace_folder

ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".graphml": "graphml",
    ".dot": "dot",
    ".gv": "dot",
}
ONE_GRAPH = ("graphml", "dot")  # formats that hold one graph in a file
COLOURS = {True: "#1f6fb2", False: "#c0392b"}  # of positive and of negative weights


@dataclass(frozen=True)
class Graphs:
    """Graphs of several contexts.

    Attributes
    ----------
    names : list of str
        Variables.
    contexts : DataFrame
        One row per graph; no columns if the model has no context.
    outside : array of bool
        Which contexts are outside the range of the training data.
    edges : DataFrame
        One row per edge, with the columns sample (row of `contexts`, from 0), source, target and weight.
    """

    names: list[str]
    contexts: pd.DataFrame
    outside: np.ndarray[Any, Any]
    edges: pd.DataFrame

    @cached_property
    def _by_sample(self) -> dict[int, pd.DataFrame]:
        return dict(iter(self.edges.groupby("sample", sort=False)))

    def edges_of(self, sample: int) -> pd.DataFrame:
        """The edges of one graph."""
        return self._by_sample.get(sample, self.edges.iloc[:0])

    def context_of(self, sample: int) -> dict[str, float | str]:
        """The context of one graph."""
        row = self.contexts.iloc[sample]
        return {str(name): value if isinstance(value, str) else float(value) for name, value in row.items()}


def file_bytes(graphs: Graphs, kind: str) -> bytes:
    """All graphs as one file; graphml and dot files hold only the first."""
    if kind in ("csv", "parquet"):
        return table_bytes(graphs.edges.assign(outside=graphs.outside[graphs.edges["sample"]]), kind)
    return _json(graphs) if kind == "json" else graph_bytes(graphs, 0, kind)


def write_each(graphs: Graphs, kind: str, folder: Path, overwrite: bool) -> None:
    """Write one file per graph to a folder, all of them or none.

    Parameters
    ----------
    graphs : Graphs
        What to write.
    kind : {"graphml", "dot"}
        Format, and ending of the files.
    folder : Path
        Folder to write. It is replaced if it holds nothing but such files and `overwrite` is true.
    overwrite : bool
        Whether to replace earlier files.
    """
    check_folder(folder, overwrite)
    digits = len(str(len(graphs.contexts) - 1))
    files = {f"graph-{i:0{digits}d}.{kind}": graph_bytes(graphs, i, kind) for i in range(len(graphs.contexts))}
    replace_folder(folder, files, lambda target: check_folder(target, overwrite), _holds_only_graphs)


def check_folder(folder: Path, overwrite: bool) -> None:
    """Raise if a folder must not be replaced by one of graphs."""
    found = look(folder, ())
    if found is None or not found[0]:
        return
    if not _holds_only_graphs(folder):
        raise PersistenceError(f"{folder} holds other files than graphs; choose another folder.")
    if not overwrite:
        raise PersistenceError(f"{folder} holds graphs already; add --overwrite to replace them, or choose another folder.")


def _holds_only_graphs(folder: Path) -> bool:
    found = look(folder, ())
    return found is not None and all(re.fullmatch(r"graph-\d+\.(graphml|dot)", name) for name in found[0])


def graph_bytes(graphs: Graphs, sample: int, kind: str) -> bytes:
    """One graph as a graphml or dot file."""
    context, outside = graphs.context_of(sample), bool(graphs.outside[sample])
    return (_graphml if kind == "graphml" else _dot)(_network(graphs, sample), context, outside)


def _network(graphs: Graphs, sample: int) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(graphs.names)
    edges = graphs.edges_of(sample)
    graph.add_weighted_edges_from(zip(edges["source"], edges["target"], map(float, edges["weight"]), strict=True))
    return graph


def _graphml(graph: nx.DiGraph, context: Mapping[str, float | str], outside: bool) -> bytes:
    graph.graph.update({f"context {name}": value for name, value in context.items()} | {"outside": outside})
    stream = io.BytesIO()
    nx.write_graphml_xml(graph, stream)
    return stream.getvalue()


def _dot(graph: nx.DiGraph, context: Mapping[str, float | str], outside: bool) -> bytes:
    title = ", ".join(f"{n} = {v}" if isinstance(v, str) else f"{n} = {v:.4g}" for n, v in context.items())
    if outside:
        title += " (outside the range of the training data)"
    lines = ["digraph {", f"  label={_quoted(title)};"]
    lines += [f"  {_quoted(name)};" for name in graph]
    for source, target, weight in graph.edges(data="weight"):
        # In Graphviz an attribute named weight has another meaning and must not be negative.
        looks = f'label="{weight:.2f}", color="{COLOURS[weight > 0]}", effect="{weight!r}"'
        lines.append(f"  {_quoted(source)} -> {_quoted(target)} [{looks}];")
    return ("\n".join([*lines, "}"]) + "\n").encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _json(graphs: Graphs) -> bytes:
    found = [
        {
            "sample": sample,
            "context": graphs.context_of(sample),
            "outside": bool(graphs.outside[sample]),
            "edges": graphs.edges_of(sample).drop(columns="sample").to_dict("records"),
        }
        for sample in range(len(graphs.contexts))
    ]
    return json.dumps({"variables": graphs.names, "graphs": found}, indent=2, allow_nan=False).encode() + b"\n"
