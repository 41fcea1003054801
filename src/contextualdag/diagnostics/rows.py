"""Checks of the rows of a table: whether they are enough, in every context, and independent of one another."""

from collections.abc import Iterator

import numpy as np
import torch
from scipy.stats import norm, rankdata

from contextualdag.checks import listed
from contextualdag.diagnostics.checked_table import ENOUGH, FAR, CheckedTable
from contextualdag.diagnostics.findings import LEVEL, MOST_NAMED, Finding, plural, with_values
from contextualdag.diagnostics.given_context import standardised
from contextualdag.tables import Array, Flags
from contextualdag.training.data import Rows, Split
from contextualdag.training.outliers import OUTLIER, trust

FEW_ROWS_A_VARIABLE, FEW_ROWS_A_CONTEXT = 20, 50
ONE_POINT = 0.95  # share of rows with one value of a numeric context
SPARSE = 0.4  # share of the range of a numeric context that has 98 % of the rows
VERY_FAR = 8.0  # robust standard deviations
NEIGHBOURS = 0.1  # correlation


def few_rows(table: CheckedTable) -> Iterator[Finding]:
    """Rows for each variable."""
    n, p = table.all_rows.shape
    if n <= p:
        yield Finding(
            "fewer rows than variables",
            "serious",
            f"There are {n} rows for {p} variables: any of them can be computed from the others by chance. Leave variables "
            f"out, or get at least {FEW_ROWS_A_VARIABLE * p} rows.",
            (),
            n / p,
        )
    elif n < FEW_ROWS_A_VARIABLE * p:
        yield Finding(
            "few rows",
            "warning",
            f"There are {n} rows for {p} variables, {n / p:.1f} for each; with fewer than {FEW_ROWS_A_VARIABLE}, edges "
            "differ from sample to sample. Leave variables out, or believe only what random halves of the rows agree on.",
            (),
            n / p,
        )


def contexts(table: CheckedTable) -> Iterator[Finding]:
    """Contexts that have few rows."""
    n, seen = len(table.all_contexts), table.encoder.as_seen(table.all_contexts)
    for name, columns in table.encoder.seen_columns.items():
        categories = table.encoder.categories[table.encoder.names.index(name)]
        values = seen[:, list(columns)]
        if categories is not None:
            counts = dict(zip(categories, values.sum(0).astype(int).tolist(), strict=True))
            yield from _categories(name, {key: count for key, count in counts.items() if count < FEW_ROWS_A_CONTEXT})
            continue
        found, counts_of = np.unique(values, return_counts=True)
        most = int(counts_of.max())
        share, point = most / n, found[counts_of.argmax()]
        low, high = np.quantile(values, [0.01, 0.99])
        covered = (high - low) / max(found[-1] - found[0], 1e-300)
        if len(found) == 1:
            text = f"The context feature '{name}' is {point:.4g} in all rows, so nothing can vary with it. Leave it out."
            yield Finding("constant context", "warning", text, (name,), 1.0)
        elif share > ONE_POINT or (share > 0.5 and n - most < FEW_ROWS_A_CONTEXT):
            yield Finding(
                "context at one point",
                "warning",
                f"The context feature '{name}' is {point:.4g} in {share:.1%} of the rows; graphs of other values rest on "
                f"{plural(n - most, 'row')}. Read those with care, or leave the feature out.",
                (name,),
                share,
            )
        elif covered < SPARSE:
            yield Finding(
                "sparse tails of a context",
                "note",
                f"98 % of the values of the context feature '{name}' lie between {low:.4g} and {high:.4g}, {covered:.0%} of "
                f"its range from {found[0]:.4g} to {found[-1]:.4g}. Graphs further out rest on few rows; a logarithm or "
                "ranks would spread them.",
                (name,),
                float(covered),
            )


def _categories(name: str, rare: dict[str, int]) -> Iterator[Finding]:
    if rare:
        shown = ", ".join(f"{category} ({count})" for category, count in list(rare.items())[:MOST_NAMED])
        more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
        yield Finding(
            "rare categories",
            "warning",
            f"Fewer than {FEW_ROWS_A_CONTEXT} rows have these values of '{name}': {shown}{more}. Their graphs rely on those "
            "of other categories; join categories or read them with care.",
            (name,),
            float(min(rare.values())),
        )


