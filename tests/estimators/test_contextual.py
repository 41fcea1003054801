import contextlib
import re
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError, PersistenceError, TrainingError
from contextualdag.graphs import is_acyclic
from contextualdag.metrics import f1_score
from contextualdag.projection import Order

QUICK = {"structure": "varying", "hidden_layers": (32,), "learning_rate": 1e-2, "n_members": 1, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(1500, n_nodes=5, n_features=2, n_edges=5, random_state=3)


@pytest.fixture(scope="module")
def model(data):
    train = data[:1000]
    return ContextualDAG(**QUICK).fit(
        pd.DataFrame(train.X, columns=list("abcde")), pd.DataFrame(train.Z, columns=["u", "v"])
    )


def test_recovers_graphs_without_being_told_the_sparsity(model, data):
    test = data[1000:]
    W = model.adjacency(test.Z)
    assert W.shape == (500, 5, 5)
    assert bool(is_acyclic(torch.from_numpy(W)).all())
    assert f1_score(test.W, W) > 0.6  # .73 measured; an empty or a dense graph has less than .3


def test_path_table(model):
    path = model.path_
    assert list(path.columns) == [
        "l1_budget", "threshold", "n_edges", "train_loss", "validation_loss", "refit_loss", "epochs", "selected",
        "refit_edges",
    ]  # fmt: skip
    assert path["selected"].sum() == 1
    assert path["refit_loss"].idxmin() == path["selected"].idxmax()
    assert path["l1_budget"].is_monotonic_decreasing
    assert path["n_edges"].iloc[-1] == 0


def test_edges_agree_with_adjacency(model, data):
    Z = data.Z[1000:1050]
    table, W = model.edges(Z), model.adjacency(Z)
    assert len(table) == (W != 0).sum()
    rebuilt = np.zeros_like(W)
    index = {name: i for i, name in enumerate("abcde")}
    for row in table.itertuples():
        rebuilt[row.sample, index[row.source], index[row.target]] = row.weight
    np.testing.assert_array_equal(rebuilt, W)
    graph = model.to_networkx(Z[0])
    assert set(graph.nodes) == set("abcde")
    assert nx.is_directed_acyclic_graph(graph)
    assert len(graph.edges) == (W[0] != 0).sum()


def test_columns_go_by_name_where_they_have_one(model, data):
    test = data[1000:]
    X = pd.DataFrame(test.X, columns=list("abcde"))
    assert model.score(X[list("edcba")], test.Z) == pytest.approx(model.score(X, test.Z), rel=1e-9)
    assert model.score(test.X, test.Z) == pytest.approx(model.score(X, test.Z), rel=1e-9)
    with pytest.raises(InvalidInputError, match=r"X has the columns .*'z'.*; the model was fitted on \['a', 'b'"):
        model.score(X.rename(columns={"a": "z"}), test.Z)
    with pytest.raises(InvalidInputError, match="X_val has the columns"):
        ContextualDAG(**QUICK).fit(X, test.Z, X.rename(columns={"a": "z"}), test.Z)


def test_select_changes_a_copy_only(model, data):
    Z = data.Z[:50]
    before = model.adjacency(Z)
    sparse = model.select(n_edges=1)
    assert 0.3 < (sparse.adjacency(Z) != 0).sum() / 50 < 2
    for nothing in ({"l1_budget": 0}, {"n_edges": 0}):
        assert (model.select(**nothing).adjacency(100 * Z) == 0).all()
    np.testing.assert_array_equal(model.adjacency(Z), before)
    assert sparse.chosen_["n_edges"] == pytest.approx(1, abs=0.2) != model.chosen_["n_edges"]
    for wrong in ({"n_edges": 1000}, {"n_edges": -1}, {}, {"n_edges": 1, "l1_budget": 1}, {"l1_budget": -1}):
        with pytest.raises(InvalidParameterError, match=r"n_edges|l1_budget"):
            model.select(**wrong)


def test_score_and_sample(model, data):
    test = data[1000:]
    score = model.score(test.X, test.Z)
    assert 0.05 < score < 1
    drawn = model.sample(test.Z, random_state=0)
    assert drawn.shape == (500, 5)
    np.testing.assert_array_equal(drawn, model.sample(test.Z, random_state=0))
    assert drawn.std(0) == pytest.approx(test.X.std(0), rel=0.25)


@pytest.mark.slow
def test_same_seed_same_model_and_no_trace_in_the_global_generator(data):
    train = data[:300]
    before = torch.get_rng_state()
    first, second = (ContextualDAG(**QUICK).fit(train.X, train.Z).adjacency(data.Z[300:350]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_inputs_are_not_changed(data):
    X, Z = data.X[:200].copy(), data.Z[:200].copy()
    ContextualDAG(**QUICK).fit(X, Z)
    np.testing.assert_array_equal(X, data.X[:200])
    np.testing.assert_array_equal(Z, data.Z[:200])


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_units_common_to_all_variables_do_not_matter(data, unit, shift):
    train, test = data[:400], data[400:]
    plain = ContextualDAG(**QUICK).fit(train.X, train.Z)
    other = ContextualDAG(**QUICK).fit(train.X * unit + shift * unit, train.Z)
    # Rounding differs, so the fits go slightly different ways.
    score = other.score(test.X * unit + shift * unit, test.Z)
    assert score == pytest.approx(plain.score(test.X, test.Z), abs=0.02)
    assert f1_score(plain.adjacency(test.Z), other.adjacency(test.Z)) > 0.7


@pytest.mark.slow
def test_frames_with_categories_of_pandas_and_polars(data):
    train = data[:400]
    site = np.where(train.Z[:, 0] < 0, "north", "south")
    X = pd.DataFrame(train.X, columns=list("abcde"))
    Z = pd.DataFrame({"site": site, "v": train.Z[:, 1]})
    by_pandas = ContextualDAG(**QUICK).fit(X, Z)
    by_polars = ContextualDAG(**QUICK).fit(pl.from_dict(X.to_dict("list")), pl.from_dict(Z.to_dict("list")))
    assert by_pandas.names_ == by_polars.names_ == list("abcde")
    site, v = by_pandas.context_features_
    assert (list(site.shares), v.name, v.is_number) == (["north", "south"], "v", True)
    new = pd.DataFrame({"v": [0.1, 0.2], "site": ["south", "north"]})  # another order of columns
    np.testing.assert_array_equal(by_pandas.adjacency(new), by_polars.adjacency(new))
    with pytest.raises(InvalidInputError, match=r"'site' has categories that were not seen in fit: \['east'\]"):
        by_pandas.adjacency(pd.DataFrame({"v": [0.1], "site": ["east"]}))
    with pytest.raises(InvalidInputError, match=r"Z lacks the context columns \['site'\]"):
        by_pandas.adjacency(pd.DataFrame({"v": [0.1]}))


@pytest.mark.long
def test_save_and_load_in_another_process(model, data, tmp_path):
    model.save(tmp_path / "model")
    Z = data.Z[:40]
    loaded = ContextualDAG.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.adjacency(Z), model.adjacency(Z))
    np.testing.assert_array_equal(loaded.sample(Z, random_state=1), model.sample(Z, random_state=1))
    pd.testing.assert_frame_equal(loaded.path_, model.path_)
    assert loaded.get_params() == model.get_params()
    np.save(tmp_path / "Z.npy", Z)
    program = (
        "import sys, numpy as np; from contextualdag import ContextualDAG; folder = sys.argv[1]; "
        "np.save(folder + '/W.npy', ContextualDAG.load(folder + '/model').adjacency(np.load(folder + '/Z.npy')))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)  # noqa: S603
    np.testing.assert_array_equal(np.load(tmp_path / "W.npy"), model.adjacency(Z))
    file = tmp_path / "model" / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(PersistenceError, match=r"truncated|bytes"):
        ContextualDAG.load(tmp_path / "model")


def test_solver_objects_survive_saving(data, tmp_path):
    train = data[:200]
    model = ContextualDAG(**QUICK, acyclicity=Order(cut=0.05, starts=2), intercept="none").fit(train.X, train.Z)
    model.save(tmp_path / "model")
    assert ContextualDAG.load(tmp_path / "model").acyclicity == Order(cut=0.05, starts=2)


@pytest.mark.slow
def test_other_selections(data):
    train = data[:300]
    edges = {}
    for selection in ("min", "relaxed", "1se", 2):
        model = ContextualDAG(**QUICK, selection=selection).fit(train.X, train.Z)
        edges[selection] = float((model.adjacency(data.Z[300:]) != 0).sum()) / len(data.Z[300:])
    assert edges["1se"] <= edges["relaxed"] <= edges["min"]
    assert 0.9 * 2 - 0.2 < edges[2] < 2 + 0.2  # up to a tenth fewer are enough, and these are new contexts


def test_more_edges_than_a_graph_can_have_are_refused_before_the_fit(data):
    with pytest.raises(InvalidParameterError, match="asks for 11 edges, but a graph of 5 variables has 10 at most"):
        ContextualDAG(selection=11).fit(data.X, data.Z)


def test_select_gives_the_number_of_edges_asked_for(model, data):
    for wanted in (1.0, 2.0, 3.0):
        W = model.select(n_edges=wanted).adjacency(data.Z[1000:])
        assert (W != 0).sum() / len(W) == pytest.approx(wanted, abs=0.25)


@pytest.mark.slow
def test_mini_batches_learn_as_well(data):
    train, test = data[:1000], data[1000:]
    model = ContextualDAG(**QUICK, batch_size=250).fit(train.X, train.Z)
    assert f1_score(test.W, model.adjacency(test.Z)) > 0.6


def test_one_context_feature_may_be_a_plain_sequence(data):
    column = data.Z[:100, 0]
    model = ContextualDAG(**QUICK, max_epochs=2, n_budgets=2)
    W = model.fit(data.X[:100], column).adjacency(column)
    np.testing.assert_array_equal(W, model.fit(data.X[:100], column[:, None]).adjacency(column[:, None]))
    by_name = model.fit(data.X[:100], pd.Series(column, name="age"))
    assert [feature.name for feature in by_name.context_features_] == ["z1"]


@pytest.mark.long
@pytest.mark.slow
def test_a_bar_on_a_terminal_and_lines_now_and_then_elsewhere(data, capfd, monkeypatch):
    quick = {"hidden_layers": (4,), "max_epochs": 3, "n_budgets": 2, "random_state": 0}
    ContextualDAG(**quick).fit(data.X[:100], data.Z[:100])
    assert capfd.readouterr() == ("", "")
    with monkeypatch.context() as patch:
        patch.setattr("contextualdag.progress.SECONDS_BETWEEN_LINES", 0)
        ContextualDAG(**quick).fit(data.X[:100], data.Z[:100])
        out, shown = capfd.readouterr()
        assert out == ""
        assert re.search(r"^pre-training: loss [\d.]+, validation [\d.]+$", shown, re.MULTILINE)
        assert re.search(r"^refit: [\d.]+ edges, loss [\d.]+, validation [\d.]+, 0:00 left$", shown, re.MULTILINE)
        ContextualDAG(**quick, verbose=False).fit(data.X[:100], data.Z[:100])
        assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes anything for a terminal
    ContextualDAG(**quick).fit(data.X[:100], data.Z[:100])
    out, shown = capfd.readouterr()
    assert out == ""
    assert "edges, loss" in shown  # what was shown before depends on how fast it went
    assert "0:00 left" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    ContextualDAG(**quick, verbose=False).fit(data.X[:100], data.Z[:100])
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_paper_settings(data):
    model = ContextualDAG.paper(n_budgets=5, hidden_layers=(16,), random_state=0)
    assert model.acyclicity == "logdet"
    model.fit(data.X[:200], data.Z[:200])
    assert len(model.path_) == 5
    assert bool(is_acyclic(torch.from_numpy(model.adjacency(data.Z[:50]))).all())


def test_constant_columns_get_a_warning_and_no_edges(data):
    X = data.X[:200].copy()
    X[:, 2] = 7
    Z = np.column_stack([data.Z[:200], np.ones(200)])
    constant = pytest.warns(UserWarning, match="does not vary, so graphs cannot depend on it: 'z3'")
    with constant, pytest.warns(UserWarning, match=r"do not vary get no edges: \['x3'\]") as caught:
        model = ContextualDAG(**QUICK, selection="min").fit(X, Z)
    assert caught[0].filename == __file__  # it points at the user's line
    W = model.adjacency(Z)
    assert (W[:, 2] == 0).all()
    assert (W[:, :, 2] == 0).all()
    assert np.isfinite(model.score(X, Z))


def test_a_fit_that_fails_leaves_the_earlier_one_whole(data):
    model = ContextualDAG(**QUICK | {"n_budgets": 2}).fit(data.X[:200], data.Z[:200])
    before = model.adjacency(data.Z[:20])
    model.set_params(learning_rate=1e30)
    with pytest.raises(TrainingError, match="diverged"):
        model.fit(pd.DataFrame(data.X[:200], columns=list("abcde")), np.column_stack([data.Z[:200], data.Z[:200]]))
    np.testing.assert_array_equal(model.adjacency(data.Z[:20]), before)
    assert model.names_ == ["x1", "x2", "x3", "x4", "x5"]


def bad(X, Z, *rest):
    return ContextualDAG(**QUICK).fit(X, Z, *rest)


def test_bad_tables(data):
    X, Z = data.X[:50], data.Z[:50]
    broken = X.copy()
    broken[3, 1] = broken[4, 1] = np.nan
    broken[5, 4] = np.inf
    with pytest.raises(
        InvalidInputError, match=r"X must be complete.* missing values \(NaN\), and how many: 'x2' \(2\)\. Drop"
    ):
        bad(broken, Z)
    with pytest.raises(
        InvalidInputError, match=r"X must be finite.* infinite values, and how many: 'x5' \(1\)\. Look for div"
    ):
        bad(np.where(np.isnan(broken), 0, broken), Z)
    with pytest.raises(InvalidInputError, match=r"Column 'z1' of Z has no values: all 50 are missing\. Fill it in, or"):
        bad(X, Z * np.array([np.nan, 1]))
    with pytest.raises(InvalidInputError, match=r"Columns 'x1', 'x3' of X have no values: all 50 are missing"):
        bad(X * np.array([np.nan, 1, np.nan, 1, 1]), Z)
    with pytest.raises(InvalidInputError, match=r"X_val must be finite.*'x5' \(1\)"):
        bad(X, Z, np.where(np.isnan(broken), 0, broken), Z)
    with pytest.raises(InvalidInputError, match="X has 50 rows and Z has 49; they must describe the same samples"):
        bad(X, Z[:49])
    with pytest.raises(InvalidInputError, match=r"X has 1 samples \(rows\), too few"):
        bad(X[:1], Z[:1])
    with pytest.raises(InvalidInputError, match=r"more than once: \['a'\]"):
        bad(pd.DataFrame(X, columns=list("aabcd")), Z)
    with pytest.raises(InvalidInputError, match=r"X must hold numbers, and its column 'b' holds"):
        bad(pd.DataFrame({"a": X[:, 0], "b": ["text"] * 50}), Z)
    with pytest.raises(InvalidInputError, match=r"X has 3 feature\(s\), of which 0 vary; a graph needs two"):
        bad(np.ones((50, 3)), Z)
    with pytest.raises(InvalidInputError, match="X_val and Z_val belong together"):
        bad(X, Z, X)
    with pytest.raises(InvalidInputError, match=r"X must be a table: .* Got shape \(50,\)"):
        bad(X[:, 0], Z)
    holes = pd.DataFrame({"site": ["a", None] + ["b"] * 48, "age": [np.nan, np.nan, np.nan] + [30.0, 40.0] * 23 + [20.0]})
    for tables, name in (((X, holes), ""), ((X, holes.fillna({"site": "a", "age": 1}), X, holes), "_val")):
        with pytest.raises(InvalidInputError) as caught:
            bad(*tables)
        assert str(caught.value) == (
            f"Z{name} must be complete. Columns with missing values (NaN), and how many: 'site' (1), 'age' (3). 3 of 50 "
            "rows lack a context, without which a row has no graph. Fill it in, or drop these rows; in pandas: "
            f"known = Z{name}.notna().all(axis=1), then X{name}[known] and Z{name}[known]."
        )


def test_bad_use_of_a_model(model, data):
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call fit\(X, Z\) first"):
        ContextualDAG().adjacency(data.Z)
    with pytest.raises(NotFittedError, match="nothing to save"):
        ContextualDAG().save("nowhere")
    with pytest.raises(InvalidInputError, match="Z has 1 columns; the model was fitted on 2"):
        model.adjacency(data.Z[:, :1])
    with pytest.raises(InvalidInputError, match="X has 3 features, but ContextualDAG is expecting 5 features as input"):
        model.score(data.X[:, :3], data.Z)
    with pytest.raises(InvalidInputError, match=r"the graph of one context. Got 2"):
        model.to_networkx(data.Z[:2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acyclicity", "notears"), ("selection", "best"), ("selection", -1), ("hidden_layers", 5), ("hidden_layers", (0,)),
        ("activation", "sin"), ("dropout", 1.0), ("dropout", "a"), ("intercept", True), ("budgets", 3), ("n_budgets", 0),
        ("learning_rate", 0), ("max_epochs", 1.5), ("patience", 0), ("validation_fraction", 1.5),
        ("random_state", -1), ("random_state", "a"), ("device", 3), ("batch_size", 0), ("verbose", 2),
    ],
)  # fmt: skip
def test_bad_parameters(data, name, value):
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of ContextualDAG must be"):
        ContextualDAG(**{name: value}).fit(data.X, data.Z)


FIT = """
import sys, numpy as np
from contextualdag import ContextualDAG
folder = sys.argv[1]
data = np.load(folder + "/data.npz")
model = ContextualDAG(hidden_layers=(32,), n_members=1, structure="varying", random_state=7)
model.fit(data["X"], data["Z"], checkpoint=folder + "/checkpoint")
np.savez(folder + "/done.npz", W=model.adjacency(data["Z"]), path=model.path_.drop(columns="selected").to_numpy())
"""


@pytest.mark.slow
def test_a_killed_fit_goes_on_to_the_same_model(data, tmp_path):
    X, Z = data.X[:300], data.Z[:300]
    whole = ContextualDAG(hidden_layers=(32,), n_members=1, structure="varying", random_state=7).fit(X, Z)
    np.savez(tmp_path / "data.npz", X=X, Z=Z)
    command = [sys.executable, "-c", FIT, str(tmp_path)]
    saves = tmp_path / "checkpoint" / "metadata.json"
    process = subprocess.Popen(command)  # noqa: S603
    wait_for(lambda: saves.exists() and saves.read_text().count('"l1_budget"') >= 5)
    process.kill()  # in the middle of the path, with SIGKILL
    assert process.wait() == -9
    assert not (tmp_path / "done.npz").exists()
    subprocess.run(command, check=True)  # noqa: S603
    done = np.load(tmp_path / "done.npz")
    np.testing.assert_array_equal(done["W"], whole.adjacency(Z))
    np.testing.assert_array_equal(done["path"], whole.path_.drop(columns="selected").to_numpy())


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            if condition():
                return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def test_a_checkpoint_of_other_data_or_settings_is_refused(data, tmp_path):
    X, Z = data.X[:200], data.Z[:200]
    settings = QUICK | {"n_budgets": 2}
    first = ContextualDAG(**settings).fit(X, Z, checkpoint=tmp_path / "checkpoint")
    again = ContextualDAG(**settings).fit(X, Z, checkpoint=tmp_path / "checkpoint")
    np.testing.assert_array_equal(first.adjacency(Z), again.adjacency(Z))
    with pytest.raises(PersistenceError, match="belongs to other data or settings"):
        ContextualDAG(**settings).fit(X + 1e-3 * X**2, Z, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(PersistenceError, match="belongs to other data or settings"):
        ContextualDAG(**settings, dropout=0.1).fit(X, Z, checkpoint=tmp_path / "checkpoint")


def test_a_checkpoint_without_a_seed_remembers_its_own(data, tmp_path):
    X, Z = data.X[:200], data.Z[:200]
    settings = QUICK | {"n_budgets": 2, "random_state": None}
    first, again = (ContextualDAG(**settings).fit(X, Z, checkpoint=tmp_path / "checkpoint") for _ in range(2))
    np.testing.assert_array_equal(first.adjacency(Z), again.adjacency(Z))
