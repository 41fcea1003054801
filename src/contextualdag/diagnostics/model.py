"""Checks of a fitted model on rows: those of the fit, or better others."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import poisson

from contextualdag.diagnostics.brackets import noise_brackets
from contextualdag.diagnostics.findings import LEVEL, MOST_NAMED, Finding, by_severity, plural, with_values
from contextualdag.diagnostics.fitted_rows import FittedRows
from contextualdag.diagnostics.given_context import context_basis, context_groups, dependence
from contextualdag.diagnostics.sortability import explained_by_others, sortability
from contextualdag.tables import Array
from contextualdag.training.noise import EQUAL
from contextualdag.training.noise_changes import changes_of_noise

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

ENOUGH = 20  # rows from which on tests are made
FAR_OUTSIDE = 0.1  # of the range of a context
MOST_GRAPHS = 500  # whose paths are counted
FEWEST_PAIRS = 5  # from which on sortability is no matter of chance
RARE = 0.01  # share of graphs with an edge
SORTED = 0.9
CORRELATED = 0.1  # residuals of two variables
APART = 1.25  # ratio of variances from which on brackets do not meet
WORSE, STANDARD_ERRORS = 0.02, 3.0  # variance that a model adds to that of a variable, as a share


def check_model(
    model: "GraphEstimator", X: Any, Z: Any = None, interventions: Any = None, sample_weight: Any = None
) -> list[Finding]:
    """Look for signs that graphs of a fitted model are wrong, or do not mean what they seem to.

    Rows that the fit has not seen tell more than its own. Each test errs in about one model out of a hundred, over all its
    variables together, if the model is true; what a fit could not learn from its rows is found as well.

    Parameters
    ----------
    model : estimator
        A fitted estimator; not one that needs a mask for each sample.
    X : array or DataFrame of shape (n, p)
        Variables, without missing values.
    Z : array or DataFrame of shape (n, m), optional
        Contexts of the same samples; may be left out if the model was fitted without. Of tables whose graphs do not fit into
        memory, rows are taken at equal steps.
    interventions : array, DataFrame, dict or sequence, optional
        Which variables were set or disturbed in which rows, as in `fit`. The equations of variables are not held against
        these values, and checks that need whole rows pass over rows with any of them.
    sample_weight : sequence of length n, optional
        Rows of weight zero are left out. All others count the same: graphs that are right are right for each.

    Returns
    -------
    list of Finding
        The most serious first; empty if nothing was found.

    Examples
    --------
    A model of data with a common cause that is not in the table:

    >>> import numpy as np
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.diagnostics import check_model
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 4)) + rng.standard_normal((500, 1))
    >>> model = FixedDAG(selection=1, random_state=0).fit(X)
    >>> [finding.name for finding in check_model(model, X)]
    ['residuals correlate']
    """
    rows = FittedRows.read(model, X, Z, interventions=interventions, sample_weight=sample_weight)
    checks: tuple[Callable[[GraphEstimator, FittedRows], Iterator[Finding]], ...] = (_outside,)
    if len(rows.X) >= ENOUGH:
        checks = (_worse_than_nothing, _outside, _residual_correlation, _noise_changes, _brackets, _sortability)
    return by_severity(finding for check in checks for finding in check(model, rows))


def _worse_than_nothing(model: "GraphEstimator", rows: FittedRows) -> Iterator[Finding]:
    """Variables whose residuals are larger than they are themselves."""
    n = rows.scored.sum(0)
    scored = rows.scored | (n < ENOUGH)  # of a variable with too few values nothing is said
    alone = (rows.X - rows.X.mean(0, where=scored)) ** 2
    rise = rows.residuals**2 - alone
    mean, variance = rise.mean(0, where=scored), alone.mean(0, where=scored)
    error = rise.std(0, where=scored) / np.sqrt(np.maximum(n, 1))
    worse = (mean > WORSE * variance) & (mean > STANDARD_ERRORS * error) & (mean > 0) & (n >= ENOUGH)
    if worse.any():
        named = _named(rows, worse)
        explained = -mean[worse] / np.maximum(variance[worse], 1e-300)
        yield Finding(
            "worse than no model",
            "serious",
            f"On these rows the model predicts {with_values(named, explained.tolist())} worse than their plain means do; in "
            "brackets the share of the variance explained. The rows are unlike those of the fit, in other units, or the fit "
            "has failed; do not use these graphs.",
            named,
            float(explained.min()),
        )


def _outside(model: "GraphEstimator", rows: FittedRows) -> Iterator[Finding]:
    """Contexts beyond those of the fit, unless it is by little and as often as in any other sample."""
    encoder = model._preparation.contexts.encoder
    ranges = {feature.name: (feature.low, feature.high) for feature in model.context_features_ if feature.is_number}
    n, beyond, seen = len(rows.X), {}, encoder.as_seen(rows.Z)
    for name, (low, high) in ranges.items():
        values = seen[:, encoder.seen_columns[name][0]]
        distance = np.maximum(np.maximum(low - values, values - high), 0)
        # Of n new values of the same kind, n / (n_fit + 1) are larger than all of the fit on average, and as many smaller.
        by_chance = poisson.isf(LEVEL / len(ranges), 2 * n / (model.n_samples_ + 1))
        if (distance > 0).sum() > by_chance or (distance > FAR_OUTSIDE * (high - low)).any():
            beyond[name] = distance > 0
    if not beyond:
        return
    count = int(np.any(list(beyond.values()), axis=0).sum())
    spans = ", ".join(f"'{name}' ({ranges[name][0]:.4g} to {ranges[name][1]:.4g})" for name in list(beyond)[:MOST_NAMED])
    yield Finding(
        "contexts outside the fit",
        "warning",
        f"{plural(count, 'row has a context', 'rows have contexts')} outside the range of the fit ({count / n:.1%}), in "
        f"{spans}. Their graphs are guesses; leave these rows out.",
        tuple(beyond),
        count / n,
    )


def _residual_correlation(_: "GraphEstimator", rows: FittedRows) -> Iterator[Finding]:
    """Pairs of residuals that correlate, in all contexts or in some."""
    p = rows.X.shape[1]
    basis = context_basis(rows.Z)
    scored = rows.scored | ~rows.scored.any(0)
    residuals = np.where(rows.scored, rows.residuals - rows.residuals.mean(0, where=scored), 0.0)
    pairs, strengths = [], []
    for j in range(p - 1):
        p_values, correlation = dependence(residuals[:, j], residuals[:, j + 1 :], basis)
        for k in np.flatnonzero((p_values < LEVEL / (p * (p - 1) / 2)) & (correlation > CORRELATED)):
            pairs.append((j, j + 1 + int(k)))
            strengths.append(float(correlation[k]))
    if pairs:
        ranked = sorted(zip(strengths, pairs, strict=True), reverse=True)
        shown = ", ".join(f"'{rows.names[j]}' and '{rows.names[k]}' ({size:.2f})" for size, (j, k) in ranked[:MOST_NAMED])
        more = f" and {len(pairs) - MOST_NAMED} more pairs" if len(pairs) > MOST_NAMED else ""
        yield Finding(
            "residuals correlate",
            "warning",
            f"What the graphs leave unexplained still correlates, on average over the contexts, for {shown}{more}. Edges "
            "between them are missing or have wrong weights, or there is a common cause that is not in the table. Look at a "
            "denser point of the path, and add what may drive both to the context.",
            tuple(name for k, name in enumerate(rows.names) if any(k in pair for pair in pairs)),
            max(strengths),
        )


def _noise_changes(_: "GraphEstimator", rows: FittedRows) -> Iterator[Finding]:
    """Squared residuals that change with the context."""
    enough = rows.scored.sum(0) >= ENOUGH
    spread = changes_of_noise(rows.residuals, rows.Z, rows.scored | ~enough)
    changes = (spread > 0) & enough
    if changes.any():
        named = _named(rows, changes)
        yield Finding(
            "noise changes with the context",
            "warning",
            f"The variance of the residuals of {with_values(named, spread[changes].tolist())} changes with the context; in "
            "brackets its standard deviation over the contexts, as a share of its mean. Directions rest on noise of one "
            "size in all contexts, so those of edges at these variables may be wrong. An edge that is missing, or that goes "
            "the wrong way, looks like this too.",
            named,
            float(spread[changes].max()),
        )


def _brackets(_: "GraphEstimator", rows: FittedRows) -> Iterator[Finding]:
    """Variables whose noise cannot have one size, whatever the graph."""
    rows = rows.undisturbed
    if len(rows.X) < ENOUGH:
        return
    groups = context_groups(rows.Z, len(rows.names))
    if not groups.any():
        return
    found = noise_brackets(rows.centred, rows.Z, rows.W, groups)
    apart = np.array([one.p_value < LEVEL / len(found) and one.low > APART * one.high for one in found])
    if apart.any():
        named = _named(rows, apart)
        ratio = [one.low / one.high for one, flag in zip(found, apart, strict=True) if flag]
        worst = max((one for one, flag in zip(found, apart, strict=True) if flag), key=lambda one: one.low / one.high)
        yield Finding(
            "no graph has constant noise",
            "warning",
            f"Whatever the graph, the noise of {with_values(named, ratio)} is larger in some contexts than in others, in "
            f"variance by the factor in brackets at least: there all other variables leave {worst.low:.3g} unexplained, "
            f"here it is {worst.high:.3g} in all. The model assumes that it is the same; do not trust directions at these "
            "variables.",
            named,
            max(ratio),
        )


def _sortability(model: "GraphEstimator", rows: FittedRows) -> Iterator[Finding]:
    """Whether the order of the graphs is that of variances, or of shares of explained variance."""
    rows = rows.undisturbed
    n, p = rows.X.shape
    if n <= 2 * p or ((rows.W != 0).mean(0) > RARE).sum() < FEWEST_PAIRS:
        return
    taken = slice(None, None, -(-n // MOST_GRAPHS))
    W, groups = rows.W[taken], context_groups(rows.Z, p)
    named = tuple(
        name for name, joined in zip(rows.names, (W != 0).any((0, 1)) | (W != 0).any((0, 2)), strict=True) if joined
    )

    def measured(score: Callable[[Array], Array]) -> tuple[float, float]:
        by_group = np.array([score(rows.centred[groups == group]) for group in range(groups.max() + 1)])
        return sortability(W, score(rows.X)), sortability(W, by_group[groups[taken]])

    overall, within = measured(lambda X: X.var(0))
    if max(overall, within) >= SORTED:
        equal = model.noise_ == EQUAL
        yield Finding(
            "order of the variances",
            "warning" if equal else "note",
            f"Variances increase along {overall:.0%} of the paths of the graphs, given the context along {within:.0%}. "
            + (
                "The fit took noise to be of one size in the units given, so the order may come from the units: see whether "
                'arrows stay with noise="unequal".'
                if equal
                else "The fit did not rely on it, but sorting variables by variance would find these arrows as well."
            ),
            named,
            max(overall, within),
        )
    overall, within = measured(explained_by_others)
    if max(overall, within) >= SORTED:
        yield Finding(
            "order of the explained variances",
            "note",
            f"The share of its variance that all others explain increases along {overall:.0%} of the paths of the graphs, "
            f"given the context along {within:.0%}. Sorting variables by it would find these arrows in any units, as it "
            "does in many simulations.",
            named,
            max(overall, within),
        )


def _named(rows: FittedRows, flags: Any) -> tuple[str, ...]:
    return tuple(name for name, flag in zip(rows.names, flags, strict=True) if flag)
