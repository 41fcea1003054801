"""Missing values: an error that counts them, or filled in and never scored."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators.fitting import Tables, fit_prepared, prepare, problem_of_fit, with_holes
from contextualdag.estimators.imputation import filled_by_context
from contextualdag.training.filling import emptied, filled_by_model, refilled
from contextualdag.training.recipe import learn_resamples
from contextualdag.training.resampling import half_problem

SMALL = {"random_state": 0, "verbose": False, "hidden_layers": (16,), "n_members": 1, "structure": "varying"}


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(400, 4, 1, n_edges=3, random_state=1)


@pytest.fixture(scope="module")
def holes(data):
    X = data.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def test_expectations_are_those_of_the_normal_distribution():
    rng = np.random.default_rng(0)
    W = np.triu(rng.standard_normal((5, 4, 4)), 1)
    means, scale = rng.standard_normal((5, 4)), rng.uniform(0.5, 2, 4)
    X, observed = rng.standard_normal((5, 4)), rng.random((5, 4)) < 0.6
    observed[0] = False
    found = filled_by_model(X, observed, W, means, scale)
    for i in range(5):
        A = np.linalg.inv(np.eye(4) - W[i].T)
        covariance = A @ np.diag(scale**2) @ A.T
        o, m = observed[i], ~observed[i]
        expected = means[i, m] + covariance[np.ix_(m, o)] @ np.linalg.solve(covariance[np.ix_(o, o)], (X - means)[i, o])
        assert np.allclose(found[i, m], expected)
        assert np.array_equal(found[i, o], X[i, o])


def test_means_follow_the_context():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (200, 1))
    X = np.hstack([3 * Z**2, 1 - Z])
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    assert np.allclose(filled_by_context(holes, Z), X)


def test_by_default_an_error_counts_them(holes, data):
    counts = np.isnan(holes).sum(0)
    with pytest.raises(InvalidInputError, match=rf"'x1' \({counts[0]}\), 'x2' \({counts[1]}\).*missing=\"impute\""):
        ContextualDAG(**SMALL).fit(holes, data.Z)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        ContextualDAG(missing="impute", **SMALL | {"n_members": 3}),
        FixedDAG(missing="impute", random_state=0),
        ClusteredDAG(n_clusters=2, missing="impute", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_graphs_are_near_those_of_complete_data(model, holes, data):
    before = holes.copy()
    complete = type(model)(**model.get_params() | {"missing": "error"}).fit(data.X, data.Z).adjacency(data.Z)
    found = model.fit(holes, data.Z).adjacency(data.Z)
    assert np.array_equal(before, holes, equal_nan=True)
    size = np.sqrt((complete**2).mean())
    assert np.sqrt(((found - complete) ** 2).mean()) < 0.5 * size
    assert np.isfinite(model.noise_scale_).all()
    assert np.isfinite(model.held_out_score_)


@pytest.mark.slow
def test_what_is_filled_in_is_not_scored():
    # Where half of a noise variable is missing and filled with its mean, its noise is that of the observed half.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3)) * [1, 2, 3]
    X[:300, 2] = np.nan
    model = FixedDAG(missing="impute", noise="unequal", random_state=0).fit(X)
    assert model.noise_scale_[2] == pytest.approx(3, rel=0.15)


@pytest.mark.slow
def test_without_holes_nothing_changes(data):
    given, plain = (FixedDAG(missing=missing, random_state=0).fit(data.X, data.Z) for missing in ("impute", "error"))
    assert np.array_equal(given.graph_, plain.graph_)


@pytest.mark.slow
def test_holes_in_a_validation_set_and_in_halves(holes, data):
    model = BootstrapDAG(FixedDAG(missing="impute", random_state=0), n_resamples=2, n_jobs=1, verbose=False)
    model.fit(pd.DataFrame(holes[:300]), data.Z[:300], pd.DataFrame(holes[300:]), data.Z[300:])
    assert np.isfinite(model.edge_probabilities(data.Z)).all()


@pytest.mark.slow
def test_every_half_fills_in_anew(holes, data):
    model = FixedDAG(missing="impute", random_state=0)
    prepared = prepare(model, Tables(holes, data.Z))
    outcome = fit_prepared(model, prepared)
    problem = with_holes(problem_of_fit(prepared, outcome), prepared)
    halves = [half_problem(problem, half, "constant", 0) for half in (torch.arange(0, 200), torch.arange(100, 300))]
    learned = [learn_resamples([half])[0] for half in halves]
    filled = [refilled(half, solution).rows for half, solution in zip(halves, learned, strict=True)]
    for half, rows in zip(halves, filled, strict=True):
        assert half.rows.missing.any()
        assert torch.equal(rows.X[~rows.missing], half.rows.X[~rows.missing])
        assert not (emptied(half).rows.X[rows.missing]).any()
    # The fills of rows that are in both halves differ a little, and are correlated.
    fills = [
        {z: x[holes] for z, x, holes in zip(rows.Z[:, 0].tolist(), rows.X, rows.missing, strict=True)} for rows in filled
    ]
    shared = sorted(set(fills[0]) & set(fills[1]))
    first, second = (torch.cat([one[z] for z in shared]) for one in fills)
    assert not torch.equal(first, second)
    assert np.corrcoef(first, second)[0, 1] > 0.9


def test_columns_without_values_are_named(data):
    X = data.X.copy()
    X[5:, 1] = np.nan
    X[5:, 3] = np.nan
    with pytest.raises(
        InvalidInputError, match=r"too few values .* to train on: 'x2' \([0-5]\), 'x4' \([0-5]\)\. 10 are needed"
    ):
        FixedDAG(missing="impute", random_state=0).fit(X, data.Z)
    X[:, 1] = np.nan
    with pytest.raises(
        InvalidInputError, match=r"Column 'x2' of X has no values: all \d+ are missing\. Fill it in, or fit wi"
    ):
        FixedDAG(missing="impute", random_state=0).fit(X, data.Z)


def test_infinity_is_not_missing(data):
    X = data.X.copy()
    X[0, 0] = np.inf
    with pytest.raises(InvalidInputError, match="must be finite"):
        FixedDAG(missing="impute").fit(X, data.Z)


def test_contexts_must_be_complete(data):
    Z = data.Z.copy()
    Z[3] = np.nan
    with pytest.raises(InvalidInputError, match=r"Z must be complete\..* 1 of \d+ rows lack a context"):
        FixedDAG(missing="impute").fit(data.X, Z)


def test_parameter(data):
    with pytest.raises(InvalidParameterError, match="'missing' parameter of FixedDAG must be one of"):
        FixedDAG(missing="drop").fit(data.X, data.Z)


@pytest.fixture(scope="module")
def imputing(holes, data):
    return FixedDAG(missing="impute", random_state=0).fit(holes, data.Z)


def test_scores_of_complete_rows_are_those_of_a_model_that_takes_no_holes(imputing, data):
    plain = copy.copy(imputing)
    plain.missing = "error"
    assert imputing.score(data.X, data.Z) == plain.score(data.X, data.Z)


def test_a_missing_value_is_not_scored_and_predicts_others_as_its_mean(imputing, holes, data):
    means = imputing.means(data.Z).to_numpy()
    observed = ~np.isnan(holes)
    filled = np.where(observed, holes, means)
    left = filled - means - (filled - means) @ imputing.graph_
    each = [1 - (left[seen, k] ** 2).sum() / (len(seen[seen]) * holes[seen, k].var()) for k, seen in enumerate(observed.T)]
    assert imputing.score(holes, data.Z) == pytest.approx(np.mean(each))
    plain = FixedDAG(random_state=0).fit(data.X, data.Z)
    with pytest.raises(InvalidInputError, match=r"X must be complete.* missing=\"impute\""):
        plain.score(holes, data.Z)


def test_values_without_a_logarithm_may_be_missing_from_a_score(data):
    X = np.exp(data.X)
    model = FixedDAG(missing="impute", transform=dict.fromkeys(("x1", "x2"), "log"), random_state=0).fit(X, data.Z)
    X[::7, 0] = np.nan
    assert 0 < model.score(X, data.Z) < 1


@pytest.mark.slow
def test_tables_with_holes_in_cross_validation(holes, data):
    model = FixedDAG(missing="impute", random_state=0)
    scores = cross_val_score(model, holes, data.Z, cv=3, error_score="raise")
    search = GridSearchCV(model, {"cut": [0.0, 0.1]}, cv=3, error_score="raise").fit(holes, data.Z)
    assert np.isfinite(scores).all()
    assert search.best_score_ >= scores.mean()
