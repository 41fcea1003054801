"""Several networks in one model, their graphs averaged."""

import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import torch

from contextualdag import ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators import fit_together
from contextualdag.estimators.fitting import Tables, prepare
from contextualdag.graphs import is_acyclic
from contextualdag.metrics import estimation_error
from contextualdag.network import Dropout, auto_dropout
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.ensemble import draw_networks

pytestmark = pytest.mark.slow

QUICK = {"structure": "varying", "hidden_layers": (32,), "learning_rate": 1e-2, "n_members": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(900, n_nodes=6, n_features=2, n_edges=6, random_state=5)


@pytest.fixture(scope="module")
def model(data):
    train = data[:500]
    return ContextualDAG(**QUICK).fit(train.X, train.Z)


def test_graphs_are_acyclic_at_every_sparsity(model, data):
    Z = data.Z[500:]
    for n_edges in (0, 1, 2, 3, 5):
        W = model.select(n_edges=n_edges).adjacency(Z)
        assert bool(is_acyclic(torch.from_numpy(W)).all())
        assert (W != 0).sum() / len(W) == pytest.approx(n_edges, abs=1.5)


def test_threads_do_not_disturb_one_another(model, data):
    models, Z = (model, model.select(n_edges=1)), data.Z[500:520]
    alone = [one.adjacency(Z) for one in models]
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(models[k % 2].adjacency, Z) for k in range(60)]
    for k, answer in enumerate(answers):
        np.testing.assert_array_equal(answer.result(), alone[k % 2])


def test_members_differ(model):
    point = model._solution.point
    assert len(point.fits) == len(point.refit.fits) == 3
    first, second = (fit.learned["last.weight"] for fit in point.fits[:2])
    assert not torch.equal(first, second)


@pytest.mark.long
def test_three_members_are_better_than_single_networks():
    together, alone = [], []
    for seed in range(3):
        data = make_varying_dag(900, n_nodes=6, n_features=2, n_edges=6, random_state=seed)
        train, validation, test = data[:300], data[300:600], data[600:]
        for errors, n_members in ((together, 3), (alone, 1)):
            model = ContextualDAG(**(QUICK | {"n_members": n_members}))
            model.fit(train.X, train.Z, validation.X, validation.Z)
            errors.append(estimation_error(test.W, model.adjacency(test.Z)))
    assert np.mean(together) < 0.85 * np.mean(alone)


def problem_of(model, *tables):
    """What the recipe would be given."""
    return prepare(model, Tables(*tables)).problem


def test_members_hold_out_other_rows_and_together_train_on_all(data):
    tables = data.X[:60], data.Z[:60], data.X[60:90], data.Z[60:90]
    splits = problem_of(ContextualDAG(**QUICK), *tables).folds().splits
    held_out = torch.cat([split.held_out.X for split in splits])
    assert len(torch.unique(held_out, dim=0)) == len(held_out) == 90
    assert {len(split.train) for split in splits} == {60}


def test_members_hold_out_the_same_rows_without_cross_fitting(data):
    tables = data.X[:60], data.Z[:60], data.X[60:90], data.Z[60:90]
    model, alone = ContextualDAG(**QUICK, cross_fit=False), ContextualDAG(**(QUICK | {"n_members": 1}))
    splits, (given,) = (problem_of(one, *tables).folds().splits for one in (model, alone))
    assert len(splits) == 3
    for split in splits:
        assert torch.equal(split.held_out.X, given.held_out.X)
        assert torch.equal(split.train.X, given.train.X)
    fitted = ContextualDAG(**(QUICK | {"max_epochs": 3, "n_budgets": 3}), cross_fit=False).fit(*tables)
    assert fitted.adjacency(data.Z[:2]).shape == (2, 6, 6)


def test_rows_held_out_are_predicted_by_members_that_did_not_see_them(model, data):
    """Of 500 rows, 100 are not seen by the network of the means, and each member holds out 100."""
    folds = problem_of(ContextualDAG(**QUICK), data.X[:500], data.Z[:500]).folds()
    unseen = [set(rows.tolist()) & set(range(400, 500)) for rows in folds.held_out]
    assert model.n_held_out_ == len(set.union(*unseen))
    refit, mean = model._solution.refit, model._preparation.mean_network
    residual, given = [], []
    for k, rows in enumerate(unseen):
        z, x = folds.rows.Z[list(rows)], folds.rows.X[list(rows)]
        W = model._solution.member_weights(k, z)
        W = W * (W.abs() > refit.member_cuts[k])
        centred = x - mean(z)
        residual.append(centred - torch.einsum("nj,njk->nk", centred, W))
        given.append(x)
    residual, given = torch.cat(residual), torch.cat(given)
    share = 1 - (residual**2).sum(0) / ((given - given.mean(0)) ** 2).sum(0)
    # Members may have a few edges more than the average, which are not counted there.
    assert model.held_out_score_ == pytest.approx(float(share.mean()), abs=0.01)
    assert model.held_out_score_ == pytest.approx(model.score(data.X[500:], data.Z[500:]), abs=0.1)


