"""Total effects: what passes along all directed ways from one variable to another."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from contextualdag.tables import Array


def total_effects(W: "Array") -> "Array":
    """Sum over all directed ways of the product of their weights.

    In x = Wᵀx + ε, one unit more of ε in variable j moves variable k by ``total_effects(W)[j, k]``. With W acyclic that
    is (I - W)⁻¹ - I, a finite sum of powers of W.

    Parameters
    ----------
    W : array of shape (p, p)
        ``W[j, k]`` is the direct effect of j on k; acyclic.

    Returns
    -------
    array of shape (p, p)

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.explorer.effects import total_effects
    >>> total_effects(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]))
    array([[0., 2., 7.],
           [0., 0., 3.],
           [0., 0., 0.]])
    """
    identity = np.eye(len(W))
    totals = np.linalg.inv(identity - W) - identity
    # Where there is no way there is no effect, whatever the inverse left there in the last digit.
    ways = W != 0
    for _ in range(len(W).bit_length()):
        ways = ways | ((ways.astype(np.float64) @ ways) > 0)
    cleaned: Array = np.where(ways, totals, 0.0)
    return cleaned
