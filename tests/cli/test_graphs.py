import io
import json
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag import BootstrapDAG, ContextualDAG, FixedDAG
from contextualdag.cli import app
from contextualdag.datasets import make_fixed_dag
from contextualdag.tables import exact_numbers

N = 150


@pytest.fixture(scope="module")
def table():
    """Two variables whose edge turns with age, and a third that depends on the second."""
    rng = np.random.default_rng(0)
    age, X = rng.uniform(20, 60, N), rng.standard_normal((N, 3))
    young = age < 40
    X[young, 1] += 2 * X[young, 0]
    X[~young, 0] += 2 * X[~young, 1]
    X[:, 2] += X[:, 1]
    frame = pd.DataFrame(X, columns=["mood", "sleep", 'a "b"'])
    return frame.assign(age=age, site=rng.choice(["1", "2"], N, p=[0.7, 0.3]))


@pytest.fixture(scope="module")
def model(table):
    estimator = ContextualDAG(hidden_layers=(16,), learning_rate=0.02, structure="varying", random_state=0)
    return estimator.fit(table.iloc[:, :3], table[["age", "site"]])


@pytest.fixture(scope="module")
def bootstrap(table):
    estimator = ContextualDAG(hidden_layers=(16,), n_members=1, max_epochs=30, structure="varying", random_state=0)
    return BootstrapDAG(estimator, n_resamples=4, n_jobs=1).fit(table.iloc[:, :3], table[["age", "site"]])


