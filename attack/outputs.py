"""Models with hostile names through every output: files are parsed again, and nothing in a name acts anywhere."""

import csv
import io
import itertools
import json
import re
import shutil
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from attack.models import estimator, tables
from attack.names import ALLOWED, REFUSED
from attack.program import Case, Found
from contextualdag.errors import ContextualDAGError
from contextualdag.printable import printable

TITLE = "Hostile names through all outputs"
HIDDEN_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def cases(short: bool) -> Iterator[Case]:
    """Every set of names, for a model of one graph and, unless `short`, for one of varying graphs."""
    for kind, names in itertools.product(("fixed",) if short else ("fixed", "varying"), (*ALLOWED, *REFUSED)):
        yield {"names": names, "kind": kind}


def check(case: Case, scratch: Path) -> Found:
    """Fit, save, load, write in all formats, print and draw."""
    refused = case["names"] in REFUSED
    names = (REFUSED if refused else ALLOWED)[case["names"]]
    X, Z = tables()
    X = pd.DataFrame(X.to_numpy(), columns=pd.Index(names, dtype=object))
    sites = np.where(Z["site"] == "u", names[0], names[1]).astype(object)
    features = {0: Z["age"].to_numpy(), 1: pd.Series(sites, dtype=object)}  # names may not fit into text of Arrow
    Z = pd.DataFrame(features).set_axis(pd.Index(names[2:], dtype=object), axis=1)
    counts = {"sets of names": 1.0}
    try:
        model = estimator(case["kind"]).fit(X, Z)
    except ContextualDAGError as error:
        return Found(counts, "" if refused else f"{case['names']}: refused: {error}")
    if refused:
        return Found(counts, f"{case['names']}: not refused.")
    found = [f"{case['names']}: {problem}" for problem in _problems(model, list(names), Z[:2], scratch)]
    return Found(counts | {"outputs": 9.0}, "; ".join(found[:5]))


def _problems(model: Any, names: list[str], Z: pd.DataFrame, scratch: Path) -> Iterator[str]:
    from contextualdag.estimators import load_model

    folder = scratch / "model"
    shutil.rmtree(folder, ignore_errors=True)
    model.save(folder)
    loaded = load_model(folder, "cpu")
    if list(loaded.names_) != names:
        yield f"loaded as {loaded.names_}"
    edges = [(row.source, row.target) for row in loaded.edges(Z[:1])[["source", "target"]].itertuples(index=False)]
    yield from _files(folder, edges, names, scratch)
    yield from _terminal(folder)
    yield from _report(loaded, scratch / "report.html")
    yield from _picture(loaded, Z, scratch / "graph.svg")


def _files(folder: Path, edges: list[tuple[str, str]], names: list[str], scratch: Path) -> Iterator[str]:
    contents = {}
    for kind in ("csv", "json", "graphml", "dot"):
        file = scratch / f"graph.{kind}"
        status, said = _run("graphs", str(folder), "--out", str(file), "--overwrite")
        if status:
            yield f"graphs --out .{kind} ends with {status}: {said[-300:]}"
            return
        contents[kind] = file.read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(contents["csv"], newline="")))
    cells = [cell for row in rows for cell in (row["source"], row["target"])]
    if any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells):
        yield "a formula in CSV"
    if len(rows) == len(edges):
        plain = [re.sub("^'(?='*[=+@\t\r-])", "", cell) for cell in cells]
        if plain != [name for edge in edges for name in edge]:
            yield f"CSV has {plain}"
    if json.loads(contents["json"])["variables"] != names:
        yield "JSON has other names"
    in_xml = [HIDDEN_IN_XML.sub(lambda found: printable(found[0]), name) for name in names]
    if list(nx.parse_graphml(contents["graphml"])) != in_xml:
        yield "GraphML has other names"
    quoted = re.findall(r'^  "((?:[^"\\]|\\.)*)"(?: \[|;)', contents["dot"], flags=re.M | re.S)
    stood = [re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text) for text in quoted]
    if not set(in_xml) <= set(stood):
        yield f"DOT has {stood}"


def _terminal(folder: Path) -> Iterator[str]:
    for command in (("graphs", str(folder)), ("effects", str(folder))):
        status, said = _run(*command)
        if status:
            yield f"{command[0]} ends with {status}: {said[-300:]}"
        acting = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said)
        if acting:
            yield f"{command[0]} prints {acting[0]!r}"


def _run(*arguments: str) -> tuple[int, str]:
    from typer.testing import CliRunner

    from contextualdag.cli import app

    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output + ("" if done.exit_code == 0 else repr(done.exception))


class _Page(HTMLParser):
    """What acts on a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.acting: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "img", "base", "form", "link"):
            self.acting.append(f"<{tag}>")
        for name, value in attrs:
            far = name in ("src", "href", "xlink:href", "action") and not (value or "").startswith(("#", "data:"))
            if name.startswith("on") or far:
                self.acting.append(f"{name}={value}")


def _report(model: Any, file: Path) -> Iterator[str]:
    from contextualdag.report.model import write_model_report

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that a font does not have
        write_model_report(model, file)
    acting = _Page(file.read_text(encoding="utf-8")).acting
    if acting:
        yield f"the report has {acting[:3]}"


def _picture(model: Any, Z: pd.DataFrame, file: Path) -> Iterator[str]:
    from matplotlib.figure import Figure

    figure = Figure()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.plot_graph(Z[:1], ax=figure.subplots())
        figure.savefig(file, format="svg")
    root = ET.parse(file).getroot()  # noqa: S314 - our own file
    if any(element.tag.endswith("script") for element in root.iter()):
        yield "a picture has a script"
