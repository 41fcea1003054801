import numpy as np
import pytest
import torch

from contextualdag.errors import InvalidInputError
from contextualdag.plotting import layered_layout
from contextualdag.plotting.layout import _Problem, heaviest_dag
from tests.plotting.conftest import random_graph


@pytest.mark.parametrize(("p", "aspect"), [(2, 1.4), (5, 0.4), (20, 3.0), (50, 1.4)])
def test_parents_stand_above_children_and_no_two_nodes_meet(p, aspect):
    W = random_graph(p, p)
    places = layered_layout(W, aspect=aspect)
    for j, k in zip(*np.nonzero(W), strict=True):
        assert places[j, 1] > places[k, 1]
    distance = np.abs(places[:, None] - places[None]).sum(-1) + 9 * np.eye(p)
    assert distance.min() >= 0.4


@pytest.mark.parametrize("aspect", [0.5, 2.5])
def test_a_dense_graph_fills_the_picture_instead_of_a_column(aspect):
    p = 15
    order = np.random.default_rng(0).permutation(p)
    W = np.triu(np.ones((p, p)), 1)[np.ix_(order, order)]
    places = layered_layout(W, aspect=aspect)
    width, height = np.ptp(places, axis=0)
    assert 0.5 * aspect < width / height < 2 * aspect
    for j, k in zip(*np.nonzero(W), strict=True):
        assert places[j, 1] > places[k, 1]


def test_a_layout_for_graphs_that_reverse_an_edge_follows_the_heavier():
    W = np.zeros((2, 2, 2))
    W[0, 0, 1], W[1, 1, 0] = 1.0, 0.5
    places = layered_layout(W)
    assert places[0, 1] > places[1, 1]


def test_nodes_without_edges_stand_below_all_others():
    W = random_graph(12, 1, degree=1.0)
    places = layered_layout(W)
    joined = (W != 0).any(0) | (W != 0).any(1)
    assert 0 < joined.sum() < 12
    assert places[joined, 1].min() > places[~joined, 1].max()


def test_wide_nodes_do_not_overlap():
    W = random_graph(20, 3)
    sizes = np.tile([0.16, 0.04], (20, 1))
    aspect = 1.4
    places = layered_layout(W, aspect=aspect, sizes=sizes)
    box = np.sqrt([20 * aspect, 20 / aspect])
    gap = np.abs(places[:, None] - places[None]) / (sizes * box)
    assert (gap.max(-1) + 9 * np.eye(20) >= 1).all()


def test_the_same_graph_stands_the_same_way():
    W = random_graph(10, 4)
    np.testing.assert_array_equal(layered_layout(W), layered_layout(W))


def test_empty_and_single():
    assert layered_layout(np.zeros((7, 7))).shape == (7, 2)
    assert layered_layout(np.zeros((1, 1))).tolist() == [[0, 0]]


def test_heaviest_dag_drops_the_lightest_edge_of_a_cycle():
    strength = np.array([[0, 3.0, 0], [0, 0, 2.0], [1.0, 0, 0]])
    dag, depth = heaviest_dag(strength)
    assert dag.tolist() == [[False, True, False], [False, False, True], [False, False, False]]
    assert depth.tolist() == [0, 1, 2]


def test_wrong_shape():
    with pytest.raises(InvalidInputError, match=r"W must have the shape \(p, p\) or \(n, p, p\). Got \(2, 3\)"):
        layered_layout(np.zeros((2, 3)))


def test_layouts_use_one_thread_even_if_there_are_more(monkeypatch):
    found, energy = [], _Problem._energy

    def spy(self, places):
        found.append(torch.get_num_threads())
        return energy(self, places)

    monkeypatch.setattr(_Problem, "_energy", spy)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        layered_layout(random_graph(5, 5))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(found) == {1}
