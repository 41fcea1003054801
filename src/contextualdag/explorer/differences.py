"""How two graphs differ, edge by edge."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from contextualdag.tables import Array

CHANGED = 0.25  # of the larger weight


@dataclass(frozen=True)
class Difference:
    """An edge that at least one of two graphs has; its weights there, and what became of it.

    `kind` is "only in A", "only in B", "turned" (the other graph has it the other way round), "other sign", "stronger in
    A", "stronger in B" (by a quarter of the larger weight) or "same".
    """

    source: int
    target: int
    a: float
    b: float
    kind: str


def differences(A: "Array", B: "Array") -> list[Difference]:
    """All edges of two graphs, those that differ in structure first, then by weight.

    Parameters
    ----------
    A, B : array of shape (p, p)
        ``A[j, k]`` is the effect of j on k.

    Returns
    -------
    list of Difference

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.explorer.differences import differences
    >>> A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> [(one.source, one.target, one.kind) for one in differences(A, B)]
    [(0, 1, 'turned'), (1, 0, 'turned')]
    """
    found = []
    for j, k in zip(*np.nonzero((A != 0) | (B != 0)), strict=True):
        found.append(Difference(int(j), int(k), float(A[j, k]), float(B[j, k]), _kind(A, B, j, k)))
    return sorted(found, key=lambda one: (_rank(one.kind), -max(abs(one.a), abs(one.b)), one.source, one.target))


def _kind(A: "Array", B: "Array", j: int, k: int) -> str:
    a, b = A[j, k], B[j, k]
    if a == 0 or b == 0:
        if (A if a == 0 else B)[k, j] != 0:
            return "turned"
        return "only in B" if a == 0 else "only in A"
    if a * b < 0:
        return "other sign"
    if abs(a - b) > CHANGED * max(abs(a), abs(b)):
        return "stronger in A" if abs(a) > abs(b) else "stronger in B"
    return "same"


def _rank(kind: str) -> int:
    return {"turned": 0, "only in A": 1, "only in B": 1, "other sign": 2, "same": 4}.get(kind, 3)
