"""The contract of scikit-learn, with Z in the place of y."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag

pytestmark = pytest.mark.slow

SMALL = ContextualDAG(hidden_layers=(4,), n_members=1, max_epochs=2, n_budgets=2, random_state=0)
EXCEPTIONS = {
    "check_fit_score_takes_y": "the second argument is called Z, the context, not y",
    "check_sample_weight_equivalence_on_dense_data": "it calls fit(X, y=...); the argument is called Z",
    "check_n_features_in_after_fitting": "it calls score(X, y=...); the argument is called Z",
    "check_dtype_object": "it wants NumPy's wording for objects that are no numbers; ours names the column",
}


@pytest.fixture(scope="module")
def train():
    return make_varying_dag(200, n_nodes=5, n_features=2, n_edges=5, random_state=3)


@pytest.mark.filterwarnings("ignore:.*rows are copies of others")  # some checks repeat a few rows
@parametrize_with_checks([SMALL], expected_failed_checks=lambda estimator: EXCEPTIONS)
@pytest.mark.filterwarnings("ignore:Columns of X that do not vary")
@pytest.mark.filterwarnings("ignore:Column .* are the same, up to a linear map")  # some contexts are a column of X
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix")
def test_contract(estimator, check):
    check(estimator)


def test_cloning_scoring_and_searching(train):
    model = clone(SMALL).set_params(max_epochs=20)
    assert clone(model).get_params() == model.get_params()
    assert np.isfinite(cross_val_score(model, train.X, train.Z, cv=2)).all()
    search = GridSearchCV(model, {"dropout": [0.0, 0.5]}, cv=2).fit(train.X, train.Z)
    assert search.best_estimator_.adjacency(train.Z[:3]).shape == (3, 5, 5)


def test_in_a_pipeline(train):
    pipeline = make_pipeline(StandardScaler(), clone(SMALL)).fit(train.X, train.Z)
    scaled = StandardScaler().fit_transform(train.X)
    alone = clone(SMALL).fit(scaled, train.Z)
    assert pipeline.score(train.X, train.Z) == alone.score(scaled, train.Z)
    np.testing.assert_array_equal(pipeline[-1].adjacency(train.Z), alone.adjacency(train.Z))
    scores = cross_val_score(pipeline, train.X, train.Z, cv=2)
    assert np.isfinite(scores).all()
