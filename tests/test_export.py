import csv
import io
import json
import re

import networkx as nx
import numpy as np
import pytest

from attack.names import ALLOWED
from contextualdag.colours import LIGHT
from contextualdag.errors import InvalidInputError
from contextualdag.export import (
    Edge,
    NamedGraph,
    as_csv,
    as_dot,
    as_frame,
    as_graphml,
    as_json,
    as_networkx,
    from_lingam,
    from_networkx,
)
from contextualdag.printable import printable

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


def test_networkx_and_graphml_read_back():
    assert from_networkx(as_networkx(GRAPH)) == GRAPH
    assert from_networkx(nx.parse_graphml(as_graphml(GRAPH).decode())) == GRAPH


def test_networkx_graphs_of_others():
    lines = from_networkx(nx.Graph([(1, 2), (2, 3)]))
    assert lines == NamedGraph(["1", "2", "3"], [Edge("1", "2", 1.0, False), Edge("2", "3", 1.0, False)])
    with pytest.raises(InvalidInputError, match="at most one edge between two nodes"):
        from_networkx(nx.MultiDiGraph([("a", "b"), ("a", "b")]))
    with pytest.raises(InvalidInputError, match="Found more than once: '1'"):
        from_networkx(nx.DiGraph([(1, "1")]))


def test_frame_is_the_matrix():
    frame = as_frame(GRAPH)
    assert list(frame.index) == list(frame.columns) == NAMES
    np.testing.assert_array_equal(frame, W)


def test_lingam_has_effects_in_columns():
    assert from_lingam(W.T, NAMES) == NamedGraph.from_array(W, NAMES)
    with pytest.raises(InvalidInputError, match=r"a row and a column for each of the 2 names. Got \(3, 3\)"):
        from_lingam(W, NAMES[:2])
    with pytest.raises(InvalidInputError, match=r"Got nan for 'b' and 'a'; lingam marks pairs with a hidden common cause"):
        from_lingam([[0, np.nan], [0, 0]], ["a", "b"])
    with pytest.raises(InvalidInputError, match="Found more than once: 'a'"):
        from_lingam(np.zeros((2, 2)), ["a", "a"])


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
    assert f'label="0.3", color="{LIGHT.positive}"' in lines[5]
    assert f'label="-2", color="{LIGHT.negative}", effect="-2.0", dir=none' in lines[6]
    assert "dir" not in lines[5]


def test_small_weights_do_not_vanish_from_dot():
    (line,) = (
        line for line in as_dot(NamedGraph(["a", "b"], [Edge("a", "b", 0.00123456)])).decode().splitlines() if "->" in line
    )
    assert 'label="0.00123"' in line


LIKELY = np.array([[0, 0.75, 0], [0, 0, 0.1 + 0.2], [0, 0, 0]])
SURE = NamedGraph.from_array(W, NAMES, {"age": 30.0}, undirected=UNDIRECTED, probabilities=LIKELY)


def test_probabilities_are_in_every_file():
    assert [edge.probability for edge in SURE.edges] == [0.75, 0.1 + 0.2]
    rows = list(csv.DictReader(io.StringIO(as_csv(SURE))))
    assert [float(row["probability"]) for row in rows] == [0.75, 0.1 + 0.2]
    (graph,) = json.loads(as_json(NAMES, [SURE]))["graphs"]
    assert [edge["probability"] for edge in graph["edges"]] == [0.75, 0.1 + 0.2]
    assert from_networkx(nx.parse_graphml(as_graphml(SURE).decode())) == SURE
    lines = as_dot(SURE).decode().splitlines()
    assert lines[5].endswith(', probability="0.75"];')
    assert lines[6].endswith(', dir=none, probability="0.30000000000000004"];')


def test_files_without_probabilities_do_not_mention_them():
    for content in (as_csv(GRAPH).encode(), as_json(NAMES, [GRAPH]), as_graphml(GRAPH), as_dot(GRAPH)):
        assert b"probability" not in content
        assert b"null" not in content
    assert as_csv(NamedGraph(["a", "b"], [Edge("a", "b", 0.5)])) == "source,target,weight,directed\na,b,0.5,True\n"


def test_edges_have_a_direction_unless_told_otherwise():
    assert NamedGraph.from_array(W, NAMES).edges == [Edge(*edge[:3]) for edge in EDGES]
    assert Edge("a", "b", 1.0).directed


CONTEXTS_OF = {names: {names[0]: 30.0, names[3]: names[1]} for names in ALLOWED.values()}
hostile = pytest.mark.parametrize("names", ALLOWED.values(), ids=ALLOWED)


def hostile_graph(names):
    W = np.zeros((4, 4))
    W[0, 1], W[1, 2], W[0, 3] = 0.5, -2.0, 1.5
    return NamedGraph.from_array(W, list(names), CONTEXTS_OF[names])


def as_in_xml(text):
    """What a program reads from XML, which has no control characters and takes all line breaks in a text for one kind."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", lambda found: printable(found[0]), text)


@hostile
def test_hostile_names_in_csv_come_back_and_are_no_formulas(names):
    graph = hostile_graph(names)
    rows = list(csv.DictReader(io.StringIO(as_csv(graph), newline="")))
    cells = [(row["source"], row["target"]) for row in rows]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for pair in cells for cell in pair)
    read = [tuple(re.sub("^'(?='*[=+@\t\r-])", "", cell) for cell in pair) for pair in cells]
    assert read == [(edge.source, edge.target) for edge in graph.edges]


@hostile
def test_hostile_names_in_json_come_back(names):
    graph = hostile_graph(names)
    content = as_json(names, [graph])
    assert content.isascii()
    document = json.loads(content)
    assert document["variables"] == list(names)
    assert document["graphs"][0]["context"] == graph.context
    edges = [(edge["source"], edge["target"]) for edge in document["graphs"][0]["edges"]]
    assert edges == [(edge.source, edge.target) for edge in graph.edges]


@hostile
def test_hostile_names_in_graphml_come_back(names):
    graph = hostile_graph(names)
    read = nx.parse_graphml(as_graphml(graph).decode())
    assert list(read) == [as_in_xml(name) for name in names]
    assert list(read.edges) == [(as_in_xml(edge.source), as_in_xml(edge.target)) for edge in graph.edges]
    lines = {f"context {as_in_xml(name)}": value for name, value in graph.context.items()}
    for key, value in lines.items():
        expected = as_in_xml(value).replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else value
        assert read.graph[key] == expected
    assert from_networkx(as_networkx(graph)) == graph


def strings_of_dot(line):
    """Quoted strings of a line of DOT, and what they stand for."""
    quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return [re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text) for text in quoted]


@hostile
def test_hostile_names_in_dot_come_back(names):
    graph = hostile_graph(names)
    text = as_dot(graph).decode()
    lines = text.split("\n")
    assert [strings_of_dot(line) for line in lines[2:6]] == [[as_in_xml(name)] for name in names]
    ends = [strings_of_dot(line)[:2] for line in lines[6:9]]
    assert ends == [[as_in_xml(edge.source), as_in_xml(edge.target)] for edge in graph.edges]
    assert lines[9] == "}"


def test_names_that_a_format_cannot_tell_apart():
    graph = NamedGraph.from_array(np.zeros((2, 2)), ["a\x01", "a\\x01"])
    for write in (as_graphml, as_dot):
        with pytest.raises(InvalidInputError, match=r"cannot tell these names apart: 'a\\x01', 'a\\x01'"):
            write(graph)
    assert json.loads(as_json(graph.names, [graph]))["variables"] == ["a\x01", "a\\x01"]
