"""A fit that predicts worse than no model says so at once; one that does not is silent."""

import copy
import warnings

import numpy as np
import pytest

from contextualdag import BootstrapDAG, FixedDAG
from contextualdag.datasets import make_fixed_dag
from contextualdag.estimators import fit_together
from contextualdag.estimators.poor_fit import poor_fit, warn_of_poor_fit
from contextualdag.report.model import write_model_report


@pytest.fixture(scope="module")
def data():
    return make_fixed_dag(400, 4, n_edges=3, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return FixedDAG(random_state=0).fit(data.X, data.Z)


def as_if(model, **learned):
    """The model as if it had learned something else."""
    changed = copy.copy(model)
    vars(changed).update(learned)
    return changed


def test_good_fits_are_silent(model):
    assert poor_fit(model) == []


def test_noise_alone_is_no_warning():
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((60, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            FixedDAG(random_state=0).fit(X)


def test_rows_held_out_that_are_unlike_the_others(data):
    X_val = data.X[:100] + np.array([0, 0, 9, 0])
    with pytest.warns(UserWarning, match=r"predicts 'x3' \(-.*\) worse than its plain mean does; .* Do not use these"):
        FixedDAG(random_state=0).fit(data.X[100:], data.Z[100:], X_val, data.Z[:100])
    with pytest.warns(UserWarning, match="'x3'"):
        fit_together([FixedDAG(random_state=0)], [{"X": data.X[100:], "X_val": X_val}])
    model = BootstrapDAG(FixedDAG(random_state=0), n_resamples=2, n_jobs=1, verbose=False)
    with pytest.warns(UserWarning, match="'x3'"):
        model.fit(data.X[100:], data.Z[100:], X_val, data.Z[:100])
    assert "'x3'" in poor_fit(model)[0]


def test_all_variables_a_little_worse(model):
    shares = np.tile([-0.05, 0.0, 0.0], (4, 1))
    (said,) = poor_fit(as_if(model, _explained=shares, n_held_out_=200))
    assert said.startswith(
        "On rows held out the model predicts the variables worse than their plain means do: it explains -0.05"
    )
    few = as_if(model, _explained=shares, n_held_out_=40)
    assert "perhaps by chance" in poor_fit(few)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_poor_fit(few)
    assert poor_fit(as_if(model, _explained=np.full((4, 3), np.nan))) == []


def test_noise_larger_than_the_variable(model):
    loud = as_if(model, noise_scale_=model.scale_ * [0.9, 2, 0.9, 0.9])
    with pytest.warns(UserWarning, match=r"noise of 'x2' \(4.00\) is larger than the variable itself varies .*Do not use"):
        warn_of_poor_fit(loud)


def test_a_column_that_does_not_vary_has_nothing_to_explain(data):
    with pytest.warns(UserWarning, match="do not vary get no edges") as said:
        model = FixedDAG(random_state=0).fit(np.c_[data.X, np.full(400, 0.1)], data.Z)
    assert len(said) == 1
    assert np.isnan(model.explained_.loc["x5"]).all()
    assert model.held_out_score_ > 0


def test_it_is_first_in_the_report(model, tmp_path):
    loud = as_if(model, noise_scale_=model.scale_ * [0.9, 2, 0.9, 0.9])
    text = write_model_report(loud, tmp_path / "report.html").read_text(encoding="utf-8")
    body = text[text.index("</h1>") :]
    assert body.index("is larger than the variable itself varies") < body.index("<h2>")
    assert body.index("is larger than the variable itself varies") < body.index("FixedDAG of 4 variables")


def test_notebooks_show_it(model):
    loud = as_if(model, noise_scale_=model.scale_ * [0.9, 2, 0.9, 0.9])
    assert "is larger than the variable itself varies" in loud._repr_html_()
    assert "warning" not in model._repr_html_()