@pytest.fixture(autouse=True)
def _folder(model, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("model")
    table.to_csv("people.csv", index=False)
    table.head(3).to_csv("three.csv", index=False)


def invoke(*arguments):
    return CliRunner().invoke(app, ["graphs", "model", *arguments])


def words(result):
    """What typer shows in a box, without the box."""
    return " ".join(result.stderr.replace("│", " ").split())


def test_a_typical_context_on_the_terminal(model):
    result = invoke()
    assert result.exit_code == 0, result.output
    typical = model.typical_context()
    assert result.stdout.startswith(f"age = {typical['age'][0]:.4g}, site = 1\n")
    edges = model.edges(typical)
    assert len(edges)
    for edge in edges.itertuples():
        assert f"{edge.source} → {edge.target}" in result.stdout
    assert "Outside" not in result.stdout


def test_a_context_from_the_command_line(model):
    result = invoke("--at", "age=25", "--at", "site=2", "--format", "json")
    found = json.loads(result.stdout)
    assert found["variables"] == ["mood", "sleep", 'a "b"']
    (graph,) = found["graphs"]
    assert graph["context"] == {"age": 25, "site": "2"}
    assert graph["outside"] is False
    context = pd.DataFrame({"age": [25.0], "site": ["2"]})
    pd.testing.assert_frame_equal(pd.DataFrame(graph["edges"]), model.edges(context).drop(columns="sample"))


def test_weights_in_standard_deviations(model):
    shown = [pd.read_csv(io.StringIO(invoke("--format", "csv", *more).stdout)) for more in ([], ["--standardised"])]
    context = model.typical_context()
    for table, standardised in zip(shown, (False, True), strict=True):
        assert table["weight"].tolist() == pytest.approx(model.edges(context, standardised)["weight"].tolist())
    assert shown[0]["weight"].tolist() != shown[1]["weight"].tolist()


def test_contexts_outside_the_data_are_marked(table):
    result = invoke("--at", "age=90")
    assert f"Outside the training data, so a guess: age = 90 (the fit saw {table['age'].min():.4g} to" in result.stdout
    assert json.loads(invoke("--at", "age=90", "--format", "json").stdout)["graphs"][0]["outside"] is True
    assert "(outside the range of the training data)" in invoke("--at", "age=90", "--format", "dot").stdout
    assert "the graph is a guess" in invoke("--at", "age=90", "--out", "one.csv").stdout
    assert pd.read_csv("one.csv")["outside"].all()
    table.head(6).assign(age=[30, 90, 30, 30, 99, 30]).to_csv("six.csv", index=False)
    result = invoke("--contexts", "six.csv")
    assert "2 of 6 contexts are outside the range of the training data: their graphs are guesses." in result.stdout


def test_a_table_of_contexts(model, table):
    result = invoke("--contexts", "people.csv", "--out", "sub/edges.csv")
    assert result.exit_code == 0, result.output
    edges = model.edges(table[["age", "site"]])
    assert result.stdout == f"sub/edges.csv: {N} graphs, {len(edges)} edges.\n"
    pd.testing.assert_frame_equal(pd.read_csv("sub/edges.csv", **exact_numbers()), edges.assign(outside=False))
    assert invoke("--contexts", "people.csv", "--format", "csv").stdout == Path("sub/edges.csv").read_text()


def test_many_contexts_on_the_terminal(model, table):
    shown = invoke("--contexts", "people.csv").stdout
    edges = model.edges(table[["age", "site"]])
    assert shown.startswith(f"{N} graphs with {len(edges) / N:.1f} edges on average.")
    there = ((edges["source"] == "mood") & (edges["target"] == "sleep")).sum()
    assert re.search(rf"^  mood → sleep +{100 * there / N:.0f} ", shown, re.MULTILINE)
    assert invoke("--contexts", "three.csv").stdout.count("Sample ") == 3


def test_another_sparsity(model, table):
    found = json.loads(invoke("--contexts", "people.csv", "--edges", "1", "--format", "json").stdout)
    edges = model.select(n_edges=1).edges(table[["age", "site"]])
    assert sum(len(graph["edges"]) for graph in found["graphs"]) == len(edges) != len(model.edges(table[["age", "site"]]))
    result = invoke("--edges", "40")
    assert result.exit_code == 2
    assert "Invalid value for --edges: The number of edges must be from 0 to" in words(result)


def test_graphml(model):
    result = invoke("--at", "age=90", "--out", "one.graphml")
    assert result.exit_code == 0, result.output
    graph = nx.read_graphml("one.graphml")
    assert list(graph) == model.names_
    assert graph.graph["context age"] == 90
    assert graph.graph["outside"] is True
    same = model.to_networkx(pd.DataFrame({"age": [90.0], "site": ["1"]}))
    assert dict(graph.edges) == dict(same.edges)


def test_dot_quotes_names():
    result = invoke("--at", "age=30", "--format", "dot")
    assert '  "a \\"b\\"";\n' in result.stdout
    assert result.stdout.startswith('digraph {\n  label="age = 30, site = 1";\n')
    assert result.stdout.endswith("}\n")
    assert 'effect="' in result.stdout


def test_a_folder_of_graphs(model, table, tmp_path):
    result = invoke("--contexts", "people.csv", "--out", "graphs", "--format", "graphml")
    assert result.exit_code == 0, result.output
    files = sorted((tmp_path / "graphs").iterdir())
    assert [file.name for file in files[:2]] == ["graph-000.graphml", "graph-001.graphml"]
    assert len(files) == N
    assert sum(nx.read_graphml(file).number_of_edges() for file in files) == len(model.edges(table[["age", "site"]]))
    arguments = ["--contexts", "three.csv", "--out", "graphs", "--format", "dot"]
    assert "graphs holds graphs already; add --overwrite" in invoke(*arguments).stderr
    assert invoke(*arguments, "--overwrite").exit_code == 0
    assert sorted(file.name for file in (tmp_path / "graphs").iterdir()) == [f"graph-{i}.dot" for i in range(3)]
    (tmp_path / "graphs" / "notes.txt").write_text("mine")
    result = invoke(*arguments, "--overwrite")
    assert (result.exit_code, result.stderr) == (1, "Error: graphs holds other files than graphs; choose another folder.\n")


def test_parquet(model, table):
    pytest.importorskip("pyarrow", reason="Parquet needs it")
    table.to_parquet("people.parquet")
    assert invoke("--contexts", "people.parquet", "--out", "edges.parquet").exit_code == 0
    pd.testing.assert_frame_equal(
        pd.read_parquet("edges.parquet"), model.edges(table[["age", "site"]]).assign(outside=False), check_dtype=False
    )


def test_a_model_without_a_context(table, tmp_path):
    FixedDAG(random_state=0).fit(table.iloc[:, :3]).save("model")
    result = invoke()
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("one graph for all contexts\n")
    (graph,) = json.loads(invoke("--format", "json").stdout)["graphs"]
    assert (graph["context"], graph["outside"]) == ({}, False)
    assert invoke("--out", "one.graphml").exit_code == 0
    result = invoke("--at", "age=3")
    assert result.exit_code == 2
    assert "fitted without a context" in words(result)


def test_edges_whose_direction_the_data_do_not_tell(tmp_path):
    data = make_fixed_dag(1500, n_nodes=6, random_state=1, noise_scale=(0.3, 3))
    model = FixedDAG(random_state=0).fit(data.X, data.Z)
    model.save("model")
    edges = model.edges(data.Z[:1])
    assert set(edges["directed"]) == {True, False}
    pd.DataFrame(data.Z[:5], columns=["z1", "z2"]).to_csv("five.csv", index=False)
    for shown in (invoke().stdout, invoke("--contexts", "five.csv").stdout):
        for edge in edges.itertuples():
            assert f"{edge.source} {'→' if edge.directed else '—'} {edge.target} " in shown
    assert invoke("--out", "edges.csv").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv("edges.csv", **exact_numbers()), edges.assign(outside=False))
    (graph,) = json.loads(invoke("--format", "json").stdout)["graphs"]
    assert [edge["directed"] for edge in graph["edges"]] == edges["directed"].tolist()
    assert invoke("--out", "one.graphml").exit_code == 0
    assert [directed for *_, directed in nx.read_graphml("one.graphml").edges(data="directed")] == edges["directed"].tolist()
    assert invoke("--format", "dot").stdout.count("dir=none") == len(model.undirected_edges_)


