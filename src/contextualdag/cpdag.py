"""The completed partially directed acyclic graph (CPDAG) of a DAG: what observational data can identify of it.

DAGs with the same adjacent pairs and the same v-structures (j -> k <- l with j and l not adjacent) imply the same
conditional independences. An edge is directed in the CPDAG if all those DAGs agree on its direction, otherwise undirected.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from contextualdag.errors import CyclicGraphError
from contextualdag.graphs import check_batch, is_acyclic

__all__ = ["check_acyclic", "cpdag", "distinct", "untold"]

Edges = NDArray[np.bool_]


def cpdag(graphs: ArrayLike, told: ArrayLike | None = None) -> Edges:
    """Find the CPDAG of every graph of a batch.

    Parameters
    ----------
    graphs : array of shape (n, p, p)
        DAGs, as weights or booleans; ``graphs[i, j, k] != 0`` is the edge j -> k of graph i.
    told : array of shape (p, p), optional
        Edges whose direction is known anyway, where a graph has them: since the other is not possible, or because an
        experiment tells. Directions that follow from these are found, too.

    Returns
    -------
    array of bool, shape (n, p, p)
        A directed edge j -> k is true at [j, k] only, an undirected edge j - k at [j, k] and at [k, j].

    Raises
    ------
    CyclicGraphError
        If a graph has a cycle.

    Examples
    --------
    A chain has the same CPDAG as a fork, with undirected edges. A collider is alone in its class.

    >>> import numpy as np
    >>> from contextualdag.cpdag import cpdag
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> collider = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> cpdag([chain, collider]).astype(int)
    array([[[0, 1, 0],
            [1, 0, 1],
            [0, 1, 0]],
    <BLANKLINE>
           [[0, 1, 0],
            [0, 0, 0],
            [0, 1, 0]]])
    """
    edges = np.asarray(graphs) != 0
    check_acyclic(edges, "graphs")
    # Neighbouring contexts mostly share a graph, so each graph is completed once.
    first, of_each = distinct(edges)
    arrows, lines = _complete(edges[first], None if told is None else np.asarray(told) != 0)
    return (arrows | lines)[of_each]


def untold(edges: ArrayLike, told: ArrayLike, doubtful: ArrayLike) -> Edges:
    """Find the pairs without a direction in graphs that vary, from the edges that they have in some context.

    Noise of unknown size is the same in all contexts. So an edge whose weight varies cannot be turned round, and one whose
    weight is constant either has the same direction in all contexts or could be turned round in all of them.

    Parameters
    ----------
    edges : array of shape (p, p)
        Not zero at [j, k] if j -> k is an edge in some context. A pair may be an edge in either direction, and there may be
        cycles.
    told : array of shape (p, p)
        Edges whose direction is known: since their weights vary, or since the other direction is not possible.
    doubtful : array of shape (p, p)
        Edges too uncertain for the directions of others to follow from theirs.

    Returns
    -------
    array of bool, shape (p, p)
        Pairs whose direction neither is told nor follows from those that are and from v-structures, in both orders.

    Examples
    --------
    In a chain whose first edge varies the second must not make a collider of it. The first does not follow from the second.

    >>> import numpy as np
    >>> from contextualdag.cpdag import untold
    >>> chain, none = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), np.zeros((3, 3))
    >>> first, second = chain * [[1], [0], [0]], chain * [[0], [1], [0]]
    >>> untold(chain, first, none).any()
    np.False_
    >>> untold(chain, second, none).astype(int)
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 0]])
    """
    known, there, unsure = (np.asarray(one) != 0 for one in (told, edges, doubtful))
    unsure = there & (unsure | unsure.T)
    _, lines = _complete((there & ~unsure)[None], known, (there | there.T)[None])
    unsure = unsure & ~known
    found: Edges = lines[0] | unsure | unsure.T
    return found


def check_acyclic(edges: Edges, name: str) -> None:
    """Raise `CyclicGraphError` if one of the graphs, called `name` in the message, has a cycle."""
    tensor = torch.from_numpy(edges)
    check_batch(tensor, name)
    cyclic = (~is_acyclic(tensor)).nonzero().flatten().tolist()
    if cyclic:
        raise CyclicGraphError(
            f"{name} must hold acyclic graphs. {len(cyclic)} of its {len(edges)} graphs have a cycle, the first is graph "
            f"{cyclic[0]}. `contextualdag.graphs.break_cycles` removes cycles."
        )


def distinct(rows: Edges) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct rows (of any shape): the first index of each, and which of them each row equals."""
    bits = np.packbits(rows.reshape(len(rows), -1), axis=1)
    _, first, of_each = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return first, of_each.reshape(-1)  # numpy 2.0 returns the latter as a column


