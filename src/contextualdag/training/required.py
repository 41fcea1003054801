"""Edges that every graph has to have.

Networks and searches learn graphs in which such an edge may be missing, where it does not help to predict, but is never
reversed. Where it is missing it is added, with the weight that fits best there, and edges that would close a cycle with it
are dropped. Numbers of edges count them, see `numbers_of_edges`.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from contextualdag.graphs import is_acyclic, order_to_mask, topological_order
from contextualdag.projection import Order
from contextualdag.training.data import Rows
from contextualdag.training.loss import entry_weights, residuals

BY_FAR = 1e3  # times the largest weight, so that no set of other edges outweighs a required one


def required_weights(W: Tensor, rows: Rows, required: Tensor) -> Tensor:
    """Weights (p, p) for edges that are missing in graphs W (n, p, p): least squares on the rows that lack each.

    If none lacks it, the weight is the mean. Rows where the target is not scored do not count.
    """
    weights = torch.zeros_like(W[0], dtype=torch.float64)
    left = residuals(rows.X, W).double()
    counts = entry_weights(rows)
    for j, k in required.nonzero().tolist():
        lacking = W[:, j, k] == 0
        weights[j, k] = W[:, j, k].double().mean()
        if bool(lacking.any()):
            source = rows.X[lacking, j].double()
            weighted = source if counts is None else source * counts[lacking, k]
            weights[j, k] = (weighted * left[lacking, k]).sum() / (weighted * source).sum().clamp_min(1e-300)
    # A weight of zero would be no edge.
    smallest = torch.finfo(torch.float32).eps
    return torch.where(required.to(weights.device) & (weights.abs() < smallest), smallest, weights).float()


def with_required(W: Tensor, weights: Tensor) -> Tensor:
    """Graphs (n, p, p) with the required edges, whose weights (p, p) are not zero; acyclic as before."""
    weights = weights.to(W)
    required = weights != 0
    completed = torch.where(required & (W == 0), weights, W)
    cyclic = ~is_acyclic(completed)
    if bool(cyclic.any()):
        completed[cyclic] = _without_cycles(completed[cyclic], required)
    return completed


def numbers_of_edges(W: Tensor, cuts: Sequence[float], required: Tensor) -> list[float]:
    """Mean numbers of edges of graphs (n, p, p) without weights up to each of some rising cuts, required edges included.

    Where the edges of an uncut graph and the required ones have no cycle, nothing is dropped for any cut, and what is left
    of the other edges is counted. The other graphs are completed for each cut. Numbers never rise: a search for an order
    may find more edges after a cut than before, and the smaller number counts then.
    """
    required = (required != 0).to(W.device)
    acyclic = is_acyclic(torch.where(required, 1.0, W))
    others = torch.where(required, 0, W[acyclic])
    sizes = others[others != 0].abs().sort().values.cpu().numpy()
    left = len(sizes) - np.searchsorted(sizes, np.asarray(cuts, dtype=sizes.dtype), side="right")
    counts = (left + int(required.sum()) * int(acyclic.sum())).tolist()
    cyclic = W[~acyclic]
    if len(cyclic):
        for place, cut in enumerate(cuts):
            left_of_cyclic = torch.where(cyclic.abs() > cut, cyclic, 0)
            counts[place] += int((with_required(left_of_cyclic, required) != 0).sum())
    found: list[float] = (np.minimum.accumulate(counts) / len(W)).tolist()
    return found


def _without_cycles(W: Tensor, required: Tensor) -> Tensor:
    """An acyclic part of graphs that has all required edges, which are acyclic themselves."""
    strength = W.abs() / W.abs().flatten(1).amax(1).clamp_min(1e-30)[:, None, None]
    kept = torch.where(Order()(torch.where(required, BY_FAR, strength)) != 0, W, 0)
    lost = (required & (kept == 0)).flatten(1).any(1)
    if bool(lost.any()):
        # The search for an order has no guarantee; an order of the required edges alone has.
        forward = order_to_mask(topological_order(required[None].to(W.dtype)))[0]
        kept[lost] = W[lost] * forward
    return kept
