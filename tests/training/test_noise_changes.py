"""Whether noise changes with the context: a test that is silent where it does not."""

import numpy as np
import pytest

from contextualdag import FixedDAG
from contextualdag.estimators import load_model
from contextualdag.estimators.remarks import remarks
from contextualdag.training.noise_changes import changes_of_noise


def test_silent_where_it_does_not():
    rng = np.random.default_rng(0)
    found = [changes_of_noise(rng.standard_t(5, (300, 10)), rng.uniform(-1, 1, (300, 2))) for _ in range(100)]
    assert np.mean([one.any() for one in found]) <= 0.04


def test_without_a_context_and_with_one_that_does_not_vary():
    residuals = np.random.default_rng(0).standard_normal((50, 3))
    for Z in (np.zeros((50, 0)), np.ones((50, 2))):
        assert not changes_of_noise(residuals, Z).any()


def test_what_is_not_scored_does_not_count():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (600, 1))
    residuals, scored = rng.standard_normal((600, 2)), np.ones((600, 2), dtype=bool)
    scored[Z[:, 0] > 0.5, 0] = False
    residuals[~scored] = 0
    assert not changes_of_noise(residuals, Z, scored).any()
    assert changes_of_noise(residuals, Z)[0] > 0


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((800, 3)), rng.uniform(-1, 1, (800, 1))
    X[:, 1] *= 1 + 0.7 * Z[:, 0]
    return FixedDAG(random_state=0).fit(X, Z)


def test_a_fit_says_so(model, tmp_path):
    assert list(model.noise_changes_) == ["x2"]
    (remark,) = [one for one in remarks(model) if "size of the noise changes" in one]
    assert "for x2. " in remark
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").noise_changes_ == model.noise_changes_
