"""Functions of batches of directed graphs, computed for all graphs at once.

A batch is a tensor ``W`` of shape (n, p, p). ``W[i, j, k] != 0`` means that graph i has the edge j -> k.
"""

import torch
from torch import Tensor

from contextualdag.errors import CyclicGraphError, InvalidInputError

__all__ = ["acyclic_threshold", "break_cycles", "check_batch", "is_acyclic", "order_to_mask", "topological_order"]


def check_batch(W: Tensor, name: str = "W") -> None:
    """Raise `InvalidInputError` unless `W` is a tensor of square matrices, shape (n, p, p)."""
    if not isinstance(W, Tensor):
        raise InvalidInputError(f"{name} must be a torch.Tensor of shape (n, p, p). Got {type(W).__name__} instead.")
    if W.layout != torch.strided:
        raise InvalidInputError(f"{name} must be a dense tensor. Got layout {W.layout} instead; convert it with to_dense().")
    if W.ndim != 3 or W.shape[1] != W.shape[2]:
        raise InvalidInputError(
            f"{name} must hold one square matrix per sample, shape (n, p, p). Got shape {tuple(W.shape)} instead."
        )


def is_acyclic(W: Tensor) -> Tensor:
    """Find the graphs of a batch that have no cycle.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Weights; an edge is an entry different from zero. A nonzero diagonal entry is a cycle.

    Returns
    -------
    Tensor of bool, shape (n,)

    Examples
    --------
    >>> import torch
    >>> from contextualdag.graphs import is_acyclic
    >>> forward, back = torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> is_acyclic(torch.stack([forward, back, forward + back]))
    tensor([ True,  True, False])
    """
    check_batch(W)
    return (_depth(W) >= 0).all(1)


def topological_order(W: Tensor) -> Tensor:
    """Sort the nodes of every graph so that each edge points forward.

    Nodes are sorted by depth (the number of edges on the longest path that ends in them), and by index where the
    depth is equal.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Acyclic graphs.

    Returns
    -------
    Tensor of int64, shape (n, p)
        ``order[i, t]`` is the node at position t of graph i.

    Raises
    ------
    CyclicGraphError
        If a graph has a cycle.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.graphs import topological_order
    >>> topological_order(torch.tensor([[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]))
    tensor([[2, 1, 0]])
    """
    return _depth_of_acyclic(W).argsort(dim=1, stable=True)


def depth_first_order(W: Tensor) -> Tensor:
    """Sort the nodes of every graph so that each edge points forward, by depth-first search.

    Adding or removing an edge moves few nodes, so similar graphs have similar orders; `topological_order` is faster.
    Nodes without edges are sorted by decreasing index.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Acyclic graphs.

    Returns
    -------
    Tensor of int64, shape (n, p)
        ``order[i, t]`` is the node at position t of graph i.

    Raises
    ------
    CyclicGraphError
        If a graph has a cycle.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.graphs import depth_first_order
    >>> depth_first_order(torch.tensor([[[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]))
    tensor([[2, 0, 1]])
    """
    _depth_of_acyclic(W)
    orders = [_depth_first([row.nonzero()[0].tolist() for row in graph]) for graph in (W != 0).cpu().numpy()]
    return torch.tensor(orders, dtype=torch.int64, device=W.device).view(W.shape[:2])


def order_to_mask(order: Tensor) -> Tensor:
    """Mark the edges that an order allows.

    Parameters
    ----------
    order : Tensor of integers, shape (n, p)
        ``order[i, t]`` is the node at position t: each row is a permutation of 0, ..., p - 1.

    Returns
    -------
    Tensor of bool, shape (n, p, p)
        ``mask[i, j, k]`` is true where node j comes before node k.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.graphs import order_to_mask
    >>> order_to_mask(torch.tensor([[1, 0]]))
    tensor([[[False, False],
             [ True, False]]])
    """
    if not isinstance(order, Tensor) or order.ndim != 2 or order.is_floating_point() or order.dtype == torch.bool:
        got = f"{order.dtype} of shape {tuple(order.shape)}" if isinstance(order, Tensor) else type(order).__name__
        raise InvalidInputError(f"order must be an integer tensor of shape (n, p). Got {got} instead.")
    n, p = order.shape
    order = order.long()
    rank = torch.full_like(order, -1)
    in_range = bool(((order >= 0) & (order < p)).all())
    if in_range:
        rank.scatter_(1, order, torch.arange(p, device=order.device).expand(n, p))
    if not in_range or bool((rank < 0).any()):
        raise InvalidInputError(f"Each row of order must be a permutation of 0, ..., {p - 1}.")
    return rank[:, :, None] < rank[:, None, :]


