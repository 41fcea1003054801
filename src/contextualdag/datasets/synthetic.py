"""The paper's synthetic designs, in which graphs vary with the context or do not, and harder variants of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from contextualdag.checks import generator
from contextualdag.datasets.design_checks import check_design, finite
from contextualdag.datasets.observed import cut_and_counted, drawn_targets, of_persons, persons, with_holes
from contextualdag.datasets.skeletons import SKELETONS

Array = NDArray[np.float64]
AT_ONCE = 10_000  # rows
Flags = NDArray[np.bool_]
Graph = Literal["erdos-renyi", "scale-free"]
NoiseScale = Literal["equal"] | tuple[float, float]
OUTLYING = 10.0  # factor of rows that are made outliers
WEAKEST = 0.25  # of a weight that is .3 to .6 at least, so that the weakest edges are below the paper's cut of .1


@dataclass(frozen=True, eq=False)
class Dataset:
    """Simulated data with the graphs behind them. ``data[:100]`` is the first hundred rows.

    Attributes
    ----------
    X : array of shape (n, p)
        Variables.
    Z : array of shape (n, m)
        Context.
    W : array of shape (n, p, p)
        True weights; ``W[i, j, k]`` is the effect of variable j on k in sample i.
    names : tuple of str
        Names of the variables.
    groups : array of int, shape (n,), optional
        The person that each row belongs to, where there are several rows of a person.
    interventions : array of bool, shape (n, p), optional
        Which variables were set by an experiment, where there was one. W are the graphs without.
    """

    X: Array
    Z: Array
    W: Array
    names: tuple[str, ...]
    groups: NDArray[np.int64] | None = None
    interventions: Flags | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice) -> "Dataset":
        of_rows = {name: getattr(self, name) for name in ("X", "Z", "W", "groups", "interventions")}
        return replace(self, **{name: values[rows] for name, values in of_rows.items() if values is not None})


@finite
def make_varying_dag(
    n_samples: int = 1000,
    n_nodes: int = 20,
    n_features: int = 2,
    *,
    n_edges: int = 10,
    active: float = 0.5,
    graph: Graph = "erdos-renyi",
    noise_scale: NoiseScale = "equal",
    standardise: bool = False,
    mean_shift: float = 0.0,
    weak_edges: bool | float = False,
    context_correlation: float = 0.0,
    degrees_of_freedom: float = math.inf,
    units: float = 0.0,
    outliers: float = 0.0,
    reversals: bool | float = True,
    binary: float = 0.0,
    counts: float = 0.0,
    missing: float = 0.0,
    missing_by_value: bool = False,
    interventions: float = 0.0,
    group_size: int = 1,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    r"""Simulate the paper's varying design, in which edges appear, disappear and are reversed with the context.

    Contexts are uniform on :math:`[-1, 1]^m`. `n_edges` pairs of nodes are drawn at random, and for each node j a centre
    :math:`c_j` in the space of contexts. With :math:`d = \|z - c_j\| - \|z - c_k\|`, a pair has the edge j → k with weight d
    if :math:`d > \varphi`, the edge k → j with weight −d if :math:`-d > \varphi`, and none otherwise. :math:`\varphi` is the
    quantile of :math:`|d|` that leaves the fraction `active` of the pairs. Noise is standard normal, and
    :math:`x = W(z)^\top x + \varepsilon`.

    These data are easy: noise variances are equal, variances of variables grow along the edges, weights are positive and
    not small, the means of variables do not depend on the context, and every value is a measured number. The options from
    `noise_scale` on change this. They draw their random numbers last, so that skeleton, centres and the unscaled noise of
    rows stay the same for the same `random_state`.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, n.
    n_nodes : int, default=20
        Number of variables, p.
    n_features : int, default=2
        Number of context features, m.
    n_edges : int, default=10
        Number of pairs of nodes that may be joined.
    active : float, default=0.5
        Fraction of these pairs that is joined on average.
    graph : {"erdos-renyi", "scale-free"}, default="erdos-renyi"
        Distribution of the pairs: uniform, or the static scale-free model with exponent 2, which has hubs.
    noise_scale : "equal" or (float, float), default="equal"
        Standard deviation of the noise: 1 for all variables, or drawn uniformly from (low, high) for each variable.
    standardise : bool, default=False
        Whether to divide each variable by its standard deviation over all rows. W is rescaled along with X, to
        :math:`W_{jk} s_j / s_k`, and remains the truth.
    mean_shift : float, default=0
        Standard deviation of the normal entries of a matrix B; ``Z @ B`` is added to X, so ``X - Z @ B`` follows W.
    weak_edges : bool or float, default=False
        Whether to multiply the weights of each pair by a random sign, and by a factor drawn uniformly from 0.25 to 1; a
        float replaces 0.25. Which edges are active does not change.
    context_correlation : float, default=0
        Correlation r, in [0, 1), of each two context features before they are mapped from normal to uniform (a Gaussian
        copula). Each stays uniform on [-1, 1], and their correlation is :math:`6/\pi \arcsin(r/2)`, nearly r.
    degrees_of_freedom : float, default=inf
        Degrees of freedom of noise that has Student's distribution; infinite for normal noise. With three it has the
        variance 3.
    units : float, default=0
        Each variable is multiplied by 10 to a power drawn uniformly from (-units, units). W is rescaled along with X.
    outliers : float, default=0
        Share of rows of X, drawn at random, that are multiplied by ten.
    reversals : bool or float, default=True
        Whether edges are reversed with the context. With False pairs are joined in the same contexts, with weights of the
        same size, but all point forward in a random order of the nodes; a number is the share of pairs, about, that are
        reversed.
    binary : float, default=0
        Share of the variables, drawn at random, that are seen as 0 up to their median and 1 above it. Others depend on what
        they were before, and so do the weights in W: of a binary variable they tell where edges are, not how large.
    counts : float, default=0
        Share of the variables, among the others, that are seen as Poisson counts with the mean :math:`e^{0.7 x}`. W is
        that of x, as for `binary`.
    missing : float, default=0
        Share of the entries of X that are missing (NaN), at random.
    missing_by_value : bool, default=False
        Whether large values are missing more often: the smallest value of a variable never, the largest with twice the
        probability `missing`, which may then be 0.5 at most.
    interventions : float, default=0
        Share of the variables, drawn at random, that an experiment sets, each in a fifth of the rows, to normal values with
        a standard deviation of 2. What comes after them follows; what comes before has no part. `Dataset.interventions`
        tells where; W are the graphs without.
    group_size : int, default=1
        Number of successive rows of one person. They share the context, and a part of the noise of each variable, standard
        normal, that is added to that of the row. `Dataset.groups` numbers the persons.
    random_state : int or numpy.random.Generator, optional
        Seed or generator of the random numbers.

    Returns
    -------
    Dataset
        A small frozen object with X, Z, W and names, and with groups and interventions where there are some.

    See Also
    --------
    make_fixed_dag : One graph for all contexts.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.datasets import make_varying_dag
    >>> data = make_varying_dag(500, n_nodes=5, n_edges=6, random_state=0)
    >>> data.X.shape, data.Z.shape, round(float((data.W != 0).sum()) / 500, 1)
    ((500, 5), (500, 2), 3.0)

    The same graphs, on data that are harder to learn from:

    >>> hard = make_varying_dag(500, n_nodes=5, n_edges=6, noise_scale=(0.5, 2), standardise=True, random_state=0)
    >>> bool(((hard.W != 0) == (data.W != 0)).all()), hard.X.std(0).round(6).tolist()
    (True, [1.0, 1.0, 1.0, 1.0, 1.0])

    And as a table of a clinic might be, with yes or no answers, holes, and five visits of each person:

    >>> real = make_varying_dag(500, n_nodes=5, n_edges=6, binary=0.4, missing=0.1, group_size=5, random_state=0)
    >>> sum(set(np.unique(x[~np.isnan(x)])) == {0, 1} for x in real.X.T), real.groups[:7].tolist()
    (2, [0, 0, 0, 0, 0, 1, 1])
    """
    check_design(
        "make_varying_dag",
        n_samples=n_samples,
        n_nodes=n_nodes,
        n_features=n_features,
        n_edges=n_edges,
        active=active,
        graph=graph,
        noise_scale=noise_scale,
        standardise=standardise,
        mean_shift=mean_shift,
        weak_edges=weak_edges,
        context_correlation=context_correlation,
        degrees_of_freedom=degrees_of_freedom,
        units=units,
        outliers=outliers,
        reversals=reversals,
        binary=binary,
        counts=counts,
        missing=missing,
        missing_by_value=missing_by_value,
        interventions=interventions,
        group_size=group_size,
    )
    # Present seeds must keep their data: what is drawn for an option is drawn last, and only if it is asked for.
    rng = generator(random_state, "make_varying_dag")
    j, k = SKELETONS[graph](n_nodes, n_edges, rng)
    centres = rng.uniform(-1, 1, size=(n_nodes, n_features))
    Z = _correlated(rng.uniform(-1, 1, size=(n_samples, n_features)), context_correlation)
    noise = rng.standard_normal((n_samples, n_nodes))
    noise *= _noise_sd(noise_scale, n_nodes, rng)
    factor = _factors(weak_edges, n_edges, rng)
    shift = rng.normal(0, mean_shift, size=(n_features, n_nodes)) if mean_shift else np.zeros((n_features, n_nodes))
    noise *= _tails(noise.shape, degrees_of_freedom, rng)
    factors = 10 ** rng.uniform(-units, units, size=n_nodes) if units else np.ones(n_nodes)
    size_of_row = np.where(rng.random(n_samples) < outliers, OUTLYING, 1.0) if outliers else np.ones(n_samples)
    fixed = _fixed_direction(reversals, j, k, n_nodes, rng)
    groups, targets = None, None
    if group_size > 1:
        groups = persons(n_samples, group_size)
        Z, noise = of_persons(Z, noise, groups, rng)
    if interventions:
        targets, values = drawn_targets(interventions, (n_samples, n_nodes), rng)

    distance = np.linalg.norm(Z[:, None] - centres, axis=2)
    d = distance[:, j] - distance[:, k]
    smallest = np.quantile(np.abs(d), 1 - active) if d.size else 0.0
    d = np.where(fixed == 0, d, np.abs(d) * fixed)
    W = np.zeros((n_samples, n_nodes, n_nodes))
    for part in _parts(n_samples):
        W[part, j, k] = np.where(d[part] > smallest, factor * d[part], 0)
        W[part, k, j] = np.where(-d[part] > smallest, factor * -d[part], 0)
    X = _solved(W, noise) if targets is None else _solved(W * ~targets[:, None], np.where(targets, values, noise))
    seen = X + Z @ shift
    data = _dataset(seen * size_of_row[:, None], Z, W, standardise)
    data = replace(data, groups=groups, interventions=targets)
    if units:
        data = replace(data, X=data.X * factors, W=data.W * (factors / factors[:, None]))
    if binary or counts:
        data = replace(data, X=cut_and_counted(data.X, seen, binary, counts, rng))
    return replace(data, X=with_holes(data.X, missing, missing_by_value, rng)) if missing else data


@finite
def make_fixed_dag(
    n_samples: int = 1000,
    n_nodes: int = 20,
    n_features: int = 2,
    n_edges: int = 10,
    *,
    weight: float = 0.3,
    graph: Graph = "erdos-renyi",
    noise_scale: NoiseScale = "equal",
    degrees_of_freedom: float = math.inf,
    standardise: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Simulate the paper's fixed design: one graph for all samples, whatever their context.

    `n_edges` pairs of nodes are drawn and point forward in a random order of the nodes. Every edge has the same weight.
    Contexts are uniform, noise is normal by default.

    Parameters
    ----------
    n_samples, n_nodes, n_features, graph, noise_scale, degrees_of_freedom, standardise, random_state
        As in `make_varying_dag`.
    n_edges : int, default=10
        Number of edges of the graph.
    weight : float, default=0.3
        Weight of every edge, before `standardise`.

    Returns
    -------
    Dataset
        With the same graph for every row of W.

    See Also
    --------
    make_varying_dag : Graphs that vary with the context.

    Examples
    --------
    >>> from contextualdag.datasets import make_fixed_dag
    >>> data = make_fixed_dag(500, n_nodes=5, n_edges=6, random_state=0)
    >>> int((data.W[0] != 0).sum()), float(data.W.max()), bool((data.W == data.W[0]).all())
    (6, 0.3, True)
    """
    check_design(
        "make_fixed_dag",
        n_samples=n_samples,
        n_nodes=n_nodes,
        n_features=n_features,
        n_edges=n_edges,
        weight=weight,
        graph=graph,
        noise_scale=noise_scale,
        degrees_of_freedom=degrees_of_freedom,
        standardise=standardise,
    )
    rng = generator(random_state, "make_fixed_dag")
    j, k = SKELETONS[graph](n_nodes, n_edges, rng)
    position = rng.permutation(n_nodes)
    Z = rng.uniform(-1, 1, size=(n_samples, n_features))
    noise = rng.standard_normal((n_samples, n_nodes))
    noise *= _noise_sd(noise_scale, n_nodes, rng)
    noise *= _tails(noise.shape, degrees_of_freedom, rng)

    forward = position[j] < position[k]
    W = np.zeros((n_nodes, n_nodes))
    W[np.where(forward, j, k), np.where(forward, k, j)] = weight
    X = np.linalg.solve(np.eye(n_nodes) - W.T, noise.T).T
    return _dataset(X, Z, np.tile(W, (n_samples, 1, 1)), standardise)


