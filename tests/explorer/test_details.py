"""Total effects, and the words about a picked edge."""

from dataclasses import replace

import numpy as np
import pytest

from contextualdag.explorer.details import caption, details, edge_table, total_effects
from contextualdag.explorer.view import Picked

pytestmark = pytest.mark.slow


def test_total_effects_are_sums_over_all_paths():
    rng = np.random.default_rng(0)
    W = np.triu(rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.5), 1)
    order = rng.permutation(6)
    W = W[np.ix_(order, order)]
    by_powers = sum(np.linalg.matrix_power(W, length) for length in range(1, 6))
    np.testing.assert_allclose(total_effects(W), by_powers, atol=1e-12)


def test_total_effects_are_those_of_the_simulated_variable():
    W = np.array([[0, 0.5, 0], [0, 0, -2.0], [0, 0, 0]])
    solve = np.linalg.inv(np.eye(3) - W.T)
    assert total_effects(W)[0, 2] == pytest.approx(solve[2, 0]) == -1


def test_without_a_path_the_effect_is_exactly_zero():
    W = np.zeros((4, 4))
    W[0, 1], W[1, 2] = 0.1, 0.3
    assert (total_effects(W) != 0).sum() == 3


def test_an_edge_in_the_other_direction_is_called_reversed(graphs):
    view = graphs.default
    j, k = (int(i) for i in np.argwhere(graphs.graph(view.level, view.a))[0])
    words = [part.children for part in details(graphs, replace(view, picked=Picked(k, j))).children]
    assert words[0] == f"{graphs.names[k]} → {graphs.names[j]}"
    assert words[1].startswith("reversed, with weight ")


def test_long_tables_say_what_they_leave_out():
    dense = np.triu(np.ones((12, 12)), 1)
    left_out = edge_table([f"x{i}" for i in range(12)], [dense]).children[-1]
    assert left_out.children == "6 smaller ones are not shown; the CSV file has all of them."


def test_captions_warn_outside_the_training_range(graphs):
    view = graphs.default
    (line,) = caption(graphs, view, 0, 3)
    assert [part.children for part in line.children][1] == "3 edges"
    _, warning = caption(graphs, replace(view, a=(graphs.features[0].bounds[1], *view.a[1:])), 0, 1)
    assert warning.children.startswith("⚠ Outside the training range: age = ")
    assert warning.children.endswith(" This graph is a guess.")
