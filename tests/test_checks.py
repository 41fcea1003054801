"""Checks of parameters: what is said of values that are hard to show, and sources of random numbers."""

import numpy as np
import pytest

from contextualdag.checks import did_you_mean, generator, require, shown
from contextualdag.errors import InvalidParameterError


def test_values_in_errors_are_short():
    for value in (10**400, 10**5000, np.zeros((1000, 50)), "a" * 1000, list(range(10**4))):
        assert len(shown(value)) <= 201
        assert "\n" not in shown(value)
        with pytest.raises(InvalidParameterError, match=r"must be small\. Got .* instead"):
            require(False, "x", "this", "small", value)


def test_suggestions_for_what_is_no_text():
    for name in (None, 1, ["a"], np.zeros(2)):
        assert did_you_mean(name, ["a"]) == ""


def test_generators():
    given = np.random.default_rng(0)
    assert generator(given, "this") is given
    assert generator(np.int64(3), "this").random() == np.random.default_rng(3).random()
    generator(None, "this")
    for wrong in ("a", -1, 1.5, True, [1], np.random.RandomState(0)):
        with pytest.raises(InvalidParameterError, match="'random_state' parameter of this must be None, an integer"):
            generator(wrong, "this")
