"""Graphs as elements of Cytoscape: fixed places, edges that appear, vanish and reverse."""

import numpy as np
import pytest

from contextualdag.differences import differences
from contextualdag.explorer.elements import elements, shown_edges, signed, stylesheet, widest_weight
from contextualdag.explorer.placement import Placement
from contextualdag.explorer.response import Response
from contextualdag.explorer.view import Picked

pytestmark = pytest.mark.slow

A = np.array([[0, 0.5, 0, 0], [0, 0, -1.0, 0.3], [0, 0, 0, 0], [0, 0, 0, 0]])
B = np.array([[0, 0, 0, 0], [0.5, 0, 1.0, 0], [0, 0, 0, 0.2], [0, 0, 0, 0]])
PLACES = np.array([[0.0, 0.0], [0.0, -1.0], [-1.0, -2.0], [1.0, -2.0]])


def drawn(W, **more):
    found = elements(W, list("abcd"), Placement(PLACES, list("abcd"), 600, 400), 1.0, **more)
    return {one["data"]["id"]: one for one in found}


def test_nodes_stay_while_edges_change():
    first, second = drawn(A), drawn(B)
    for position in range(4):
        assert first[f"node-{position}"] == second[f"node-{position}"]
    assert {key for key in first if key.startswith("edge")} == {"edge-0-1", "edge-1-2", "edge-1-3"}
    assert first["edge-1-2"]["classes"].split()[0] == "negative"
    assert first["edge-1-2"]["data"]["width"] > first["edge-0-1"]["data"]["width"] > first["edge-1-3"]["data"]["width"]


def test_differences_are_marked():
    shown = drawn(A, compared=differences(A, B))
    assert "reversed" in shown["edge-0-1"]["classes"]
    assert "only" in shown["edge-1-3"]["classes"]
    assert "sign" in shown["edge-1-2"]["classes"]
    assert shown["edge-2-3"]["classes"] == "ghost"
    assert "edge-1-0" not in shown  # it would lie on the edge itself


def test_a_picked_node_shows_its_neighbours():
    shown = drawn(A, picked=Picked(1))
    assert [shown[f"node-{position}"]["classes"] for position in range(4)] == ["parent", "picked", "child", "child"]
    shown = drawn(A, picked=Picked(0))
    assert "faded" in shown["edge-1-2"]["classes"]
    assert "picked" in drawn(A, picked=Picked(1, 2))["edge-1-2"]["classes"]


def test_edges_without_a_direction_have_no_arrowhead():
    undirected = np.zeros((4, 4), dtype=bool)
    undirected[0, 1] = undirected[1, 0] = True
    shown = drawn(A, undirected=undirected, picked=Picked(1))
    assert "undirected" in shown["edge-0-1"]["classes"].split()
    assert "undirected" not in shown["edge-1-2"]["classes"].split()
    assert [shown[f"node-{position}"]["classes"] for position in range(4)] == ["neighbour", "picked", "child", "child"]
    (style,) = (rule["style"] for rule in stylesheet(False, 12, 10) if rule["selector"] == "edge.undirected")
    assert style == {"target-arrow-shape": "none"}


def test_a_cause_changes_neither_places_nor_edges():
    response = Response.of(0, -2.0, A, np.zeros(4), np.ones(4))
    plain, shown = drawn(A), drawn(A, response=response)
    assert plain.keys() == shown.keys()
    assert [shown[f"node-{k}"]["position"] for k in range(4)] == [plain[f"node-{k}"]["position"] for k in range(4)]
    assert [shown[f"node-{k}"]["classes"] for k in range(4)] == [
        "cause",
        "reached lowered",
        "reached raised",
        "reached lowered",
    ]
    labels = [shown[f"node-{k}"]["data"]["label"].replace("\N{MINUS SIGN}", "-") for k in range(4)]
    assert labels == ["a\n= -2", "b\n-1", "c\n+1", "d\n-0.3"]
    strengths = [shown[f"node-{k}"]["data"]["strength"] for k in (1, 2, 3)]
    assert strengths[0] > strengths[1] > strengths[2] > 0
    assert not any("faded" in one["classes"] for one in shown.values())


