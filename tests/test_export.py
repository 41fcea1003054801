import csv
import io
import json

import networkx as nx
import numpy as np

from contextualdag.colours import LIGHT
from contextualdag.export import Edge, NamedGraph, as_csv, as_dot, as_graphml, as_json, as_networkx

W = np.array([[0, 0.1 + 0.2, 0], [0, 0, -2.0], [0, 0, 0]])
NAMES = ["mood", 'say "hi", \\', "alone, nearly"]
UNDIRECTED = np.zeros((3, 3), dtype=bool)
UNDIRECTED[1, 2] = UNDIRECTED[2, 1] = True
GRAPH = NamedGraph.from_array(W, NAMES, {"age": 30.0, "site": "Leeds & York"}, outside=True, undirected=UNDIRECTED)
EDGES = [(NAMES[0], NAMES[1], 0.1 + 0.2, True), (NAMES[1], NAMES[2], -2.0, False)]


def test_csv_keeps_every_digit_and_quotes_names():
    rows = list(csv.reader(io.StringIO(as_csv(GRAPH))))
    assert rows[0] == ["source", "target", "weight", "directed"]
    assert [(source, target, float(weight), directed == "True") for source, target, weight, directed in rows[1:]] == EDGES


def test_graphml_comes_back_whole():
    read = nx.parse_graphml(as_graphml(GRAPH).decode())
    assert list(read) == NAMES
    assert [(*edge, data["weight"], data["directed"]) for *edge, data in read.edges(data=True)] == EDGES
    assert read.graph["context age"] == 30
    assert read.graph["context site"] == "Leeds & York"
    assert read.graph["outside"] is True


def test_networkx_has_nodes_without_edges():
    network = as_networkx(NamedGraph.from_array(np.zeros((3, 3)), NAMES))
    assert list(network) == NAMES
    assert network.number_of_edges() == 0


def test_json_holds_several_graphs():
    document = json.loads(as_json(NAMES, [GRAPH, NamedGraph(NAMES, [])]))
    assert document["variables"] == NAMES
    first, second = document["graphs"]
    assert first["context"] == {"age": 30.0, "site": "Leeds & York"}
    assert first["outside"] is True
    assert [tuple(edge.values()) for edge in first["edges"]] == EDGES
    assert list(first["edges"][0]) == ["source", "target", "weight", "directed"]
    assert second == {"sample": 1, "context": {}, "outside": False, "edges": []}


def test_dot_quotes_names_and_has_the_colours_of_pictures():
    lines = as_dot(GRAPH).decode().splitlines()
    assert lines[1] == '  label="age = 30, site = Leeds & York (outside the range of the training data)";'
    assert r'"say \"hi\", \\"' in lines[3]
    assert f'label="0.30", color="{LIGHT.positive}"' in lines[5]
    assert f'label="-2.00", color="{LIGHT.negative}", effect="-2.0", dir=none' in lines[6]
    assert "dir" not in lines[5]


def test_edges_have_a_direction_unless_told_otherwise():
    assert NamedGraph.from_array(W, NAMES).edges == [Edge(*edge[:3]) for edge in EDGES]
    assert Edge("a", "b", 1.0).directed
