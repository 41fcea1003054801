"""Checks of models: silent on the truth, and loud where something was done to it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.diagnostics import check_model, falsify
from contextualdag.diagnostics.brackets import noise_brackets
from contextualdag.diagnostics.fitted_rows import FittedRows
from contextualdag.diagnostics.given_context import context_groups
from contextualdag.diagnostics.model import (
    _brackets,
    _noise_changes,
    _residual_correlation,
    _sortability,
    _worse_than_nothing,
)
from contextualdag.errors import InvalidInputError, NotFittedError

CHECKS = (_worse_than_nothing, _residual_correlation, _noise_changes, _brackets, _sortability)


def true_rows(data, X=None, W=None):
    """Rows with the true graphs instead of a model's."""
    X = data.X if X is None else X
    return FittedRows(list(data.names), X, data.Z, np.zeros_like(X), data.W if W is None else W, np.zeros(len(X), bool))


def found(rows, noise="unequal", checks=CHECKS):
    model = SimpleNamespace(noise_=noise)
    return {finding.name: finding for check in checks for finding in check(model, rows)}


def solve(W, noise):
    """Variables with that noise, (n, p)."""
    return np.linalg.solve(np.eye(W.shape[1]) - W.transpose(0, 2, 1), noise[:, :, None])[:, :, 0]


# Over 100 or 200 seeds of several designs, with the true graphs: residuals correlate in 0 to 2 %, noise changes in 0.5 % at
# most, and brackets always meet, also with noise of Student's distribution with three degrees of freedom.
@pytest.mark.parametrize("seed", range(8))
def test_the_truth_is_not_blamed(seed):
    for options in ({}, {"noise_scale": (0.5, 2), "standardise": True}, {"degrees_of_freedom": 3}):
        data = make_varying_dag(600, 6, 2, n_edges=6, random_state=seed, **options)
        assert found(true_rows(data), checks=CHECKS[:-1]) == {}
    data = make_varying_dag(600, 6, 2, n_edges=6, random_state=seed, interventions=0.4)
    assert data.interventions.any()
    assert found(replace(true_rows(data), intervened=data.interventions), checks=CHECKS[:-1]) == {}


def test_equal_noise_can_be_read_off_the_variances():
    data = make_fixed_dag(1000, 10, n_edges=20, random_state=0)
    finding = found(true_rows(data), "equal")["order of the variances"]
    assert finding.severity == "warning"
    assert finding.value > 0.9
    assert 'noise="unequal"' in finding.message
    assert found(true_rows(data))["order of the variances"].severity == "note"
    # In units by which the variances fall along the order it is gone.
    scales = 10.0 ** -np.argsort(np.argsort(data.X.var(0)))
    W = data.W * scales / scales[:, None]
    assert "order of the variances" not in found(true_rows(data, data.X * scales, W), checks=[_sortability])


def test_explained_variances_that_tell_the_order():
    data = make_fixed_dag(500, 10, n_edges=20, standardise=True, random_state=4)
    finding = found(true_rows(data), checks=[_sortability])["order of the explained variances"]
    assert finding.severity == "note"
    assert finding.value >= 0.9
    other = make_fixed_dag(500, 10, n_edges=20, standardise=True, random_state=0)
    assert found(true_rows(other), checks=[_sortability]) == {}


def test_few_edges_are_not_called_sorted():
    data = make_fixed_dag(1000, 6, n_edges=4, random_state=0)
    assert found(true_rows(data), checks=[_sortability]) == {}


def test_a_hidden_cause_leaves_residuals_that_correlate():
    data = make_varying_dag(600, 6, 2, n_edges=4, random_state=0)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((600, 6))
    noise[:, [1, 4]] += 0.7 * rng.standard_normal((600, 1))
    finding = found(true_rows(data, solve(data.W, noise)))["residuals correlate"]
    assert finding.columns == ("x2", "x5")
    assert finding.value == pytest.approx(0.49 / 1.49, abs=0.1)


