"""The words about a picked node or edge."""

from dataclasses import replace

import numpy as np
import pytest

from contextualdag.explorer.details import caption, curves, details, edge_table
from contextualdag.explorer.view import Picked

pytestmark = pytest.mark.slow


def test_an_edge_in_the_other_direction_is_called_reversed(graphs):
    view = graphs.default
    j, k = (int(i) for i in np.argwhere(graphs.graph(view.level, view.a))[0])
    words = [part.children for part in details(graphs, replace(view, picked=Picked(k, j))).children]
    assert words[0] == f"{graphs.names[k]} → {graphs.names[j]}"
    assert words[1].startswith("reversed, with weight ")


def test_an_edge_without_a_direction_has_one_name_from_either_side(one_graph):
    view, names = one_graph.default, one_graph.names
    W, undirected = one_graph.graph(view.level, view.a), one_graph.undirected(view.level)
    j, k = (int(i) for i in np.argwhere(undirected & (W != 0))[0])
    views = [replace(view, picked=picked, comparing=True) for picked in (Picked(j, k), Picked(k, j))]
    words, again = ([part.children for part in details(one_graph, one).children] for one in views)
    assert words == again
    assert words[0] == f"{names[j]} — {names[k]}"
    assert words[3].endswith(f"do not tell the direction of this edge. The weight is that of {names[j]} → {names[k]}.")
    figures = [curves(one_graph, one, dark=False) for one in views]
    assert figures[0] == figures[1]
    if one_graph.features:
        assert {trace["name"] for trace in figures[0]["data"]} == {f"{names[j]} — {names[k]}, {side}" for side in "AB"}


def test_neighbours_are_neither_parents_nor_children(one_graph):
    view = one_graph.default
    node = int(one_graph.undirected(view.level).any(0).argmax())
    _, *parts, explained = details(one_graph, replace(view, picked=Picked(node))).children
    lists = {title.children: rows for title, rows in zip(parts[::2], parts[1::2], strict=True)}
    named = {title: [row.children[0].children for row in _rows(lists[title])] for title in list(lists)[:3]}
    assert named.keys() == {"Neighbours, direction unknown", "Parents", "Children"}
    neighbours = {one_graph.names[i] for i in np.flatnonzero(one_graph.undirected(view.level)[node])}
    assert set(named["Neighbours, direction unknown"]) == neighbours
    assert not neighbours & {*named["Parents"], *named["Children"]}
    assert "one of the possible graphs" in explained.children
    assert "neighbours dotted ones" in explained.children


def _rows(table):
    """The rows of a table, none where there is a sentence in its place."""
    return [] if isinstance(table.children, str) else table.children[0].children[0].children


def test_long_tables_say_what_they_leave_out():
    dense = np.triu(np.ones((12, 12)), 1)
    left_out = edge_table([f"x{i}" for i in range(12)], [dense], np.zeros((12, 12), dtype=bool)).children[-1]
    assert left_out.children == "6 smaller ones are not shown; the CSV file has all of them."


def test_captions_warn_outside_the_training_range(graphs):
    view = graphs.default
    (line,) = caption(graphs, view, 0, 3)
    assert [part.children for part in line.children][1] == "3 edges"
    _, warning = caption(graphs, replace(view, a=(graphs.features[0].bounds[1], *view.a[1:])), 0, 1)
    assert warning.children.startswith("⚠ Outside the training range: age = ")
    assert warning.children.endswith(" This graph is a guess.")