def test_a_sparse_selection_has_the_score_of_sparse_graphs(data):
    settings = QUICK | {"n_budgets": 8}
    scores = [ContextualDAG(**settings, selection=n).fit(data.X[:300], data.Z[:300]).held_out_score_ for n in (0, 3)]
    assert scores[0] < 0.05 < 0.1 < scores[1]


def test_noise_is_not_said_to_be_explained():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 8)), rng.normal(size=(60, 3))
    fitted = ContextualDAG(**QUICK, selection=12, dropout=0.0).fit(X, Z)
    assert fitted.score(X, Z) > 0.05
    assert fitted.held_out_score_ < 0


def test_dropout_looks_at_the_rows_that_members_train_on(data):
    tables = data.X[:300], data.Z[:300], data.X[300:600], data.Z[300:600]
    for settings, n in (({}, 400), ({"cross_fit": False}, 300), ({"n_members": 1}, 300)):
        network, _ = draw_networks(problem_of(ContextualDAG(**(QUICK | settings)), *tables))
        (dropout,) = (module.share for module in network.modules() if isinstance(module, Dropout))
        assert dropout == auto_dropout(n, 6, 2)


def test_path_and_selections_are_those_of_the_whole(model):
    table = model.path_
    assert table["selected"].sum() == 1
    assert table["refit_loss"].notna().sum() >= 4
    assert len(table) == len(model._solution.points)
    assert model.select(l1_budget=0.0).adjacency(np.zeros((1, 2))).sum() == 0


def test_saved_and_loaded(model, data, tmp_path):
    model.save(tmp_path / "model")
    loaded = ContextualDAG.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.adjacency(data.Z[500:]), model.adjacency(data.Z[500:]))
    assert loaded.n_members == 3
    assert (loaded.held_out_score_, loaded.n_held_out_) == (model.held_out_score_, model.n_held_out_)


def test_an_interrupted_fit_goes_on_to_the_same_end(model, data, tmp_path, monkeypatch):
    save, saves = Checkpoint.save, []

    def stop_at_the_seventh(self, path):
        save(self, path)
        saves.append(len(path.points))
        if len(saves) == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", stop_at_the_seventh)
    with pytest.raises(KeyboardInterrupt):
        ContextualDAG(**QUICK).fit(data.X[:500], data.Z[:500], checkpoint=tmp_path / "checkpoint")
    resumed = ContextualDAG(**QUICK).fit(data.X[:500], data.Z[:500], checkpoint=tmp_path / "checkpoint")
    np.testing.assert_array_equal(resumed.adjacency(data.Z[500:]), model.adjacency(data.Z[500:]))


def test_together_as_alone(data):
    settings = QUICK | {"n_members": 2, "max_epochs": 10, "n_budgets": 6, "device": "cpu"}
    models = [ContextualDAG(**settings), ContextualDAG(**(settings | {"random_state": 1, "n_members": 1}))]
    models += [SortedDAG(order=[0, 1, 2, 3, 4, 5], **settings | {"structure": "auto"}), FixedDAG(random_state=2)]
    tables = [{"X": data.X[:200], "Z": data.Z[:200]}, {"X": data.X[200:400], "Z": data.Z[200:400]}]
    tables += [tables[0], {"X": data.X[:200]}]
    fit_together(models, tables)
    for fitted, table in zip(models, tables, strict=True):
        again = type(fitted)(**fitted.get_params()).fit(**table)
        np.testing.assert_array_equal(fitted.adjacency(data.Z[500:]), again.adjacency(data.Z[500:]))
        assert fitted.held_out_score_ == again.held_out_score_


