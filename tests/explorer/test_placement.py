"""Places of boxes in a panel, and edges around them."""

import numpy as np
import pytest

from contextualdag.explorer.placement import Placement

pytestmark = pytest.mark.slow


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
