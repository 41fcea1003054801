import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError as NotFittedErrorOfSklearn

from contextualdag import FixedDAG, errors
from contextualdag.errors import ContextualDAGError, ContextualDAGWarning, NotFittedError


def test_every_exception_is_ours():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), ContextualDAGError | ContextualDAGWarning)
        assert getattr(errors, name).__doc__


def test_warnings_of_data_and_fits_can_be_silenced_alone():
    X = np.random.default_rng(0).standard_normal((100, 3))
    X = np.hstack([X, X[:, :1] - X[:, 1:2], np.ones((100, 1)), np.arange(100)[:, None]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        FixedDAG(random_state=0).fit(X)
    assert len(said) > 2
    assert {one.category for one in said} == {ContextualDAGWarning}
    assert all(one.filename == __file__ for one in said)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ContextualDAGWarning)
        FixedDAG(random_state=0).fit(X)


def test_not_fitted_is_also_that_of_scikit_learn():
    assert issubclass(NotFittedError, NotFittedErrorOfSklearn)
    assert errors.NotFittedError is NotFittedError
    with pytest.raises(NotFittedErrorOfSklearn, match="not fitted yet"):
        FixedDAG().typical_context()
    back = pickle.loads(pickle.dumps(NotFittedError("not yet")))  # noqa: S301 - our own bytes
    assert type(back) is NotFittedError
    assert str(back) == "not yet"


def test_what_is_not_fitted_has_no_fitted_attributes():
    for name in ("names_", "path_", "context_features_"):
        assert not hasattr(FixedDAG(), name)


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"module 'contextualdag\.errors' has no attribute 'OtherError'"):
        errors.OtherError  # noqa: B018


def test_importing_the_exceptions_is_light():
    program = "import sys, contextualdag.errors; print([m for m in ('sklearn', 'numpy', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
