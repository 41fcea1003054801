"""How two graphs differ, edge by edge."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextualdag.tables import Array

SMALL = 0.1  # of the largest weight of both graphs: smaller changes count as none
RANKS = {"reversed": 0, "only in A": 1, "only in B": 1, "other sign": 2, "stronger in A": 3, "stronger in B": 3, "same": 4}


@dataclass(frozen=True)
class Difference:
    """An edge of at least one of two graphs A and B.

    Attributes
    ----------
    source, target : int
        Nodes of the edge.
    a, b : float
        Its weight in each graph, 0 where it is absent.
    kind : str
        "reversed" (the other graph has it in the other direction), "only in A", "only in B", "other sign", "stronger in
        A", "stronger in B" or "same".
    """

    source: int
    target: int
    a: float
    b: float
    kind: str


def edge_changes(W1: Array, W2: Array, small: float = SMALL) -> dict[str, NDArray[np.bool_]]:
    """Sort the edges of two graphs by how they change from the first to the second.

    Parameters
    ----------
    W1, W2 : array of shape (p, p)
        Weights before and after.
    small : float, default=0.1
        Changes of a weight by at most this fraction of the largest weight count as none.

    Returns
    -------
    dict of str to array of bool, shape (p, p)
        "gained", "lost", "reversed" (in its new direction), "changed" and "same": every edge is in one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting import edge_changes
    >>> before, after = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.5, 0.0]])
    >>> {kind: int(edges.sum()) for kind, edges in edge_changes(before, after).items()}
    {'gained': 0, 'lost': 0, 'reversed': 1, 'changed': 0, 'same': 0}
    """
    before, after = np.asarray(W1) != 0, np.asarray(W2) != 0
    is_reversed = after & before.T & ~before
    differs = np.abs(W2 - W1) > small * max(float(np.abs(W1).max()), float(np.abs(W2).max()))
    differs |= np.sign(W1) != np.sign(W2)
    both = before & after
    return {
        "gained": after & ~before & ~is_reversed,
        "lost": before & ~after & ~is_reversed.T,
        "reversed": is_reversed,
        "changed": both & differs,
        "same": both & ~differs,
    }


def differences(A: Array, B: Array, units: Array | None = None) -> list[Difference]:
    """All edges of two graphs with their differences: changes of structure first, then by weight.

    Parameters
    ----------
    A, B : array of shape (p, p)
        ``A[j, k]`` is the effect of j on k.
    units : array of shape (p, p), optional
        What weights are multiplied by before their sizes are compared.

    Returns
    -------
    list of Difference

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.differences import differences
    >>> A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> [(one.source, one.target, one.kind) for one in differences(A, B)]
    [(0, 1, 'reversed'), (1, 0, 'reversed')]
    """
    units = np.ones(A.shape) if units is None else units
    changes = edge_changes(A * units, B * units)
    is_reversed = changes["reversed"] | changes["reversed"].T
    kinds = np.select(
        [is_reversed, changes["lost"], changes["gained"], changes["same"], A * B < 0, np.abs(A) > np.abs(B)],
        ["reversed", "only in A", "only in B", "same", "other sign", "stronger in A"],
        "stronger in B",
    )
    found = [
        Difference(int(j), int(k), float(A[j, k]), float(B[j, k]), str(kinds[j, k]))
        for j, k in np.argwhere((A != 0) | (B != 0))
    ]
    return sorted(found, key=lambda one: (RANKS[one.kind], -_size(one, units), one.source, one.target))


def _size(one: Difference, units: Array) -> float:
    return max(abs(one.a), abs(one.b)) * float(units[one.source, one.target])