def test_a_missing_edge_whose_sign_changes_with_the_context_is_seen():
    data = make_varying_dag(600, 4, 1, n_edges=0, random_state=0)
    X = data.X.copy()
    X[:, 3] += X[:, 0] * data.Z[:, 0]
    assert abs(np.corrcoef(X[:, 0], X[:, 3])[0, 1]) < 0.1
    assert found(true_rows(data, X), checks=[_residual_correlation])["residuals correlate"].columns == ("x1", "x4")


def test_noise_that_changes_with_the_context():
    data = make_varying_dag(800, 5, 2, n_edges=6, random_state=1)
    noise = np.random.default_rng(0).standard_normal((800, 5))
    noise[:, 0] *= np.exp(0.8 * data.Z[:, 0])
    names = found(true_rows(data, solve(data.W, noise)))
    assert names["noise changes with the context"].columns == ("x1",)
    assert names["no graph has constant noise"].columns == ("x1",)


def test_brackets_hold_the_noise_variance_in_every_group():
    """Bounds against those that the true graphs imply, and noise of one size between them."""
    data = make_varying_dag(4000, 4, 1, n_edges=4, random_state=0)
    groups = context_groups(data.Z, 4)
    assert len(np.unique(groups)) == 6
    for bracket in noise_brackets(data.X, data.Z, data.W, groups):
        assert bracket.p_value > 0.01
    scale = np.exp(data.Z[:, 0])
    X = solve(data.W, np.random.default_rng(0).standard_normal((4000, 4)) * np.where(np.arange(4) == 2, scale[:, None], 1))
    A = np.eye(4) - data.W
    variance = np.ones((4000, 4))
    variance[:, 2] = scale**2
    precision = A / variance[:, None, :] @ A.transpose(0, 2, 1)
    covariance = np.linalg.inv(precision)
    low = np.array([(1 / precision[groups == g, 2, 2]).mean() for g in range(6)])
    high = np.array([covariance[groups == g, 2, 2].mean() for g in range(6)])
    brackets = noise_brackets(X, data.Z, data.W, groups)
    assert [one.p_value < 0.01 for one in brackets] == [False, False, True, False]
    assert brackets[2].low / brackets[2].high == pytest.approx(low.max() / high.min(), rel=0.25)


def test_rows_without_groups_and_contexts():
    assert not context_groups(np.zeros((500, 0)), 5).any()
    assert not context_groups(np.ones((500, 2)), 5).any()
    assert not context_groups(np.random.default_rng(0).random((60, 2)), 5).any()
    assert len(np.unique(context_groups(np.repeat(np.eye(3), 100, axis=0), 4))) == 3


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(900, 5, 2, n_edges=5, mean_shift=0.5, random_state=2)


@pytest.fixture(scope="module")
def model(data):
    quick = {"structure": "varying", "hidden_layers": (32,), "learning_rate": 1e-2, "n_members": 1, "verbose": False}
    Z = pd.DataFrame(data.Z, columns=["age", "dose"])
    return ContextualDAG(random_state=0, device="cpu", **quick).fit(data.X[:600], Z[:600])


@pytest.mark.slow
def test_rows_of_a_model_are_its_own(model, data):
    rows = FittedRows.read(model, data.X[600:], data.Z[600:])
    np.testing.assert_array_equal(rows.W, model.adjacency(data.Z[600:]))
    squares = ((rows.X - rows.X.mean(0)) ** 2).mean(0)
    assert 1 - ((rows.residuals**2).mean(0) / squares).mean() == pytest.approx(model.score(data.X[600:], data.Z[600:]))
    assert len(FittedRows.read(model, data.X, data.Z, most=100).X) == 100


@pytest.mark.slow
def test_a_model_on_new_rows_and_on_rows_of_another_kind(model, data):
    X, Z = data.X[600:], data.Z[600:]
    assert all(finding.severity != "serious" for finding in check_model(model, X, Z))
    assert "contexts outside the fit" not in {finding.name for finding in check_model(model, X, Z)}
    worst, *_ = check_model(model, X * [1, 100, 1, 1, 1], Z)
    assert (worst.name, worst.severity) == ("worse than no model", "serious")
    assert worst.value < 0
    shuffled = check_model(model, X[:, ::-1], Z)
    assert "residuals correlate" in {finding.name for finding in shuffled}


