"""Sentences on fits that predict worse than no model: they are a warning of `fit`, and first in terminal and report."""

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.errors import ContextualDAGWarning

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator
    from contextualdag.tables import Array, Flags

WORSE = 0.02  # share of the variance of a variable that a model adds to it
SLIGHT = 0.01  # below zero by which the score of a model is not mentioned
ENOUGH = 10  # rows held out from which on a warning is given
LARGER = 1.2  # ratio of the variance of the noise to that of the variable
MOST_NAMED = 12
DEPTH = 4  # calls between the user's and the warning
REMEDY = (
    "Do not use these graphs: the fit has failed, or rows held out are unlike the others. contextualdag check, or "
    "contextualdag.diagnostics, looks closer."
)


def poor_fit(model: "GraphEstimator") -> list[str]:
    """Sentences on what a model predicts worse than plain means do, and on noise larger than the variables; mostly none.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.estimators.poor_fit import poor_fit
    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> poor_fit(FixedDAG(random_state=0).fit(X))
    []
    """
    return [*(_worse_than_means(model) or _perhaps_by_chance(model)), *_large_noise(model)]


def warn_of_poor_fit(model: "GraphEstimator") -> None:
    """A warning of what is no matter of chance."""
    for sentence in [*_worse_than_means(model), *_large_noise(model)]:
        warnings.warn(sentence, ContextualDAGWarning, stacklevel=DEPTH)


def _worse_than_means(model: "GraphEstimator") -> list[str]:
    """Variables that are predicted worse than their means, or all of them together, beyond chance.

    What a model predicts off the mean by a share q of the variance of a variable changes its squared error on n rows held
    out by q of this variance, with a standard error of 2 sqrt(q / n) of it: q is k standard errors where it is 4 k² / n.
    Three are asked for of a variable, and two of the mean over p variables. Their plain means are those of the rows held
    out, whose chance adds about 5 / 4 n, with a standard deviation of sqrt(2 / p) of that.
    """
    shares, n = _shares(model), model.n_held_out_
    p = int(np.isfinite(shares).sum())
    if n < ENOUGH or not p:
        return []
    worse = shares < -max(WORSE, 36 / n)
    if worse.any():
        its = "its plain mean does" if worse.sum() == 1 else "their plain means do"
        return [
            f"On rows held out the model predicts {_with_numbers(model.names_, shares, worse)} worse than {its}; in "
            f"brackets the share of the variance that is explained. {REMEDY}"
        ]
    score, of_means = float(np.nanmean(shares)), 1.25 / n * (1 + 3 * math.sqrt(2 / p))
    if score < -max(WORSE, 16 / (n * p) + of_means):
        return [
            "On rows held out the model predicts the variables worse than their plain means do: it explains "
            f"{score:.2f} of their variance. {REMEDY}"
        ]
    return []


def _perhaps_by_chance(model: "GraphEstimator") -> list[str]:
    shares = _shares(model)
    score = float(np.nanmean(shares)) if np.isfinite(shares).any() else math.nan
    if not score < -SLIGHT:
        return []
    return [
        f"The model explains nothing of the {model.n_held_out_} rows held out ({score:.2f} of their variance): plain means "
        "predict them better, perhaps by chance. Do not rely on its edges."
    ]


def _large_noise(model: "GraphEstimator") -> list[str]:
    ratio = (model.noise_scale_ / model.scale_) ** 2
    larger = ratio > LARGER
    if not larger.any():
        return []
    its = "the variable itself varies" if larger.sum() == 1 else "the variables themselves vary"
    return [
        f"The noise of {_with_numbers(model.names_, ratio, larger)} is larger than {its} in the rows of the fit; in "
        f"brackets the ratio of the variances. {REMEDY}"
    ]


def _shares(model: "GraphEstimator") -> "Array":
    """Explained shares (p,) of the variances of rows held out; NaN for variables that do not vary."""
    shares: Array = np.where(np.isfinite(model._explained[:, 0]), np.nansum(model._explained, axis=1), np.nan)
    return shares


def _with_numbers(names: list[str], values: "Array", which: "Flags") -> str:
    found = [f"'{names[k]}' ({values[k]:.2f})" for k in np.flatnonzero(which)]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more
