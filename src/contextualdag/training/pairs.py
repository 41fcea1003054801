"""Networks and projections on the few pairs of variables that can be an edge, where that is cheaper than on all.

Along a path most pairs are dropped, and a refit is confined to a support. What is computed for the others is known to be
zero. On the CPU they are left out: the cost of a training then follows the number of pairs that are left. Results are the
same but for rounding. On a GPU all pairs cost little more than a few.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from contextualdag.network import ContextNetwork, PairNetwork, linear
from contextualdag.projection import DAGProjection, Order
from contextualdag.projection.layer import PairProjection
from contextualdag.training.trainer import NoProjection

BLOCK, LARGE_BLOCK = 256, 4096  # rows that are evaluated at once, on the CPU and elsewhere
MOST_LIVE = 0.8  # share of all entries from which on leaving out the others saves nothing


def few_pairs(network: ContextNetwork, *masks: Tensor | None) -> Tensor | None:
    """Pairs that can be an edge, as positions in the flattened matrix, one at least; None if they are too many to matter.

    Those cannot be an edge whose weights are zero (see `ContextNetwork.drop`) and those that no mask lets through. Masks are
    one for each row.
    """
    if network.places.device.type != "cpu":
        return None
    live = network.live
    given = [mask for mask in masks if mask is not None]
    if given and len(given) == len(masks):
        live = live & torch.stack([mask.any(0) for mask in given]).any(0)
    pairs = live.flatten().nonzero().flatten()
    if len(pairs) >= MOST_LIVE * network.n_nodes**2:
        return None
    return pairs if len(pairs) else network.places[:1]


def layer_on_pairs(layer: nn.Module, pairs: Tensor, n_nodes: int) -> nn.Module | None:
    """A layer with the same settings for some pairs; None if it needs all."""
    if isinstance(layer, NoProjection):
        return layer
    if not isinstance(layer, DAGProjection) or layer.all_reduce is not None or isinstance(layer.l1_budget, list):
        return None
    order = layer.acyclicity
    if not isinstance(order, Order) or not order.takes_pairs(pairs.device, n_nodes):
        return None
    own = PairProjection(pairs, n_nodes, layer.l1_budget, order).train(layer.training)
    own.keep_threshold(layer.threshold)
    return own


@torch.no_grad()
def graphs(network: ContextNetwork, layer: nn.Module, Z: Tensor, mask: Tensor | None) -> Tensor:
    """Graphs (n, p, p) of a network behind a layer, whose threshold is set as usual.

    The weights of a context do not depend on the others in `Z`, to the bit; behind a layer in eval mode graphs do neither.
    """
    pairs = few_pairs(network)
    own = None if pairs is None else layer_on_pairs(layer, pairs, network.n_nodes)
    if pairs is None or own is None:
        W: Tensor = layer(_in_blocks(network, Z), mask)
        return W
    p = network.n_nodes
    W = torch.zeros(len(Z), p * p, dtype=Z.dtype)
    entries = _in_blocks(_entries(network, pairs), Z)
    W[:, pairs] = own(entries, None if mask is None else mask.flatten(1)[:, pairs])
    if isinstance(layer, DAGProjection) and isinstance(own, DAGProjection) and layer.training:
        layer.keep_threshold(own.threshold)
    return W.view(-1, p, p)


def _entries(network: ContextNetwork, pairs: Tensor) -> Callable[[Tensor], Tensor]:
    """Some entries (n, l) of the matrices that a network predicts."""
    if network.training:
        return PairNetwork(network, pairs).eval()
    # A copy would take longer than the prediction of a single context.
    rows = torch.searchsorted(network.places, pairs)
    weight, bias = network.last.weight[rows], network.last.bias[rows]
    return lambda z: linear(network.hidden(z), weight, bias)


def _in_blocks(network: Callable[[Tensor], Tensor], Z: Tensor) -> Tensor:
    """The output of a network, always for as many rows at once: libraries round differently for other numbers of rows."""
    size = BLOCK if Z.device.type == "cpu" else LARGE_BLOCK
    filled = torch.cat([Z, Z.new_zeros(-len(Z) % size, Z.shape[1])])
    return torch.cat([network(block) for block in torch.split(filled, size)])[: len(Z)]