def test_what_a_cause_does_not_reach_is_faded():
    shown = drawn(A, response=Response.of(1, 0.0, A, np.zeros(4), np.ones(4)), picked=Picked(2))
    assert shown["node-0"]["classes"] == "unreached"
    assert shown["node-1"]["classes"] == "parent cause"
    assert shown["node-2"]["classes"] == "picked reached lowered"
    assert [key for key in shown if "faded" in shown[key]["classes"].split()] == ["edge-0-1", "edge-1-3"]


def test_boxes_with_numbers_stay_inside_and_apart():
    names = [f"x{k}" for k in range(30)]
    rng = np.random.default_rng(0)
    placement = Placement(rng.uniform(size=(30, 2)), names, 600, 400)
    W = np.triu(np.ones((30, 30)), 1) * 0.1
    found = elements(W, names, placement, 1.0, response=Response.of(0, 1.0, W, np.zeros(30), np.ones(30)))
    nodes = [one for one in found if one["group"] == "nodes"]
    boxes = np.array([[one["position"]["x"], one["position"]["y"], one["data"]["width"]] for one in nodes])
    assert (boxes[:, 2] >= placement.widths.round(1)).all()
    assert (boxes[:, 2] > placement.widths + 1).any()
    assert (boxes[:, 0] - boxes[:, 2] / 2 >= 0).all()
    assert (boxes[:, 0] + boxes[:, 2] / 2 <= 600).all()
    apart = np.abs(boxes[:, None] - boxes[None])
    over = (apart[:, :, 0] < (boxes[:, None, 2] + boxes[None, :, 2]) / 2) & (apart[:, :, 1] < placement.box_height)
    np.fill_diagonal(over, False)
    assert not over.any()


def test_of_very_many_edges_the_strongest_and_the_picked_are_drawn():
    dense = np.triu(1 + np.arange(400.0).reshape(20, 20), 1)
    assert shown_edges([dense], None).sum() == 100
    assert np.sort(dense[dense > 0])[-100] == dense[shown_edges([dense], None)].min()
    kept = shown_edges([dense], Picked(0))
    assert kept[0, 1:].all()
    assert shown_edges([dense], Picked(0, 1))[0, 1]
    # What one of two graphs shows the other shows too, if it has it.
    assert shown_edges([dense, dense[::-1, ::-1].T], None)[0, 1]


def test_edges_left_out_are_neither_drawn_nor_ghosts():
    kept = np.zeros((4, 4), dtype=bool)
    kept[1, 2] = True
    shown = drawn(A, compared=differences(A, B), shown=kept)
    assert [key for key in shown if key.startswith("edge")] == ["edge-1-2"]


def test_no_label_lies_on_another():
    crossing = np.zeros((4, 4))
    crossing[0, 3], crossing[1, 2] = 1.5, 1.4  # both middles are in the middle of the panel
    places = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    found = elements(crossing, list("abcd"), Placement(places, list("abcd"), 600, 400), 1.0)
    edges = [one for one in found if one["group"] == "edges"]
    assert all("labelled" in one["classes"] for one in edges)
    apart = np.abs(np.subtract(*([one["data"]["label_x"], one["data"]["label_y"]] for one in edges)))
    assert apart[1] > 16 or apart[0] > 30


def test_a_picked_node_leaves_labels_to_its_own_edges():
    shown = drawn(A, picked=Picked(0))
    assert "labelled" in shown["edge-0-1"]["classes"]
    assert "labelled" not in shown["edge-1-2"]["classes"]


def test_widths_have_one_scale_for_all_contexts():
    assert widest_weight(np.zeros((3, 4, 4))) == 1
    assert widest_weight(np.stack([A, B])) == pytest.approx(1, abs=0.01)


def test_weights_are_written_with_their_sign():
    assert [signed(w) for w in (0.5, -0.254, 0.0021)] == ["0.5", "\N{MINUS SIGN}0.25", "0.002"]


def test_both_stylesheets_know_all_classes():
    for dark in (False, True):
        selectors = " ".join(rule["selector"] for rule in stylesheet(dark, 12, 10))
        for name in (
            "positive",
            "negative",
            "labelled",
            "only",
            "reversed",
            "sign",
            "ghost",
            "picked",
            "faded",
            "unsure",
            "parent",
        ):
            assert f".{name}" in selectors
        assert "node.neighbour" in selectors