def _parts(n: int) -> Iterator[slice]:
    """Rows to compute at once, so that an interruption need not wait for all."""
    return (slice(first, first + AT_ONCE) for first in range(0, n, AT_ONCE))


def _solved(W: Array, noise: Array) -> Array:
    """The x of every row with x = W^T x + noise."""
    X, eye = np.empty(noise.shape), np.eye(W.shape[1])
    for part in _parts(len(W)):
        X[part] = np.linalg.solve(eye - W[part].transpose(0, 2, 1), noise[part, :, None])[:, :, 0]
    return X


def _dataset(X: NDArray[np.floating], Z: Array, W: Array, standardise: bool) -> Dataset:
    if standardise:
        sd = X.std(0)
        # x_k / s_k = sum_j (w_jk s_j / s_k) x_j / s_j + noise_k / s_k
        X, W = X / sd, W * (sd[:, None] / sd)
    return Dataset(np.asarray(X, dtype=np.float64), Z, W, tuple(f"x{v + 1}" for v in range(X.shape[1])))


def _correlated(Z: Array, correlation: float) -> Array:
    """Correlate independent columns that are uniform on [-1, 1], and keep each of them uniform."""
    m = Z.shape[1]
    if correlation == 0 or m == 1:
        return Z
    from scipy.special import ndtr, ndtri

    covariance = np.full((m, m), correlation) + (1 - correlation) * np.eye(m)
    # -1 can be drawn, if very rarely, and would be mapped to minus infinity.
    normal = ndtri(np.maximum((1 + Z) / 2, np.finfo(np.float64).tiny))
    return np.asarray(2 * ndtr(normal @ np.linalg.cholesky(covariance).T) - 1, dtype=np.float64)


