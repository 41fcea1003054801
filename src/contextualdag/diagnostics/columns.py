"""Checks of the columns of a table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f

from contextualdag.checks import listed
from contextualdag.diagnostics.checked_table import ENOUGH, EXACT, FAR, FEW_VALUES, CheckedTable
from contextualdag.diagnostics.findings import LEVEL, Finding, with_values
from contextualdag.diagnostics.given_context import fitted, scales_given_context, standardised
from contextualdag.estimators.imputation import FEWEST
from contextualdag.tables import LIKE_A_DATE, Array, Flags, varying

SAME = 0.99  # share of rows with one value of a variable
UNITS = 1e6  # ratio of standard deviations
NEARLY, STRONGLY = 0.99, 0.95  # shares of the variance that others explain
WIDEST, FEW_ROWS = 200, 1000  # terms of a regression on products with the context; rows that are looked at first
MOVES = 0.05  # share of the variance of a variable that its mean given the context explains


def missing(table: CheckedTable) -> Iterator[Finding]:
    """Columns with missing values, and those with hardly any other."""
    if not table.n_missing:
        return
    if table.n_known:
        named = tuple(table.n_known)
        it = "it" if len(named) == 1 else "them"
        yield Finding(
            "nearly empty columns",
            "serious",
            f"Fewer than {FEWEST} values are known of {with_values(named, list(table.n_known.values()), '.0f')}: too few to "
            f"learn from, and to fill in the others. Leave {it} out; the other checks did.",
            named,
            float(min(table.n_known.values())),
        )
    holes = {name: count for name, count in table.n_missing.items() if name not in table.n_known}
    if not holes:
        return
    n, n_complete = len(table.all_rows), len(table.rows)
    looked = "looked at these only" if n_complete >= ENOUGH else "were left out, since these are too few"
    yield Finding(
        "missing values",
        "warning",
        f"Values are missing in {with_values(tuple(holes), list(holes.values()), '.0f')}; {n_complete} of {n} rows are "
        f'complete. A fit with missing="impute" (in the terminal, fit --impute) fills them in; any other needs complete '
        f"rows. Checks that need complete rows {looked}.",
        tuple(holes),
        (n - n_complete) / n,
    )


def identifiers(table: CheckedTable) -> Iterator[Finding]:
    """Columns that number the rows, or name them by numbers."""
    named = table.like_identifiers
    if named:
        one = len(named) == 1
        yield Finding(
            "like identifiers",
            "warning",
            f"{'This column looks like an identifier' if one else 'These columns look like identifiers'} of rows: "
            f"{listed(named)}. Leave {'it' if one else 'them'} out unless the numbers mean something.",
            named,
            float(len(named)),
        )


def dates_as_text(table: CheckedTable) -> Iterator[Finding]:
    """Context features whose categories are dates."""
    for name, categories in zip(table.encoder.names, table.encoder.categories, strict=True):
        if categories and all(LIKE_A_DATE.fullmatch(category) for category in categories):
            yield Finding(
                "dates as text",
                "warning",
                f"The context feature '{name}' holds dates as text, such as '{categories[0]}', so each is a category of its "
                "own. Code it as a number, such as days since a start, or as its month with a period of 12.",
                (name,),
                float(len(categories)),
            )


def constant(table: CheckedTable) -> Iterator[Finding]:
    """Columns with one value, in all rows or nearly all."""
    still = _constant(table)
    if still.any():
        named = table.named(still)
        verb, it = ("does", "it") if len(named) == 1 else ("do", "them")
        text = f"{listed(named)} {verb} not vary and get{'s' if len(named) == 1 else ''} no edges. Leave {it} out."
        yield Finding("constant columns", "warning", text, named, float(still.sum()))
    same = np.array([np.unique(column, return_counts=True)[1].max() / len(column) for column in table.columns])
    nearly = (same > SAME) & ~still
    if nearly.any():
        named = table.named(nearly)
        yield Finding(
            "nearly constant columns",
            "warning",
            f"Nearly all rows have one and the same value in {with_values(named, same[nearly].tolist(), '.1%')}: the edges "
            "of such a column rest on the few other rows. Leave it out, or count on none of them.",
            named,
            float(same[nearly].max()),
        )


def units(table: CheckedTable) -> Iterator[Finding]:
    """Standard deviations that are very different."""
    spread = np.array([column.std() for column in table.columns])
    moving = np.flatnonzero(~_constant(table))
    if not len(moving):
        return
    low, high = moving[spread[moving].argmin()], moving[spread[moving].argmax()]
    ratio = float(spread[high] / spread[low])
    if ratio > UNITS:
        yield Finding(
            "very different units",
            "note",
            f"The standard deviation of '{table.names[high]}' is {spread[high]:.3g}, that of '{table.names[low]}' "
            f'{spread[low]:.3g}. Noise of one size is out of the question (leave noise="auto"), and weights between the '
            "two are very large or small numbers; other units would read better.",
            (table.names[high], table.names[low]),
            ratio,
        )


def _constant(table: CheckedTable) -> Flags:
    """Columns with one value, wherever they have one."""
    return np.array([not varying(column[:, None])[0] for column in table.columns])


def functions(table: CheckedTable) -> Iterator[Finding]:
    """Columns that the context or other columns determine, or nearly."""
    of_context = ~table.still & ~table.varies
    if of_context.any():
        named = table.named(of_context)
        text = f"The context determines {listed(named)}: nothing is left to have edges. Take it out of X or out of Z."
        yield Finding("function of the context", "serious", text, named, float(table.left[of_context].max()))
    n, q = table.basis.shape
    columns = np.flatnonzero(table.varies)
    if len(columns) < 2 or n < 2 * (len(columns) + q):
        return  # with so few rows every column is nearly a function of the others
    # As they are, and as a fit transforms them: a column may be a linear function of others in one of these ways only.
    ties = [_Ties.of(table.residuals[:, columns], q)]
    if table.transforms.change:
        ties.append(_Ties.of(table.residuals_transformed[:, columns], q))
    exact = np.any([tie.left < EXACT for tie in ties], axis=0)
    if exact.any():
        named = tuple(table.names[column] for column in columns[exact])
        left = np.min([tie.left[exact].max() for tie in ties])
        text = f"Each of {listed(named)} is a linear function of the others of them. Edges there mean little; leave one out."
        said = _if_transformed(table, columns, ties, exact & (ties[0].left >= EXACT), ties[-1].left < EXACT)
        yield Finding("function of other columns", "serious", text + said, named, float(1 - max(left, 0.0)))
    products = ~exact & _of_products(table, columns, exact)
    if products.any():
        named = tuple(table.names[column] for column in columns[products])
        verb, it = ("is", "it") if len(named) == 1 else ("are each", "them")
        text = (
            f"{listed(named)} {verb} a function of the other columns and the context: a sum of the others, with weights "
            f"that change with the context. Edges there mean little; leave {it} out."
        )
        yield Finding("function of other columns and the context", "serious", text, named, 1.0)
    left = np.min([tie.left for tie in ties], axis=0)
    known = exact | products
    nearly = ~known & (left < 1 - NEARLY)
    strongly = ~known & ~nearly & (left < 1 - STRONGLY)
    if nearly.any():
        yield Finding("nearly a function of others", "warning", *_tied(table, columns, nearly, ties))
    if strongly.any():
        yield Finding("strongly tied to others", "note", *_tied(table, columns, strongly, ties))


@dataclass(frozen=True)
class _Ties:
    """What columns tell of one another.

    Attributes
    ----------
    left : array of shape (p,)
        Share of the variance of each that the others leave.
    precision : array of shape (p, p)
        Inverse of their correlations.
    """

    left: Array
    precision: Array

    @classmethod
    def of(cls, residuals: Array, q: int) -> "_Ties":
        """Of residuals (n, p) of regressions on q terms."""
        n, p = residuals.shape
        values, vectors = np.linalg.eigh(np.corrcoef(residuals, rowvar=False))
        # The diagonal of the inverse of a correlation matrix is one over the share of the variance that the others leave.
        precision = (vectors / np.maximum(values, 1e-3 * EXACT)) @ vectors.T
        return cls(1 / np.diag(precision) * (n - q) / (n - q - p + 1), precision)


def _if_transformed(table: CheckedTable, columns: NDArray[np.intp], ties: list[_Ties], anew: Flags, judged: Flags) -> str:
    """A sentence on the transforms of columns that were `judged`, if some are only tied `anew`, as transformed."""
    if len(ties) == 1 or not anew.any():
        return ""
    flags = np.zeros(len(table.names), dtype=bool)
    flags[columns[judged]] = True
    return table.after_transforms(flags)


def _tied(
    table: CheckedTable, columns: NDArray[np.intp], tied: Flags, ties: list[_Ties]
) -> tuple[str, tuple[str, ...], float]:
    """Message, columns and value of a finding on columns that others explain, as they are or as a fit transforms them."""
    names = [table.names[column] for column in columns]
    left = np.min([tie.left for tie in ties], axis=0)
    chosen = np.flatnonzero(tied)
    first = chosen[left[chosen].argmin()]
    coefficient = np.abs(min(ties, key=lambda tie: float(tie.left[first])).precision[first])
    coefficient[first] = 0
    is_partner = coefficient > 0.2 * coefficient.max()
    partners = [names[k] for k in np.argsort(-coefficient) if is_partner[k]]
    named = tuple(names[k] for k in chosen)
    anew = tied & (ties[-1].left < ties[0].left)
    message = (
        f"The others explain this share of the variance of {with_values(named, (1 - left[chosen]).tolist(), '.3f')}; "
        f"that of '{names[first]}' mostly {listed(partners[:4])}. Data hardly tell directions among such columns; leave one "
        f"out if it is computed from the others.{_if_transformed(table, columns, ties, anew, anew | is_partner)}"
    )
    return message, named, float(1 - left[first])


def _of_products(table: CheckedTable, columns: NDArray[np.intp], known: Flags) -> Flags:
    """Which columns are sums of the others with weights that are linear in the context; some are `known` to be functions."""
    found = np.zeros(len(columns), dtype=bool)
    Z = table.Z[:, varying(table.Z)]
    n, q = table.basis.shape
    width = len(columns) * (1 + Z.shape[1]) + q
    if not Z.shape[1] or q <= Z.shape[1] or width > WIDEST or n < 2 * width:
        return found
    Z = (Z - Z.mean(0)) / Z.std(0)
    # A function is one in any rows, so some of them tell where to look at all.
    some = slice(None, None, -(-n // max(FEW_ROWS, 2 * width)))
    for X in (table.X, table.transformed)[: 1 + table.transforms.change]:
        X = (X[:, columns] - X[:, columns].mean(0)) / X[:, columns].std(0)
        for k in np.flatnonzero(~known & ~found).tolist():
            found[k] = all(_left_by_products(X[rows], Z[rows], table.basis[rows], k) < EXACT for rows in (some, slice(None)))
    return found


def _left_by_products(X: Array, Z: Array, basis: Array, k: int) -> float:
    """Share of the variance of column k given the context that others, and their products with the context, leave."""
    others = np.delete(X, k, axis=1)
    products = (others[:, :, None] * Z[:, None, :]).reshape(len(X), -1)
    design = np.hstack([basis, others, products])
    given_context, left = (X[:, k] - A @ np.linalg.lstsq(A, X[:, k], rcond=None)[0] for A in (basis, design))
    return float((left**2).sum() / max((given_context**2).sum(), EXACT * len(X)))


def means(table: CheckedTable) -> Iterator[Finding]:
    """Means that move with the context."""
    n, q = table.basis.shape
    if q < 2:
        return
    explained = 1 - table.left * (n - 1) / (n - q)
    # An F test needs noise of one size.
    even = standardised((table.X - table.X.mean(0)) / scales_given_context(table.residuals, table.basis))
    gained = (fitted(even, table.basis) ** 2).mean(0)
    statistic = gained / (q - 1) / np.maximum((1 - gained) / (n - q), 1e-300)
    moves = (f.sf(statistic, q - 1, n - q) < LEVEL / len(table.names)) & (explained > MOVES) & table.varies
    if moves.any():
        named = table.named(moves)
        yield Finding(
            "means move with the context",
            "note",
            f"The context explains this share of the variance of {with_values(named, explained[moves].tolist())}. A fit "
            'takes these means out first; keep intercept="contextual".',
            named,
            float(explained[moves].max()),
        )


def heavy_tails(table: CheckedTable) -> Iterator[Finding]:
    """Columns with many values far out."""
    if table.heavy.any():
        named = table.named(table.heavy)
        share = (np.abs(table.scaled) > FAR).mean(0)[table.heavy]
        yield Finding(
            "heavy tails",
            "note",
            f"Noise of a normal kind has hardly any value {FAR:g} robust standard deviations from its mean; here it is this "
            f"share: {with_values(named, share.tolist(), '.1%')}.{table.after_transforms(table.heavy)} A few large values "
            'may carry edges; the transform "normal-scores" of these columns goes by ranks instead (in the terminal, '
            "--transform NAME=normal-scores).",
            named,
            float(share.max()),
        )


def discrete(table: CheckedTable) -> Iterator[Finding]:
    """Columns with few values, which are treated as numbers."""
    count = np.array([len(np.unique(column)) for column in table.columns])
    whole = np.array([(np.round(column) == column).all() for column in table.columns])
    binary = count == 2
    if binary.any():
        text = (
            f"Two values only: {listed(table.named(binary))}. They are treated as numbers: where one is coded 0 and 1, the "
            "weight of an edge into it is a difference of risk, and predictions may leave that range."
        )
        yield Finding("binary columns", "note", text, table.named(binary), float(binary.sum()))
    counts = whole & (count > 2) & (count <= min(FEW_VALUES, len(table.all_rows) / 5))
    if counts.any():
        text = (
            f"Few whole numbers only: {listed(table.named(counts))}. Counts and grades are treated as numbers, with steps "
            "of equal size and noise that does not depend on the level. (A fit takes logarithms of counts beyond ten "
            "with a long upper tail, unless its 'transform' parameter says otherwise.)"
        )
        yield Finding("counts or grades", "note", text, table.named(counts), float(counts.sum()))