@pytest.mark.slow
def test_contexts_outside_the_fit(model, data):
    Z = data.Z[600:].copy()
    Z[:30, 1] = 1.05
    (finding,) = [one for one in check_model(model, data.X[600:], Z) if one.name == "contexts outside the fit"]
    assert finding.columns == ("dose",)
    assert finding.value == pytest.approx(0.1, abs=0.01)
    Z = data.Z[600:].copy()
    Z[0, 0] = 200
    (finding,) = [one for one in check_model(model, data.X[600:], Z) if one.name == "contexts outside the fit"]
    assert finding.columns == ("age",)
    assert finding.value == np.mean((Z[:, 0] < model.context_features_[0].low) | (Z[:, 0] > model.context_features_[0].high))


@pytest.mark.slow
def test_what_does_not_fit_the_model_is_refused(model, data):
    with pytest.raises(InvalidInputError, match="Z is missing"):
        check_model(model, data.X)
    with pytest.raises(InvalidInputError, match="expecting 5 features"):
        check_model(model, data.X[:, :4], data.Z)
    with pytest.raises(NotFittedError):
        check_model(ContextualDAG(), data.X, data.Z)


def test_a_model_without_context_and_few_rows():
    X = make_fixed_dag(300, 4, n_edges=3, random_state=0).X
    model = FixedDAG(random_state=0).fit(X)
    assert check_model(model, X) == []
    assert check_model(model, X[:5]) == []


def test_what_is_no_model_is_refused():
    X = make_fixed_dag(300, 4, n_edges=3, random_state=0).X
    for wrong in ("a", X, FixedDAG, None):
        with pytest.raises(InvalidInputError, match=r"model must be a fitted estimator of contextualdag.* Got "):
            check_model(wrong, X)
        with pytest.raises(InvalidInputError, match="model must be a fitted estimator of contextualdag"):
            falsify(wrong, X)


def test_holes_are_refused_with_a_remedy_that_helps():
    X = pd.DataFrame(make_fixed_dag(300, 4, n_edges=3, random_state=0).X, columns=list("abcd"))
    model = FixedDAG(random_state=0).fit(X)
    holes = X.mask(np.eye(300, 4) > 0)
    for ask in (check_model, falsify):
        with pytest.raises(InvalidInputError) as caught:
            ask(model, holes)
        assert "'a' (1), 'b' (1), 'c' (1), 'd' (1)" in str(caught.value)
        assert "X.dropna()" in str(caught.value)
        assert "impute" not in str(caught.value)
        ask(model, holes.dropna())


def test_values_that_were_set_are_not_held_against_a_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((900, 6)), columns=list("abcdef"))
    X["b"] += X["a"]
    hit = np.arange(900) % 3 == 0
    X.loc[hit, "b"] = rng.uniform(2, 6, hit.sum())
    X["c"] += X["b"]
    X["d"] += X["c"]
    X["e"] -= X["b"]
    targets = np.where(hit, "b", "")
    model = FixedDAG(random_state=0).fit(X, interventions=targets)
    names = {finding.name for finding in check_model(model, X)}
    assert {"worse than no model", "residuals correlate"} <= names
    for told in (targets, {"b": hit}, pd.DataFrame({"b": hit}), np.outer(hit, X.columns == "b")):
        assert check_model(model, X, interventions=told) == []
    # A mask without names has the columns of X, whatever their order in the model.
    turned = X[list("fedcba")]
    assert check_model(model, turned, interventions=np.outer(hit, turned.columns == "b")) == []
    # Rows of weight zero are left out, whatever they hold.
    assert check_model(model, X, sample_weight=~hit) == check_model(model, X[~hit])
    # A model that is wrong where nothing was set is found all the same.
    wrong = model.fit(X.assign(e=-X["e"]), interventions=targets)
    assert "worse than no model" in {finding.name for finding in check_model(wrong, X, interventions=targets)}


def test_a_variable_that_was_set_everywhere_is_passed_over():
    X = make_fixed_dag(300, 4, n_edges=3, random_state=0).X
    model = FixedDAG(random_state=0).fit(X)
    X = X.copy()
    X[:, 0] = np.random.default_rng(0).uniform(5, 9, 300)
    assert all("x1" not in one.columns for one in check_model(model, X, interventions=["x1"] * 300))
