import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag.cli import app
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.tables import exact_numbers


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def invoke(*arguments):
    return CliRunner().invoke(app, ["simulate", *arguments])


def words(result):
    """What typer shows in a box, without the box."""
    return " ".join(result.stderr.replace("│", " ").split())


def test_the_table_is_that_of_the_library(tmp_path):
    arguments = ["--samples", "50", "--nodes", "4", "--features", "3", "--edges", "4", "--seed", "7", "--truth", "truth.csv"]
    result = invoke("--out", "sub/data.csv", *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "sub/data.csv: 50 rows of x1 to x4 in the context z1, z2, z3.",
        "truth.csv: 100 true edges, 2.0 per row.",
        "Next: contextualdag fit sub/data.csv --context z1,z2,z3 --out model",
    ]
    data = make_varying_dag(50, 4, 3, n_edges=4, random_state=7)
    table = pd.read_csv("sub/data.csv", **exact_numbers())
    assert list(table.columns) == ["x1", "x2", "x3", "x4", "z1", "z2", "z3"]
    np.testing.assert_array_equal(table.to_numpy(), np.hstack([data.X, data.Z]))
    truth = pd.read_csv("truth.csv", **exact_numbers())
    W = np.zeros_like(data.W)
    places = [truth[name].str[1:].astype(int) - 1 for name in ("source", "target")]
    W[truth["sample"], places[0], places[1]] = truth["weight"]
    np.testing.assert_array_equal(W, data.W)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sub", "truth.csv"]


def test_persons_and_interventions_are_columns():
    options = ["--binary", "0.2", "--counts", "0.4", "--missing", "0.1", "--missing-by-value"]
    result = invoke("--out", "a.csv", "--samples", "60", "--interventions", "0.4", "--group-size", "3", *options)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == (
        "Next: contextualdag fit a.csv --context z1,z2 --impute --interventions intervened --groups person --out model"
    )
    given = {"binary": 0.2, "counts": 0.4, "missing": 0.1, "missing_by_value": True, "interventions": 0.4, "group_size": 3}
    data, table = make_varying_dag(60, 5, n_edges=5, random_state=0, **given), pd.read_csv("a.csv")
    np.testing.assert_allclose(table.iloc[:, :5], data.X)
    assert table["person"].tolist() == data.groups.tolist()
    targets = table["intervened"].fillna("").str.split(";")
    assert [[name in names for name in data.names] for names in targets] == data.interventions.tolist()


def test_options_reach_the_design():
    hard = [
        "--noise-scale",
        "0.5",
        "2",
        "--standardise",
        "--mean-shift",
        "1",
        "--weak-edges",
        "--context-correlation",
        "0.5",
        "--degrees-of-freedom",
        "4",
        "--units",
        "1",
        "--outliers",
        "0.1",
        "--reversals",
        "0.5",
    ]
    assert invoke("--out", "a.csv", "--graph", "scale-free", "--active", "0.2", *hard).exit_code == 0
    data = make_varying_dag(
        1000,
        5,
        n_edges=5,
        active=0.2,
        graph="scale-free",
        noise_scale=(0.5, 2),
        standardise=True,
        mean_shift=1,
        weak_edges=True,
        context_correlation=0.5,
        degrees_of_freedom=4,
        units=1,
        outliers=0.1,
        reversals=0.5,
        random_state=0,
    )
    np.testing.assert_array_equal(pd.read_csv("a.csv", **exact_numbers()).to_numpy(), np.hstack([data.X, data.Z]))
    assert invoke("--out", "b.csv", "--design", "fixed", "--weight", "0.7").exit_code == 0
    data = make_fixed_dag(1000, 5, n_edges=5, weight=0.7, random_state=0)
    np.testing.assert_array_equal(pd.read_csv("b.csv", **exact_numbers()).to_numpy(), np.hstack([data.X, data.Z]))


def test_parquet():
    pytest.importorskip("pyarrow", reason="Parquet needs it")
    assert invoke("--out", "a.parquet", "--samples", "20").exit_code == 0
    assert pd.read_parquet("a.parquet").shape == (20, 7)


def test_nothing_is_replaced_unless_told(tmp_path):
    (tmp_path / "data.csv").write_text("mine")
    result = invoke("--out", "data.csv")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "data.csv exists already; add --overwrite" in result.stderr
    result = invoke("--out", "new.csv", "--truth", "data.csv")
    assert result.exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    assert (tmp_path / "data.csv").read_text() == "mine"
    assert invoke("--out", "data.csv", "--overwrite").exit_code == 0
    assert invoke("--out", str(tmp_path)).exit_code in (1, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--out", "a.csv", "--design", "fixed", "--active", "0.2"],
            "--active: This option has no effect with --design fixed.",
        ),
        (["--out", "a.csv", "--weight", "0.2"], "--weight: This option has no effect with --design varying."),
        (["--out", "a.csv", "--nodes", "3", "--edges", "4"], "--edges: 3 variables have only 3 pairs. Got 4."),
        (["--out", "a.csv", "--noise-scale", "2", "1"], "'noise_scale'"),
        (["--out", "a.csv", "--truth", "./a.csv"], "need two files"),
        (["--out", "a.txt"], "A name that ends in .csv or .parquet was expected. Got 'a.txt'."),
        ([], "Missing option"),
    ],
)
def test_wrong_usage(arguments, sentence, tmp_path):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert sentence in words(result)
    assert not list(tmp_path.iterdir())


def test_demo_shows_two_contexts_and_writes_its_report(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--samples", "400", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    assert result.output.count("z = (") == 2
    assert "recovered exactly" in result.output
    assert "F1 of edges" in result.output
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "One graph for every context" in page
