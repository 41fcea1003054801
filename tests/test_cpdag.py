"""CPDAGs against their definition: what all DAGs of an equivalence class have in common."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextualdag.cpdag import check_acyclic, cpdag, distinct, untold
from contextualdag.errors import CyclicGraphError, InvalidInputError

# Equivalence classes of DAGs with 1, ..., 5 nodes (OEIS A007984) and DAGs (OEIS A003024).
N_CLASSES = {1: 1, 2: 2, 3: 11, 4: 185, 5: 8782}
N_DAGS = {1: 1, 2: 3, 3: 25, 4: 543, 5: 29281}


def graph(p, *edges):
    W = np.zeros((p, p), dtype=bool)
    for j, k in edges:
        W[j, k] = True
    return W


def every_dag(p):
    """Every choice of forward edges in every order."""
    j, k = np.triu_indices(p, k=1)
    forward = np.zeros((2 ** len(j), p, p), dtype=bool)
    forward[:, j, k] = np.arange(2 ** len(j))[:, None] >> np.arange(len(j)) & 1
    orders = [np.array(order) for order in permutations(range(p))]
    dags = np.concatenate([forward[:, order][:, :, order] for order in orders])
    return np.unique(dags, axis=0)


def equivalence_class(dag):
    """Adjacent pairs and v-structures, by the definition of Verma and Pearl."""
    p = len(dag)
    adjacent = dag | dag.T
    colliders = {
        (j, k, other)
        for k in range(p)
        for j, other in combinations(np.flatnonzero(dag[:, k]).tolist(), 2)
        if not adjacent[j, other]
    }
    return adjacent.tobytes(), frozenset(colliders)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_every_small_dag_against_its_equivalence_class(p):
    dags = every_dag(p)
    assert len(dags) == N_DAGS[p]
    members = {}
    for dag in dags:
        members.setdefault(equivalence_class(dag), []).append(dag)
    assert len(members) == N_CLASSES[p]
    # An edge that two members direct differently is set both ways in the union of all members, others one way.
    expected = [np.any(members[equivalence_class(dag)], axis=0) for dag in dags]
    np.testing.assert_array_equal(cpdag(dags), expected)


@pytest.mark.slow
def test_the_classes_of_five_nodes():
    dags = every_dag(5)
    assert len(dags) == N_DAGS[5]
    completed = cpdag(dags)
    first, of_each = distinct(completed)
    assert len(first) == N_CLASSES[5]
    union = np.zeros((len(first), 5, 5), dtype=bool)
    np.logical_or.at(union, of_each, dags)
    np.testing.assert_array_equal(union[of_each], completed)


@given(st.integers(0, 10**6), st.integers(2, 15), st.sampled_from([0.1, 0.3, 0.7]))
def test_reversing_a_covered_edge_changes_nothing(seed, p, density):
    # Chickering (1995): j -> k may be reversed within the class if the parents of k are j and the parents of j, and
    # only then. So no other edge can be reversed alone without changing the CPDAG, or making a cycle.
    rng = np.random.default_rng(seed)
    order = rng.permutation(p)
    dag = np.triu(rng.random((p, p)) < density, k=1)[order][:, order]
    (completed,) = cpdag([dag])
    assert (completed | completed.T == dag | dag.T).all()
    assert (completed & dag == dag).all()
    for j, k in np.argwhere(dag):
        reversed_ = dag.copy()
        reversed_[j, k], reversed_[k, j] = False, True
        parents = dag[:, j].copy()
        parents[j] = True
        covered = (dag[:, k] == parents).all()
        try:
            same = bool((cpdag([reversed_])[0] == completed).all())
        except CyclicGraphError:
            same = False
        assert same == covered


@pytest.mark.parametrize(
    ("dag", "directed"),
    [
        pytest.param(graph(3, (0, 1), (1, 2)), [], id="chain"),
        pytest.param(graph(3, (1, 0), (1, 2)), [], id="fork"),
        pytest.param(graph(3, (0, 1), (2, 1)), [(0, 1), (2, 1)], id="collider"),
        pytest.param(graph(3, (0, 1), (2, 1), (0, 2)), [], id="married parents"),
        pytest.param(graph(4, (0, 2), (1, 2), (2, 3)), [(0, 2), (1, 2), (2, 3)], id="rule one"),
        pytest.param(
            graph(4, (0, 1), (2, 1), (1, 3), (0, 3)), [(0, 1), (2, 1), (1, 3), (0, 3)], id="rule two"
        ),  # 1 -> 3 by rule one, then 0 -> 1 -> 3 forces 0 -> 3
        pytest.param(
            graph(4, (0, 1), (0, 2), (0, 3), (1, 3), (2, 3)), [(1, 3), (2, 3), (0, 3)], id="rule three"
        ),  # 0 - 1 and 0 - 2 stay open
    ],
)
def test_worked_by_hand(dag, directed):
    (completed,) = cpdag([dag])
    arrows = completed & ~completed.T
    assert sorted(map(tuple, np.argwhere(arrows).tolist())) == sorted(directed)
    np.testing.assert_array_equal(completed | completed.T, dag | dag.T)


def test_a_batch_is_its_graphs_one_by_one():
    rng = np.random.default_rng(0)
    dags = np.triu(rng.random((30, 8, 8)) < 0.4, k=1)[rng.integers(30, size=100)]
    before = dags.copy()
    np.testing.assert_array_equal(cpdag(dags), np.concatenate([cpdag([dag]) for dag in dags]))
    np.testing.assert_array_equal(dags, before)
    np.testing.assert_array_equal(cpdag(dags * rng.normal(size=dags.shape)), cpdag(dags))


def test_distinct_rows():
    a, b = graph(3, (0, 1)), graph(3, (1, 0))
    first, of_each = distinct(np.array([b, a, b, b, a]))
    assert sorted(first.tolist()) == [0, 1]
    np.testing.assert_array_equal(first[of_each], [0, 1, 0, 0, 1])


def test_cycles_and_shapes_are_refused():
    cycle, chain = graph(3, (0, 1), (1, 2), (2, 0)), graph(3, (0, 1), (1, 2))
    with pytest.raises(
        CyclicGraphError, match=r"graphs must hold acyclic graphs\. 2 of its 3 graphs have a cycle, the first is graph 1"
    ):
        cpdag([chain, cycle, cycle])
    with pytest.raises(CyclicGraphError, match="estimated must hold acyclic graphs"):
        check_acyclic(np.eye(2, dtype=bool)[None], "estimated")
    with pytest.raises(InvalidInputError, match=r"graphs must hold one square matrix per sample, shape \(n, p, p\)"):
        cpdag(chain)


def test_weights_that_vary_tell_directions_and_others_follow():
    chain = graph(4, (0, 1), (1, 2), (2, 3))
    nothing = np.zeros((4, 4), dtype=bool)
    both = chain | chain.T
    np.testing.assert_array_equal(untold(chain, nothing, nothing), both)
    assert not untold(chain, graph(4, (0, 1)), nothing).any()
    last = graph(4, (2, 3))
    np.testing.assert_array_equal(untold(chain, last, nothing), both & ~(last | last.T))


@pytest.mark.parametrize("p", [3, 4])
def test_without_knowledge_what_is_untold_is_undirected_in_the_cpdag(p):
    nothing = np.zeros((p, p), dtype=bool)
    for dag in every_dag(p)[:: 1 if p == 3 else 7]:
        expected = cpdag(dag[None])[0]
        np.testing.assert_array_equal(untold(dag, nothing, nothing), expected & expected.T)


def test_pairs_that_reverse_may_close_cycles():
    either = graph(4, (0, 1), (1, 0), (1, 2), (2, 0), (2, 3))
    told = graph(4, (0, 1), (1, 0))
    found = untold(either, told, np.zeros((4, 4), dtype=bool))
    assert not found[0, 1]
    np.testing.assert_array_equal(found, found.T)


def test_doubtful_edges_tell_nothing_of_others():
    collider = graph(4, (0, 2), (1, 2), (2, 3))
    nothing, doubtful = np.zeros((4, 4), dtype=bool), graph(4, (0, 2))
    assert not untold(collider, nothing, nothing).any()
    np.testing.assert_array_equal(untold(collider, nothing, doubtful), collider | collider.T)
    found = untold(collider, doubtful, doubtful)  # told by the user
    np.testing.assert_array_equal(found, graph(4, (1, 2), (2, 1), (2, 3), (3, 2)))
