"""Places of nodes: parents above children, apart from one another, and not on top of edges."""

from dataclasses import dataclass

import numpy as np
import torch

from contextualdag.errors import InvalidInputError
from contextualdag.threads import one_thread_each

SWEEPS = 8
STARTS = 2  # for small graphs
MOST_STEPS = 120
FARTHEST = 4  # longer distances between nodes count as this
ALONG = (0.15, 0.3, 0.5, 0.7, 0.85)  # where along an edge its clearance is measured
MOST_CLEARANCES = 2_000_000  # edges times nodes beyond which clearances are ignored


def layered_layout(W: np.ndarray, *, aspect: float = 1.4, sizes: np.ndarray | None = None) -> np.ndarray:
    """Places of nodes, parents above children, for one graph or for several at once.

    Where the direction of an edge differs between graphs, the heavier one decides. Nodes are not arranged in layers: each
    has its own height, so that a dense graph fills the picture instead of becoming one tall column. Nodes without edges
    are in rows at the bottom.

    Parameters
    ----------
    W : array of shape (p, p) or (n, p, p)
        One graph or several.
    aspect : float, default=1.4
        Ratio of the width of the picture to its height.
    sizes : array of shape (p, 2), optional
        Width and height of each node, as fractions of those of the picture.

    Returns
    -------
    array of shape (p, 2)
        Horizontal and vertical coordinates; neighbours are about one apart. The same input gives the same places.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.plotting import layered_layout
    >>> places = layered_layout(np.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> bool(places[0, 1] > places[1, 1])
    True
    """
    W = np.asarray(W, dtype=float)
    if W.ndim not in (2, 3) or W.shape[-1] != W.shape[-2]:
        raise InvalidInputError(f"W must have the shape (p, p) or (n, p, p). Got {W.shape} instead.")
    strength = np.abs(W) if W.ndim == 2 else np.abs(W).mean(0)
    p = len(strength)
    box = np.sqrt([p * aspect, p / aspect])
    half = (np.full((p, 2), 0.1) if sizes is None else np.asarray(sizes, dtype=float)) * box / 2
    joined = (strength + strength.T > 0).any(0)
    linked, alone = np.nonzero(joined)[0], np.nonzero(~joined)[0]
    rows = _rows(alone, half, box)
    # A row at the bottom takes the height of a node and a gap; the graph takes the rest, at least a third.
    share = max(1 - len(rows) / max(len(rows) + np.sqrt(max(len(linked), 1) / aspect), 1.0), 0.34) if len(linked) else 0.0
    places = np.zeros((p, 2))
    if len(linked):
        upper, shift = box * (1, share), np.array([0, box[1] * (1 - share) / 2])
        with one_thread_each(torch.device("cpu")):  # the tensors are small
            found = _Problem(strength[np.ix_(linked, linked)], upper, half[linked]).solve()
        places[linked] = found + shift
    bottom = box[1] * (0.5 - share)
    for index, row in enumerate(rows):
        widths = 2 * half[row, 0]
        gap = (box[0] - widths.sum()) / len(row)
        places[row, 0] = np.cumsum(widths + gap) - (widths + gap) / 2 - box[0] / 2
        places[row, 1] = bottom - (index + 0.5) * (bottom + box[1] / 2) / len(rows)
    places -= (places.max(0) + places.min(0)) / 2
    return places


