"""A finding: what was seen, on what number it rests, and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["note", "warning", "serious"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
LEVEL = 0.01  # chance of a false alarm of each test, over all the columns or pairs that it looks at
MOST_NAMED = 6


@dataclass(frozen=True)
class Finding:
    """One thing that a check has found.

    Attributes
    ----------
    name : str
        What it is, in a few words; the same for every table.
    severity : {"note", "warning", "serious"}
        A note is good to know, a warning can change what graphs mean, and with what is serious they mean little.
    message : str
        What was seen, with numbers and names, and what to do.
    columns : tuple of str
        Columns that it is about; empty where it is about rows or all of the table.
    value : float
        The number that it rests on, as the message says.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.diagnostics import check_table
    >>> X = np.random.default_rng(0).standard_normal((200, 3)) * [1, 1, 0]
    >>> for finding in check_table(X):
    ...     print(finding)
    warning, constant columns: 'x3' does not vary and gets no edges. Leave it out.
    """

    name: str
    severity: Severity
    message: str
    columns: tuple[str, ...]
    value: float

    def __str__(self) -> str:
        return f"{self.severity}, {self.name}: {self.message}"


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """The most serious first, else in the order given."""
    return sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))


def with_values(names: Sequence[str], values: Sequence[float], form: str = ".2f", most: int = MOST_NAMED) -> str:
    """Names with numbers, the largest in size first: 'a' (0.93), 'b' (0.91) and 3 more."""
    ranked = sorted(zip(names, values, strict=True), key=lambda pair: -abs(pair[1]))
    more = f" and {len(ranked) - most} more" if len(ranked) > most else ""
    return ", ".join(f"'{name}' ({value:{form}})" for name, value in ranked[:most]) + more


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"
