"""`contextualdag summary`: the table and the sentence of the library, for people and for programs."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import BootstrapDAG, FixedDAG
from contextualdag.cli import app
from contextualdag.estimators import load_model, poor_fit
from contextualdag.estimators.summary import EXPLAINED, in_words


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    Z = pd.DataFrame({"age": rng.uniform(20, 80, 400)})
    X = pd.DataFrame(rng.standard_normal((400, 3)), columns=["mood", "sleep", "stress"])
    X["sleep"] += X["mood"]
    X["stress"] += (1 + (Z["age"] - 50) / 20) * X["sleep"]
    home = tmp_path_factory.mktemp("models")
    FixedDAG(random_state=0).fit(X, Z).save(home / "fixed")
    BootstrapDAG(FixedDAG(random_state=0), n_resamples=2, n_jobs=1, verbose=False).fit(X, Z).save(home / "sure")
    FixedDAG(random_state=0).fit(rng.standard_normal((400, 2))).save(home / "empty")
    return home


def invoke(*arguments):
    result = CliRunner().invoke(app, ["summary", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("kind", ["fixed", "sure"])
def test_what_people_read(folder, kind):
    lines = invoke(folder / kind).splitlines()
    assert lines[0] == in_words(load_model(folder / kind))
    assert any("sleep → stress" in line and "100 %" in line and "age" in line for line in lines)
    assert lines[-1] == EXPLAINED


def test_what_programs_read(folder):
    table = load_model(folder / "fixed").summary()
    from_csv = pd.read_csv(io.StringIO(invoke(folder / "fixed", "--format", "csv")))
    assert from_csv["weight"].tolist() == pytest.approx(table["weight"].tolist())
    (first, *_) = json.loads(invoke(folder / "fixed", "--format", "json"))
    assert list(first) == list(table.columns)


def test_a_model_without_edges_and_one_that_is_worse_than_none(folder, monkeypatch):
    assert invoke(folder / "empty") == "No graph has an edge.\n"
    monkeypatch.setattr(poor_fit, "poor_fit", lambda model: ["It is worse than no model."])
    assert invoke(folder / "fixed").startswith("Warning: It is worse than no model.\n")


def test_no_model(tmp_path):
    result = CliRunner().invoke(app, ["summary", str(tmp_path / "nothing")])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
