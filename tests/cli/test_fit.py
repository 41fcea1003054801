"""``contextualdag fit``: what it makes, what it refuses, and what is left of it when it is stopped or killed."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, files
from contextualdag.cli import app, fit
from contextualdag.cli.fit_summary import path_rows
from contextualdag.datasets import make_varying_dag
from contextualdag.estimators import load_model, poor_fit, resamples
from contextualdag.estimators.summary import in_words
from contextualdag.files import in_use

N = 150


@pytest.fixture(scope="module")
def table():
    data = make_varying_dag(N, 3, 1, n_edges=3, random_state=0)
    frame = pd.DataFrame(data.X, columns=["mood", "sleep", "stress"]).assign(age=data.Z)
    rng = np.random.default_rng(0)
    return frame.assign(site=rng.integers(1, 3, N), name=[f"person {i}" for i in range(N)])


@pytest.fixture(scope="module")
def dense():
    """Many weak edges and a few strong ones."""
    rng = np.random.default_rng(0)
    W = np.triu(rng.choice([0.05, 0.1, 0.15, 0.9], size=(8, 8), p=[0.3, 0.3, 0.3, 0.1]), 1)
    X = np.linalg.solve(np.eye(8) - W.T, rng.standard_normal((4000, 8)).T).T
    return pd.DataFrame(X, columns=list("abcdefgh"))


@pytest.fixture(autouse=True)
def _folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("data.csv")  # with row numbers in front, as pandas writes them


@pytest.fixture(autouse=True)
def _one_thread():
    # As in the processes that are started here, so that numbers agree to the bit.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def invoke(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


def words(result):
    """What typer shows in a box, without the box."""
    return " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.slow
def test_the_model_is_that_of_the_library(table, tmp_path):
    arguments = ["--context", "age,site", "--categorical", "site", "--seed", 3, "--max-epochs", 30]
    arguments += ["--structure", "varying"]
    result = invoke("data.csv", *arguments, "--out", "model/", "--json")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model"]
    X, Z = table[["mood", "sleep", "stress"]], table[["age", "site"]].astype({"site": str})
    same = ContextualDAG(structure="varying", random_state=3, max_epochs=30).fit(X, Z)
    model = load_model("model")
    np.testing.assert_array_equal(model.adjacency(Z), same.adjacency(Z))

    summary = json.loads(result.stdout)
    assert summary["variables"] == ["mood", "sleep", "stress"]
    assert summary["context"] == ["age", "site"]
    assert summary["left_out"] == ["unnamed column 1", "name"]
    assert (summary["rows"], summary["rows_dropped"], summary["rows_held_out"]) == (N, 0, same.n_held_out_)
    assert summary["explained_variance_held_out"] == same.held_out_score_
    assert summary["noise"] == same.noise_
    assert list(summary["noise_scale"]) == same.names_
    np.testing.assert_allclose(list(summary["noise_scale"].values()), same.noise_scale_)
    assert summary["structure"] == "varying"
    assert summary["context_test"]["p_value"] == same.context_test_.p_value
    assert set(summary["context_test"]["features"]) == {"age", "site"}
    assert summary["edges"]["mean"] == pytest.approx(len(same.edges(Z)) / N)
    assert len(summary["path"]) == len(same.path_)
    assert summary["selected"] == same.path_["selected"].to_numpy().argmax()
    expected = same.summary()
    assert [row["target"] for row in summary["summary"]] == expected["target"].tolist()
    assert [row["varies"] for row in summary["summary"]] == expected["varies"].tolist()
    assert summary["summary_in_words"] == in_words(same)
    assert summary["path"][summary["selected"]]["refit_loss"] == same.path_.query("selected")["refit_loss"].item()


def test_the_score_is_that_of_the_rows_that_the_fit_held_out():
    X = np.random.default_rng(1).standard_normal((N, 2)) @ [[1, 0.6], [0, 1]]
    pd.DataFrame(X, columns=["mood", "sleep"]).to_csv("normal.csv", index=False)
    summary = json.loads(invoke("normal.csv", "--method", "fixed", "--noise", "equal", "--out", "m", "--json").stdout)
    # Without a context the loss of the path is the mean squared residual of these rows, divided by the variance of the rest.
    model = load_model("m")
    rows = np.random.default_rng(0).permutation(N)
    held_out, rest = X[rows[:30]], X[rows[30:]]
    (W,) = model.adjacency(model.typical_context())
    centred = held_out - rest.mean(0)
    loss = ((centred - centred @ W) ** 2).mean() / rest.var(0).mean()
    assert loss == pytest.approx(summary["path"][summary["selected"]]["refit_loss"], rel=1e-5)
    assert summary["explained_variance_held_out"] == pytest.approx(model.score(held_out))


@pytest.mark.parametrize("arguments", [["--noise", "equal", "--selection", "explained"], ["--noise", "unequal"]])
def test_the_path_agrees_with_the_graphs(arguments, dense):
    dense.to_csv("dense.csv", index=False)
    result = invoke("dense.csv", "--method", "fixed", *arguments, "--out", "m")
    assert result.exit_code == 0, result.output
    said = re.search(r"Graphs have (\d+) edges", result.stdout)[1]
    path = result.stdout.partition("Path")[2].partition("Graphs have")[0].splitlines()
    (selected,) = [line.split() for line in path if "selected" in line]
    assert selected[-2] == f"{said}.0"
    budgets = [float(line.split()[0]) for line in path if re.match(r" +\d", line)]
    assert len(budgets) > 5
    assert budgets == sorted(budgets, reverse=True)


def test_warnings_can_be_left_out(dense):
    dense[list("abc")].assign(d=dense.a - dense.b, id=range(len(dense))).to_csv("tied.csv", index=False)
    arguments = (
        "tied.csv",
        "--method",
        "fixed",
        "--noise",
        "equal",
        "--groups",
        "id",
        "--out",
        "m",
        "--overwrite",
        "--quiet",
    )
    loud = invoke(*arguments)
    assert loud.exit_code == 0, loud.output
    assert "another value in every row" in loud.stderr
    assert "linear function of the others" in loud.stderr
    silent = invoke(*arguments, "--no-warnings")
    assert (silent.exit_code, silent.stderr) == (0, "")


def test_edges_that_explain_a_share(dense, tmp_path):
    dense.to_csv("dense.csv", index=False)
    arguments = ("dense.csv", "--method", "fixed", "--noise", "equal")
    result = invoke(*arguments, "--explained", 0.8, "--out", "fewer")
    assert result.exit_code == 0, result.output
    assert invoke(*arguments, "--out", "all").exit_code == 0
    fewer, every = load_model("fewer"), load_model("all")
    np.testing.assert_array_equal(fewer.graph_, every.select(explained=0.8).graph_)
    n_all, n_fewer = ((model.graph_ != 0).sum() for model in (every, fewer))
    assert f"Graphs have {n_fewer} edges (selection: 'explained', 0.8;" in result.stdout
    said = f"{n_all} edges predict best; the {n_fewer} strongest, which these graphs have, explain 80 % of it."
    assert said in result.stdout
    for model, sentence in (("fewer", said), ("all", f"{n_all} edges predict best; the ")):
        assert sentence in CliRunner().invoke(app, ["summary", model]).stdout


def test_a_point_that_came_in_later_is_shown_where_its_budget_is():
    point = {"n_edges": 5.0, "validation_loss": 1.0, "refit_loss": 0.9, "refit_edges": 4.0}
    path = [point | {"l1_budget": budget} for budget in (3.0, 1.0, 2.0, 0.0)]
    path[3] |= {"refit_loss": None, "refit_edges": None}
    chosen = {"refitted": True, "n_edges": 2.0, "loss": 0.95}
    rows = path_rows({"path": path, "selected": 1, "chosen": chosen, "edges": {"mean": 2.0}})
    assert [row[0] for row in rows] == ["3", "2", "1", "0"]
    assert rows[1] == ("2", "5.0", "1.0000", "0.9000", "4.0", "")
    assert rows[2] == ("1", "5.0", "1.0000", "0.9500", "2.0", "selected")
    assert rows[3][3:] == ("", "", "")
    chosen |= {"n_edges": 4.0}  # the refit's own cut
    rows = path_rows({"path": path, "selected": 1, "chosen": chosen, "edges": {"mean": 3.9}})
    assert rows[2][3:] == ("0.9000", "3.9", "selected")


@pytest.mark.long
def test_too_few_rows_for_a_score(table):
    """Of six rows one is not seen by the network of the means. With three members none holds it out, with five one does."""
    table.head(6).to_csv("few.csv", index=False)
    arguments = ["few.csv", "--context", "age", "--nodes", "mood,sleep", "--max-epochs", 3, "--overwrite", "--out", "m"]
    for members, n_rows in ((3, 0), (5, 1)):
        summary = json.loads(invoke(*arguments, "--members", members, "--json").stdout)
        assert (summary["rows_held_out"], summary["explained_variance_held_out"]) == (n_rows, None)
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert "Explained variance" not in result.stdout


def test_help_tells_the_defaults_of_the_library():
    shown = invoke("--help").stdout
    assert ContextualDAG().n_members == "auto"
    assert re.search(r"--members N \[x>=1\] [^\[]*\[default: \(3, or 5 with few rows\)\]", re.sub(r"[│\s]+", " ", shown))


def test_what_people_read():
    result = invoke("data.csv", "--context", "age", "--method", "clustered", "--clusters", 2, "--out", "my model")
    assert result.exit_code == 0, result.output
    assert result.stderr == "Fitting 4 variables in 150 rows with 1 context feature ...\n"
    lines = result.stdout.splitlines()
    assert lines[2] == "Variables (4): mood, sleep, stress, site"
    assert lines[3] == "Context (1): age"
    assert lines[4] == "Not used, because they are not numeric or have no name: unnamed column 1, name"
    assert result.stdout.count("selected") == 1
    assert "Explained variance of the 30 held-out rows: " in result.stdout
    assert "Model: my model\n" in result.stdout
    assert "  contextualdag graphs 'my model' " in result.stdout
    model = load_model("my model")
    assert isinstance(model, ClusteredDAG)
    assert model.n_clusters == 2
    assert re.match(r"Of \d edges ", in_words(model))
    assert lines[0] == in_words(model)


def test_a_fit_that_is_worse_than_no_model_is_said_first(monkeypatch):
    monkeypatch.setattr(poor_fit, "_worse_than_means", lambda model: ["It is worse than no model."])
    result = invoke("data.csv", "--context", "age", "--method", "fixed", "--out", "model")
    assert result.exit_code == 0, result.output
    assert "Warning: It is worse than no model.\n" in result.stderr
    assert result.stdout.startswith("Warning: It is worse than no model.\n")
    summary = json.loads(invoke("data.csv", "--context", "age", "--method", "fixed", "--out", "m2", "--json").stdout)
    assert summary["poor_fit"] == ["It is worse than no model."]


def test_settings_reach_the_estimator():
    arguments = ["--context", "age", "--nodes", "mood,sleep,stress", "--max-epochs", 3, "--members", 2]
    assert invoke("data.csv", *arguments, "--edges", 2, "--acyclicity", "logdet", "--out", "a").exit_code == 0
    model = load_model("a")
    assert (model.selection, model.acyclicity, model.max_epochs, model.random_state) == (2, "logdet", 3, 0)
    assert model.n_members == 2
    arguments = ["--method", "fixed", "--nodes", "mood,sleep,stress", "--selection", "1se", "--validation-fraction", 0.5]
    assert invoke("data.csv", *arguments, "--out", "b").exit_code == 0
    model = load_model("b")
    assert isinstance(model, FixedDAG)
    assert (model.selection, model.validation_fraction) == ("1se", 0.5)


@pytest.mark.slow
def test_cyclic_features_and_repeated_options(table):
    rng = np.random.default_rng(0)
    changed = table.assign(hour=rng.integers(0, 24, N), flag=rng.random(N) > 0.5).rename(columns={"mood": "mood, evening"})
    changed.to_csv("data.csv", index=False)
    arguments = ["--context", "age", "--context", "hour,flag,site", "--categorical", "site", "--cyclic", "hour=24"]
    arguments += ["--nodes", '"mood, evening",sleep', "--nodes", "stress", "--method", "fixed", "--out", "model"]
    assert invoke("data.csv", *arguments).exit_code == 0
    model = load_model("model")
    assert model.names_ == ["mood, evening", "sleep", "stress"]
    assert model.cyclic == {"hour": 24}
    result = CliRunner().invoke(app, ["graphs", "model", "--at", "hour=25", "--at", "flag=true", "--at", "site=1.0"])
    assert result.exit_code == 0, result.stderr
    assert "hour = 25, flag = True, site = 1" in result.stdout.replace("age = 0, ", "")
    assert "outside" not in result.stdout + result.stderr


def test_an_identifier_is_a_line_of_warning(table):
    table.assign(patient_id=np.arange(N) + 3).to_csv("data.csv", index=False)
    result = invoke("data.csv", "--context", "age", "--method", "fixed", "--out", "model")
    assert result.exit_code == 0
    assert "Warning: This column looks like an identifier of rows: 'patient_id'." in result.stderr


def test_missing_values(table):
    holes = table.copy()
    holes.loc[[4, 9], "mood"] = np.nan
    holes.loc[9, "age"] = np.nan
    holes.to_csv("holes.csv", index=False)
    arguments = ["holes.csv", "--nodes", "mood,sleep", "--context", "age", "--method", "clustered", "--out", "m"]
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert (
        "2 of the 150 rows of holes.csv have missing values, in 'mood' (2), 'age' (1); the first is row 5" in result.stderr
    )
    assert "A row without a context has no graph, and 1 lacks one." in result.stderr
    assert "--drop-missing" in result.stderr
    assert "--impute" in result.stderr
    result = invoke(*arguments, "--drop-missing")
    assert result.exit_code == 0, result.output
    assert "from 148 rows, 2 with missing values dropped." in result.stdout


def test_outliers_are_rows_of_the_file(table):
    holes = table.copy()
    holes.loc[[4, 9], "mood"] = np.nan
    holes.loc[[7, 100], ["mood", "sleep", "stress"]] = [[30.0, -20.0, 40.0], [-40.0, 30.0, -30.0]]
    holes.to_csv("holes.csv", index=False)
    arguments = ["holes.csv", "--nodes", "mood,sleep,stress", "--context", "age", "--method", "clustered", "--drop-missing"]
    shown = invoke(*arguments, "--out", "a")
    assert shown.exit_code == 0, shown.output
    assert "which may be errors (row 1 is the first after the header): 8, 101.\n" in shown.stdout
    assert json.loads(invoke(*arguments, "--out", "b", "--json").stdout)["outliers"] == [8, 101]
    assert load_model("a").outliers_ == [7, 100]  # counted from 0, as in Python
    assert json.loads(invoke(*arguments, "--no-robust", "--out", "c", "--json").stdout)["outliers"] == []
    assert load_model("c").robust is False


def test_outliers_of_a_parquet_file_with_an_index_of_its_own(table):
    pytest.importorskip("pyarrow", reason="Parquet needs it")
    odd = table.copy()
    odd.loc[7, ["mood", "sleep", "stress"]] = [30.0, -20.0, 40.0]
    odd.index = [f"person {row // 2}" for row in range(N)]
    odd.to_parquet("odd.parquet")
    arguments = ["--nodes", "mood,sleep,stress", "--context", "age", "--method", "clustered", "--impute"]
    result = invoke("odd.parquet", *arguments, "--out", "m", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["outliers"] == [8]


def test_what_was_done_with_missing_values_is_said(table):
    holes = table.copy()
    holes.loc[:19, "mood"] = holes.loc[40:53, "sleep"] = np.nan
    holes.to_csv("holes.csv", index=False)
    arguments = ["holes.csv", "--nodes", "mood,sleep,stress", "--context", "age", "--method", "clustered", "--impute"]
    assert "34 missing values were filled in (mood 20, sleep 14).\n" in invoke(*arguments, "--out", "a").stdout
    summary = json.loads(invoke(*arguments, "--out", "b", "--json").stdout)
    assert summary["missing_filled_in"] == {"mood": 20, "sleep": 14}
    assert (summary["interventions"], summary["weighted"], summary["groups"]) == ({}, False, 0)


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        (["yes", "no"], "A variable must be numeric. Code it as 0 and 1, or give it as --context."),
        (["low", "middle", "high"], "Code it as numbers if its values have an order, or give it as --context."),
    ],
)
def test_text_among_the_variables(table, values, remedy):
    table.assign(smokes=(values * N)[:N]).to_csv("text.csv", index=False)
    result = invoke("text.csv", "--nodes", "mood,smokes", "--context", "age", "--out", "m")
    assert result.exit_code == 1
    assert f"has '{values[0]}' (150 such rows). " in result.stderr
    assert result.stderr.endswith(f"{remedy}\n")


def test_a_constant_column_is_a_line_of_warning(table):
    table.assign(stress=1.0).to_csv("constant.csv", index=False)
    result = invoke("constant.csv", "--nodes", "mood,sleep,stress", "--method", "fixed", "--out", "m")
    assert result.exit_code == 0, result.output
    assert "Warning: Columns of X that do not vary get no edges: ['stress'].\n" in result.stderr


def test_parquet(table):
    pytest.importorskip("pyarrow", reason="Parquet needs it")
    table.to_parquet("data.parquet")
    arguments = ["--nodes", "mood,sleep,stress", "--context", "age", "--method", "clustered", "--json"]
    first, second = (json.loads(invoke(f"data.{end}", *arguments, "--out", end).stdout) for end in ("csv", "parquet"))
    assert first["path"] == second["path"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--context: Name the columns that the graphs may vary with, or use --method fixed"),
        (["--context", "age", "--nodes", "age,mood"], "A column is a variable or a context feature, not both: 'age'."),
        (["--context", "age", "--categorical", "site"], "--categorical: Not in --context: 'site'."),
        (["--context", "age", "--edges", "9"], "A graph of 4 variables has at most 6 edges. Got 9."),
        (["--context", "age", "--edges", "2", "--selection", "min"], "not both"),
        (["--context", "age", "--clusters", "2"], "--clusters: This option is for --method clustered."),
        (["--method", "fixed", "--acyclicity", "order"], "--acyclicity: This option is for --method contextual."),
        (["--method", "fixed", "--members", "2"], "--members: This option is for --method contextual."),
        (["--context", "age", "--members", "0"], "--members"),
        (
            ["--context", "age", "--explained", "0"],
            "--explained: A share above 0, up to 1, was expected, such as 0.9. Got 0.",
        ),
        (["--context", "age", "--explained", "90"], "--explained: A share above 0, up to 1, was expected"),
        (["--context", "age", "--explained", "nan"], "--explained: A share above 0, up to 1, was expected"),
        (["--context", "age", "--explained", "0.9", "--edges", "2"], "--explained: Give --edges or --explained, not both."),
        (
            ["--context", "age", "--explained", "0.9", "--selection", "min"],
            "--explained: Give --selection or --explained, not",
        ),
        (["--context", "age", "--bootstrap", "1"], "--bootstrap: At least 2 halves of the rows are needed. Got 1."),
        (["--context", "age", "--bootstrap", "0"], "--bootstrap: At least 2 halves of the rows are needed. Got 0."),
        (["--context", "age", "--scheduler", "tcp://here:1"], "--scheduler: This option is for --bootstrap, which is not"),
        (["--context", "age", "--validation-fraction", "1"], "between 0 and 1"),
        (["--context", "age", "--device", "gpu"], "--device: There is no device 'gpu'."),
        (["--context", "age,,site"], "Comma-separated names were expected. Got 'age,,site'."),
        (["--context", "age", "--method", "best"], "'--method': 'best' is not one of 'contextual', 'fixed', 'clustered'."),
        (
            ["--context", "age", "--structure", "common_order"],
            "'--structure': 'common_order' is not one of 'auto', 'constant',",
        ),
        (["--context", "age", "--structure", "common_order"], "'varying'. Did you mean 'common-order'?"),
        (["--context", "age", "--cyclic", "age"], "A name and its period were expected, such as hour=24. Got 'age'."),
        (["--context", "age", "--cyclic", "agee=24"], "'agee' is not in --context. Did you mean 'age'? It has: 'age'."),
        (["--context", "age", "--transform", "mood"], "such as crp=log, or one word, auto or none, for all. Got 'mood'."),
        (["--context", "age", "--transform", "moot=log"], "--transform: 'moot' is not a variable. Did you mean 'mood'? The"),
        (["--context", "age", "--transform", "mood=ln"], "The transforms are: none, log, log1p, normal-scores."),
        (["--context", "age", "--transform", "mood=log", "--transform", "mood=none"], "--transform: 'mood' is given twice."),
        (["--context", "age,site", "--categorical", "site", "--cyclic", "site=2"], "'site' is in --categorical, too"),
    ],
)
def test_wrong_usage(arguments, sentence, tmp_path):
    result = invoke("data.csv", *arguments, "--out", "model")
    assert result.exit_code == 2
    assert sentence in words(result)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there():
    result = invoke("data.csv", "--context", "age", "--device", "cuda", "--out", "model")
    assert result.exit_code == 2
    assert "no CUDA device" in words(result)


@pytest.mark.parametrize(
    ("change", "arguments", "sentence"),
    [
        (lambda t: t, ["--context", "agee"], "has no column 'agee'. Did you mean 'age'? Its columns are: 'mood', 'sleep',"),
        (lambda t: t.assign(mood=["?", *t.mood[1:]]), ["--context", "age"], "row 1 after the header has '?'."),
        (lambda t: t.assign(age=["?", *t.age[1:]]), ["--context", "age"], "If 'age' is a category, add --categorical age."),
        (lambda t: t, ["--context", "name"], "'name' of bad.csv has 150 different values in 150 rows"),
        (lambda t: t, ["--nodes", "name,mood", "--context", "age"], "row 1 after the header has 'person 0' (150 such rows)"),
        (
            lambda t: t[["mood", "age"]],
            ["--context", "age"],
            "A graph needs at least two variables. Got 'mood' from bad.csv",
        ),
        (
            lambda t: t.head(2),
            ["--context", "age"],
            "bad.csv has 2 rows to fit to, too few to hold out 0.2 of them (--validation-fraction) and train on the rest.",
        ),
    ],
)
def test_bad_tables(change, arguments, sentence, table, tmp_path):
    change(table).to_csv("bad.csv", index=False)
    result = invoke("bad.csv", *arguments, "--method", "clustered", "--out", "model")
    assert (result.exit_code, result.stdout) == (1, "")
    assert sentence in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "model").exists()


def test_nothing_else_is_replaced(tmp_path):
    arguments = ["data.csv", "--nodes", "mood,sleep", "--method", "fixed", "--out"]
    result = invoke(*arguments, "data.csv")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: data.csv is a file; the model is a folder. Choose another --out.\n",
    )
    result = invoke(*arguments, ".")
    assert (result.exit_code, result.stderr) == (1, "Error: . holds other files than a model; choose another --out.\n")
    assert invoke(*arguments, "model").exit_code == 0
    result = invoke(*arguments, "model")
    assert result.exit_code == 1
    assert "model holds a model already; add --overwrite to replace it" in result.stderr
    assert invoke(*arguments, "model", "--overwrite", "--seed", 5).exit_code == 0
    assert load_model("model").random_state == 5
    (tmp_path / "model" / "notes.txt").write_text("mine")
    assert "holds other files than a model" in invoke(*arguments, "model", "--overwrite").stderr


class Process:
    """A fit as a process of its own, whose stderr is a terminal."""

    def __init__(self, arguments):
        terminal, side = pty.openpty()
        command = [sys.executable, "-m", "contextualdag", "fit", *arguments]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "TERM": "xterm"}
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdout=subprocess.PIPE, stderr=side, env=environment, start_new_session=True
        )
        os.close(side)
        self.shown = b""
        self._reader = threading.Thread(target=self._read, args=(terminal,))
        self._reader.start()

    def _read(self, terminal):
        with contextlib.suppress(OSError):  # that is how a terminal ends
            while part := os.read(terminal, 4096):
                self.shown += part
        os.close(terminal)

    def signal_when(self, condition, number):
        """Send a signal to the process group as soon as something holds."""
        try:
            deadline = time.monotonic() + 60
            while not condition():
                assert self.process.poll() is None, self.shown.decode()
                assert time.monotonic() < deadline, "waited in vain"
                time.sleep(0.002)
            os.killpg(self.process.pid, number)
            return self.process.wait(timeout=60)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.communicate()
            self._reader.join()


@pytest.mark.long
def test_a_fit_that_was_stopped_and_killed_goes_on(tmp_path):
    data = make_varying_dag(300, 3, 2, n_edges=3, random_state=1)
    pd.DataFrame(np.hstack([data.X, data.Z]), columns=["a", "b", "c", "u", "v"]).to_csv("data.csv", index=False)
    arguments = ["data.csv", "--context", "u,v", "--out", "model", "--members", "1"]
    kept = tmp_path / "model.unfinished" / "metadata.json"

    stopped = Process(arguments)
    assert stopped.signal_when(kept.exists, signal.SIGINT) == 130
    last = stopped.shown.decode().replace("\r", "\n").rstrip().splitlines()[-1]
    # The bar was removed first: nothing but an escape sequence stands in front.
    assert last.endswith("Stopped. The checkpoint is in model.unfinished; run the same command to resume.")
    assert "validation" not in last
    assert "Traceback" not in stopped.shown.decode()

    before = kept.read_bytes()
    killed = Process(arguments)
    assert killed.signal_when(lambda: kept.exists() and kept.read_bytes() != before, signal.SIGKILL) == -signal.SIGKILL
    assert "Resuming from the checkpoint model.unfinished." in killed.shown.decode()
    assert not (tmp_path / "model").exists()

    result = invoke(*arguments, "--seed", 1)
    assert result.exit_code == 1
    assert "model.unfinished belongs to other data or settings" in result.stderr

    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model"]
    undisturbed = ContextualDAG(n_members=1, random_state=0).fit(pd.DataFrame(data.X), pd.DataFrame(data.Z))
    model = load_model("model")
    np.testing.assert_array_equal(model.adjacency(data.Z), undisturbed.adjacency(data.Z))
    assert model.score(data.X, data.Z) == undisturbed.score(data.X, data.Z)


FIXED = ["data.csv", "--method", "fixed", "--nodes", "mood,sleep,stress", "--out", "model", "--bootstrap", 4]


@pytest.mark.slow
def test_a_bootstrap_is_that_of_the_library(table, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # other processes would take longer to start
    result = invoke(*FIXED)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model"]
    same = BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1).fit(table[["mood", "sleep", "stress"]])
    model = load_model("model")
    Z = model.typical_context()
    np.testing.assert_array_equal(model.edge_probabilities(Z), same.edge_probabilities(Z))
    assert "BootstrapDAG in " in result.stdout
    assert f"s from {N} rows and 4 halves of them.\n" in result.stdout
    P = same.edges(Z)["probability"]
    counts = [(P >= 0.9).sum(), ((P >= 0.5) & (P < 0.9)).sum(), (P < 0.5).sum()]
    assert sum(counts) == len(P) > 0
    sentence = "Of {} edges, {} are sure (probability at least 0.9), {} likely (at least 0.5) and {} doubtful."
    assert sentence.format(len(P), *counts) in result.stdout
    assert "(selection: 'relaxed';" in result.stdout
    assert result.stdout.index("are sure (probability") < result.stdout.index("BootstrapDAG in ")
    assert result.stdout.count("are sure (probability") == 1


def test_a_quiet_fit_with_a_number_of_processes(monkeypatch):
    seen = []

    def solve(problems, n_jobs, scheduler, folder, report):
        seen.append(n_jobs)
        return [resamples._solve(index, problem)[1] for index, problem in enumerate(problems)]

    monkeypatch.setattr("contextualdag.estimators.bootstrap.solve_resamples", solve)
    result = invoke(*FIXED, "--jobs", 3, "--quiet")
    assert result.exit_code == 0, result.output
    assert seen == [3]
    assert "Fitting" not in result.stderr
    assert "Model: model" in result.stdout
    for more in (["--jobs", 2], ["--bootstrap", 2, "--jobs", 2, "--scheduler", "tcp://a:1"]):
        assert "--jobs" in words(invoke("data.csv", "--method", "fixed", "--out", "other", *more))


@pytest.mark.slow
def test_a_bootstrap_that_was_stopped_goes_on(table, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    solve, solved = resamples._solve, []

    def stop(index, problem):
        if index == 2:
            raise KeyboardInterrupt
        return solve(index, problem)

    def count(index, problem):
        solved.append(index)
        return solve(index, problem)

    monkeypatch.setattr(resamples, "_solve", stop)
    result = invoke(*FIXED)
    assert result.exit_code == 130
    assert result.stderr.endswith("Stopped. The checkpoint is in model.unfinished; run the same command to resume.\n")
    assert not (tmp_path / "model").exists()
    monkeypatch.setattr(resamples, "_solve", count)
    assert "belongs to other data or settings" in invoke(*FIXED, "--seed", 1).stderr
    result = invoke(*FIXED, "--json")
    assert result.exit_code == 0, result.output
    assert "Resuming from the checkpoint model.unfinished." in result.stderr
    assert solved == [2, 3]
    assert json.loads(result.stdout)["half_samples"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model"]
    same = BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1).fit(table[["mood", "sleep", "stress"]])
    Z = same.typical_context()
    np.testing.assert_array_equal(load_model("model").edge_probabilities(Z), same.edge_probabilities(Z))


def test_halves_go_to_the_scheduler(monkeypatch):
    asked = []

    def on_cluster(left, scheduler):
        asked.append(scheduler)
        return (resamples._solve(index, problem) for index, problem in left.items())

    monkeypatch.setattr(resamples, "_on_cluster", on_cluster)
    assert invoke(*FIXED, "--scheduler", "tcp://here:8786").exit_code == 0
    assert asked == ["tcp://here:8786"]


def test_two_fits_into_one_folder(tmp_path):
    with in_use(tmp_path / "model"):
        result = invoke("data.csv", "--method", "fixed", "--out", "model")
    assert result.exit_code == 1
    assert "Another process or thread is writing to model; wait until it is done, or use another folder." in result.stderr
    assert invoke("data.csv", "--method", "fixed", "--out", "model").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model"]


def test_what_another_fit_saved_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    def choose(*given, **more):
        FixedDAG(random_state=0).fit(np.random.default_rng(0).standard_normal((50, 2))).save("model")
        return choose_data(*given, **more)

    choose_data = fit.choose_data
    monkeypatch.setattr(fit, "choose_data", choose)
    result = invoke("data.csv", "--method", "fixed", "--out", "model")
    assert result.exit_code == 1
    assert "model holds a model already; add --overwrite to replace it" in result.stderr
    assert len(load_model("model").names_) == 2


def test_a_model_that_a_killed_save_left_as_a_backup_is_not_replaced(tmp_path):
    assert invoke("data.csv", "--method", "fixed", "--out", "model").exit_code == 0
    (tmp_path / "model").rename(files._sibling(tmp_path / "model", "backup"))
    result = invoke("data.csv", "--method", "fixed", "--seed", 1, "--out", "model")
    assert result.exit_code == 1
    assert "model holds a model already" in result.stderr
    assert load_model("model").random_state == 0


def test_ctrl_c_before_anything_is_kept(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(ContextualDAG, "fit", stop)
    result = invoke("data.csv", "--context", "age", "--out", "model")
    assert result.exit_code == 130
    assert result.stderr.endswith("Stopped. There is no checkpoint yet; run the same command to start again.\n")
    monkeypatch.setattr(FixedDAG, "fit", stop)
    result = invoke("data.csv", "--method", "fixed", "--out", "model")
    assert result.exit_code == 130
    assert result.stderr.endswith("Stopped. Nothing was written; run the same command to start again.\n")


@pytest.mark.slow
def test_kinds_of_variables_are_told_and_can_be_said(table):
    rng = np.random.default_rng(0)
    table.assign(
        crp=np.exp(table["mood"]), ill=rng.integers(0, 2, N), **{"a=b": rng.poisson(np.exp(2 + rng.standard_normal(N)))}
    ).to_csv("kinds.csv")
    given = ("kinds.csv", "--context", "age", "--nodes", "sleep,crp,ill,a=b", "--method", "fixed", "--out")
    done = invoke(*given, "model")
    assert "Variables: 1 binary, 1 count: log1p, 1 skewed: log. Weights and effects are in transformed" in done.stdout
    told = json.loads(invoke(*given, "a", "--json", "--transform", "crp=normal-scores", "--transform", "a=b=none").stdout)
    assert told["kinds"] == {"sleep": "continuous", "crp": "skewed", "ill": "binary", "a=b": "count"}
    assert told["transforms"] == {"sleep": "none", "crp": "normal-scores", "ill": "none", "a=b": "none"}
    none = json.loads(invoke(*given, "b", "--json", "--transform", "none").stdout)
    assert set(none["transforms"].values()) == {"none"}
    assert "'sleep' of X has" in words(invoke(*given, "c", "--transform", "sleep=log"))
    assert "Did you mean 'crp'?" in words(invoke(*given, "c", "--transform", "crb=log"))


def test_a_column_without_values(table):
    table.assign(sleep=np.nan).to_csv("data.csv", index=False)
    for options in ([], ["--impute"], ["--drop-missing"]):
        result = invoke("data.csv", "--context", "age", "--method", "fixed", "--out", "model", *options)
        assert result.exit_code == 1
        assert "Error: Column 'sleep' of data.csv has no values: all 150 are missing." in result.stderr


@pytest.mark.slow
def test_missing_values_can_be_filled_in(table):
    holes = table.copy()
    holes.loc[::9, "sleep"] = np.nan
    holes.to_csv("holes.csv", index=False)
    given = ("holes.csv", "--context", "age", "--nodes", "mood,sleep,stress", "--out", "model", "--method", "fixed")
    refused = invoke(*given)
    assert refused.exit_code == 1
    assert "'sleep' (17)" in words(refused)
    assert "--impute" in words(refused)
    done = invoke(*given, "--impute", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"] == N
    holes.loc[5, "age"] = np.nan
    holes.to_csv("holes.csv", index=False)
    assert "'age' (1)" in words(invoke(*given, "--impute", "--overwrite"))


@pytest.fixture
def graded(table):
    grade = np.random.default_rng(0).choice(["low", "middle", "high"], N)
    return table.assign(grade=grade, dose=np.where(grade == "low", 1, 10))


def encoder_of(folder):
    return load_model(folder)._preparation.contexts.encoder


def test_categories_with_an_order(graded):
    graded.to_csv("graded.csv", index=False)
    arguments = ["--context", "grade,dose", "--nodes", "mood,sleep", "--method", "fixed", "--out", "model"]
    result = invoke("graded.csv", *arguments, "--ordered", "grade=low,middle,high", "--ordered", "dose=1,10")
    assert result.exit_code == 0, result.stderr
    encoder = encoder_of("model")
    assert encoder.ordered == {"grade", "dose"}
    assert encoder.categories == (("low", "middle", "high"), ("1", "10"))
    assert encoder.feature_names == ["grade", "dose"]
    result = CliRunner().invoke(app, ["graphs", "model", "--at", "grade=middle", "--at", "dose=10.0"])
    assert result.exit_code == 0, result.stderr
    assert "grade = middle, dose = 10" in result.stdout
    result = CliRunner().invoke(app, ["check", "graded.csv", "--model", "model"])
    assert result.exit_code == 0, result.stderr


def test_the_order_of_categories_in_a_parquet_file(graded):
    pytest.importorskip("pyarrow")
    levels = ["low", "middle", "high"]
    graded.assign(grade=pd.Categorical(graded["grade"], levels, ordered=True)).to_parquet("graded.parquet")
    arguments = ["graded.parquet", "--context", "grade", "--nodes", "mood,sleep", "--method", "fixed", "--out"]
    assert invoke(*arguments, "a").exit_code == 0
    assert encoder_of("a").feature_names == ["grade"]
    assert invoke(*arguments, "b", "--ordered", "grade=high,middle,low").exit_code == 0
    assert encoder_of("b").categories == (("high", "middle", "low"),)
    assert invoke(*arguments, "c", "--categorical", "grade").exit_code == 0
    assert encoder_of("c").feature_names == ["grade=high", "grade=low", "grade=middle"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--ordered", "grade"], "such as grade=low,middle,high. Got 'grade'."),
        (["--ordered", "grades=low,high"], "'grades' is not in --context. Did you mean 'grade'? It has: 'grade'."),
        (["--ordered", "grade=low"], "Two levels at least were expected for 'grade'"),
        (["--ordered", "grade=low,,high"], "Comma-separated names were expected"),
        (["--ordered", "grade=low,high,low"], "Named more than once: 'low'."),
        (["--ordered", "grade=a,b", "--ordered", "grade=a,b"], "'grade' is given twice."),
        (["--ordered", "grade=a,b", "--categorical", "grade"], "'grade' is in --categorical, too; it can be only one."),
        (["--ordered", "grade=1,2", "--cyclic", "grade=3"], "'grade' is in --cyclic, too; it can be only one."),
        (
            ["--ordered", "grade=low,hig,middle"],
            "= 'high', which is none of the levels of --ordered: 'low', 'hig', 'middle'.",
        ),
    ],
)
def test_bad_orders(options, sentence, graded):
    graded.to_csv("graded.csv", index=False)
    result = invoke("graded.csv", "--context", "grade", "--nodes", "mood,sleep", *options, "--out", "model")
    assert result.exit_code != 0
    assert sentence in words(result)


def test_dates_as_contexts(table):
    days = pd.date_range("2024-01-01", periods=N // 2).repeat(2)
    frame = table.assign(visit=days.strftime("%Y-%m-%d"), first=days)
    frame.to_csv("dated.csv", index=False)
    frame.head(3).to_csv("few.csv", index=False)
    arguments = ["--nodes", "mood,sleep", "--method", "fixed", "--out"]
    result = invoke("dated.csv", "--context", "age,visit", *arguments, "model")
    assert result.exit_code == 0, result.stderr
    assert "Context (2): age, visit (days since 2024-01-01)\n" in result.stdout
    expected = FixedDAG(random_state=0).fit(table[["mood", "sleep"]], table[["age"]].assign(visit=days))
    model = load_model("model")
    assert model.held_out_score_ == pytest.approx(expected.held_out_score_)

    def at(text):
        return CliRunner().invoke(app, ["graphs", "model", "--at", f"visit={text}"])

    assert at("2024-01-31").stdout == at("30").stdout
    assert "Outside the training data" in at("2023-12-31").stdout
    sentence = "'visit' is a date, from 2024-01-01 to 2024-03-15 in the training data, or days since 2024-01-01. Got 'May'."
    assert sentence in words(at("May"))
    result = CliRunner().invoke(app, ["graphs", "model", "--contexts", "few.csv", "--format", "json"])
    assert result.exit_code == 0, result.stderr
    assert '"visit": 1.0' in result.stdout
    assert CliRunner().invoke(app, ["check", "dated.csv", "--model", "model"]).exit_code == 0
    assert CliRunner().invoke(app, ["report", "model", "--out", "report.html"]).exit_code == 0
    result = invoke("dated.csv", "--context", "visit", "--categorical", "visit", *arguments, "other")
    assert "holds dates as text, such as '2024-01-01'" in result.stderr
