"""``contextualdag check``: what people and scripts read, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.cli import app
from contextualdag.datasets import make_varying_dag
from contextualdag.diagnostics import check_model, check_table, falsify

N = 300
NODES = ["mood", "[red]sleep", "stress", "pain"]


@pytest.fixture(scope="module")
def table():
    data = make_varying_dag(N, 4, 1, n_edges=4, random_state=0)
    site = np.where(np.arange(N) % 2, "1", "2")
    return pd.DataFrame(data.X, columns=NODES).assign(age=data.Z[:, 0], site=site, name=[f"person {i}" for i in range(N)])


@pytest.fixture(autouse=True)
def _folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("data.csv", index=False)


def invoke(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_a_clean_table_is_one_sentence():
    result = invoke("data.csv", "--context", "age,site", "--categorical", "site")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "data.csv: 300 rows.",
        "Variables (4): mood, [red]sleep, stress, pain",
        "Context (2): age, site",
        "Not used, because they are not numeric or have no name: name",
        "",
        "Nothing was found that speaks against fitting graphs to this table.",
    ]


def test_findings_are_those_of_the_library_and_no_failure(table):
    table.assign(stress=table["mood"] - table["[red]sleep"], age=table["age"].fillna(0)).to_csv("tied.csv", index=False)
    result = invoke("tied.csv", "--context", "age", "--nodes", "mood,[red]sleep,stress")
    assert result.exit_code == 0, result.output
    assert (
        "Serious (function of other columns): Each of 'mood', '[red]sleep', 'stress' is a linear function of the others of "
        "them. Edges there mean little; leave one out.\n" in result.stdout
    )
    shown = json.loads(invoke("tied.csv", "--context", "age", "--nodes", "mood,[red]sleep,stress", "--json").stdout)
    frame = pd.read_csv("tied.csv")
    expected = check_table(frame[NODES[:3]], frame[["age"]])
    assert [finding["message"] for finding in shown["findings"]] == [finding.message for finding in expected]
    assert shown["findings"][0]["columns"] == NODES[:3]
    assert (shown["rows"], shown["variables"], shown["context"]) == (N, NODES[:3], ["age"])
    assert "model" not in shown


def test_a_table_without_context(table):
    result = invoke("data.csv", "--nodes", "mood,pain")
    assert result.exit_code == 0, result.output
    assert "Context" not in result.stdout


def test_missing_values(table):
    table.assign(pain=table["pain"].where(table.index != 5)).to_csv("holes.csv", index=False)
    result = invoke("holes.csv", "--context", "age")
    assert result.exit_code == 0, result.output
    assert "Warning (missing values): Values are missing in 'pain' (1); 299 of 300 rows are complete." in result.stdout
    assert "fit --impute" in result.stdout
    result = invoke("holes.csv", "--context", "age", "--drop-missing")
    assert result.exit_code == 0
    assert result.stdout.startswith("holes.csv: 299 rows, 1 with missing values dropped.\n")
    assert "missing values)" not in result.stdout


def test_missing_values_of_the_context_are_an_error(table):
    table.assign(age=table["age"].where(table.index != 5)).to_csv("holes.csv", index=False)
    result = invoke("holes.csv", "--context", "age")
    assert result.exit_code == 1
    assert "'age' (1)" in result.stderr
    assert "--impute" not in result.stderr
    assert invoke("holes.csv", "--context", "age", "--drop-missing").exit_code == 0


def test_groups_are_no_variable_and_may_depend(table):
    person = np.repeat(np.arange(60), 5)
    level = np.random.default_rng(0).normal(0, 2, 60)[person]
    table.assign(pain=table["pain"] + level, person=person).to_csv("persons.csv", index=False)
    assert "neighbouring rows depend" in invoke("persons.csv", "--context", "age,site").stdout
    result = invoke("persons.csv", "--context", "age,site", "--groups", "person")
    assert result.exit_code == 0, result.output
    assert "Variables (4)" in result.stdout
    assert "neighbouring" not in result.stdout
    blocks = ("persons.csv", "--context", "age,site", "--nodes", "mood,sleep,pain", "--blocks", "5")
    assert "neighbouring" not in invoke(*blocks).stdout
    assert invoke(*blocks, "--groups", "person").exit_code == 2


def test_cyclic_features_and_transforms(table):
    hour = np.random.default_rng(0).integers(0, 24, N)
    crp = np.exp(1.2 * np.random.default_rng(1).standard_normal(N))
    table.assign(hour=hour, light=np.sin(2 * np.pi * hour / 24), crp=crp).to_csv("hours.csv", index=False)
    nodes = ("--context", "hour", "--nodes", "mood,light,crp")
    assert "determines 'light'" not in invoke("hours.csv", *nodes).stdout
    assert "determines 'light'" in invoke("hours.csv", *nodes, "--cyclic", "hour=24").stdout
    assert "heavy tails" not in invoke("hours.csv", *nodes).stdout
    assert "heavy tails" in invoke("hours.csv", *nodes, "--transform", "crp=none").stdout


def test_european_tables(table):
    table[NODES].to_csv("data.txt", index=False, sep=";", decimal=",")
    result = invoke("data.txt", "--delimiter", ";", "--decimal", ",")
    assert result.exit_code == 0, result.output
    assert "Variables (4)" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing.csv"], 1, "There is no file nothing.csv."),
        (["data.csv", "--context", "agee"], 1, "Did you mean 'age'?"),
        (["data.csv", "--context", "age", "--nodes", "age,mood"], 2, "not both"),
        (["data.csv", "--categorical", "site"], 2, "Not in --context"),
        (["data.csv", "--context", "age", "--model", "nowhere"], 1, "nowhere"),
        (["data.csv", "--context", "age", "--cyclic", "ages=24"], 2, "Did you mean 'age'?"),
        (["data.csv", "--context", "age", "--groups", "age"], 2, "another role"),
        (["data.csv", "--context", "age", "--groups", "person"], 1, "no column 'person'"),
    ],
)
def test_bad_input_is_an_error(arguments, code, said):
    result = invoke(*arguments)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.slow
def test_a_model_on_a_table(table):
    X, Z = table[NODES], table[["age", "site"]]
    quick = {"structure": "varying", "hidden_layers": (16,), "n_members": 1, "max_epochs": 40, "verbose": False}
    model = ContextualDAG(random_state=0, device="cpu", **quick).fit(X, Z)
    model.save("model")
    result = invoke("data.csv", "--model", "model", "--json")  # columns and categories are those of the model
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert (shown["variables"], shown["context"], shown["model_rows"]) == (NODES, ["age", "site"], N)
    assert [finding["name"] for finding in shown["model_findings"]] == [one.name for one in check_model(model, X, Z)]
    outcome = falsify(model, X, Z, random_state=0)
    assert shown["falsification"]["p_value"] == outcome.p_value
    assert shown["falsification"]["falsified"] is outcome.falsified
    assert len(shown["falsification"]["violated_permuted"]) == 100
    text = invoke("data.csv", "--model", "model").stdout
    assert "\nModel model on these rows:\n" in text
    assert text.endswith(f"{outcome.verdict}\n")


def test_a_model_without_context(table):
    FixedDAG(random_state=0).fit(table[NODES]).save("fixed")
    result = invoke("data.csv", "--model", "fixed")
    assert result.exit_code == 0, result.output
    table.head(10).to_csv("few.csv", index=False)
    shown = json.loads(invoke("few.csv", "--model", "fixed", "--json").stdout)
    assert shown["falsification"] is None
    table.assign(pain=table["pain"].where(table.index != 5)).to_csv("holes.csv", index=False)
    assert "\nModel fixed on the 299 complete rows:\n" in invoke("holes.csv", "--model", "fixed").stdout
    table.assign(pain=np.nan).to_csv("empty.csv", index=False)
    assert "Model fixed was not checked: no row is complete.\n" in invoke("empty.csv", "--model", "fixed").stdout
    table.rename(columns={"pain": "ache"}).to_csv("other.csv", index=False)
    result = invoke("other.csv", "--model", "fixed")
    assert result.exit_code == 1
    assert "no column 'pain'" in result.stderr


def test_a_model_says_which_features_are_cyclic_and_what_is_transformed(table):
    hour = np.random.default_rng(0).integers(0, 24, N)
    crp = np.exp(1.2 * np.random.default_rng(1).standard_normal(N))
    frame = table[["mood", "pain"]].assign(light=np.sin(2 * np.pi * hour / 24), crp=crp)
    frame["light"] += 1e-3 * np.random.default_rng(2).standard_normal(N)
    Z = pd.DataFrame({"hour": hour.astype(float)})
    FixedDAG(cyclic={"hour": 24}, transform={"crp": "none"}, random_state=0).fit(frame, Z).save("cyclic")
    frame.assign(hour=hour).to_csv("hours.csv", index=False)
    shown = json.loads(invoke("hours.csv", "--model", "cyclic", "--json").stdout)
    named = {finding["name"]: finding["message"] for finding in shown["findings"]}
    assert "heavy tails" in named
    assert "'light' (1.00)" in named["means move with the context"]


def test_interventions_and_weights_are_no_variables_and_not_held_against_a_model(table):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((600, 4)), columns=list("abcd"))
    X["b"] += X["a"]
    hit = np.arange(600) % 3 == 0
    X.loc[hit, "b"] = rng.uniform(2, 6, hit.sum())
    X["c"] += X["b"]
    target = np.where(hit, "b", "")
    model = FixedDAG(random_state=0).fit(X, interventions=target)
    model.save("model")
    weight = np.where(np.arange(600) < 500, 1.5, 0)
    X.assign(target=target, count=weight).to_csv("trial.csv", index=False)
    ignored = json.loads(invoke("trial.csv", "--model", "model", "--json").stdout)
    assert "worse than no model" in {finding["name"] for finding in ignored["model_findings"]}
    result = invoke("trial.csv", "--model", "model", "--interventions", "target", "--weight", "count")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("trial.csv: 500 rows, 100 of weight zero left out, 167 with interventions.\n")
    assert "Nothing was found that speaks against its graphs.\n" in result.stdout
    outcome = falsify(model, X[:500], random_state=0, interventions=target[:500])
    assert result.stdout.endswith(f"{outcome.verdict}\n")
    bare = invoke("trial.csv", "--interventions", "target", "--weight", "count")
    assert "Variables (4): a, b, c, d\n" in bare.stdout
    X.assign(target=target, count=-weight).to_csv("trial.csv", index=False)
    result = invoke("trial.csv", "--weight", "count")
    assert result.exit_code == 1
    assert "negative" in result.stderr
    X.assign(target="z").to_csv("trial.csv", index=False)
    for options in ((), ("--model", "model")):
        result = invoke("trial.csv", *options, "--interventions", "target")
        assert result.exit_code == 1
        assert "(--interventions) names 'z' in 600 rows, which is not a variable" in " ".join(result.stderr.split())
