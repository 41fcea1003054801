"""A model with other names, to try hostile ones without a fit for each."""

import copy
from dataclasses import replace


def renamed(model, names, feature, category_feature, categories):
    """A model of variables `names` whose context is a number and a category, all renamed."""
    other, preparation = copy.copy(model), model._preparation
    encoder = replace(preparation.contexts.encoder, names=(feature, category_feature), categories=(None, tuple(categories)))
    other.names_ = list(names)
    other._preparation = replace(preparation, names=tuple(names), contexts=replace(preparation.contexts, encoder=encoder))
    other._variation = None
    return other
