import numpy as np
import pytest
from matplotlib import pyplot as plt

from contextualdag.errors import InvalidInputError
from contextualdag.plotting import draw_graph
from contextualdag.plotting.colours import DARK, LIGHT, palette_of
from contextualdag.plotting.curves import bend_around
from contextualdag.plotting.labels import fit_labels
from tests.plotting.conftest import assert_all_inside, boxes_of, edges_of, random_graph

LONG = ["neuroticism", "extraversion score", "openness", "agreeableness", "conscientiousness", "impulsiveness"]


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


def test_very_long_names_are_shortened_rather_than_laid_over_one_another():
    labels = fit_labels([f"averyveryverylongname{i}ofavariable" for i in range(12)], 110, 110)
    assert all(text.endswith("…") for text in labels.texts)
    assert labels.fontsize >= 5


def test_an_edge_goes_around_a_node_in_its_way():
    places = np.array([[0, 0], [0, 100.0], [3.0, 50]])
    sizes = np.full((3, 2), 20.0)
    assert abs(bend_around(0, 1, places, sizes)) > 0.1
    assert abs(bend_around(0, 1, places + np.array([[0, 0], [0, 0], [200, 0]]), sizes)) < 0.1


def test_colours_follow_the_background():
    with plt.style.context("dark_background"):
        _, dark = plt.subplots()
        assert palette_of(dark).positive == DARK.positive
    _, light = plt.subplots()
    assert palette_of(light).positive == LIGHT.positive
    light.set_facecolor("none")
    assert palette_of(light).text == LIGHT.text
