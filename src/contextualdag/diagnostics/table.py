"""Checks of a table before anything is fitted to it."""

from typing import Any

from contextualdag.diagnostics import columns, rows
from contextualdag.diagnostics.checked_table import CheckedTable
from contextualdag.diagnostics.findings import Finding, by_severity

ENOUGH = 20  # rows from which on tests are made
FOR_FEW_ROWS = (rows.few_rows, columns.constant, columns.units)
CHECKS = (
    *FOR_FEW_ROWS,
    columns.functions,
    rows.contexts,
    rows.neighbours,
    rows.outliers,
    rows.duplicates,
    columns.means,
    columns.heavy_tails,
    columns.discrete,
)


def check_table(X: Any, Z: Any = None) -> list[Finding]:
    """Look for what may go wrong in a fit, before it is made.

    Tests are made at a level of 1 %, over all columns together, and small effects are passed over. So a table of enough
    independent rows, whose noise is about normal, gives no findings.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables; rows are samples.
    Z : array or DataFrame of shape (n, m), optional
        Contexts of the same samples.

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
    table = CheckedTable.read(X, Z)
    checks = CHECKS if len(table.X) >= ENOUGH else FOR_FEW_ROWS
    return by_severity(finding for check in checks for finding in check(table))