def acyclic_threshold(W: Tensor) -> Tensor:
    """Find the smallest threshold that makes each graph acyclic.

    Dropping every edge with ``abs(w) <= threshold`` leaves a DAG, and no smaller threshold does. It is zero for an acyclic
    graph.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Weights, without NaN.

    Returns
    -------
    Tensor of shape (n,), dtype of `W`

    Examples
    --------
    >>> import torch
    >>> from contextualdag.graphs import acyclic_threshold
    >>> acyclic_threshold(torch.tensor([[[0.0, 3.0], [-2.0, 0.0]]]))
    tensor([2.])
    """
    check_batch(W)
    # A threshold breaks a cycle when it reaches the cycle's weakest edge. So the answer is the widest cycle: the largest,
    # over cycles, of the smallest |w| in it. Warshall's recursion over intermediate nodes finds the widest path between
    # every pair, and the diagonal holds the widest cycle through each node. Row and column v do not change in step v, so
    # the update may be done in place.
    width = _magnitude(W)
    if width.shape[1] == 0:
        return width.new_zeros(len(W))
    for v in range(W.shape[1]):
        torch.maximum(width, torch.minimum(width[:, :, v, None], width[:, v, None, :]), out=width)
    return width.diagonal(dim1=1, dim2=2).amax(1)


def break_cycles(W: Tensor, strength: Tensor | None = None) -> Tensor:
    """Drop the weakest edges of every graph until it is acyclic, and no more.

    Parameters
    ----------
    W : Tensor of shape (n, p, p)
        Weights.
    strength : Tensor of shape (n, p, p), optional
        Strengths of the edges, by default `W`. Edges are dropped in increasing order of ``abs(strength)``, those of strength
        zero always.

    Returns
    -------
    Tensor of shape (n, p, p)
        A new tensor; kept edges have their weights unchanged.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.graphs import break_cycles
    >>> break_cycles(torch.tensor([[[0.0, 3.0], [-2.0, 0.0]]]))
    tensor([[[0., 3.],
             [0., 0.]]])
    """
    check_batch(W)
    if strength is None:
        strength = W
    elif not isinstance(strength, Tensor) or strength.shape != W.shape:
        got = tuple(strength.shape) if isinstance(strength, Tensor) else type(strength).__name__
        raise InvalidInputError(f"strength must be a tensor with the shape of W, {tuple(W.shape)}. Got {got} instead.")
    strength = torch.where(W != 0, _magnitude(strength), 0)
    return torch.where(strength > acyclic_threshold(strength)[:, None, None], W, 0)


def _magnitude(W: Tensor) -> Tensor:
    """Absolute values, without gradient; booleans count as zero and one."""
    return W.long() if W.dtype == torch.bool else W.detach().abs()


def _depth_first(children: list[list[int]]) -> list[int]:
    """The nodes of one graph, each before its children: reversed postorder of a depth-first search."""
    left: list[int] = []
    seen: set[int] = set()
    for root in range(len(children)):
        waiting = [(root, False)]
        while waiting:
            node, is_done = waiting.pop()
            if is_done:
                left.append(node)
            elif node not in seen:
                seen.add(node)
                waiting.append((node, True))
                waiting += [(child, False) for child in reversed(children[node])]
    return left[::-1]


def _depth_of_acyclic(W: Tensor) -> Tensor:
    """The depth of every node; raises an error that names the cyclic graphs."""
    check_batch(W)
    depth = _depth(W)
    cyclic = (depth < 0).any(1).nonzero().flatten().tolist()
    if cyclic:
        shown = ", ".join(map(str, cyclic[:5])) + (", ..." if len(cyclic) > 5 else "")
        raise CyclicGraphError(
            f"A topological order exists only for acyclic graphs. {len(cyclic)} of the {len(W)} graphs have a cycle "
            f"(samples {shown}). `break_cycles` removes cycles."
        )
    return depth


def _depth(W: Tensor) -> Tensor:
    """Length of the longest path that ends in each node; -1 for nodes on a cycle or behind one."""
    n, p, _ = W.shape
    edges = W != 0
    n_parents = edges.sum(1)
    depth = torch.full((n, p), -1, dtype=torch.int64, device=W.device)
    for level in range(p):
        sources = (n_parents == 0) & (depth < 0)
        if not bool(sources.any()):
            break
        depth[sources] = level
        n_parents = n_parents - (edges & sources[:, :, None]).sum(1)
    return depth