def outliers(table: CheckedTable) -> Iterator[Finding]:
    """Rows, and single values, far from all others."""
    if not table.fine.any():
        return
    columns = table.scaled[:, table.fine]
    values, vectors = np.linalg.eigh(np.cov(np.clip(columns, -FAR, FAR), rowvar=False).reshape(columns.shape[1], -1))
    uncorrelated = columns @ vectors / np.sqrt(np.maximum(values, 1e-3 * values.max()))
    rows = Rows(torch.from_numpy(uncorrelated), torch.zeros(len(uncorrelated), 0, dtype=torch.float64))
    found = trust(Split(rows, rows))
    low = np.zeros(len(table.X), dtype=bool) if found is None else found[0].numpy() < OUTLIER
    alone = (np.abs(table.scaled) > VERY_FAR) & ~table.heavy & table.fine
    far = np.flatnonzero(low | alone.any(1))
    if len(far):
        shown = ", ".join(map(str, table.rows[far[:10]])) + (f" and {len(far) - 10} more" if len(far) > 10 else "")
        named = table.named(np.asarray(alone.any(0)))
        where = f" Single values that stand out are in {listed(named)}." if named else ""
        yield Finding(
            "outliers",
            "warning",
            f"{plural(len(far), 'row lies', 'rows lie')} far from all others (counted from 0): {shown}.{where}"
            f"{table.after_transforms(table.fine)} Look whether they are errors; a fit gives rows far from all others less "
            "weight.",
            named,
            float(len(far)),
        )


def neighbours(table: CheckedTable) -> Iterator[Finding]:
    """Correlation between each row and the next; where groups are known, between rows of each group and the next."""
    given = "Given the context, each" if table.basis.shape[1] > 1 else "Each"
    ranks = _ranked(table.scaled)
    if table.groups is None:
        correlation, is_chance = _with_the_one_before(ranks, np.diff(table.rows) == 1)
        alike = ~is_chance & _are_large(table, correlation)
        if alike.any():
            named = table.named(alike)
            yield Finding(
                "neighbouring rows depend",
                "warning",
                f"{given} row correlates with the row before it in {with_values(named, correlation[alike].tolist())}. Rows "
                "seem to be a time series, sorted by something that is not in the context, or several of one person. Add "
                "what sorts them to the context, or give the fit groups=, one number for each person, day or stretch of "
                "time, so that whole groups are held out: np.arange(n) // 50 makes blocks of fifty neighbouring rows. In "
                "the terminal it is --groups with a column of such numbers.",
                named,
                _largest(correlation[alike]),
            )
        return
    there, group = np.unique(table.groups, return_inverse=True)
    means = np.stack([np.bincount(group, column) / np.bincount(group) for column in ranks.T], axis=1)
    _, is_chance = _with_the_one_before(_ranked(means), np.diff(there) == 1)
    # Rows have variance one, so that this is the mean correlation of a row of a group with one of the group before.
    correlation = (means[1:] * means[:-1]).sum(0) / len(means)
    alike = ~is_chance & _are_large(table, correlation)
    if alike.any():
        named = table.named(alike)
        yield Finding(
            "neighbouring groups depend",
            "warning",
            f"{given} row correlates with those of the group before its own, on average, in "
            f"{with_values(named, correlation[alike].tolist())}. Groups that are held out are then not independent of those "
            "trained on: join neighbouring groups to larger ones, such as longer stretches of time, or add what sorts them "
            "to the context.",
            named,
            _largest(correlation[alike]),
        )


def _ranked(columns: Array) -> Array:
    return standardised(np.apply_along_axis(rankdata, 0, columns))


def _with_the_one_before(ranks: Array, next_to: Flags) -> tuple[Array, Flags]:
    """How columns (n, p) correlate with themselves one row before, over neighbours, and whether that may be chance."""
    n, p = int(next_to.sum()) + 1, ranks.shape[1]
    # Of exchangeable rows the correlation of neighbours has mean -1/n and variance near 1/n, whatever the distribution.
    correlation: Array = (ranks[1:] * ranks[:-1])[next_to].sum(0) / n
    p_values = 2 * norm.sf(np.abs(correlation + 1 / n) * np.sqrt(n))
    is_chance: Flags = (p_values >= LEVEL / p) | (n < ENOUGH)
    return correlation, is_chance


def _are_large(table: CheckedTable, correlation: Array) -> Flags:
    """Which correlations matter; those of identifiers do not."""
    counts = np.array([name not in table.like_identifiers for name in table.names])
    large: Flags = (np.abs(correlation) > NEIGHBOURS) & counts
    return large


def _largest(correlation: Array) -> float:
    return float(correlation[np.abs(correlation).argmax()])


def duplicates(table: CheckedTable) -> Iterator[Finding]:
    """Rows that occur more than once."""
    everything = np.hstack([table.X, table.Z])
    n, different = len(everything), len(np.unique(everything, axis=0))
    repeated = n - different
    if not repeated:
        return
    fine = max(len(np.unique(column)) for column in everything.T) > different / 2
    yield Finding(
        "duplicated rows",
        "warning" if fine else "note",
        f"{plural(repeated, 'row repeats', 'rows repeat')} another in all columns ({repeated / n:.1%}). "
        + (
            "Values hardly ever repeat otherwise, so these are likely copies; remove them."
            if fine
            else "Values are coarse, so these may be different samples that agree; remove them if they are copies."
        ),
        (),
        repeated / n,
    )
