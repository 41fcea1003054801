"""Where a model has many edges, people first see those that explain nine tenths of what all do."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import FixedDAG
from contextualdag.cli import app
from contextualdag.estimators.readable import in_words, readable
from contextualdag.estimators.remarks import remarks
from contextualdag.explorer.callbacks import Answers
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.report.model import write_model_report


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 8))
    W = np.triu(rng.choice([0.05, 0.1, 0.15, 0.9], size=(8, 8), p=[0.3, 0.3, 0.3, 0.1]), 1)
    return np.linalg.solve(np.eye(8) - W.T, X.T).T, rng.uniform(-1, 1, (4000, 1))


@pytest.fixture(scope="module")
def dense(data):
    return FixedDAG(noise="equal", random_state=0).fit(*data)


@pytest.fixture(scope="module")
def folder(dense, tmp_path_factory):
    path = tmp_path_factory.mktemp("readable") / "model"
    dense.save(path)
    return path


def n_edges(model):
    return int((model.graph_ != 0).sum())


def test_far_fewer_edges(dense):
    fewer = readable(dense)
    assert n_edges(fewer) < 0.7 * n_edges(dense)
    words = f"{n_edges(dense)} edges predict best; the {n_edges(fewer)} strongest explain nine tenths of it"
    assert in_words(dense, fewer) == words
    assert f"{words} (select(explained=0.9), --explained 0.9)." in remarks(dense)


def test_who_asks_for_a_number_of_edges_gets_it(dense, data):
    assert readable(dense.select(n_edges=20)) is None
    assert readable(dense.select(explained=1.0)) is None
    assert readable(FixedDAG(noise="equal", selection=20, random_state=0).fit(*data)) is None


def test_one_graph_is_said_what_it_means(dense):
    (first, *_) = remarks(dense)
    assert first.startswith("One graph serves all contexts; none that vary were fitted. Means given the context explain ")


def test_the_report_begins_with_them(dense, tmp_path):
    text = write_model_report(dense, tmp_path / "r.html", dense.typical_context()).read_text(encoding="utf-8")
    assert f"The graph has {n_edges(readable(dense))} edges." in text
    assert "--explained 1" in text
    assert text.count("One graph serves all contexts; ") == 2  # above, and among the remarks
    assert text.count("<figure>") == 2  # the graph, once, and the path
    every = write_model_report(dense.select(explained=1.0), tmp_path / "all.html").read_text(encoding="utf-8")
    assert f"The graph has {n_edges(dense)} edges." in every
    assert "--explained 1" not in every


def test_the_explorer_begins_with_them(dense):
    graphs = FittedGraphs(dense)
    first = graphs.levels[graphs.default.level]
    assert first.explained
    assert not first.selected
    assert "explain nine tenths" in first.label
    values = graphs.default.a
    assert np.array_equal(graphs.graph(graphs.default.level, values), readable(dense).graph_)
    assert np.array_equal(graphs.graph(graphs.selected, values), dense.graph_)
    links = Answers(graphs).links
    view, complaint = links.read("?edges=selected")
    assert (view.level, complaint) == (graphs.selected, None)
    assert links.read("?")[0].level == graphs.default.level


def test_the_terminal_begins_with_them(dense, folder, tmp_path):
    def said(*words):
        result = CliRunner().invoke(app, ["graphs", str(folder), *words])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    shown = said()
    assert f"{in_words(dense, readable(dense))}. These are shown; --explained 1 shows all." in shown
    assert shown.count("→") == n_edges(readable(dense))
    assert said("--explained", "1").count("→") == n_edges(dense)
    out = tmp_path / "graph.csv"
    assert "--explained 0.9 writes only these" in said("--out", str(out))
    assert len(pd.read_csv(out)) == n_edges(dense)
