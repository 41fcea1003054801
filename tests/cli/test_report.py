import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.cli import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((200, 3)), columns=["mood", "sleep", "stress"])
    X["stress"] += X["mood"]
    Z = pd.DataFrame({"age": rng.uniform(20, 60, 200)})
    home = tmp_path_factory.mktemp("models")
    ContextualDAG(hidden_layers=(8,), n_budgets=4, max_epochs=20, random_state=0).fit(X, Z).save(home / "model")
    FixedDAG(random_state=0).fit(X).save(home / "fixed")
    return home


def run(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


def test_writes_a_page(folder, tmp_path):
    result = run(folder / "model", "--out", tmp_path / "r.html", "--at", "age=80", "--edges", "1")
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "r.html") in result.output.replace("\n", "")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "outside the range of the data" in text
    assert "The context asked for" in text
    again = run(folder / "model", "--out", tmp_path / "r.html")
    assert again.exit_code == 1
    assert "--overwrite" in again.output
    assert run(folder / "fixed", "--out", tmp_path / "r.html", "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nowhere"], 1, "nowhere"),
        (["model", "--at", "aeg=3"], 2, "did you mean"),
        (["model", "--at", "age=old"], 2, "is a number"),
        (["fixed", "--at", "age=3"], 2, "without a context"),
        (["model", "--edges", "99"], 2, "number of edges"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(folder, tmp_path, words, code, message):
    result = run(folder / words[0], "--out", tmp_path / "r.html", *words[1:])
    assert result.exit_code == code, result.output
    said = " ".join(result.output.replace("│", " ").split())
    assert message.lower() in said.lower()
    assert list(tmp_path.iterdir()) == []