def _complete(dag: Edges, told: Edges | None, joined: Edges | None = None) -> tuple[Edges, Edges]:
    """The directions of v-structures, those that are told and what Meek's rules (1995) derive from them; the other pairs.

    Rules one to three are enough if the directions come from v-structures only. Each is sound, so a direction never
    contradicts the DAG, and rules may be applied to all pairs at once. More pairs may be `joined` than those of the DAG.
    """
    adjacent = dag | _reverse(dag)
    apart = ~((adjacent if joined is None else joined) | np.eye(dag.shape[1], dtype=bool))
    arrows = dag & _via(apart, dag)
    if told is not None:
        arrows |= dag & told
    while True:
        lines = adjacent & ~(arrows | _reverse(arrows))
        # 1: l -> j - k with l, k apart; k -> j would be a new v-structure. 2: j -> l -> k; k -> j would close a cycle.
        forced = _via(_reverse(arrows), apart) | _via(arrows, arrows) | _third_rule(arrows, lines, apart)
        if told is not None:
            forced |= _fourth_rule(arrows, lines, adjacent, apart)
        new = lines & forced & dag
        if not new.any():
            return arrows, lines
        arrows |= new


def _third_rule(arrows: Edges, lines: Edges, apart: Edges) -> Edges:
    """Find j - k with j - l -> k and j - m -> k, l and m apart; k -> j would force l -> j <- m, a new v-structure."""
    forced = np.zeros_like(arrows)
    # The search costs p**4 per graph, and few graphs have a line with two such paths around it.
    some = np.flatnonzero((lines & (_count(lines, arrows) >= 2)).any((1, 2)))
    arrows, lines, apart = arrows[some], lines[some], apart[some]
    for k in range(arrows.shape[1] if len(some) else 0):
        ways = lines & arrows[:, None, :, k]
        forced[some, :, k] = (ways & _via(ways, apart)).any(2)
    return forced


def _fourth_rule(arrows: Edges, lines: Edges, adjacent: Edges, apart: Edges) -> Edges:
    """Find j - k with l -> m -> k, both l and m adjacent to j, l and k apart; k -> j would force l -> j and a cycle."""
    forced = np.zeros_like(arrows)
    for j in np.flatnonzero(lines.any((0, 2))):
        ways = _via(arrows & adjacent[:, j, None, :], arrows) & apart  # from l to k by an m that is adjacent to j
        forced[:, j] = (ways & adjacent[:, j, :, None]).any(1)
    return forced


def _via(first: Edges, second: Edges) -> Edges:
    """Which pairs (j, k) have a node l with ``first[j, l]`` and ``second[l, k]``."""
    return np.asarray(_count(first, second) > 0)


def _count(first: Edges, second: Edges) -> NDArray[np.float32]:
    """Count the nodes l with ``first[j, l]`` and ``second[l, k]``; in floats, since numpy multiplies integers slowly."""
    return first.astype(np.float32) @ second.astype(np.float32)


def _reverse(edges: Edges) -> Edges:
    return edges.transpose(0, 2, 1)
