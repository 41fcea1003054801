"""BootstrapDAG: probabilities, intervals, consensus, groups, and fits that are killed, side by side or on a cluster."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG, files
from contextualdag.cpdag import cpdag
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError, NotFittedError, PersistenceError, SweepError
from contextualdag.estimators import bootstrap, load_model, resamples
from contextualdag.estimators.calibration import calibrated, interval
from contextualdag.files import in_use
from contextualdag.folder import load_folder, save_folder
from contextualdag.graphs import is_acyclic

pytestmark = pytest.mark.slow

SMALL = {"random_state": 0, "verbose": False, "hidden_layers": (16,), "n_members": 1, "structure": "varying"}


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(600, 4, 1, n_edges=3, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return BootstrapDAG(ContextualDAG(**SMALL), n_resamples=6, n_jobs=1, verbose=False).fit(data.X, data.Z)


def fixed(**given):
    return BootstrapDAG(FixedDAG(random_state=0), n_jobs=1, verbose=False, **({"n_resamples": 4} | given))


def test_it_answers_as_the_fit_to_all_rows(model, data):
    alone = ContextualDAG(**SMALL).fit(data.X, data.Z)
    assert np.array_equal(model.adjacency(data.Z), alone.adjacency(data.Z))
    assert model.score(data.X, data.Z) == alone.score(data.X, data.Z)
    assert np.array_equal(model.sample(data.Z, 0), alone.sample(data.Z, 0))
    assert np.array_equal(model.total_effects(data.Z), alone.total_effects(data.Z))
    assert model.context_test_ == alone.context_test_
    assert model.noise_ == alone.noise_
    assert model.path_.equals(alone.path_)


def test_probabilities_are_probabilities(model, data):
    P = model.edge_probabilities(data.Z)
    assert P.shape == (600, 4, 4)
    assert (P >= 0).all()
    assert (P + P.transpose(0, 2, 1) <= 1 + 1e-12).all()
    assert not P[:, range(4), range(4)].any()


def test_shares_count_the_halves(model, data):
    shares = model.edge_probabilities(data.Z[:20], calibrate=False)
    contexts = model._preparation.scaling.contexts(data.Z[:20])
    graphs = np.stack([solution.graphs(contexts).numpy() for solution in model._resamples])
    assert np.allclose(shares, (graphs != 0).mean(0))
    assert len({graph.tobytes() for graph in graphs}) == 6


def test_sure_edges_are_there_and_impossible_ones_are_not(model, data):
    P, truth = model.edge_probabilities(data.Z), data.W != 0
    assert P[truth].mean() > 0.6
    assert P[~truth].mean() < 0.1


def test_more_halves_with_an_edge_never_make_it_less_probable():
    shares = np.zeros((21, 2, 2))
    shares[:, 0, 1] = np.linspace(0, 1, 21)
    allowed = ~np.eye(2, dtype=bool)
    for in_fit in (np.zeros((21, 2, 2)), np.tile([[0.0, 1.0], [0.0, 0.0]], (21, 1, 1))):
        for noise_is_unequal in (False, True):
            P = calibrated(shares, in_fit, in_fit / 2, allowed, noise_is_unequal)
            assert (np.diff((P + P.transpose(0, 2, 1))[:, 0, 1]) >= 0).all()
    backward = calibrated(*(array.transpose(0, 2, 1) for array in (shares, in_fit, in_fit / 2)), allowed, True)
    assert np.allclose(backward, P.transpose(0, 2, 1))
    stronger = calibrated(shares, in_fit, 2 * in_fit, allowed, True)
    assert (stronger[:, 0, 1] > P[:, 0, 1]).all()
    in_one_order = calibrated(shares, in_fit, in_fit / 2, allowed, True, one_order=True)
    assert (in_one_order[1:, 0, 1] < P[1:, 0, 1]).all()  # its mistakes turn many edges at once
    assert np.allclose(in_one_order[:, 0, 1] + in_one_order[:, 1, 0], P[:, 0, 1] + P[:, 1, 0])


def test_intervals_hold_the_estimate_and_grow_with_the_level(model, data):
    W = model.adjacency(data.Z[:30])
    low, high = model.weight_intervals(data.Z[:30], level=0.5)
    lower, higher = model.weight_intervals(data.Z[:30], level=0.9)
    assert (lower <= low + 1e-12).all()
    assert (higher >= high - 1e-12).all()
    assert ((higher - lower)[W != 0] > 0).mean() > 0.9


def test_an_interval_reaches_the_nearest_half():
    halves = np.array([[0.0, 0.2, -0.1], [0.0, 0.4, 0.1]])
    low, high = interval(np.array([0.5, 0.1, 0.0]), halves, 0.9)
    assert low[0] == 0
    assert high[0] == 0.5
    assert high[1] >= 0.2
    assert low[2] < 0 < high[2]


def test_effects_have_intervals(model, data):
    Z = data.Z[:20]
    low, high = model.effect_intervals(Z)
    table = model.effect("x1", "x2", Z)
    assert table.columns.tolist() == ["effect", "direct", "low", "high"]
    assert np.allclose(table["low"], low[:, 0, 1])
    assert np.allclose(table["high"], high[:, 0, 1])
    assert np.allclose(table["effect"], model.total_effects(Z)[:, 0, 1])
    assert {"low", "high"} <= set(model.effect_along("x1", "x2", "z1", n_points=5).columns)


def test_intervals_of_a_mean_are_those_of_theory():
    # Halves of n numbers: the standard error of their mean is sqrt(2) times that of all.
    rng = np.random.default_rng(0)
    values = rng.standard_normal(2000)
    halves = []
    for _ in range(500):
        order = rng.permutation(2000)
        halves += [values[order[:1000]].mean(), values[order[1000:]].mean()]
    low, high = interval(np.array(values.mean()), np.array(halves), 0.9)
    # Complementary halves spread about as much as all rows would; calibrated intervals are twice as wide.
    assert (high - low) / (2 * 1.645 * values.std() / 2000**0.5) == pytest.approx(2, rel=0.15)


def test_the_consensus_is_acyclic_and_grows_as_the_threshold_falls(model, data):
    edges = [model.consensus(data.Z, threshold) != 0 for threshold in (0.0, 0.5, 0.9)]
    assert all(bool(is_acyclic(torch.from_numpy(graphs.astype(float))).all()) for graphs in edges)
    assert edges[0].sum() > edges[1].sum() > edges[2].sum() > 0
    P = model.edge_probabilities(data.Z)
    assert ((P + P.transpose(0, 2, 1))[edges[2]] >= 0.9).all()


def test_stability_is_a_selection(model, data):
    stable = BootstrapDAG(
        ContextualDAG(**SMALL), n_resamples=6, selection="stability", threshold=0.9, n_jobs=1, verbose=False
    )
    stable.fit(data.X, data.Z)
    assert np.array_equal(stable.adjacency(data.Z), model.consensus(data.Z, 0.9))
    assert len(stable.edges(data.Z)) == (stable.adjacency(data.Z) != 0).sum()


def test_edges_have_their_probability(model, data):
    table, P = model.edges(data.Z[:10]), model.edge_probabilities(data.Z[:10])
    row = table.iloc[0]
    assert row["probability"] == P[0, model.names_.index(row["source"]), model.names_.index(row["target"])]


def test_notebooks_show_how_sure_edges_are(model, data):
    table = model.edges(model.typical_context())
    shown = model._repr_html_()
    assert "from 6 random halves of the rows" in shown
    for row in table.itertuples():
        assert f"{row.source} → {row.target} ({row.probability:.2f})" in shown
    assert "random halves" not in FixedDAG(random_state=0).fit(data.X)._repr_html_()
    assert "random halves" not in fixed()._repr_html_()


def test_saved_and_loaded(model, data, tmp_path):
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, BootstrapDAG)
    assert isinstance(loaded.estimator_, ContextualDAG)
    assert np.array_equal(loaded.edge_probabilities(data.Z), model.edge_probabilities(data.Z))
    assert np.array_equal(loaded.adjacency(data.Z), model.adjacency(data.Z))
    assert loaded.select(n_edges=1.0).chosen_ == model.select(n_edges=1.0).chosen_


def test_selecting_another_point_leaves_the_probabilities(model, data, tmp_path):
    sparser = model.select(n_edges=0.2)
    assert (sparser.adjacency(data.Z) != 0).sum() < (model.adjacency(data.Z) != 0).sum()
    assert np.array_equal(sparser.edge_probabilities(data.Z), model.edge_probabilities(data.Z))
    sparser.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").edge_probabilities(data.Z), model.edge_probabilities(data.Z))


@pytest.mark.parametrize(
    "estimator", [ClusteredDAG(n_clusters=2, random_state=0), SortedDAG(order=range(4), **SMALL | {"structure": "auto"})]
)
def test_any_estimator(estimator, data):
    model = BootstrapDAG(estimator, n_resamples=2, n_jobs=1, verbose=False).fit(data.X, data.Z)
    assert model.edge_probabilities(data.Z[:3]).shape == (3, 4, 4)
    if isinstance(estimator, SortedDAG):
        assert not np.tril(model.edge_probabilities(data.Z)).any()


def test_masks_of_samples_hold_in_every_method(data, tmp_path):
    upper = np.triu(np.ones((4, 4)), 1)
    mask = np.where((data.Z > 0)[:, :, None], upper, upper.T)
    settings = {"n_resamples": 4, "n_jobs": 1, "verbose": False, "selection": "stability"}
    model = BootstrapDAG(SortedDAG(**SMALL | {"structure": "common-order"}), **settings).fit(data.X, data.Z, mask=mask)
    model.save(tmp_path / "model")
    for one in (model, load_model(tmp_path / "model")):
        Z, allowed = data.Z[:40], mask[:40]
        W, P = one.adjacency(Z, mask=allowed), one.edge_probabilities(Z, mask=allowed)
        low, high = one.weight_intervals(Z, mask=allowed)
        shares = one.edge_probabilities(Z, calibrate=False, mask=allowed)
        for found in (W, P, shares, low, high, one.consensus(Z, 0.2, mask=allowed)):
            assert found.any()
            assert not found[allowed == 0].any()
        assert np.array_equal(W, one.consensus(Z, mask=allowed))
        assert np.allclose(one.adjacency(Z, standardised=True, mask=allowed), W * one.scale_[:, None] / one.scale_)
        assert "random halves of the rows" in one._repr_html_()
        with pytest.raises(InvalidInputError, match="needs one for new samples too"):
            one.edge_probabilities(Z)
        with pytest.raises(InvalidInputError, match=r"mask must have the shape \(40, 4, 4\)"):
            one.consensus(Z, mask=allowed[:, :3, :3])


def test_masks_where_there_is_none_to_take(model, data):
    mask = np.zeros((600, 4, 4))
    with pytest.raises(InvalidInputError, match="ContextualDAG takes no mask; SortedDAG does"):
        model.adjacency(data.Z, mask=mask)
    with pytest.raises(InvalidInputError, match="FixedDAG takes no mask; SortedDAG does"):
        fixed().fit(data.X, data.Z, mask=mask)


def test_the_one_graph(model, data):
    one = fixed().fit(data.X, data.Z)
    assert np.array_equal(one.graph_, one.estimator_.graph_)
    assert np.array_equal(one.graph_, one.adjacency(data.Z[:1])[0])
    agreed = fixed(selection="stability", threshold=0.9).fit(data.X, data.Z)
    assert np.array_equal(agreed.graph_, agreed.consensus(data.Z[:1])[0])
    with pytest.raises(AttributeError, match="no graph_, for it is around a ContextualDAG"):
        model.graph_  # noqa: B018


def test_one_order_stays_one_order():
    data = make_varying_dag(300, 4, 1, n_edges=3, reversals=False, random_state=1)
    small = SMALL | {"structure": "common-order"}
    model = BootstrapDAG(ContextualDAG(**small), n_resamples=2, n_jobs=1, verbose=False).fit(data.X, data.Z)
    contexts = model._preparation.scaling.contexts(data.Z)
    for solution in model._resamples:
        joined = (solution.graphs(contexts) != 0).any(0)
        assert not bool((joined & joined.T).any())


def test_directions_that_data_do_not_tell_are_even():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) * [1.0, 3.0, 0.2]
    X[:, 1] += 5 * X[:, 0]
    model = BootstrapDAG(FixedDAG(noise="unequal", random_state=0), n_resamples=4, n_jobs=1, verbose=False).fit(X)
    assert model.undirected_edges_ == [("x1", "x2")]
    P = model.edge_probabilities(X)[0]
    assert P[0, 1] == P[1, 0] > 0.45
    assert model.edges(X[:1])["probability"].tolist() == [pytest.approx(P[0, 1] + P[1, 0])]
    assert cpdag(model.consensus(X[:1]))[0].sum() == 2


@pytest.mark.long
def test_processes_give_the_same_as_one(model, data):
    side_by_side = BootstrapDAG(ContextualDAG(**SMALL), n_resamples=6, n_jobs=2, verbose=False).fit(data.X, data.Z)
    assert np.array_equal(side_by_side.edge_probabilities(data.Z), model.edge_probabilities(data.Z))


@pytest.mark.long
def test_a_dask_cluster_gives_the_same(data):
    distributed = pytest.importorskip("distributed")
    alone = fixed().fit(data.X, data.Z)
    with distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        away = fixed(scheduler=cluster.scheduler_address).fit(data.X, data.Z)
    assert np.array_equal(away.edge_probabilities(data.Z), alone.edge_probabilities(data.Z))


def test_a_scheduler_that_does_not_answer(data, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("contextualdag.cluster._CONNECT_SECONDS", 1)
    with pytest.raises(SweepError, match=r"No dask scheduler answered at tcp://127\.0\.0\.1:9"):
        fixed(scheduler="tcp://127.0.0.1:9").fit(data.X, data.Z)


def test_rows_of_a_group_stay_together(data, monkeypatch):
    seen = []
    real = bootstrap.half_problem

    def halves(problem, rows, structure, seed, together):
        seen.append((set(together[rows].tolist()), len(rows)))
        return real(problem, rows, structure, seed, together)

    monkeypatch.setattr(bootstrap, "half_problem", halves)
    fixed().fit(data.X, data.Z, groups=np.repeat(np.arange(60), 10))
    for groups_of_half, n_rows in seen:
        assert n_rows == 10 * len(groups_of_half)
    assert not seen[0][0] & seen[1][0]


def test_halves_of_groups_that_cannot_be_even_are_a_warning(data):
    one_large = np.maximum(np.arange(600) - 559, 0)
    with pytest.warns(
        UserWarning, match=r"halves .* are lopsided: .* the largest has 560 of 600 rows, and the smaller half"
    ):
        fixed().fit(data.X, data.Z, groups=one_large)


KILLED = """
import sys
import numpy as np
from contextualdag import BootstrapDAG, ContextualDAG
from contextualdag.datasets import make_varying_dag
data = make_varying_dag(600, 4, 1, n_edges=3, random_state=1)
estimator = ContextualDAG(random_state=0, verbose=False, hidden_layers=(16,), n_members=1, structure="varying")
model = BootstrapDAG(estimator, n_resamples=6, n_jobs=1, verbose=False).fit(data.X, data.Z, checkpoint=sys.argv[1])
"""


def test_a_killed_fit_goes_on_and_ends_the_same(model, data, tmp_path):
    folder = tmp_path / "checkpoint"
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", KILLED, str(folder)], env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    try:
        deadline = time.monotonic() + 120
        while not (folder / "resample-0001").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = sorted(path.name for path in folder.glob("resample-*"))
    assert 2 <= len(done) < 6
    again = BootstrapDAG(ContextualDAG(**SMALL), n_resamples=6, n_jobs=1, verbose=False)
    again.fit(data.X, data.Z, checkpoint=folder)
    assert np.array_equal(again.edge_probabilities(data.Z), model.edge_probabilities(data.Z))
    assert np.array_equal(again.adjacency(data.Z), model.adjacency(data.Z))
    with pytest.raises(PersistenceError, match="other data or settings"):
        BootstrapDAG(ContextualDAG(**SMALL), n_resamples=6, n_jobs=1, verbose=False, random_state=7).fit(
            data.X, data.Z, checkpoint=folder
        )


def test_a_forged_half_is_refused(data, tmp_path):
    folder = tmp_path / "checkpoint"
    fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=folder)
    metadata, tensors = load_folder(folder / "resample-0001", resamples.KIND)
    metadata["solution"]["selected"]["index"] = 10**9
    save_folder(folder / "resample-0001", resamples.KIND, metadata, tensors)
    with pytest.raises(PersistenceError, match=r"half-sample in .*resample-0001 is not as a fit writes it .*delete it"):
        fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=folder)


@pytest.mark.parametrize("name", ["metadata.json", "tensors.safetensors"])
def test_a_damaged_half_is_named_and_can_be_deleted(name, data, tmp_path):
    first = fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=tmp_path)
    half = tmp_path / "resample-0001"
    content = (half / name).read_bytes()
    (half / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(PersistenceError, match=r"half-sample cannot be read: .* Delete .*resample-0001 to fit it anew"):
        fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=tmp_path)
    shutil.rmtree(half)
    again = fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=tmp_path)
    np.testing.assert_array_equal(first.edge_probabilities(data.Z), again.edge_probabilities(data.Z))


def test_two_fits_into_one_folder(data, tmp_path):
    with in_use(tmp_path / "checkpoint"), pytest.raises(PersistenceError, match="Another process or thread is writing to"):
        fixed().fit(data.X, data.Z, checkpoint=tmp_path / "checkpoint")


@pytest.mark.parametrize("as_on_windows", [False, True])
def test_folders_for_a_checkpoint(data, tmp_path, monkeypatch, as_on_windows):
    if as_on_windows:  # without descriptors of folders, without locks and without the exchange of folders
        monkeypatch.setattr(files, "_CAN_OPEN_FOLDERS", False)
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
        monkeypatch.setitem(sys.modules, "fcntl", None)
    (tmp_path / "empty").mkdir()
    first = fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=tmp_path / "empty")
    half = tmp_path / "empty" / "resample-0000"
    half.rename(files._sibling(half, "backup"))  # as a killed save leaves it

    def solve(index, problem):
        raise AssertionError(f"half {index} was fitted again")

    monkeypatch.setattr(resamples, "_solve", solve)
    again = fixed(n_resamples=2).fit(data.X, data.Z, checkpoint=tmp_path / "empty")
    np.testing.assert_array_equal(first.edge_probabilities(data.Z), again.edge_probabilities(data.Z))
    first.save(tmp_path / "model")
    with pytest.raises(PersistenceError, match="holds something else than the checkpoint of a BootstrapDAG"):
        fixed().fit(data.X, data.Z, checkpoint=tmp_path / "model")


def test_a_column_that_hardly_varies():
    data = make_fixed_dag(200, 4, 1, n_edges=3, random_state=0)
    X = data.X.copy()
    X[:, 3] = 0
    X[3, 3] = 1  # in most halves nothing but zeros
    P = fixed(n_resamples=6).fit(X, data.Z).edge_probabilities(data.Z)
    assert np.isfinite(P).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_resamples": 0}, "'n_resamples' parameter of BootstrapDAG must be an integer of at least 2. Got 0"),
        ({"n_resamples": 1}, "at least 2. Got 1"),
        ({"selection": "relaxed"}, "one of \\['estimator', 'stability'\\]"),
        ({"threshold": 1.5}, "'threshold'"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"scheduler": 5}, "'scheduler'"),
        ({"random_state": -1}, "'random_state'"),
        ({"verbose": 1}, "'verbose'"),
    ],
)
def test_parameters(given, message, data):
    with pytest.raises(InvalidParameterError, match=message):
        BootstrapDAG(FixedDAG(random_state=0), **({"n_jobs": 1} | given)).fit(data.X, data.Z)


@pytest.mark.parametrize("estimator", ["ContextualDAG", None, FixedDAG, BootstrapDAG(FixedDAG())])
def test_what_is_no_estimator(estimator, data):
    with pytest.raises(InvalidParameterError, match="'estimator' parameter of BootstrapDAG must be an estimator of"):
        BootstrapDAG(estimator).fit(data.X, data.Z)


def test_too_few_rows_and_groups(data):
    with pytest.raises(InvalidInputError, match=r"halves of the rows, so it needs at least 20 .* Got 12\. Pass more rows"):
        fixed().fit(data.X[:12], data.Z[:12])
    with pytest.raises(InvalidInputError, match="needs at least 4\\. Got 3"):
        fixed().fit(data.X, data.Z, groups=np.arange(600) % 3)
    with pytest.raises(InvalidInputError, match="groups must name the group of each of the 600 rows"):
        fixed().fit(data.X, data.Z, groups=np.arange(599))
    with pytest.raises(InvalidInputError, match="groups and a validation set"):
        fixed().fit(data.X, data.Z, data.X, data.Z, groups=np.arange(1200))


def test_arguments_of_methods(model, data):
    with pytest.raises(InvalidParameterError, match="threshold must be a number from 0 to 1\\. Got 2"):
        model.consensus(data.Z, 2)
    with pytest.raises(InvalidParameterError, match="level must be a number between 0 and 1\\. Got 90"):
        model.weight_intervals(data.Z, 90)
    with pytest.raises(InvalidParameterError, match=r"calibrate must be True, .* or False, for the shares .* Got 'no'"):
        model.edge_probabilities(data.Z, calibrate="no")
    for ask in (model.adjacency, model.edges):
        with pytest.raises(InvalidParameterError, match=r"standardised must be True, .* or False, .* Got 'no' instead"):
            ask(data.Z, standardised="no")
    for ask in (fixed().edge_probabilities, fixed().adjacency):
        with pytest.raises(NotFittedError):
            ask(data.Z)
