"""Graphs of contexts as CSV, Parquet, JSON, GraphML and DOT."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contextualdag.cli.tables import table_bytes
from contextualdag.errors import PersistenceError
from contextualdag.export import Edge, NamedGraph, as_dot, as_graphml, as_json
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
        One row per edge, with the columns sample (row of `contexts`, from 0), source, target, weight and
        directed, and probability if the model tells it.
    """

    names: list[str]
    contexts: pd.DataFrame
    outside: np.ndarray[Any, Any]
    edges: pd.DataFrame

    def graph(self, sample: int) -> NamedGraph:
        """One graph with its context."""
        edges = self.edges_of(sample)
        rows = edges[[name for name in Edge._fields if name in edges]].itertuples(index=False, name=None)
        return NamedGraph(self.names, [Edge(*row) for row in rows], self.context_of(sample), bool(self.outside[sample]))

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
    if kind == "json":
        return as_json(graphs.names, [graphs.graph(sample) for sample in range(len(graphs.contexts))])
    return graph_bytes(graphs, 0, kind)


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
    found = look(folder)
    if found is None or not found[0]:
        return
    if not _holds_only_graphs(folder):
        raise PersistenceError(f"{folder} holds other files than graphs; choose another folder.")
    if not overwrite:
        raise PersistenceError(f"{folder} holds graphs already; add --overwrite to replace them, or choose another folder.")


def _holds_only_graphs(folder: Path) -> bool:
    found = look(folder)
    return found is not None and all(re.fullmatch(r"graph-\d+\.(graphml|dot)", name) for name in found[0])


def graph_bytes(graphs: Graphs, sample: int, kind: str) -> bytes:
    """One graph as a graphml or dot file."""
    return (as_graphml if kind == "graphml" else as_dot)(graphs.graph(sample))
