"""Hostile names through every output: a model saved and loaded, the terminal, pictures, the report, the explorer."""

import csv
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib import cbook
from matplotlib import pyplot as plt
from matplotlib.text import Text
from typer.testing import CliRunner

from attack.names import ALLOWED
from contextualdag.cli import app
from contextualdag.cli.terminal import say, show_table
from contextualdag.estimators import load_model
from contextualdag.plotting.canvas import plain
from contextualdag.printable import HIDDEN, printable, shortened
from tests.renamed import renamed

every = pytest.mark.parametrize("names", ALLOWED.values(), ids=ALLOWED)
# For what takes longer: one of each kind of danger.
SOME = [
    *("units in brackets", "unclosed markup", "emoji of markup", "escape sequences", "control characters", "new lines"),
    *("commas", "double quotes", "backslashes", "options", "formulas", "ends of elements", "mathtext", "arguments"),
    *("features of our own", "arrows", "marks of direction", "long"),
]
some = pytest.mark.parametrize("names", [ALLOWED[kind] for kind in SOME], ids=SOME)


def words(text):
    """A text as a browser shows it."""
    return " ".join(printable(text).split())


def hidden(text):
    return set(HIDDEN.findall(text)) - {"\n"}


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@every
def test_sentences_and_tables_on_the_terminal(names, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "5000")
    say(f"Variables: {', '.join(names)}")
    show_table(["edge", names[0]], [[name, "1"] for name in names])
    first, *table = capsys.readouterr().out.split("\n")
    assert first == "Variables: " + ", ".join(map(printable, names))
    cells = [line.strip() for line in table]
    for name in names:
        assert any(line.startswith(printable(name).strip()) and line.endswith("1") for line in cells)


@some
def test_a_saved_model(names, tmp_path):
    model = renamed(names)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.names_ == list(names)
    assert [feature.name for feature in loaded.context_features_] == list(names[:2])
    assert list(loaded.context_features_[1].shares) == list(names)
    contexts = pd.DataFrame({names[0]: [0.0, 1.0], names[1]: [names[2], names[3]]})
    np.testing.assert_array_equal(loaded.adjacency(contexts), model.adjacency(contexts))
    assert set(loaded.edges(contexts)["source"]) <= set(names)


@some
def test_graphs_of_a_model_on_the_terminal(names, tmp_path):
    renamed(names).save(tmp_path / "model")
    options = ["--at", f"{names[0]}=0.5", "--at", f"{names[1]}={names[3]}"]
    shown = CliRunner().invoke(app, ["graphs", str(tmp_path / "model"), *options])
    assert shown.exit_code == 0, shown.output
    assert not hidden(shown.output)
    assert shown.output.startswith(f"{printable(names[0])} = 0.5, {printable(names[1])} = {printable(names[3])}\n")


FITTED = [kind for kind in SOME if kind != "control characters"]  # a zero byte makes a file binary


@pytest.mark.slow
@pytest.mark.parametrize("kind", FITTED[::5])
def test_a_fit_in_the_terminal(kind, tmp_path, monkeypatch):
    names = ALLOWED[kind]
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 1] += X[:, 0]
    with open("data.csv", "w", newline="", encoding="utf-8") as file:  # noqa: PTH123 - without changed line endings
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *X])
    quoted = ['"{}"'.format(name.replace('"', '""')) for name in names]
    nodes = [part for name in quoted[:3] for part in ("--nodes", name)]
    options = ["--out", "model", "--method", "fixed", "--context", quoted[3]]
    done = CliRunner().invoke(app, ["fit", "data.csv", *nodes, *options])
    assert done.exit_code == 0, done.output
    assert not hidden(done.output)
    assert load_model(tmp_path / "model").names_ == [name.strip() for name in names[:3]]
    for command in (["graphs", "model"], ["effects", "model", "--do", f"{names[0].strip()}=1"], ["check", "data.csv"]):
        shown = CliRunner().invoke(app, command)
        assert shown.exit_code == 0, shown.output
        assert not hidden(shown.output)


