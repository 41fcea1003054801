"""One small model under any names, so that hostile ones are tried without a fit for each."""

import copy
import functools
from dataclasses import replace

import numpy as np
import pandas as pd

from contextualdag import ContextualDAG


@functools.cache
def small_model():
    """Four variables whose graph changes with a number and a category."""
    rng = np.random.default_rng(0)
    X, number, category = rng.standard_normal((200, 4)), rng.standard_normal(200), rng.integers(4, size=200)
    X[:, 1] += np.where(number > 0, 2, -2) * X[:, 0]
    X[:, 2] += (category > 1) * X[:, 1]
    Z = pd.DataFrame({"number": number, "category": np.array(list("abcd"))[category]})
    fit = ContextualDAG(
        hidden_layers=(8,), n_budgets=3, max_epochs=15, n_members=1, structure="varying", verbose=False, random_state=0
    )
    return fit.fit(pd.DataFrame(X, columns=list("abcd")), Z)


def renamed(names):
    """The model with these four names for its variables, and for its categories; the first two for its context features."""
    model = copy.copy(small_model())
    preparation = model._preparation
    encoder = replace(preparation.contexts.encoder, names=tuple(names[:2]), categories=(None, tuple(names)))
    model.names_ = list(names)
    model._preparation = replace(preparation, names=tuple(names), contexts=replace(preparation.contexts, encoder=encoder))
    test = model.context_test_
    p_values, gains = (dict(zip(names, values.values(), strict=False)) for values in (test.features, test.feature_gains))
    model.context_test_ = replace(test, features=p_values, feature_gains=gains)
    model._variation = None  # it has names of its own, and is not needed here
    return model
