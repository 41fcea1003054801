import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch

from contextualdag.errors import InvalidInputError
from contextualdag.plotting import draw_graph, layered_layout

mpl.use("Agg")


def random_graph(p, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.standard_normal((p, p)) * (rng.random((p, p)) < 1.5 / p), 1)
    order = rng.permutation(p)
    return W[np.ix_(order, order)]


@pytest.mark.parametrize("p", [2, 5, 20, 50])
def test_parents_stand_above_children_and_no_two_nodes_meet(p):
    W = random_graph(p, p)
    places = layered_layout(W)
    for j, k in zip(*np.nonzero(W), strict=True):
        assert places[j, 1] > places[k, 1]
    distance = np.abs(places[:, None] - places[None]).sum(-1) + 9 * np.eye(p)
    assert distance.min() >= 0.5


def test_a_layout_for_graphs_that_turn_follows_the_heavier():
    W = np.zeros((2, 2, 2))
    W[0, 0, 1], W[1, 1, 0] = 1.0, 0.5
    places = layered_layout(W)
    assert places[0, 1] > places[1, 1]


def test_what_is_drawn():
    W, truth = np.zeros((3, 3)), np.zeros((3, 3))
    W[0, 1], W[1, 2] = 1.0, -0.5
    truth[0, 1], truth[0, 2] = 1.0, 1.0
    ax = draw_graph(W, ["age", "sleeplessness", "mood"], truth=truth)
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 3  # one right, one not there, one missed
    assert [text.get_text() for text in ax.texts] == ["age", "sleeplessness", "mood"]
    assert len({arrow.get_edgecolor() for arrow in arrows}) == 3
    plt.close(ax.figure)
    with pytest.raises(InvalidInputError, match=r"shape \(2, 2\), one row for each name. Got \(3, 3\)"):
        draw_graph(W, ["a", "b"])


def test_a_graph_without_edges_can_be_drawn():
    ax = draw_graph(np.zeros((4, 4)), list("abcd"))
    assert not ax.patches
    plt.close(ax.figure)
