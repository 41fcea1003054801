import sys
import types

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import f1_score as sklearn_f1
from sklearn.metrics import precision_score, recall_score

from contextualdag.errors import CyclicGraphError, InvalidInputError
from contextualdag.metrics import (
    acyclic_rate,
    cpdag_shd,
    estimation_error,
    f1_score,
    fdr,
    fpr,
    precision,
    recall,
    shd,
    sid,
    tpr,
)

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
FORK = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0]])
COLLIDER = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
CYCLE = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
EMPTY = np.zeros((3, 3))
OF_EDGES = [f1_score, precision, recall, fdr, tpr, fpr, shd]
MEANS = [*OF_EDGES, cpdag_shd]


def random_dags(n, p, density, seed):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(p) for _ in range(n)]
    weights = np.triu(rng.normal(size=(n, p, p)) * (rng.random((n, p, p)) < density), k=1)
    return np.stack([W[order][:, order] for W, order in zip(weights, orders, strict=True)])


@pytest.mark.parametrize(
    ("edges", "f1", "right", "found", "false", "distance"),
    [
        ([(0, 1), (1, 2)], 1.0, 1.0, 1.0, 0.0, 0),
        ([(0, 1)], 2 / 3, 1.0, 0.5, 0.0, 1),
        ([(1, 0), (1, 2)], 0.5, 0.5, 0.5, 0.25, 1),  # a reversal is one pair, and one of four non-edges
        ([(0, 1), (1, 2), (0, 2)], 0.8, 2 / 3, 1.0, 0.25, 1),
        ([], 0.0, 1.0, 0.0, 0.0, 2),
        ([(0, 2)], 0.0, 0.0, 0.0, 0.25, 3),
    ],
)
def test_against_counting_by_hand(edges, f1, right, found, false, distance):
    estimated = np.zeros((1, 3, 3))
    for j, k in edges:
        estimated[0, j, k] = -0.3
    assert f1_score(CHAIN[None], estimated) == pytest.approx(f1)
    assert precision(CHAIN[None], estimated) == pytest.approx(right)
    assert fdr(CHAIN[None], estimated) == pytest.approx(1 - right)
    assert recall(CHAIN[None], estimated) == tpr(CHAIN[None], estimated) == pytest.approx(found)
    assert fpr(CHAIN[None], estimated) == pytest.approx(false)
    assert shd(CHAIN[None], estimated) == distance


def test_a_share_of_nothing_is_faultless():
    complete = np.ones((3, 3)) - np.eye(3)
    nothing_estimated = {f1_score: 0, precision: 1, recall: 0, fdr: 0, tpr: 0, fpr: 0}
    nothing_true = {f1_score: 0, precision: 0, recall: 1, fdr: 1, tpr: 1, fpr: 2 / 6}
    nothing_at_all = {f1_score: 1, precision: 1, recall: 1, fdr: 0, tpr: 1, fpr: 0}
    for metric in nothing_at_all:
        assert metric([CHAIN], [EMPTY]) == nothing_estimated[metric]
        assert metric([EMPTY], [CHAIN]) == nothing_true[metric]
        assert metric([EMPTY], [EMPTY]) == nothing_at_all[metric]
        assert metric([np.zeros((1, 1))], [np.zeros((1, 1))]) == nothing_at_all[metric]
    assert fpr([complete], [complete]) == 0


def test_means_over_graphs_with_empty_ones():
    assert f1_score([EMPTY, CHAIN], [EMPTY, CHAIN]) == 1.0
    assert f1_score([EMPTY, CHAIN], [CHAIN, CHAIN]) == 0.5
    assert shd([EMPTY, CHAIN], [CHAIN, CHAIN]) == 1.0


@pytest.mark.parametrize("metric", MEANS)
def test_a_batch_is_the_mean_of_its_graphs(metric):
    a, b = random_dags(40, 6, 0.3, seed=0), random_dags(40, 6, 0.3, seed=1)
    a[:3], b[2:5] = 0, 0
    alone = [metric(a[i : i + 1], b[i : i + 1]) for i in range(len(a))]
    assert metric(a, b) == pytest.approx(np.mean(alone))
    assert len(set(alone)) > 3


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit_learn_and_networkx(seed):
    a, b = (random_dags(20, 7, 0.4, seed=2 * seed + i) for i in range(2))
    pairs = [((x != 0).ravel(), (y != 0).ravel()) for x, y in zip(a, b, strict=True)]
    for ours, theirs in ((f1_score, sklearn_f1), (precision, precision_score), (recall, recall_score)):
        expected = np.mean([theirs(x, y, zero_division=1) for x, y in pairs])
        assert ours(a, b) == pytest.approx(expected)
    assert fdr(a, b) == pytest.approx(1 - precision(a, b))
    off_diagonal = ~np.eye(7, dtype=bool).ravel()
    assert fpr(a, b) == pytest.approx(np.mean([y[~x & off_diagonal].mean() for x, y in pairs]))
    noisy = np.where(np.random.default_rng(seed).random(a.shape) < 0.03, 1, a)
    dags = [nx.is_directed_acyclic_graph(nx.from_numpy_array(W, create_using=nx.DiGraph)) for W in noisy]
    assert 0 < np.mean(dags) < 1
    assert acyclic_rate(noisy) == np.mean(dags)


