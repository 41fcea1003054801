import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from contextualdag import BootstrapDAG, ContextualDAG, FixedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.estimators.remarks import directions, remarks
from contextualdag.estimators.summary import in_words
from contextualdag.plotting.contexts import drawn_contexts, value_text
from contextualdag.report.model import HOW_SURE, TOLD_BY_CHANGE, TOLD_BY_EQUAL_NOISE, varying_edges, write_model_report


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
        "<td>selected</td>",
        "hidden_layers",
    ):
        assert expected in text
    assert page.tags.count("svg") >= 4
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_what_changes_comes_first(model, tmp_path):
    text = write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.headings[0] == "What changes with the context"
    assert in_words(model).replace("<b>York</b>", "&lt;b&gt;York&lt;/b&gt;") in text
    table = model.summary()
    first = text[: text.index("Graphs at typical contexts")]
    for source, target, weight in zip(table["source"], table["target"], table["weight"], strict=True):
        assert f"<td>{html.escape(f'{source} → {target}', quote=False)}</td>" in first
        assert f"<td>{value_text(weight)}</td>" in first


@pytest.mark.parametrize(("noise", "said"), [("equal", TOLD_BY_EQUAL_NOISE), ("unequal", TOLD_BY_CHANGE)])
def test_what_directions_rest_on_depends_on_the_noise(noise, said, tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 2] += X[:, 0]
    text = write_model_report(FixedDAG(noise=noise, random_state=0).fit(X), tmp_path / "r.html").read_text(encoding="utf-8")
    assert said in text
    assert ("do not matter" in text) == (noise == "unequal")
    assert (TOLD_BY_CHANGE in text) != (TOLD_BY_EQUAL_NOISE in text)


def test_without_a_context(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 2] += X[:, 0]
    text = write_model_report(FixedDAG(random_state=0).fit(X), tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The model has no context." in text
    assert "What changes with the context" not in text
    assert "and no context. The graph has" in text
    assert "Edges that reverse" not in text


def test_one_graph_for_all_contexts_is_drawn_once(tmp_path):
    data = make_varying_dag(300, n_nodes=4, n_features=2, n_edges=4, random_state=0)
    fixed = FixedDAG(random_state=0).fit(data.X, data.Z)
    text = write_model_report(fixed, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The graph is the same for every context." in text
    assert "and 2 context features. The graph has" in text
    page = Page(text)
    assert page.tags.count("figure") == 2  # the graph and the path
    assert "Where graphs are dense" not in page.headings


def test_edges_whose_direction_the_data_do_not_tell(tmp_path):
    data = make_fixed_dag(1500, n_nodes=6, random_state=1, noise_scale=(0.3, 3))
    model = FixedDAG(random_state=0).fit(data.X)
    text = write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")
    (sentence,) = directions(model)
    assert sentence in text
    assert "→" not in text
    assert "An edge without an arrowhead" in text


def test_weights_in_small_units_do_not_vanish(tmp_path):
    data = make_varying_dag(300, n_nodes=3, n_features=1, n_edges=2, random_state=0)
    model = FixedDAG(random_state=0).fit(data.X * [1e-4, 1.0, 1e4], data.Z)
    text = write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")
    weights = {row[3] for row in rows_of(text) if len(row) == 8 and ("→" in row[0] or "—" in row[0])}
    assert weights == {value_text(weight) for weight in model.summary()["weight"]}
    noise = [row[1] for row in rows_of(text) if row and row[0] in model.names_]
    assert noise == [value_text(scale) for scale in model.noise_scale_]
    assert "0" not in {*weights, *noise}


def test_what_was_said_of_rows_is_in_the_report(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 3))
    text = write_model_report(FixedDAG(random_state=0).fit(X, sample_weight=np.arange(1, 201)), tmp_path / "r.html")
    assert "Rows have weights." in text.read_text(encoding="utf-8")


def rows_of(text):
    """Rows of all tables, as lists of cells."""
    rows = re.findall(r"<tr.*?</tr>", text, re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


@pytest.mark.slow
def test_how_sure_edges_are(tmp_path):
    data = make_varying_dag(150, n_nodes=4, n_edges=4, n_features=2, random_state=0)
    fit = ContextualDAG(hidden_layers=(16,), max_epochs=40, n_members=1, structure="varying", random_state=0, verbose=False)
    model = BootstrapDAG(fit, n_resamples=4, n_jobs=1, verbose=False).fit(data.X, data.Z)
    text = write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")
    assert HOW_SURE in text
    (sentence,) = (one for one in remarks(model) if "random halves of the rows" in one)
    assert sentence in text
    # The mean over the contexts with the edge, taken from the model's own table of edges.
    means = model.edges(drawn_contexts(model)).groupby(["source", "target"])["probability"].mean()
    rows = {row[0]: row[-1] for row in rows_of(text) if len(row) == 7 and "→" in row[0]}
    assert rows
    assert rows.items() <= {f"{a} → {b}": f"{mean:.2f}" for (a, b), mean in means.items()}.items()
    assert ["estimator", "ContextualDAG"] in rows_of(text)
    assert ["estimator__n_members", "1"] in rows_of(text)


@pytest.mark.slow
def test_how_sure_the_edges_of_one_graph_are(tmp_path):
    data = make_fixed_dag(300, n_nodes=4, n_edges=3, random_state=1, noise_scale=(0.3, 3))
    model = BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1, verbose=False).fit(data.X)
    text = write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")
    table = model.edges(model.typical_context())
    assert len(table)
    for edge in table.itertuples():
        words = f"{edge.source} {'→' if edge.directed else '—'} {edge.target}"
        assert [words, value_text(edge.weight), f"{edge.probability:.2f}"] in rows_of(text)
    assert HOW_SURE in text


def test_other_reports_have_no_probabilities(model, tmp_path):
    assert "robability" not in write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")


def test_varying_edges(model):
    W = np.zeros((4, 4, 4))
    W[:, 0, 1], W[:2, 1, 2] = 1.0, 2.0
    table = varying_edges(model, W)
    assert table["source"].tolist() == ["sleep", "mood"]
    assert table.loc[0, ["present", "mean", "smallest", "largest", "varies"]].tolist() == [0.5, 1.0, 0.0, 2.0, 1.0]
    assert table.loc[1, "varies"] == 0


def test_effects_have_intervals_where_the_model_tells_them(model, tmp_path):
    text = write_model_report(model, tmp_path / "r.html").read_text(encoding="utf-8")
    section = text[text.index("Strongest effects in a typical context") :]
    assert "interval of the total effect" not in text
    T = model.total_effects(model.typical_context())[0]
    if T.any():
        assert " on " in section
    data = make_fixed_dag(300, n_nodes=4, n_edges=4, random_state=0)
    sure = BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1, verbose=False).fit(data.X, data.Z)
    text = write_model_report(sure, tmp_path / "s.html").read_text(encoding="utf-8")
    section = text[text.index("Strongest effects") : text.index("interval of the total effect")]
    low, high = sure.effect_intervals(sure.typical_context())
    j, k = np.argwhere(sure.graph_)[0]
    assert f"<td>x{j + 1} on x{k + 1}</td>" in section
    row = next(row for row in section.split("<tr>") if f"x{j + 1} on x{k + 1}" in row)
    numbers = [float(cell) for cell in re.findall(r"<td>([-0-9.e]+)</td>", row.replace("\u2212", "-"))]
    assert numbers[2:] == pytest.approx([low[0, j, k], high[0, j, k]], abs=0.005)