def test_fits_in_several_threads_are_those_alone(data):
    """Random numbers belong to a fit, not to the process."""
    settings = QUICK | {"n_members": 2, "max_epochs": 10, "n_budgets": 6, "dropout": 0.5, "device": "cpu"}

    def fit(seed):
        return ContextualDAG(**(settings | {"random_state": seed})).fit(data.X[:200], data.Z[:200]).adjacency(data.Z[500:])

    alone = [fit(seed) for seed in range(3)]
    state = torch.random.get_rng_state()
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(fit, range(3)))
    for ours, theirs in zip(together, alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert torch.equal(torch.random.get_rng_state(), state)


SAME_ELSEWHERE = """
import json, sys
import numpy as np
from contextualdag import ContextualDAG

given = np.load(sys.argv[1])
model = ContextualDAG(**json.loads(sys.argv[2])).fit(given["X"], given["Z"])
np.save(sys.argv[3], model.adjacency(given["Z"]))
"""


def _fit_of(settings, X, Z):
    return ContextualDAG(**settings).fit(X, Z).adjacency(Z)


@pytest.mark.long
def test_fits_in_other_processes_are_those_alone(data, tmp_path):
    """The same seed gives the same bits alone, in processes of joblib, in spawned ones and in another program."""
    settings = QUICK | {"n_members": 2, "max_epochs": 5, "n_budgets": 4, "dropout": 0.5, "device": "cpu"}
    X, Z = data.X[:150], data.Z[:150]
    alone = _fit_of(settings, X, Z)
    for found in joblib.Parallel(n_jobs=2)(joblib.delayed(_fit_of)(settings, X, Z) for _ in range(2)):
        np.testing.assert_array_equal(found, alone)
    np.savez(tmp_path / "data.npz", X=X, Z=Z)
    command = [sys.executable, "-c", SAME_ELSEWHERE, tmp_path / "data.npz", json.dumps(settings), tmp_path / "W.npy"]
    subprocess.run([str(part) for part in command], check=True)  # noqa: S603
    np.testing.assert_array_equal(np.load(tmp_path / "W.npy"), alone)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(_fit_of, (settings, X, Z)), alone)


def test_together_all_or_none(data):
    models = [ContextualDAG(**QUICK), ContextualDAG(**QUICK)]
    with pytest.raises(InvalidInputError, match="no values"):
        fit_together(models, [{"X": data.X, "Z": data.Z}, {"X": np.full_like(data.X, np.nan), "Z": data.Z}])
    assert not hasattr(models[0], "names_")
    with pytest.raises(InvalidInputError, match="Got 2 models and 1 dicts"):
        fit_together(models, [{"X": data.X, "Z": data.Z}])
    for wrong, words in (({"Z": data.Z}, "'X' is missing"), ({"X": data.X, "z": data.Z}, "unknown: 'z'")):
        with pytest.raises(InvalidInputError, match=words):
            fit_together(models[:1], [wrong])
    with pytest.raises(InvalidInputError, match="takes estimators of contextualdag"):
        fit_together([None], [{}])


def test_bad_way_to_hold_out(data):
    with pytest.raises(InvalidParameterError, match="'cross_fit' parameter of ContextualDAG must be True or False"):
        ContextualDAG(cross_fit="yes").fit(data.X, data.Z)


@pytest.mark.long
def test_more_members_where_rows_are_few():
    quick = {"hidden_layers": (4,), "max_epochs": 2, "n_budgets": 2, "structure": "varying", "random_state": 0}
    large = make_varying_dag(1000, n_nodes=3, n_features=1, n_edges=2, random_state=0)
    few = large[:999]
    validated = {"X_val": large.X[:501], "Z_val": large.Z[:501]}
    fits = {
        "few": ContextualDAG(**quick).fit(few.X, few.Z),
        "enough": ContextualDAG(**quick).fit(large.X, large.Z),
        "enough with those held out": ContextualDAG(**quick).fit(large.X[501:], large.Z[501:], **validated),
        "few in groups": ContextualDAG(**quick).fit(few.X, few.Z, groups=np.arange(999) % 4),
        "few along an order": SortedDAG(order=[0, 1, 2], **quick | {"structure": "common-order"}).fit(few.X, few.Z),
        "few, as told": ContextualDAG(n_members=2, **quick).fit(few.X, few.Z),
    }
    found = {name: model._solution.n_members for name, model in fits.items()}
    assert found == {
        "few": 5,
        "enough": 3,
        "enough with those held out": 3,
        "few in groups": 3,
        "few along an order": 5,
        "few, as told": 2,
    }


def test_bad_number_of_members(data):
    for wrong in (0, -1, 1.5, "two"):
        with pytest.raises(
            InvalidParameterError, match="'n_members' parameter of ContextualDAG must be 'auto' or an integer"
        ):
            ContextualDAG(n_members=wrong).fit(data.X, data.Z)