def test_the_diagonal_holds_no_edge_but_a_cycle():
    looped = CHAIN + np.diag([1, 0, 0])
    for metric in OF_EDGES:
        assert metric([CHAIN], [looped]) == metric([CHAIN], [CHAIN]) == metric([looped], [CHAIN])
    assert acyclic_rate([CHAIN, looped]) == 0.5


def test_cpdags_forgive_what_data_cannot_tell():
    assert shd([CHAIN], [FORK]) == 1
    assert cpdag_shd([CHAIN], [FORK]) == 0
    assert cpdag_shd([CHAIN], [COLLIDER]) == 2  # both edges get an arrow
    assert cpdag_shd([CHAIN, CHAIN], [FORK, COLLIDER]) == 1
    assert cpdag_shd([CHAIN], [EMPTY]) == 2
    one_less = COLLIDER.copy()
    one_less[0, 1] = 0
    assert cpdag_shd([COLLIDER], [one_less]) == 2  # one edge is missing, the other has lost its arrow


def test_cpdag_shd_is_a_distance():
    a, b, c = (random_dags(50, 8, 0.3, seed) for seed in range(3))
    assert cpdag_shd(a, a) == 0
    assert cpdag_shd(a, b) == cpdag_shd(b, a)
    assert cpdag_shd(a, c) <= cpdag_shd(a, b) + cpdag_shd(b, c)


@pytest.mark.parametrize("metric", [cpdag_shd, sid])
def test_cycles_are_refused_where_they_make_no_sense(metric, monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", types.ModuleType("gadjid"))
    with pytest.raises(CyclicGraphError, match=r"estimated must hold acyclic graphs\. 1 of its 2 graphs have a cycle"):
        metric([CHAIN, CHAIN], [CHAIN, CYCLE])
    with pytest.raises(CyclicGraphError, match="true must hold acyclic graphs"):
        metric([CYCLE], [CHAIN])


def test_acyclic_rate():
    assert acyclic_rate([CHAIN, CYCLE, EMPTY, COLLIDER]) == 0.75
    with pytest.raises(InvalidInputError, match=r"graphs must hold graphs of shape \(n, p, p\). Got \(3, 3\) instead"):
        acyclic_rate(CHAIN)
    with pytest.raises(InvalidInputError, match="graphs holds no graph"):
        acyclic_rate(np.zeros((0, 3, 3)))


def test_sid_of_the_example_of_peters_and_buhlmann():
    # Figure 1 of their paper: both graphs are one edge away from G, at an intervention distance of 0 and 8.
    pytest.importorskip("gadjid", reason="an optional package")
    G = np.zeros((5, 5))
    G[0, 1:], G[1, 2:] = 1, 1
    one_more, reversed_ = G.copy(), G.copy()
    one_more[2, 3] = 1
    reversed_[0, 1], reversed_[1, 0] = 0, 1
    assert shd([G], [one_more]) == shd([G], [reversed_]) == 1
    assert sid([G], [G]) == sid([G], [one_more]) == 0
    assert sid([G], [reversed_]) == 8
    assert sid([G, G, G, G], [one_more, reversed_, reversed_, G]) == 4
    assert sid([[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]]) == 2
    assert sid([[[0]]], [[[0]]]) == 0


def test_sid_asks_gadjid_once_for_each_distinct_pair(monkeypatch):
    asked = []

    def count(true, estimated, edge_direction):
        assert true.dtype == estimated.dtype == np.int8
        assert edge_direction == "from row to column"
        asked.append((true, estimated))
        return 0.0, int((true != estimated).sum())

    gadjid = types.ModuleType("gadjid")
    gadjid.sid = count
    monkeypatch.setitem(sys.modules, "gadjid", gadjid)
    # In the order of G_true, G_guess; the fourth pair is the third with other weights.
    assert sid([CHAIN, CHAIN, FORK, FORK], [CHAIN, EMPTY, CHAIN, CHAIN * 0.5]) == (0 + 2 + 2 + 2) / 4
    assert len(asked) == 3
    assert any((true == FORK).all() and (estimated == CHAIN).all() for true, estimated in asked)


def test_sid_names_the_package_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", None)
    with pytest.raises(ImportError, match=r"sid needs the package gadjid, which is not installed\. Try: pip install gadjid"):
        sid([CHAIN], [CHAIN])


def test_estimation_error_is_relative_to_the_truth():
    assert estimation_error([CHAIN], [CHAIN * 0.5]) == 0.25
    assert estimation_error([CHAIN], [CHAIN * 0]) == 1.0
    assert estimation_error([CHAIN * 0], [CHAIN * 0]) == 0.0
    assert estimation_error([CHAIN * 0], [CHAIN]) == np.inf


@pytest.mark.parametrize("metric", [*MEANS, estimation_error])
def test_shapes_are_checked(metric):
    with pytest.raises(InvalidInputError, match=r"true must hold graphs of shape \(n, p, p\)"):
        metric(CHAIN, CHAIN)
    with pytest.raises(InvalidInputError, match=r"same shape. Got \(1, 3, 3\) and \(2, 3, 3\)"):
        metric([CHAIN], [CHAIN, CHAIN])
    with pytest.raises(InvalidInputError, match="true holds no graph"):
        metric(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))


def test_values_are_plain_floats():
    for metric in [*MEANS, estimation_error]:
        assert type(metric([CHAIN], [FORK])) is float
    assert type(acyclic_rate([CHAIN])) is float