def test_errors_on_the_terminal_show_names_letter_by_letter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,\x1b[31mred,c\n1,2,x\n2,1,y\n", encoding="utf-8")
    for option in (["--nodes", "a,\x1b[2Jd"], ["--nodes", "a,c"], ["--nodes", "a,\udcff"], ["--context", "\x1b[31mred"]):
        failed = CliRunner().invoke(app, ["fit", "data.csv", "--out", "model", *option])
        assert failed.exit_code in (1, 2)
        assert not hidden(failed.output)
        assert "Traceback" not in failed.output


@every
def test_texts_in_pictures_are_no_formulas(names):
    for name in names:
        text = plain(name)
        assert not hidden(text)
        assert not cbook.is_math_text(text)
        # How matplotlib draws what it does not take for a formula.
        assert text.replace(r"\$", "$") == shortened(printable(name))


@pytest.mark.parametrize("kind", ["mathtext", "mathtext that parses", "arrows", "words of Python", "long", "new lines"])
def test_pictures(kind):
    names = ALLOWED[kind]
    model = renamed(names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Glyph")  # fonts lack some letters
        figures = [
            model.plot_edge(names[0], names[1], names[0]),
            model.plot_edge(names[1], names[2], names[1]),
            model.plot_graph(),
            model.plot_difference({names[0]: -1.0}, {names[0]: 1.0}),
        ]
        for ax in figures:
            ax.figure.canvas.draw()
            assert not any(cbook.is_math_text(text.get_text()) for text in ax.figure.findobj(Text))
    assert figures[0].get_xlabel() == plain(names[0])
    assert len(figures[0].get_legend().get_texts()) == 2
    assert [label.get_text() for label in figures[1].get_xticklabels()] == [plain(name, 15) for name in names]


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.texts.append(data)


@every
def test_parts_of_pages(names):
    from contextualdag.report import page

    frame = pd.DataFrame({"edge": list(names), names[0]: 1.0})
    text = "".join([page.heading(names[0]), page.paragraph(names[1]), page.notes(names[2], names[3:]), page.table(frame)])
    found = Page(text)
    assert set(found.tags) == {"h2", "p", "aside", "strong", "ul", "li", "table", "thead", "tr", "th", "tbody", "td"}
    assert not any(name.startswith("on") for name in found.attributes)
    assert not hidden(text)
    assert set(map(words, names)) <= set(map(words, found.texts))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mathtext", "long"])
def test_reports(kind, tmp_path):
    from contextualdag.report.model import write_model_report

    names = ALLOWED[kind]
    model = renamed(names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = write_model_report(model, tmp_path / "report.html", model.typical_context(), source=names[3])
    found = Page(path.read_text(encoding="utf-8"))
    assert "script" not in found.tags
    assert set(map(words, names)) <= set(map(words, found.texts))


@pytest.mark.parametrize("names", [ALLOWED[kind] for kind in SOME[::3]], ids=SOME[::3])
def test_the_explorer(names):
    pytest.importorskip("dash", reason="the explorer needs it")
    from contextualdag.explorer.callbacks import Answers
    from contextualdag.explorer.graphs import FittedGraphs

    graphs = FittedGraphs(renamed(names))
    answers, screen = Answers(graphs), {"width": 800, "height": 600, "dark": False}
    link = answers.links.write(graphs.default)
    assert answers.links.read(link) == (graphs.default, None)
    drawn, menu = answers.draw(*answers._controls(graphs.default), screen)[0:6:5]
    assert [option["label"] for option in menu[:4]] == [printable(name) for name in names]
    assert not any(hidden(one["data"].get("label", "")) for one in drawn)
    answers.map(link, screen)
    for kind in ("CSV", "GraphML"):
        assert answers.save(kind, "a", *answers._controls(graphs.default))["content"]
