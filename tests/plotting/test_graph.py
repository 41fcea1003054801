import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from contextualdag.differences import edge_changes
from contextualdag.errors import InvalidInputError
from contextualdag.plotting import draw_graph
from tests.plotting.conftest import assert_all_inside, boxes_of, edges_of, random_graph

LONG = ["neuroticism", "extraversion score", "openness", "agreeableness", "conscientiousness", "impulsiveness"]


def edges_at(model, z):
    return sorted(zip(*(index.tolist() for index in np.nonzero(model.adjacency(z)[0])), strict=True))


def test_what_is_drawn():
    W, truth = np.zeros((3, 3)), np.zeros((3, 3))
    W[0, 1], W[1, 2] = 1.0, -0.5
    truth[0, 1], truth[0, 2] = 1.0, 1.0
    ax = draw_graph(W, ["age", "sleeplessness", "mood"], truth=truth)
    assert edges_of(ax) == [(0, 1), (0, 2), (1, 2)]  # one right, one missed, one not there
    assert [text.get_text() for text in ax.texts] == ["age", "sleeplessness", "mood"]
    assert len({patch.get_edgecolor() for patch in ax.patches if patch.get_gid()}) == 3
    widths = {patch.get_gid(): patch.get_linewidth() for patch in ax.patches if patch.get_gid()}
    assert widths["edge-0-1"] > widths["edge-1-2"]


def test_wrong_shapes():
    with pytest.raises(InvalidInputError, match=r"shape \(2, 2\), one row for each name. Got \(3, 3\)"):
        draw_graph(np.zeros((3, 3)), ["a", "b"])
    with pytest.raises(InvalidInputError, match=r"places must have the shape \(2, 2\). Got \(3, 2\)"):
        draw_graph(np.zeros((2, 2)), ["a", "b"], places=np.zeros((3, 2)))


def test_a_graph_without_edges_can_be_drawn():
    ax = draw_graph(np.zeros((4, 4)), list("abcd"))
    assert not ax.patches


@pytest.mark.slow
@pytest.mark.parametrize(("p", "size"), [(5, (3, 6)), (20, (6.4, 4.8)), (20, (3.5, 6)), (20, (12, 3)), (50, (6.4, 4.8))])
def test_labels_do_not_overlap_and_stay_inside(p, size):
    names = [f"{LONG[i % 6]} {i}" if p <= 20 else f"x{i}" for i in range(p)]
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    draw_graph(random_graph(p, p), names, ax=ax)
    boxes = boxes_of(ax.texts)
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert_all_inside(figure)


def test_names_are_kept_whole_where_there_is_room_and_dollars_are_dollars():
    ax = draw_graph(np.zeros((2, 2)), ["income in $", "depressed mood"])
    assert [text.get_text() for text in ax.texts] == [r"income in \$", "depressed\nmood"]
    ax.figure.canvas.draw()


def test_graph_of_a_context(model):
    z = model.typical_context(0.2)
    ax = model.plot_graph(z)
    assert edges_of(ax) == edges_at(model, z)
    assert "age" in ax.get_title()
    assert "guess" not in ax.get_title()
    assert_all_inside(ax.figure)


@pytest.mark.parametrize(
    "z", [{"age": 90}, [90, 0.0, "Leeds"], pd.DataFrame({"age": [90.0], "neuroticism": 0.0, "site": "Leeds"})]
)
def test_a_context_outside_the_range_says_so(model, z):
    assert "outside the range of the data" in model.plot_graph(z).get_title()
    assert "outside the range of the data" in model.plot_difference(None, z).get_title()


def test_several_graphs_share_their_places(model):
    Z = pd.concat([model.typical_context(q) for q in (0.1, 0.5, 0.9)])
    axes = model.plot_graphs(Z)
    assert axes.shape == (3,)
    places = [np.array([text.xy for text in ax.texts]) for ax in axes]
    np.testing.assert_array_equal(places[0], places[2])
    assert [edges_of(ax) for ax in axes] == [edges_at(model, Z.iloc[[i]]) for i in range(3)]
    assert_all_inside(axes[0].figure)
    with pytest.raises(InvalidInputError, match=r"one Axes for each of the 3 contexts. Got 1"):
        model.plot_graphs(Z, ax=[axes[0]])


def test_pictures_leave_out_weak_edges_and_say_so(model):
    dense = model.select(n_edges=float(model.path_["n_edges"].max()))
    z1, z2 = dense.typical_context(0.1), dense.typical_context(0.9)
    W = dense.adjacency(pd.concat([z1, z2]))
    n_edges = (W != 0).sum((1, 2))
    assert n_edges.min() > 3
    ax = dense.plot_graph(z1, max_edges=3)
    sizes = np.abs(W[0] * dense.scale_[:, None] / dense.scale_)
    assert edges_of(ax) == sorted(map(tuple, np.argwhere(sizes >= np.sort(sizes.ravel())[-3]).tolist()))
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == f"{n_edges[0] - 3} weaker not drawn"
    assert_all_inside(ax.figure)
    for ax, one in zip(dense.plot_graphs(pd.concat([z1, z2]), max_edges=3), W, strict=True):
        left_out = int((one != 0).sum()) - len(edges_of(ax))
        assert 3 <= len(edges_of(ax)) <= 6
        assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == f"{left_out} weaker not drawn"
    changed = sum(int(edges.sum()) for edges in edge_changes(*W).values())
    ax = dense.plot_difference(z1, z2, max_edges=3)
    assert len(edges_of(ax)) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == f"{changed - 3} weaker not drawn"
    assert len(edges_of(dense.plot_difference(z1, z2))) == changed
    # A node whose edges are left out is not as pale as one without any.
    assert len({text.get_color() for text in dense.plot_graph(z1, max_edges=1).texts}) == 1 + int(
        (~((W[0] != 0).any(0) | (W[0] != 0).any(1))).any()
    )