@pytest.mark.slow
def test_probabilities_are_shown_and_written(bootstrap, table):
    bootstrap.save("model")
    edges = bootstrap.edges(bootstrap.typical_context())
    shown = invoke().stdout
    assert len(edges)
    for edge in edges.itertuples():
        words = re.escape(f"{edge.source} → {edge.target}")
        assert re.search(rf"{words} +-?[\d.]+ +-?[\d.]+ +{edge.probability:.2f} *$", shown, re.M)
    assert invoke("--out", "edges.csv").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv("edges.csv", **exact_numbers()), edges.assign(outside=False))
    (graph,) = json.loads(invoke("--format", "json").stdout)["graphs"]
    assert [edge["probability"] for edge in graph["edges"]] == edges["probability"].tolist()
    assert invoke("--out", "one.graphml").exit_code == 0
    assert [p for *_, p in nx.read_graphml("one.graphml").edges(data="probability")] == edges["probability"].tolist()
    assert invoke("--format", "dot").stdout.count('probability="0.') == len(edges)
    many = invoke("--contexts", "people.csv").stdout
    assert "Mean weight and probability, smallest and largest are over the graphs that have the edge." in many
    means = bootstrap.edges(table[["age", "site"]]).groupby(["source", "target"])["probability"].mean()
    for (source, target), mean in means.items():
        assert re.search(rf"^  {re.escape(f'{source} → {target}')} .* {mean:.2f} *$", many, re.MULTILINE)


