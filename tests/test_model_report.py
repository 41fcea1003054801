from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.model_report import varying_edges, write_model_report
from contextualdag.model_warnings import find_warnings


@pytest.fixture(scope="module")
def model():
    data = make_varying_dag(400, n_nodes=4, n_features=2, n_edges=4, random_state=0)
    Z = pd.DataFrame({"age": data.Z[:, 0], "site": np.where(data.Z[:, 1] > 0, "Leeds", "<b>York</b>")})
    X = pd.DataFrame(data.X, columns=["mood", "sleep", "stress", "<script>x</script>"])
    return ContextualDAG(hidden_layers=(16,), n_budgets=6, max_epochs=40, random_state=0).fit(X, Z)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.headings = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for name, v in attrs if name in ("src", "href", "xlink:href") and not v.startswith(("#", "data:"))]

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "h2" and data.strip():
            self.headings.append(data)


def test_the_page_is_whole_and_needs_nothing_else(model, tmp_path):
    contexts = model.typical_context().assign(age=9.0)
    path = write_model_report(model, tmp_path / "new" / "report.html", contexts, source="model/")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "b"} & set(page.tags)
    assert page.links == []
    for expected in ("Graphs at typical contexts", "Path and selection", "Data", "Settings", "How to read this", "Citation"):
        assert expected in page.headings
    for expected in (
        "associations, not causes",
        "Thompson",
        "lies outside the range of the data",
        "chosen",
        "hidden_layers",
    ):
        assert expected in text
    assert page.tags.count("svg") >= 4
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_one_graph_for_all(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 2] += X[:, 0]
    text = write_model_report(FixedDAG(random_state=0).fit(X), tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The graph is the same for everyone." in text
    assert "no context" in text
    assert "turn round" not in text


def test_varying_edges(model):
    W = np.zeros((4, 4, 4))
    W[:, 0, 1], W[:2, 1, 2] = 1.0, 2.0
    table = varying_edges(model, W)
    assert table["source"].tolist() == ["sleep", "mood"]
    assert table.loc[0, ["present", "mean", "smallest", "largest", "varies"]].tolist() == [0.5, 1.0, 0.0, 2.0, 1.0]
    assert table.loc[1, "varies"] == 0


def test_warnings(model):
    dense, sparse, empty = np.triu(np.ones((3, 9, 9)), 1), np.zeros((3, 4, 4)), np.zeros((3, 4, 4))
    sparse[:, 0, 1] = 1
    assert any("very dense: 100 %" in text for text in find_warnings(model, dense))
    assert any("No graph has an edge" in text for text in find_warnings(model, empty))
    border = "densest of the path"
    densest = model.select(l1_budget=float(model.path_["l1_budget"].max()))
    middle = model.select(l1_budget=float(model.path_["l1_budget"].iloc[2]))
    assert any(border in text for text in find_warnings(densest, sparse))
    assert find_warnings(middle, sparse) == []
    outside = find_warnings(middle, sparse, model.typical_context().assign(age=9.0))
    assert len(outside) == 1
    assert "age\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}9," in outside[0]
