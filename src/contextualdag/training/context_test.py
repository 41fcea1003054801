"""Whether the context matters to the dependence of the variables: a permutation test that needs no graphs.

If variables, without their means, do not depend on the context, contexts can be permuted among rows. The test looks
at products of two variables: their means are covariances, which change with the context wherever edges do. Its statistic is
how strongly the products correlate with polynomials of the context, for the pairs of variables where that is strongest. No
row need be held out and nothing is learned from the rows, so the p-value is exact but for the estimate of the means.

Rows that were disturbed are left out, and so are products of entries that are not scored: an intervention changes
covariances whatever the context.

Rows of one group are not independent, and neighbouring rows of a time series depend on one another. Then groups swap their
contexts as wholes: each group gets those of one group, in their order but for a rotation. Where groups differ in size some
contexts are left out and others used again, which makes the test conservative.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from contextualdag.training.data import Rows

LEVEL = 0.05
N_PERMUTATIONS = 199
MOST_ROWS, MOST_TERMS = 2000, 20
LARGE = 5.0  # product of two variables: larger ones count as this
ROUNDING = 1e-5
MOST_NUMBERS = 10_000_000  # held at once
FEW_ROWS = 40  # or groups, below which little can be seen


@dataclass(frozen=True)
class ContextTest:
    """Whether, and how much, the context matters to the dependence of the variables.

    Attributes
    ----------
    p_value : float
        Of a permutation test: the share of permutations of the contexts with which covariances seem to change as much.
    n_rows : int
        Number of rows of the test.
    features : dict of str to float
        p-value of each context feature that varies, given the others; empty where there is one feature.
    n_groups : int
        Number of groups that swapped contexts, where these are the same within each; zero where rows swapped theirs.
    gain : float
        Share of the squared error of rows held out that the graphs of their own contexts save against those of others; None
        if no graphs that vary were fitted.
    gain_interval : (float, float)
        Interval of the gain, of 95 %; None with it.
    feature_gains : dict of str to float
        The same share for each context feature, with only that one taken from other rows; empty where there is one.
    """

    p_value: float
    n_rows: int
    features: dict[str, float]
    n_groups: int = 0
    gain: float | None = None
    gain_interval: tuple[float, float] | None = None
    feature_gains: dict[str, float] = field(default_factory=dict)

    @property
    def context_matters(self) -> bool:
        """Whether the test rejects that dependence is the same in all contexts."""
        return self.p_value <= LEVEL

    @property
    def has_low_power(self) -> bool:
        """Whether there were so few contexts to permute that only strong effects would be seen."""
        return (self.n_groups or self.n_rows) < FEW_ROWS


def permutation_test(rows: Rows, features: Mapping[str, Sequence[int]], seed: int) -> ContextTest | None:
    """Test whether covariances of the variables change with the context.

    Parameters
    ----------
    rows : Rows
        Variables without their means given the context.
    features : mapping of str to sequence of int
        The columns of the contexts that belong to each feature.
    seed : int
        Seed of the permutations.

    Returns
    -------
    ContextTest or None
        Without the gain; None where no context varies.
    """
    generator = torch.Generator().manual_seed(seed)
    if rows.undisturbed is not None:
        rows = rows[rows.undisturbed]
    chosen = torch.randperm(len(rows), generator=generator)[:MOST_ROWS].sort().values
    X, Z = rows.X.cpu()[chosen], rows.Z.cpu()[chosen]
    known = (None if values is None else values.cpu()[chosen] for values in (rows.scored, rows.weight))
    products = _products(X, *known)
    if not bool((Z[:1] != Z).any()):
        return None
    group = None if rows.group is None else torch.unique(rows.group.cpu()[chosen], return_inverse=True)[1]
    own = torch.arange(len(Z))
    orders = [own, *(permuted(len(Z), group, generator) for _ in range(N_PERMUTATIONS))]
    everything = range(Z.shape[1])
    p_value = _p_value(products, [_terms(Z[order], everything, everything) for order in orders], Z[:, :0])
    of_features = {}
    for name, columns in features.items() if len(features) > 1 else ():
        if not bool((Z[:1, columns] != Z[:, columns]).any()):
            continue
        others = [column for column in everything if column not in columns]
        basis = _terms(Z, others, others)
        fitted = _fitted(Z[:, columns], Z[:, others])
        shuffled = []
        for order in orders:
            moved = Z.clone()
            moved[:, columns] = fitted + (Z[:, columns] - fitted)[order]
            shuffled.append(_terms(moved, columns, everything))
        of_features[name] = _p_value(products, shuffled, basis)
    return ContextTest(p_value, len(X), of_features, _swapped_as_wholes(Z, group))


def permuted(n: int, group: Tensor | None, generator: torch.Generator) -> Tensor:
    """For each of n rows another one, whose context it gets: any, or rows of the group (n,) that its own is swapped with.

    Rows of a group keep their order but for a rotation, since neighbours may depend on one another. Where groups differ in
    size some rows of the larger ones are left out, and those of smaller ones used again.
    """
    if group is None:
        return torch.randperm(n, generator=generator)
    group = torch.unique(group.cpu(), return_inverse=True)[1]
    sizes = torch.bincount(group)
    if len(sizes) == n:
        return torch.randperm(n, generator=generator)
    first = sizes.cumsum(0) - sizes
    by_group = torch.argsort(group, stable=True)
    place = torch.empty_like(by_group)
    place[by_group] = torch.arange(n) - first[group[by_group]]
    other = torch.randperm(len(sizes), generator=generator)
    turn = (torch.rand(len(sizes), generator=generator, dtype=torch.float64) * sizes[other]).long()
    return by_group[first[other[group]] + (place + turn[group]) % sizes[other[group]]]


def _swapped_as_wholes(Z: Tensor, group: Tensor | None) -> int:
    """The number of groups, if contexts are the same within each; zero otherwise."""
    if group is None:
        return 0
    n_groups = int(group.max()) + 1
    first = torch.full((n_groups,), len(Z)).scatter_reduce_(0, group, torch.arange(len(Z)), "amin")
    return n_groups if bool((Z[first[group]] == Z).all()) else 0


def _products(X: Tensor, scored: Tensor | None = None, weight: Tensor | None = None) -> Tensor:
    """Products of each two variables, (n, pairs), in standard deviations and not too large.

    Where one of the two is not scored it is the mean of the others, which says nothing. Weights of rows count in standard
    deviations alone.
    """
    counts = torch.ones_like(X) if scored is None else scored.to(X.dtype)
    counts = counts if weight is None else counts * weight[:, None].to(X.dtype)
    scale = ((X.square() * counts).sum(0) / counts.sum(0).clamp_min(torch.finfo(X.dtype).tiny)).sqrt()
    X = torch.where(scale > 0, X / scale, 0)
    first, second = torch.triu_indices(X.shape[1], X.shape[1], 1)
    products = (X[:, first] * X[:, second]).clamp(-LARGE, LARGE)
    if scored is None:
        return products
    both = scored[:, first] & scored[:, second]
    means = torch.where(both, products, 0).sum(0) / both.sum(0).clamp_min(1)
    return torch.where(both, products, means)


def _terms(Z: Tensor, columns: Sequence[int], others: Sequence[int]) -> Tensor:
    """Columns, and their products with others unless these are very many, (n, q)."""
    pairs = sorted({(min(a, b), max(a, b)) for a in columns for b in others})
    terms = [Z[:, a] for a in columns]
    if len(columns) + len(pairs) <= MOST_TERMS:
        terms += [Z[:, a] * Z[:, b] for a, b in pairs]
    return torch.stack(terms, 1) if terms else Z[:, :0]


def _standardised(columns: Tensor, size: Tensor | None = None) -> Tensor:
    """Columns with mean zero and variance one; zero where they do not vary, compared with their size."""
    centred = columns - columns.mean(0)
    scale = centred.square().mean(0).sqrt()
    varies = scale > ROUNDING * (columns.abs().amax(0) if size is None else size)
    return torch.where(varies, centred / scale, 0)


def _fitted(columns: Tensor, others: Tensor) -> Tensor:
    """Linear regressions of columns on others."""
    design = torch.cat([torch.ones_like(columns[:, :1]), others], 1)
    fitted: Tensor = design @ torch.linalg.lstsq(design, columns, driver="gelsd").solution
    return fitted


def _p_value(products: Tensor, terms: Sequence[Tensor], given: Tensor) -> float:
    """The share of permutations whose terms correlate as strongly with the products; the first are the terms themselves.

    Both are without what is linear in `given`.
    """
    strongest = max(round(math.sqrt(products.shape[1] / 2)), 1)  # half as many pairs as there are variables
    orthogonal = torch.linalg.qr(torch.cat([torch.ones_like(products[:, :1]), given], 1)).Q

    def left(columns: Tensor) -> Tensor:
        return _standardised(columns - orthogonal @ (orthogonal.T @ columns), columns.abs().amax(0))

    products = left(products)

    def statistics(terms: Sequence[Tensor]) -> Tensor:
        by_pair = (products.T @ left(torch.cat(list(terms), 1))).square()
        return by_pair.view(products.shape[1], len(terms), -1).sum(2).topk(strongest, dim=0).values.sum(0)

    at_once = max(MOST_NUMBERS // (products.shape[1] * terms[0].shape[1]), 1)
    found = torch.cat([statistics(terms[first : first + at_once]) for first in range(0, len(terms), at_once)])
    return float((found >= found[0] * (1 - ROUNDING)).double().mean())