def _noise_sd(noise_scale: NoiseScale, n_nodes: int, rng: np.random.Generator) -> Array:
    if noise_scale == "equal":
        return np.ones(n_nodes)
    low, high = noise_scale
    return rng.uniform(low, high, size=n_nodes)


def _tails(shape: tuple[int, ...], degrees_of_freedom: float, rng: np.random.Generator) -> Array:
    """What normal noise is multiplied by to have Student's distribution."""
    if degrees_of_freedom == math.inf:
        return np.ones(shape)
    return np.asarray(np.sqrt(degrees_of_freedom / rng.chisquare(degrees_of_freedom, size=shape)))


def _factors(weak_edges: bool | float, n_edges: int, rng: np.random.Generator) -> Array:
    """Draw the factor of the weights of each pair: a sign and a size."""
    if isinstance(weak_edges, bool | np.bool_):
        if not weak_edges:
            return np.ones(n_edges)
        weak_edges = WEAKEST
    return rng.choice([-1.0, 1.0], size=n_edges) * rng.uniform(weak_edges, 1, size=n_edges)


def _fixed_direction(
    reversals: bool | float, j: NDArray[np.intp], k: NDArray[np.intp], p: int, rng: np.random.Generator
) -> Array:
    """1 for pairs that always point from j to k, -1 from k to j, 0 for those that turn with the context.

    The first nodes of a random order turn among themselves, so that graphs stay acyclic.
    """
    if reversals is True or reversals == 1:
        return np.zeros(len(j))
    position = rng.permutation(p)
    turns = np.maximum(position[j], position[k]) < round(math.sqrt(reversals) * p)
    return np.where(turns, 0, np.sign(position[k] - position[j]))
