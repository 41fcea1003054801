"""Which edges have the same weight in all contexts: shares, mean weights, and a test for every edge.

The test asks the data, not the networks, which have weights that vary for every edge they keep. Let j -> k be an edge and r
what is left of x_k when the fitted graphs have explained it without j. If the weight is a constant b, r - b x_j does not
correlate with x_j in any context, so it does not correlate with the products of x_j and polynomials f(z) of the context
either. These correlations are what is tested: a score test, whose variance is that of the rows themselves, so that noise may
be of any kind and its size may change with the context.

Errors of the fitted weights of the other parents l must not be taken for change of the weight of j. So the products x_j f(z)
are first made orthogonal to x_l f(z) and to f(z), the latter for errors of the means. A parent that follows x_k in other
contexts is taken where it is a parent only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from contextualdag.training.context_test import LEVEL, MOST_TERMS
from contextualdag.training.data import Rows, polynomials
from contextualdag.training.loss import residuals

MOST_ROWS = 10_000
ROWS_AT_ONCE, MOST_ENTRIES = 2000, 1 << 23  # of graphs that are held at once
OFTEN = 0.05  # share of the joined contexts in which an edge that reverses points the less frequent way
ROUNDING = 1e-8  # against the largest, or one
STILL = 1e-12  # variance of a weight over its square, below which it is a matter of rounding

Graphs = Callable[[Tensor], Tensor]  # from row numbers (b,) to graphs (b, p, p)


@dataclass(frozen=True)
class Variation:
    """How each pair of variables is joined over the contexts of a fit, and whether that changes; strongest pairs first.

    Attributes
    ----------
    source, target : Tensor of int, shape (q,)
        The pairs that are joined in some context, in the more frequent direction.
    share : Tensor of shape (q,)
        Share of the contexts in which they are joined, in either direction.
    reverse : Tensor of shape (q,)
        Share of these contexts in which the edge points from target to source.
    weight : Tensor of shape (q,)
        Mean weight of source -> target over the contexts that have this edge.
    spread : Tensor of shape (q,)
        Standard deviation of the weight of source -> target over all contexts; it is zero where there is no such edge.
    p_value : Tensor of shape (q,)
        Of the test that the weight is the same in all contexts. NaN for pairs that reverse, and where there is no test: no
        context varies, or rows are too few.
    of_features : Tensor of shape (q, f)
        The same for change with each context feature given the others. NaN where `p_value` is, or is above the level.
    """

    source: Tensor
    target: Tensor
    share: Tensor
    reverse: Tensor
    weight: Tensor
    spread: Tensor
    p_value: Tensor
    of_features: Tensor

    @property
    def reverses(self) -> Tensor:
        """Which pairs point either way in many contexts, as bool."""
        return self.reverse >= OFTEN


def edge_variation(graphs: Graphs, rows: Rows, features: Mapping[str, Sequence[int]], seed: int = 0) -> Variation:
    """Summarise graphs over the contexts of rows, and test which weights change.

    Parameters
    ----------
    graphs : callable
        Graphs of the rows with given numbers; blocks of rows are asked for, so that not all graphs are held at once.
    rows : Rows
        Variables without their means given the context, in the units of the graphs.
    features : mapping of str to sequence of int
        The columns of the contexts that belong to each feature.
    seed : int, default=0
        Which rows are taken where there are more than ten thousand.

    Returns
    -------
    Variation
    """
    p = rows.X.shape[1]
    chosen = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[:MOST_ROWS].sort().values
    rows = rows[chosen.to(rows.X.device)]
    weight = None if rows.weight is None else rows.weight.double().cpu()
    scored = None if rows.scored is None else rows.scored.cpu()
    rows = Rows(rows.X.double().cpu(), rows.Z.double().cpu(), weight=weight, scored=scored)
    X = rows.X
    left, weights = torch.empty_like(X), _Weights(p)
    for part in torch.split(torch.arange(len(X)), max(1, min(ROWS_AT_ONCE, MOST_ENTRIES // p**2))):
        W = graphs(chosen[part]).double().cpu()
        left[part] = residuals(X[part], W)
        weights.add(W)
    counts = weights.counts
    joined = counts + counts.T
    pairs = ((joined > 0) & (counts >= counts.T)).nonzero()
    pairs = pairs[(counts[pairs[:, 0], pairs[:, 1]] > counts[pairs[:, 1], pairs[:, 0]]) | (pairs[:, 0] < pairs[:, 1])]
    strength = weights.sizes + weights.sizes.T
    source, target = pairs[strength[pairs[:, 0], pairs[:, 1]].argsort(descending=True, stable=True)].T
    n, both, here = len(X), joined[source, target], counts[source, target]
    mean = weights.sums[source, target] / n
    variance = weights.squares[source, target] / n - mean**2
    found = Variation(
        source,
        target,
        share=both / n,
        reverse=1 - here / both,
        weight=mean * n / here,
        spread=torch.where(variance > STILL * mean**2, variance, 0).sqrt(),
        p_value=torch.full(both.shape, torch.nan, dtype=X.dtype),
        of_features=torch.full((len(both), len(features)), torch.nan, dtype=X.dtype),
    )
    by_number: dict[int, _Terms] = {}
    for k in range(p):
        number = len(weights.parents(k)) + 1
        if number not in by_number:
            by_number[number] = _Terms.of(rows.Z, number, list(features.values()))
        _test_edges_into(k, found, weights, left[:, k], rows, by_number[number])
    return found


def benjamini_hochberg(p_values: Tensor, level: float = LEVEL) -> Tensor:
    """Which of many tests reject, as bool, such that on average `level` at most of those that do are wrong; NaN does not.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.training.variation import benjamini_hochberg
    >>> benjamini_hochberg(torch.tensor([0.04, 0.6, 0.001, float("nan")]))
    tensor([False, False,  True, False])
    """
    tested = p_values.isfinite()
    ordered = p_values[tested].sort().values
    allowed = level * torch.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    below = ordered[ordered <= allowed.to(ordered)]
    return tested & (p_values <= (below[-1] if len(below) else -1))


class _Weights:
    """The weights of graphs that come in blocks: entries that are not zero, and sums over contexts."""

    def __init__(self, p: int) -> None:
        self.n = 0
        self.counts, self.sums, self.squares, self.sizes = torch.zeros(4, p, p, dtype=torch.float64).unbind(0)
        self._entries: dict[int, list[tuple[Tensor, Tensor]]] = {}

    def add(self, W: Tensor) -> None:
        """Take in the next block, (b, p, p)."""
        is_edge = W != 0
        self.counts += is_edge.sum(0)
        self.sums += W.sum(0)
        self.squares += W.square().sum(0)
        self.sizes += W.abs().sum(0)
        for j, k in is_edge.any(0).nonzero().tolist():
            where = is_edge[:, j, k].nonzero()[:, 0]
            self._entries.setdefault(j * len(self.counts) + k, []).append((where + self.n, W[where, j, k]))
        self.n += len(W)

    def descendants(self, k: int) -> Tensor:
        """Which variables, (p,) as bool, can be reached from k along edges of any contexts."""
        edges, found = self.counts > 0, self.counts[k] > 0
        while bool((more := found | edges[found].any(0)).ne(found).any()):
            found = more
        return found

    def parents(self, k: int) -> list[int]:
        """The variables with an edge to k in some context."""
        found: list[int] = self.counts[:, k].nonzero()[:, 0].tolist()
        return found

    def of(self, j: int, k: int) -> Tensor:
        """Weights of j -> k, (n,)."""
        found = self.sums.new_zeros(self.n)
        for where, values in self._entries.get(j * len(self.counts) + k, ()):
            found[where] = values
        return found


def _test_edges_into(k: int, found: Variation, weights: _Weights, left: Tensor, rows: Rows, terms: "_Terms") -> None:
    """Fill in the p-values of the edges into k; `left` (n,) are its residuals."""
    tested = ((found.target == k) & ~found.reverses).nonzero()[:, 0].tolist()
    if not tested or not terms.changing.shape[1]:
        return
    parents = {j: weights.of(j, k) for j in weights.parents(k)}
    follows = weights.descendants(k)
    regressors = {j: rows.X[:, j] * (w != 0) if follows[j] else rows.X[:, j] for j, w in parents.items()}
    root = torch.ones_like(left) if rows.weight is None else rows.weight.sqrt()
    if rows.scored is not None:
        root = root * rows.scored[:, k]
    common = _Design.of(terms.all, regressors, root)
    for row in tested:
        j = int(found.source[row])
        reverse, design = weights.of(k, j) != 0, common
        if follows[j] or bool(reverse.any()):  # where the edge is reversed, x_j follows x_k
            design = _Design.of(terms.all, regressors | {j: rows.X[:, j]}, root * ~reverse)
        response = design.root * (left + parents[j] * rows.X[:, j])
        changing, response, n_given = design.without_others(list(parents).index(j), response)
        found.p_value[row] = _score_test(response, changing, n_given)
        if found.p_value[row] <= LEVEL:
            for column, (of_feature, rest) in enumerate(terms.splits):
                found.of_features[row, column] = _score_test(
                    *_without(changing @ rest, changing @ of_feature, response), n_given + rest.shape[1]
                )


@dataclass(frozen=True)
class _Terms:
    """Polynomials of contexts: a basis, and what of it has to do with each feature.

    `changing` (n, q) is orthogonal, without the constant. `splits` has two matrices for each feature, which map it to what
    has to do with the feature and to the rest.
    """

    changing: Tensor
    splits: list[tuple[Tensor, Tensor]]

    @classmethod
    def of(cls, Z: Tensor, n_coefficients: int, features: Sequence[Sequence[int]]) -> "_Terms":
        """As many as the rows are enough for, see `contextualdag.training.data.polynomials`."""
        n, m = Z.shape
        columns = polynomials(Z, n_coefficients)[:, 1:]
        if columns.shape[1] > MOST_TERMS:
            columns = columns[:, :m]
        uses = ([{a} for a in range(m)] + [{a, b} for a in range(m) for b in range(a, m)])[: columns.shape[1]]
        changing = _basis(columns)
        splits = []
        for feature in features:
            rest = _basis(columns[:, [not used & set(feature) for used in uses]])
            of_feature = _basis(changing - rest @ (rest.T @ changing) / n)
            splits.append((changing.T @ of_feature / n, changing.T @ rest / n))
        return cls(changing, splits)

    @property
    def all(self) -> Tensor:
        """The basis with the constant, (n, 1 + q)."""
        return torch.cat([torch.ones_like(self.changing[:, :1]), self.changing], 1)


def _basis(columns: Tensor) -> Tensor:
    """An orthogonal basis, of mean squares one, of columns (n, q) without their means."""
    centred = columns - columns.mean(0)
    scale = centred.square().mean(0).sqrt()
    centred = centred[:, scale > ROUNDING] / scale[scale > ROUNDING]
    if not centred.shape[1]:
        return centred
    U, sizes, _ = torch.linalg.svd(centred, full_matrices=False)
    basis: Tensor = U[:, sizes > ROUNDING * sizes[0]] * math.sqrt(len(columns))
    return basis


@dataclass(frozen=True)
class _Design:
    """Regressors of a variable: terms (n, t), then the products of each parent and the terms; in rows times their roots."""

    columns: Tensor
    gram: Tensor
    width: int
    root: Tensor

    @classmethod
    def of(cls, terms: Tensor, parents: Mapping[int, Tensor], root: Tensor) -> "_Design":
        columns = torch.cat([terms, *(x[:, None] * terms for x in parents.values())], 1) * root[:, None]
        return cls(columns, columns.T @ columns, terms.shape[1], root)

    def without_others(self, index: int, response: Tensor) -> tuple[Tensor, Tensor, int]:
        """Products of a parent and the terms but the constant, and a response, without what is linear in all else.

        Also the number of columns that this is. The products of all parents are computed once for all of them: `gram`.
        """
        first = (1 + index) * self.width
        own = torch.arange(first + 1, first + self.width)
        is_other = torch.ones(len(self.gram), dtype=torch.bool)
        is_other[own] = False
        onto = _inverse_root(self.gram[is_other][:, is_other])
        change = torch.zeros(len(self.gram), len(own) + 1, dtype=self.gram.dtype)
        of_response = self.columns.T @ response
        change[is_other] = -onto @ (onto.T @ torch.cat([self.gram[is_other][:, own], of_response[is_other, None]], 1))
        left = self.columns @ change
        before = torch.cat([self.columns[:, own], response[:, None]], 1)
        after = _cleared(before + left, before)
        return after[:, :-1], after[:, -1], onto.shape[1]


def _without(given: Tensor, columns: Tensor, response: Tensor) -> tuple[Tensor, Tensor]:
    """A response (n,) and columns without what is linear in others."""
    onto = given @ _inverse_root(given.T @ given)
    before = torch.cat([columns, response[:, None]], 1)
    after = _cleared(before - onto @ (onto.T @ before), before)
    return after[:, -1], after[:, :-1]


def _inverse_root(gram: Tensor) -> Tensor:
    """R with R R^T the inverse of a matrix, or its pseudo-inverse where columns depend on one another."""
    scale = gram.diagonal().sqrt().clamp_min(torch.finfo(gram.dtype).tiny)
    values, vectors = torch.linalg.eigh(gram / scale / scale[:, None])
    kept = values > ROUNDING
    root: Tensor = vectors[:, kept] / values[kept].sqrt() / scale[:, None]
    return root


def _cleared(columns: Tensor, before: Tensor) -> Tensor:
    """Columns, zero where little more than rounding is left of what they were."""
    return columns * (columns.square().sum(0) > ROUNDING * before.square().sum(0))


def _score_test(response: Tensor, tested: Tensor, n_given: int) -> float:
    """The p-value of coefficients of `tested` (n, q) in a regression of a response (n,); both are without what is given.

    The scores of the coefficients are sums over rows; their covariance is estimated by the sum of the outer products of what
    each row adds, a little larger because residuals are smaller than noise.
    """
    scores = response[:, None] * tested
    values, vectors = torch.linalg.eigh(scores.T @ scores)
    kept = values > ROUNDING * values.amax() if len(values) else values > 0
    if not bool(kept.any()):
        return math.nan
    smaller = 1 - n_given / len(response)
    statistic = smaller * ((vectors[:, kept].T @ scores.sum(0)).square() / values[kept]).sum()
    return float(torch.special.gammaincc(kept.sum() / 2.0, statistic / 2.0))
