"""Columns that say something of rows, in the terminal: the same as in Python."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import FixedDAG
from contextualdag.cli import app
from contextualdag.estimators import load_model


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((300, 3)), columns=["dose", "mood", "sleep"])
    hit = np.arange(300) % 3 == 0
    frame["mood"] = np.where(hit, 3 * rng.standard_normal(300), frame["mood"] + frame["dose"])
    frame["sleep"] += frame["mood"]
    both = np.arange(300) % 30 == 0
    target = np.select([both, hit], ["mood; sleep", "mood"], "")
    return frame.assign(target=target, count=np.arange(300) % 3, site=np.arange(300) // 10)


@pytest.fixture(autouse=True)
def _folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("data.csv", index=False)


def invoke(*arguments):
    command = ["fit", "data.csv", "--method", "fixed", "--out", "model", *arguments]
    return CliRunner().invoke(app, command)


def test_interventions_and_weights_as_in_python(table):
    done = invoke("--interventions", "target", "--weight", "count", "--nodes", "dose,mood,sleep")
    assert done.exit_code == 0, done.stderr
    X = table[["dose", "mood", "sleep"]]
    given = {"interventions": table["target"], "sample_weight": table["count"]}
    expected = FixedDAG(random_state=0, device="auto").fit(X, **given)
    found = load_model("model")
    np.testing.assert_allclose(found.graph_, expected.graph_, rtol=1e-5)
    assert found.graph_[0, 1] > 0.8


def test_what_was_used_is_said():
    nodes = ("--nodes", "dose,mood,sleep")
    done = invoke("--interventions", "target", "--groups", "site", *nodes)
    assert done.exit_code == 0, done.stderr
    said = "100 of 300 rows are interventions (on mood 100, on sleep 10); those values are not scored."
    assert f"{said} 30 groups of rows were kept together.\n" in done.stdout
    assert "Rows have weights.\n" in invoke("--weight", "count", *nodes, "--overwrite").stdout


def test_these_columns_are_no_variables(table):
    done = invoke("--interventions", "target", "--weight", "count")
    assert done.exit_code == 0, done.stderr
    assert load_model("model").names_ == ["dose", "mood", "sleep", "site"]


def test_rows_with_missing_values_are_dropped_with_what_is_said_of_them(table):
    spoilt = table.copy()
    spoilt.loc[7, "dose"] = spoilt.loc[8, "count"] = np.nan
    spoilt.to_csv("data.csv", index=False)
    options = ("--interventions", "target", "--weight", "count", "--nodes", "dose,mood,sleep")
    refused = invoke(*options)
    assert refused.exit_code != 0
    assert "'dose' (1), 'count' (1)" in " ".join(refused.stderr.split())
    assert invoke(*options, "--drop-missing").exit_code == 0
    kept = table.drop(index=[7, 8])
    given = {"interventions": kept["target"], "sample_weight": kept["count"]}
    expected = FixedDAG(random_state=0).fit(kept[["dose", "mood", "sleep"]], **given)
    np.testing.assert_allclose(load_model("model").graph_, expected.graph_, rtol=1e-5)


def test_groups_as_in_python(table):
    done = invoke("--groups", "site", "--nodes", "dose,mood,sleep")
    assert done.exit_code == 0, done.stderr
    expected = FixedDAG(random_state=0).fit(table[["dose", "mood", "sleep"]], groups=table["site"])
    found = load_model("model")
    np.testing.assert_allclose(found.graph_, expected.graph_, rtol=1e-5)
    assert found.held_out_score_ == pytest.approx(expected.held_out_score_)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--interventions", "targets"], "has no column 'targets'. Did you mean 'target'?"),
        (["--interventions", "site"], "which is not a variable"),
        (["--weight", "dose", "--nodes", "dose,mood"], "The column 'dose' has another role already"),
        (
            ["--groups", "count"],
            "Column 'count' of data.csv (--groups) has 3 groups. Whole groups are held out, so this fit",
        ),
        (["--blocks", "100"], "data.csv in blocks of 100 rows (--blocks) has 3 groups."),
        (["--blocks", "100"], "needs 4 at least. Give blocks of 75 rows at most."),
        (["--blocks", "10", "--groups", "site"], "Give --groups or --blocks, not both."),
        (
            ["--weight", "target"],
            "must hold finite numbers, but row 1 after the header has 'mood; sleep' (100 such rows). It is the",
        ),
        (["--weight", "count", "--interventions", "count"], "The column 'count' has another role already"),
    ],
)
def test_bad_columns(options, said):
    done = invoke(*options)
    assert done.exit_code != 0
    assert said in " ".join(done.stderr.replace("│", " ").split())


def change(column, rows, value):
    frame = pd.read_csv("data.csv", dtype={"target": object})
    frame.loc[rows, column] = value
    frame.to_csv("data.csv", index=False)


@pytest.mark.parametrize(
    ("column", "rows", "value", "option", "said"),
    [
        (
            "count",
            [4, 7],
            -2,
            "--weight",
            "has 2 negative weights; the first is -2 in row 5 after the header. A weight is a",
        ),
        ("count", [298], -1, "--weight", "has 1 negative weight; the first is -1 in row 299 after the header."),
        ("count", slice(None), 0, "--weight", "is zero in all 299 rows"),
        (
            "target",
            [4, 7],
            "modo",
            "--interventions",
            "names 'modo' in 2 rows, which is not a variable; the first is row 5 ",
        ),
        (
            "target",
            [4],
            "modo; dose",
            "--interventions",
            "names 'modo' in 1 row, which is not a variable; the first is row 5",
        ),
        (
            "target",
            slice(None),
            "dose",
            "--interventions",
            "names 'dose' in all 299 rows. The equation of 'dose' is",
        ),
        ("target", slice(9, None), "dose", "--interventions", "names 'dose' in all but 8 of 299 rows."),
    ],
)
def test_what_these_columns_hold_is_said_by_option_and_row_of_the_file(column, rows, value, option, said):
    change(column, rows, value)
    change("dose", [1], np.nan)  # a row that is dropped does not move the others
    done = invoke(option, column, "--nodes", "dose,mood,sleep", "--drop-missing")
    assert done.exit_code == 1
    assert f"Error: Column '{column}' of data.csv ({option}) {said}" in done.stderr


def test_members_of_an_ensemble_need_a_group_each(table):
    table.assign(site=table["site"] // 8).to_csv("data.csv", index=False)
    command = ["fit", "data.csv", "--context", "dose", "--nodes", "mood,sleep", "--out", "model", "--groups", "site"]
    done = CliRunner().invoke(app, [*command, "--members", "5"])
    assert done.exit_code == 1
    assert "(--groups) has 4 groups. Whole groups are held out, so this fit needs 5 at least." in done.stderr


def test_groups_of_one_row_each_are_a_line():
    change("site", slice(None), np.arange(300))
    done = invoke("--groups", "site", "--nodes", "dose,mood,sleep")
    assert done.exit_code == 0, done.stderr
    assert "Warning: Column 'site' of data.csv (--groups) has another value in every row, so it changes" in done.stderr


def test_neighbouring_rows_as_blocks(table):
    change("dose", [3], np.nan)
    done = invoke("--blocks", "50", "--nodes", "dose,mood,sleep", "--drop-missing")
    assert done.exit_code == 0, done.stderr
    kept = table.drop(index=3)
    expected = FixedDAG(random_state=0).fit(kept[["dose", "mood", "sleep"]], groups=kept.index // 50)
    found = load_model("model")
    assert found.rows_.n_groups == 6
    assert found.held_out_score_ == pytest.approx(expected.held_out_score_)
