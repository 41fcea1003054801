"""Prior knowledge in the terminal: options, files, and what they cannot be."""

import json

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from contextualdag.cli import app
from contextualdag.cli.knowledge import read_knowledge
from contextualdag.errors import InvalidInputError
from contextualdag.estimators import load_model


def test_nothing_is_known():
    assert read_knowledge(None, None, None, None) == {}


def test_options():
    found = read_knowledge(["a,b", '"c, d"'], ["a -> b", "b → c"], ["e->f"], None)
    assert found["tiers"] == [["a", "b"], ["c, d"]]
    assert found["forbidden_edges"] == [("a", "b"), ("b", "c")]
    assert found["required_edges"] == [("e", "f")]


@pytest.mark.parametrize("text", ["a", "a ->", "-> b", "", "a - b"])
def test_what_is_no_edge(text):
    with pytest.raises(typer.BadParameter, match="An edge such as"):
        read_knowledge(None, [text], None, None)


def test_names_with_an_arrow_are_for_a_file(tmp_path):
    with pytest.raises(typer.BadParameter, match=r"'a -> b → c' has several arrows.* --knowledge"):
        read_knowledge(None, ["a -> b → c"], None, None)
    (tmp_path / "known.csv").write_text("source,target,kind\na -> b,c,forbidden\n")
    assert read_knowledge(None, None, None, tmp_path / "known.csv") == {"forbidden_edges": [("a -> b", "c")]}


def test_names_of_digits_and_positions(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((100, 3)), columns=["2", "1", "x"])
    table.to_csv(tmp_path / "data.csv", index=False)
    fit = ["fit", str(tmp_path / "data.csv"), "--method", "fixed", "--out", str(tmp_path / "model")]
    assert CliRunner().invoke(app, [*fit, "--require", "2 -> 1"]).exit_code == 0  # names, as all of the terminal
    assert load_model(tmp_path / "model").graph_[0, 1] != 0
    (tmp_path / "known.toml").write_text("required_edges = [[2, 1]]\n")  # positions
    result = CliRunner().invoke(app, [*fit, "--overwrite", "--knowledge", str(tmp_path / "known.toml")])
    assert result.exit_code == 1
    assert "2 may be the variable '2' or the position 2, which is 'x'. Write '2' or 'x', as text." in result.stderr


def test_a_toml_file_and_options_together(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('tiers = [["a"], ["b", "c"]]\nforbidden_edges = [["b", "c"]]\n')
    found = read_knowledge(None, ["c -> b"], None, path)
    assert found == {"tiers": [["a"], ["b", "c"]], "forbidden_edges": [["b", "c"], ("c", "b")]}
    with pytest.raises(typer.BadParameter, match="not both"):
        read_knowledge(["a"], None, None, path)


def test_a_csv_file(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text('source,target,kind\na,b,forbidden\n"c, d",a,Required\n')
    found = read_knowledge(None, None, None, path)
    assert found == {"forbidden_edges": [("a", "b")], "required_edges": [("c, d", "a")]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("known.toml", "tiers = [", "is not TOML"),
        ("known.toml", "teirs = []", "unknown key 'teirs'. Did you mean 'tiers'"),
        ("known.csv", "from,to\na,b\n", "must have the columns source, target and kind"),
        ("known.csv", "source,target,kind\na,b,never\n", "Line 2 of .* must have a source"),
        ("known.csv", "source,target,kind\na\n", "Line 2 of .* must have a source"),
        ("known.csv", "", "must have the columns"),
    ],
)
def test_files_that_cannot_be_read(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_knowledge(None, None, None, tmp_path / name)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        read_knowledge(None, None, None, tmp_path / "nothing.toml")


@pytest.mark.slow
def test_a_fit_heeds_it(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((200, 3)), columns=["gene[1]", "protein", "symptom"])
    table["protein"] += 0.9 * table["gene[1]"]
    table["symptom"] += 0.9 * table["protein"]
    table.to_csv(tmp_path / "data.csv", index=False)
    given = ["fit", str(tmp_path / "data.csv"), "--method", "fixed", "--out", str(tmp_path / "model"), "--json"]
    given += ["--tiers", "symptom", "--tiers", "gene[1],protein", "--require", "symptom -> gene[1]"]
    run = CliRunner().invoke(app, given)
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["edges"]["mean"] >= 2
    W = load_model(tmp_path / "model").adjacency(np.zeros((1, 3)))[0]
    assert W[2, 0] != 0
    assert not W[:2, 2].any()
    wrong = CliRunner().invoke(app, [*given, "--overwrite", "--forbid", "symptom -> gene[1]"])
    assert wrong.exit_code == 1