@pytest.mark.slow
def test_graphs_of_the_consensus(bootstrap, table):
    bootstrap.save("model")
    Z = table[["age", "site"]]
    for threshold in (0.3, 0.8):
        result = invoke("--contexts", "people.csv", "--consensus", str(threshold), "--format", "json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)["graphs"]
        W = bootstrap.consensus(Z, threshold)
        assert [{(e["source"], e["target"]): e["weight"] for e in graph["edges"]} for graph in found] == [
            {(bootstrap.names_[j], bootstrap.names_[k]): one[j, k] for j, k in np.argwhere(one)} for one in W
        ]
        P = bootstrap.edge_probabilities(Z)
        assert [e["probability"] for graph in found for e in graph["edges"]] == P[W != 0].tolist()
    # A threshold that is too high for any edge.
    assert "no edges" in invoke("--consensus", "1").stdout


def test_other_models_have_no_consensus_and_no_probabilities():
    result = invoke("--consensus", "0.5")
    assert result.exit_code == 2
    assert "This model is a ContextualDAG, which does not tell how sure edges are. Fit it with --bootstrap" in words(result)
    for arguments in ([], ["--format", "csv"], ["--format", "json"], ["--format", "graphml"], ["--format", "dot"]):
        assert "probability" not in invoke(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--consensus", "0.5", "--edges", "2"], "Give --edges, --explained or --consensus, not two of them."),
        (["--consensus", "1.5"], "--consensus"),
        (["--at", "aeg=30"], "no context feature 'aeg'. Did you mean 'age'? It has: 'age', 'site'."),
        (["--at", "age=old"], "'age' is a number, from 20."),
        (["--at", "age="], "'age' is a number"),
        (["--at", "age"], "A feature and its value were expected, such as age=30. Got 'age'."),
        (["--at", "site=3"], "'3' is no category of 'site'. It has: '1', '2'."),
        (["--at", "age=30", "--at", "age=40"], "'age' is given twice"),
        (["--at", "age=30", "--contexts", "three.csv"], "not both"),
        (["--delimiter", ";"], "This option is for the table of --contexts"),
        (["--out", "graphs"], "Got 'graphs'. For a folder with one file per context, add --format graphml or dot."),
        (["--out", "a.csv", "--format", "dot"], "--out a.csv says csv, --format says dot"),
        (["--format", "parquet"], "cannot be printed"),
        (["--contexts", "three.csv", "--out", "a.dot"], "A dot file holds one graph, and there are 3 contexts."),
        (["--contexts", "three.csv", "--format", "graphml"], "give a folder as --out"),
    ],
)
def test_wrong_usage(arguments, sentence, tmp_path):
    before = sorted(tmp_path.iterdir())
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert sentence in words(result)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop(columns="age").assign(Age=1), "has no column 'age'. Did you mean 'Age'?"),
        (
            lambda t: t.assign(site=["1", "2", "4"]),
            "Row 3 after the header of bad.csv has site = '4', which the model has not",
        ),
        (lambda t: t.assign(age=[30, "old", 40]), "Column 'age' of bad.csv must hold finite numbers, but row 2 after the"),
        (lambda t: t.assign(age=[30, None, 40]), "1 of the 3 rows of bad.csv have missing values, in 'age' (1)"),
    ],
)
def test_bad_tables_of_contexts(change, sentence, table):
    change(table.head(3)).to_csv("bad.csv", index=False)
    result = invoke("--contexts", "bad.csv", "--out", "edges.csv")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert sentence in result.stderr


def test_nothing_is_replaced_unless_told(tmp_path):
    before = (tmp_path / "people.csv").read_bytes()
    result = invoke("--contexts", "people.csv", "--out", "people.csv")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert (tmp_path / "people.csv").read_bytes() == before
    assert invoke("--contexts", "people.csv", "--out", "people.csv", "--overwrite").exit_code == 0
    assert (tmp_path / "people.csv").read_bytes() != before


def test_a_folder_that_is_no_model(tmp_path):
    result = CliRunner().invoke(app, ["graphs", "nothing"])
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: There is no folder at nothing; check the path or save there first.\n",
    )
