"""Which edges to draw where there are more than an eye can follow."""

import numpy as np

from contextualdag.errors import InvalidParameterError

MOST_EDGES = 100


def strongest(W: np.ndarray, most: int = MOST_EDGES) -> np.ndarray:
    """Edges that are among the `most` strongest of at least one graph.

    So an edge that is drawn in one of several graphs is drawn in all that have it, and none seems to come and go that stays.

    Parameters
    ----------
    W : array of shape (n, p, p)
        Graphs.
    most : int, default=100
        So many from each.

    Returns
    -------
    array of bool of shape (p, p)

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting.strongest import strongest
    >>> int(strongest(np.array([[[0.0, 1.0, -2.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]]), most=2).sum())
    2
    """
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise InvalidParameterError(f"max_edges must be an integer of at least 1. Got {most!r} instead.")
    sizes = np.abs(W).reshape(len(W), -1)
    first = np.argsort(-sizes, axis=1, kind="stable")[:, :most]
    kept = np.zeros(sizes.shape, dtype=bool)
    np.put_along_axis(kept, first, True, axis=1)
    found: np.ndarray = (kept & (sizes > 0)).any(0).reshape(W.shape[1:])
    return found