def _rows(alone: np.ndarray, half: np.ndarray, box: np.ndarray) -> list[np.ndarray]:
    """Nodes without edges in as few rows as they fit in, equally many in each."""
    if not len(alone):
        return []
    in_a_row = max(int(min(box[0] / 0.5, 0.8 * box[0] / (2 * half[alone, 0].mean() + 1e-9))), 1)
    return np.array_split(alone, -(-len(alone) // in_a_row))


@dataclass
class _Problem:
    """Placing the nodes that have edges in a box, as the minimisation of an energy."""

    strength: np.ndarray
    box: np.ndarray
    half: np.ndarray

    def solve(self) -> np.ndarray:
        from scipy.optimize import minimize

        self._prepare()
        best, least = self._start(0), np.inf
        for start in range(STARTS if 2 < len(self.strength) <= 30 else 1):
            first = self._start(start)
            found = minimize(self._value, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
            if found.fun < least:
                best, least = found.x.reshape(-1, 2), found.fun
        return self._filled(self._ordered(best))

    def _prepare(self) -> None:
        total, net = self.strength + self.strength.T, self.strength - self.strength.T
        self.dag, self.depth = heaviest_dag(np.maximum(net, 0))
        self.gap = min(1.0, 0.9 * self.box[1] / (self.depth.max() + 1))
        pairs = np.triu_indices(len(total), 1)
        distance = _distances(total > 0)[pairs]
        self.pairs = [torch.from_numpy(index) for index in pairs]
        self.target = torch.from_numpy(distance * (0.5 / max(distance.mean(), 1e-9)))
        self.weight = torch.from_numpy(distance**-2.0)
        parents, children = np.nonzero(self.dag)
        agreement = (net / np.where(total > 0, total, 1))[parents, children]
        self.parents, self.children = torch.from_numpy(parents), torch.from_numpy(children)
        self.agreement = torch.from_numpy(agreement)
        ends = np.nonzero(np.triu(total, 1))
        self.ends = [torch.from_numpy(index) for index in ends]
        p, n_edges = len(total), len(ends[0])
        others = np.arange(p)[None] != ends[0][:, None]
        others &= np.arange(p)[None] != ends[1][:, None]
        self.others = torch.from_numpy(others.astype(float)) if p * n_edges <= MOST_CLEARANCES else None
        self.along = torch.tensor(ALONG, dtype=torch.float64)[:, None, None]
        self.scale = torch.from_numpy(self.box)
        self.halves = torch.from_numpy(self.half)

    def _value(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        places = torch.tensor(flat.reshape(-1, 2), requires_grad=True)
        energy = self._energy(places)
        (gradient,) = torch.autograd.grad(energy, places)
        return energy.item(), gradient.numpy().ravel()

    def _energy(self, places: torch.Tensor) -> torch.Tensor:
        a, b = self.pairs
        apart = places[a] - places[b]
        # Neighbours near, others far, measured as if the box were a square so that both directions are filled.
        length = ((apart / self.scale) ** 2).sum(1).add(1e-9).sqrt()
        energy = 2 * (self.weight * (length - self.target) ** 2).sum()
        # A gap between any two nodes.
        room = self.halves[a] + self.halves[b] + torch.tensor([0.2, 0.25], dtype=torch.float64)
        energy = energy + 12 * (_inside(apart / room) ** 2).sum()
        # Parents above children.
        short = self.gap - (places[self.parents, 1] - places[self.children, 1])
        energy = energy + 6 * (self.agreement.sqrt() * short.clamp(min=0) ** 2).sum() / self.gap**2
        # No node on an edge of others.
        if self.others is not None:
            start, end = (places[index] for index in self.ends)
            points = start + self.along * (end - start)
            beside = (points[:, :, None] - places) / (self.halves + 0.15)
            energy = energy + 1.5 * (self.others * _inside(beside) ** 2).sum()
        # Within the box.
        beyond = (places.abs() + self.halves - self.scale / 2).clamp(min=0)
        total: torch.Tensor = energy + 20 * (beyond**2).sum()
        return total

    def _start(self, seed: int) -> np.ndarray:
        """Layers, ordered by sweeps back and forth; each seed begins with another order."""
        rng = np.random.default_rng(seed)
        layers = [list(rng.permutation(np.nonzero(self.depth == d)[0])) for d in range(int(self.depth.max()) + 1)]
        across = _sweep(layers, self.strength + self.strength.T)
        places = np.stack([across * self.box[0] * 0.8, (0.5 - (self.depth + 0.5) / len(layers)) * self.box[1]], axis=1)
        return places + 0.15 * rng.standard_normal(places.shape)

    def _ordered(self, places: np.ndarray) -> np.ndarray:
        """Move children below their parents where the minimum left them above."""
        places = places.copy()
        for node in np.argsort(self.depth, kind="stable"):
            above = self.dag[:, node]
            if above.any():
                places[node, 1] = min(places[node, 1], places[above, 1].min() - 0.15 * self.gap)
        return places

    def _filled(self, places: np.ndarray) -> np.ndarray:
        """Stretch the places to the box, and centre them."""
        places = places - (places.max(0) + places.min(0)) / 2
        spread, room = np.ptp(places, axis=0), np.maximum(self.box - 2 * self.half.max(0), 0.1 * self.box)
        stretch = np.where(spread > 1e-6, room / np.maximum(spread, 1e-6), 1.0)
        # A few nodes need not fill the whole picture.
        return places * np.minimum(stretch, 1.6)


def _inside(offset: torch.Tensor) -> torch.Tensor:
    """How far inside a rounded rectangle of half-width and half-height one: one in the middle, zero outside."""
    square = offset * offset
    return (1 - ((square * square).sum(-1) + 1e-12).sqrt().sqrt()).clamp(min=0)


def heaviest_dag(strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges (p, p), added from the strongest down unless they close a cycle, and the longest path to each node (p,)."""
    p = len(strength)
    dag, reaches = np.zeros((p, p), dtype=bool), np.eye(p, dtype=bool)
    sources, targets = np.nonzero(strength)
    for edge in np.argsort(-strength[sources, targets], kind="stable"):
        j, k = sources[edge], targets[edge]
        if not reaches[k, j]:
            dag[j, k] = True
            reaches |= np.outer(reaches[:, j], reaches[k])
    depth = np.zeros(p, dtype=int)
    for node in np.argsort(reaches.sum(0), kind="stable"):  # ancestors have fewer ancestors
        depth[node] = max((depth[j] + 1 for j in np.nonzero(dag[:, node])[0]), default=0)
    return dag, depth


def _distances(joined: np.ndarray) -> np.ndarray:
    """Undirected distances between nodes; those farther apart or not connected count as `FARTHEST`."""
    from scipy.sparse.csgraph import shortest_path

    steps: np.ndarray = shortest_path(joined.astype(float), directed=False, unweighted=True)
    steps[steps > FARTHEST] = FARTHEST
    return steps


def _sweep(layers: list[list[int]], joins: np.ndarray) -> np.ndarray:
    """Horizontal places from -0.5 to 0.5: each layer is sorted repeatedly by the mean place of its neighbours."""
    across = np.zeros(len(joins))

    def spread(layer: list[int]) -> None:
        across[layer] = (np.arange(len(layer)) + 0.5) / len(layer) - 0.5 if len(layer) > 1 else across[layer]

    for layer in layers:
        spread(layer)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            pull = joins[layer] @ across / np.maximum(joins[layer].sum(1), 1e-12)
            layer[:] = [layer[i] for i in np.argsort(pull, kind="stable")]
            spread(layer)
    return across
