"""Graphs as elements: same places always, edges that come, go and turn."""

import numpy as np
import pytest

from contextualdag.explorer.differences import differences
from contextualdag.explorer.graph_elements import elements, signed, widest_weight
from contextualdag.explorer.graph_style import stylesheet
from contextualdag.explorer.placement import Placement
from contextualdag.explorer.view import Picked

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
    found = {(one.source, one.target): one.kind for one in differences(A, B)}
    assert found == {
        (0, 1): "turned",
        (1, 0): "turned",
        (1, 2): "other sign",
        (1, 3): "only in A",
        (2, 3): "only in B",
    }
    shown = drawn(A, compared=differences(A, B))
    assert "turned" in shown["edge-0-1"]["classes"]
    assert "only" in shown["edge-1-3"]["classes"]
    assert "sign" in shown["edge-1-2"]["classes"]
    assert shown["edge-2-3"]["classes"] == "ghost"
    assert "edge-1-0" not in shown  # it would lie on the edge that it became


def test_a_picked_node_shows_its_neighbours():
    shown = drawn(A, picked=Picked(1))
    assert [shown[f"node-{position}"]["classes"] for position in range(4)] == ["parent", "picked", "child", "child"]
    shown = drawn(A, picked=Picked(0))
    assert "faded" in shown["edge-1-2"]["classes"]
    assert "picked" in drawn(A, picked=Picked(1, 2))["edge-1-2"]["classes"]


@pytest.mark.parametrize(("width", "height"), [(900, 600), (380, 340), (300, 460)])
@pytest.mark.parametrize("p", [1, 5, 20, 50])
def test_boxes_are_inside_and_apart(p, width, height):
    rng = np.random.default_rng(p)
    places = np.stack([rng.integers(0, 7, p), -rng.integers(0, 6, p)], axis=1).astype(float)  # some in one place
    placement = Placement(places, [f"name_{i}" for i in range(p)], width, height)
    half = np.stack([placement.widths / 2, np.full(p, placement.box_height / 2)], axis=1)
    assert (placement.centres - half >= 0).all()
    assert (placement.centres + half <= [width, height]).all()
    if p < 50 or width == 900:
        assert not placement._overlaps().any()
        assert placement.font >= 8


def test_edges_bend_around_what_is_in_the_way():
    placement = Placement(np.array([[0.0, 0.0], [0.0, -1.0], [0.0, -2.0]]), ["a", "b", "c"], 400, 400)
    assert placement.bend(0, 1) == 0
    assert placement.bend(0, 2) != 0
    assert placement.bend(0, 2) == -placement.bend(2, 0)


def test_widths_have_one_scale_for_all_contexts():
    assert widest_weight(np.zeros((3, 4, 4))) == 1
    assert widest_weight(np.stack([A, B])) == pytest.approx(1, abs=0.01)


def test_weights_are_written_with_their_sign():
    assert [signed(w) for w in (0.5, -0.254, 0.0021)] == ["0.5", "\N{MINUS SIGN}0.25", "0.002"]


def test_both_stylesheets_know_all_classes():
    for dark in (False, True):
        selectors = " ".join(rule["selector"] for rule in stylesheet(dark, 12))
        for name in ("positive", "negative", "labelled", "only", "turned", "sign", "ghost", "picked", "faded", "parent"):
            assert f".{name}" in selectors
