"""Checks of a table before anything is fitted to it."""

from collections.abc import Mapping
from typing import Any

from contextualdag.diagnostics import columns, rows
from contextualdag.diagnostics.checked_table import ENOUGH, CheckedTable
from contextualdag.diagnostics.findings import Finding, by_severity

CHECKS = (
    rows.few_rows,
    columns.missing,
    columns.constant,
    columns.units,
    columns.functions,
    columns.identifiers,
    columns.dates_as_text,
    rows.contexts,
    rows.neighbours,
    rows.outliers,
    rows.duplicates,
    columns.means,
    columns.heavy_tails,
    columns.discrete,
)
FOR_FEW_ROWS = {rows.few_rows, columns.missing, columns.constant, columns.units, columns.identifiers, columns.dates_as_text}
FOR_ALL_ROWS = FOR_FEW_ROWS | {rows.contexts, columns.discrete}  # the others look at rows without missing values


def check_table(
    X: Any,
    Z: Any = None,
    groups: Any = None,
    *,
    cyclic: Mapping[str, float] | None = None,
    transform: str | Mapping[str, str] = "auto",
) -> list[Finding]:
    """Look for what may go wrong in a fit, before it is made.

    Tests are made at a level of 1 %, over all columns together, and small effects are passed over. So a table of enough
    independent rows, whose noise is about normal, gives no findings.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables; rows are samples. Missing values are a finding. Then checks of single columns look at the values that are
        there, and all others at complete rows.
    Z : array or DataFrame of shape (n, m), optional
        Contexts of the same samples, without missing values.
    groups : sequence of shape (n,), optional
        What rows belong to, such as persons or weeks, as in a fit. Rows of one group may depend on one another; whether
        neighbours do is asked of groups instead of rows.
    cyclic : dict of str to float, optional
        Periods of context features that come back, as of the estimators.
    transform : str or dict of str to str, default="auto"
        How a fit transforms variables, as of the estimators. Tails and outliers are judged afterwards; functions of other
        columns are looked for before and afterwards.

    Returns
    -------
    list of Finding
        The most serious first; empty if nothing was found.

    Examples
    --------
    >>> from contextualdag.datasets import make_varying_dag
    >>> from contextualdag.diagnostics import check_table
    >>> data = make_varying_dag(500, n_nodes=5, n_edges=6, random_state=0)
    >>> check_table(data.X, data.Z)
    []
    >>> X = data.X.copy()
    >>> X[:, 4] = X[:, 0] + 2 * X[:, 1]
    >>> [finding.name for finding in check_table(X, data.Z)]
    ['function of other columns']
    """
    table = CheckedTable.read(X, Z, groups, cyclic, transform)
    checks = set(CHECKS)
    if len(table.rows) < ENOUGH:
        checks = FOR_ALL_ROWS if len(table.all_rows) >= ENOUGH else FOR_FEW_ROWS
    if not table.names:
        checks = {columns.missing}
    return by_severity(finding for check in CHECKS if check in checks for finding in check(table))
