"""Whether the independences that graphs imply hold better in the data than those of the same graphs with other names.

By the local Markov condition every variable is independent of its non-descendants given its parents. With enough rows, real
data violate some of these independences of any graph, so that the number of violations alone says little. It is compared
with those of the same graphs whose nodes are relabelled at random: graphs that do no better have nothing to do with the data
(Eulig, Mastakouri, Blöbaum, Hardt and Janzing, "Toward falsifying causal graphs using a permutation-based test", AAAI 2025).

Here graphs vary with the context, so that a statement "k is independent of j given the parents of j" is about the rows in
whose own graph k is neither a descendant nor a parent of j. Weights are fitted anew, by the same regressions for the given
labels and for all others: each variable on its parents in the row's own graph and their products with polynomials of the
context.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from contextualdag.checks import generator, is_count, require
from contextualdag.cpdag import cpdag
from contextualdag.diagnostics.findings import plural
from contextualdag.diagnostics.fitted_rows import FittedRows
from contextualdag.diagnostics.given_context import context_basis, dependence, fitted, standardised
from contextualdag.errors import InvalidInputError
from contextualdag.tables import Array, Flags
from contextualdag.training.data import polynomials

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

MOST_ROWS = 2000
FEWEST_ROWS, LEAST_SHARE = 30, 0.05  # of the rows that a statement is about
LEVEL = 0.05  # of each test of an independence, and of the comparison
MOST_COMPARED = 10  # graphs whose equivalence under other labels is looked at


@dataclass(frozen=True)
class Falsification:
    """Outcome of a test of graphs by the independences that they imply.

    Attributes
    ----------
    p_value : float
        Share of the relabelled graphs that are violated no more often. Small if the graphs have to do with the data.
    violated : float
        Share of the independences implied by the graphs that the data violate, each tested at 5 %.
    violated_permuted : array of shape (n_permutations,)
        The same for graphs with relabelled nodes.
    n_tests : int
        Number of independences that were tested.
    n_rows : int
        Number of rows.
    equivalent : float
        Share of the relabelled graphs that imply the same independences; with many, `p_value` cannot be small.
    verdict : str
        The outcome in a sentence.
    """

    p_value: float
    violated: float
    violated_permuted: Array = field(repr=False)
    n_tests: int
    n_rows: int
    equivalent: float
    verdict: str

    @property
    def falsified(self) -> bool:
        """Whether independences are violated, more than by chance, and no less than those of relabelled graphs."""
        return self.p_value > LEVEL >= self.equivalent and self.violated > _by_chance(self.n_tests)


def falsify(
    model: "GraphEstimator",
    X: Any,
    Z: Any = None,
    n_permutations: int = 100,
    random_state: int | np.random.Generator | None = None,
    interventions: Any = None,
    sample_weight: Any = None,
) -> Falsification:
    """Test the graphs of a model by the independences that they imply.

    Graphs are falsified if these are violated more often than by chance, and no less often than those of the same graphs
    with nodes that are relabelled at random. Not to be falsified is no proof: directions that change no independence are
    not tested, nor is whether edges are too many.

    Parameters
    ----------
    model : estimator
        A fitted estimator; not one that needs a mask for each sample.
    X : array or DataFrame of shape (n, p)
        Variables, without missing values; of more than 2000 rows, some 2000 or fewer are taken at equal steps.
    Z : array or DataFrame of shape (n, m), optional
        Contexts of the same samples; may be left out if the model was fitted without.
    n_permutations : int, default=100
        Number of relabelled graphs. With 2000 rows, a hundred of them take some seconds for twenty variables and a minute
        for a hundred.
    random_state : int or numpy.random.Generator, optional
        Source of the permutations.
    interventions : array, DataFrame, dict or sequence, optional
        Which variables were set or disturbed in which rows, as in `fit`. That a variable is independent of others given its
        parents is tested on the rows where it was not. The values set must not have been chosen by the other variables.
    sample_weight : sequence of length n, optional
        Rows of weight zero are left out. All others count the same.

    Returns
    -------
    Falsification

    Examples
    --------
    >>> from contextualdag import FixedDAG
    >>> from contextualdag.datasets import make_fixed_dag
    >>> from contextualdag.diagnostics import falsify
    >>> data = make_fixed_dag(500, n_nodes=8, n_edges=8, weight=0.8, random_state=0)
    >>> model = FixedDAG(random_state=0).fit(data.X)
    >>> outcome = falsify(model, data.X, random_state=0)
    >>> outcome.falsified, outcome.p_value < 0.05
    (False, True)
    """
    require(is_count(n_permutations), "n_permutations", "falsify", "an integer of at least 1", n_permutations)
    rows = FittedRows.read(model, X, Z, MOST_ROWS, interventions, sample_weight)
    if len(rows.X) < FEWEST_ROWS:
        raise InvalidInputError(f"falsify needs {FEWEST_ROWS} rows at least. Got {len(rows.X)}.")
    rng = generator(random_state, "falsify")
    return compare_with_relabelled(rows.centred, rows.Z, rows.W != 0, n_permutations, rng, rows.scored)


def compare_with_relabelled(
    X: Array, Z: Array, edges: Flags, n_permutations: int, rng: np.random.Generator, scored: Flags | None = None
) -> Falsification:
    """Compare graphs (n, p, p) with relabelled ones on variables without their means, and encoded contexts.

    Where a variable is not scored (n, p), nothing is said of its independence of others given its parents.
    """
    p = X.shape[1]
    scored = np.ones(X.shape, dtype=bool) if scored is None else scored
    statements = _Statements.of(edges, Z, scored)
    tables = _rows_of_variables(X, Z, scored)
    # To relabel the nodes of the graphs is to permute the variables.
    orders = [rng.permutation(p) for _ in range(n_permutations)]
    violated, *permuted = (statements.violated(tables, order) for order in (np.arange(p), *orders))
    n_tests = statements.n_tests
    p_value = (1 + sum(share <= violated for share in permuted)) / (1 + n_permutations) if n_tests else 1.0
    equivalent = _equivalent(edges, orders)
    verdict = _verdict(violated, np.array(permuted), p_value, n_tests, equivalent)
    return Falsification(p_value, violated, np.array(permuted), n_tests, len(X), equivalent, verdict)


@dataclass(frozen=True)
class _Table:
    """Rows in which a variable was not intervened on: their numbers, a basis of their contexts, and all variables there."""

    rows: NDArray[np.intp]
    basis: Array
    X: Array


def _rows_of_variables(X: Array, Z: Array, scored: Flags) -> list[_Table]:
    """For each variable the rows where it is scored, none if too few, and all variables without their means."""
    found: dict[bytes, _Table] = {}
    for flags in scored.T:
        if flags.tobytes() not in found:
            rows = np.flatnonzero(flags) if flags.sum() >= FEWEST_ROWS else np.arange(0)
            basis = context_basis(Z[rows]) if len(rows) else np.ones((0, 1))
            centred = standardised(X[rows] - fitted(X[rows], basis)) if len(rows) else X[rows]
            found[flags.tobytes()] = _Table(rows, basis, centred)
    return [found[flags.tobytes()] for flags in scored.T]


@dataclass(frozen=True)
class _Statements:
    """Implied independences: for every node its parents, and the rows where others are neither parents nor descendants."""

    edges: Flags
    independent: Flags  # [i, k, j]: in row i, k is independent of j given the parents of j
    tested: Flags  # [k, j]
    features: Array  # of the context, for the regressions on parents

    @classmethod
    def of(cls, edges: Flags, Z: Array, scored: Flags) -> "_Statements":
        n, p, _ = edges.shape
        reached = edges.copy()
        for _ in range(int(np.ceil(np.log2(max(p, 2))))):  # paths of up to 1, 2, 4, ... edges
            steps = reached.astype(np.float32)
            reached |= steps @ steps > 0
        independent = ~edges & ~reached.transpose(0, 2, 1) & ~np.eye(p, dtype=bool)
        rows = np.einsum("ikj,ij->kj", independent, scored, dtype=np.intp)
        tested = rows >= max(FEWEST_ROWS, LEAST_SHARE * n)
        most_parents = int(edges.any(0).sum(0).max(initial=0))
        features = polynomials(torch.from_numpy(standardised(Z)), max(most_parents, 1)).numpy()
        return cls(edges, independent, tested, features)

    @property
    def n_tests(self) -> int:
        return int(self.tested.sum())

    def violated(self, tables: list[_Table], order: NDArray[np.int64]) -> float:
        """Share of the statements that variables violate, permuted in an order."""
        count = 0
        for j in np.flatnonzero(self.tested.any(0)).tolist():
            table = tables[order[j]]
            if not len(table.rows):
                continue
            X = table.X[:, order]
            others = np.flatnonzero(self.tested[:, j])
            left = self._without_parents(X[:, [j, *others]], X, j, table.rows)
            independent = self.independent[:, :, j][np.ix_(table.rows, others)]
            p_values, _ = dependence(left[:, 0], left[:, 1:] * independent, table.basis)
            count += int((p_values < LEVEL).sum())
        return count / max(self.n_tests, 1)

    def _without_parents(self, columns: Array, X: Array, j: int, rows: NDArray[np.intp]) -> Array:
        """Residuals of columns given the parents of j, in these rows."""
        parents = np.flatnonzero(self.edges[:, :, j].any(0))
        if not len(parents):
            return columns
        active = X[:, parents] * self.edges[:, :, j][np.ix_(rows, parents)]
        design = (active[:, :, None] * self.features[rows][:, None, :]).reshape(len(X), -1)
        orthogonal, size, _ = np.linalg.svd(design, full_matrices=False)
        orthogonal = orthogonal[:, size > 1e-6 * size.max(initial=0)]
        left: Array = columns - orthogonal @ (orthogonal.T @ columns)
        return left


def _equivalent(edges: Flags, orders: list[NDArray[np.int64]]) -> float:
    """Share of orders that lead to Markov equivalent graphs in all contexts."""
    some = edges[:: -(-len(edges) // MOST_COMPARED)]
    own = cpdag(some)
    # The class of relabelled graphs is the relabelled class.
    same = [np.array_equal(own[:, order][:, :, order], own) for order in orders]
    return float(np.mean(same))


def _by_chance(n_tests: int) -> float:
    """Share of violations that is nothing unusual where all independences hold; most are tested twice, from either side."""
    return LEVEL + 2 * float(np.sqrt(2 * LEVEL * (1 - LEVEL) / max(n_tests, 1)))


def _verdict(violated: float, permuted: Array, p_value: float, n_tests: int, equivalent: float) -> str:
    if not n_tests:
        return "The graphs imply no independence that these rows can test: they join all variables, or rows are too few."
    numbers = (
        f"the data violate {violated:.0%} of the {plural(n_tests, 'independence')} that the graphs imply, and with "
        f"relabelled nodes {permuted.mean():.0%} on average (p = {p_value:.2g})"
    )
    if equivalent > LEVEL:
        return f"The test says little, since {equivalent:.0%} of the relabelled graphs imply the same: {numbers}."
    if p_value > LEVEL and violated > _by_chance(n_tests):
        return f"Falsified: {numbers}. The graphs agree with the data no better than graphs with other names at their nodes."
    if p_value > LEVEL:
        return f"Not falsified, but the test says little, since relabelled graphs may do as well: {numbers}."
    if violated > _by_chance(n_tests):
        return (
            f"Not falsified: {numbers}. Still they are violated more often than the {LEVEL:.0%} that chance gives: edges "
            "are missing, or variables that cause several of these."
        )
    return f"Not falsified: {numbers}."
