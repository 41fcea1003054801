"""Missing values of X: filled in as regressors, and never scored as responses.

A first guess is the mean given the context. A quick fit to that gives graphs, and the second guess is the expectation of a
missing value given all others of its row under these graphs, see `contextualdag.training.filling`. A regression on all other
columns would plant its own graph, the same in all contexts. Half-samples fill in anew.
"""

import numpy as np
import torch

from contextualdag.errors import InvalidInputError
from contextualdag.tables import Array, Flags, counted, without_values
from contextualdag.training.data import polynomials

ERROR, IMPUTE = MISSING = ("error", "impute")
FEWEST = 10  # values that a column has to have


def check_enough_observed(observed: Flags, names: list[str]) -> None:
    """Raise if a column has hardly a value."""
    counts = observed.sum(0)
    fewest = min(FEWEST, len(observed))
    few = {name: int(count) for name, count in zip(names, counts, strict=True) if count < fewest}
    if few:
        raise InvalidInputError(
            f"Columns of X with too few values to impute the others, and how many they have in the {len(observed)} rows "
            f"to train on: {counted(few)}. {fewest} are needed. Leave {'it' if len(few) == 1 else 'them'} out."
        )


def check_some_observed(X: Array, names: list[str]) -> None:
    """Raise if a column has no value at all."""
    empty = [name for name, holes in zip(names, np.isnan(X).T, strict=True) if holes.all()]
    if empty and len(X) > 1:
        raise InvalidInputError(without_values(empty, len(X), "X"))


def means_given_context(X: Array, Z: Array) -> tuple[Array, Array]:
    """Coefficients (q, p) of the least-squares means of observed values given features of the context, and these (n, q)."""
    features = polynomials(torch.from_numpy((Z - Z.mean(0)) / np.where(Z.std(0) > 0, Z.std(0), 1)), 1).numpy()
    found = [np.linalg.lstsq(features[seen], X[seen, k], rcond=None)[0] for k, seen in enumerate(~np.isnan(X).T)]
    return np.stack(found, axis=1), features


def filled_by_context(X: Array, Z: Array) -> Array:
    """X with the mean given the context where values are missing."""
    coefficients, features = means_given_context(X, Z)
    return np.where(np.isnan(X), features @ coefficients, X)
