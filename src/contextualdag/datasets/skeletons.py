"""Which pairs of nodes may be joined in simulated data."""

import numpy as np
from numpy.typing import NDArray

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


def erdos_renyi(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Pairs:
    """Draw `n_edges` distinct pairs of nodes, each as likely as any other."""
    sources, targets = np.triu_indices(n_nodes, k=1)
    drawn = rng.choice(len(sources), size=n_edges, replace=False)
    return sources[drawn], targets[drawn]


def scale_free(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Pairs:
    """Draw `n_edges` distinct pairs of nodes by the static model of Goh, Kahng and Kim (2001), with exponent 2.

    The node of rank r = 1, ..., p has weight r^(-1/(2 - 1)) = 1/r, and a pair is drawn with probability proportional to the
    product of its weights; pairs that were drawn before are drawn again. The correction for finite size of Cho et al. (2009)
    vanishes at exponent 2. Ranks are assigned at random, so that the hub is not always the same variable.
    """
    sources, targets = np.triu_indices(n_nodes, k=1)
    if n_edges == 0:
        return sources[:0], targets[:0]  # a single node has no pair, and no probabilities
    weights = 1 / (1 + rng.permutation(n_nodes))
    products = weights[sources] * weights[targets]
    drawn = rng.choice(len(sources), size=n_edges, replace=False, p=products / products.sum())
    return sources[drawn], targets[drawn]


SKELETONS = {"erdos-renyi": erdos_renyi, "scale-free": scale_free}
