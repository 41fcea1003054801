"""Prior knowledge: allowed and required edges, in every estimator and every method, and what contradicts itself."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.estimators.knowledge import Knowledge
from contextualdag.explorer.graphs import levels_of
from contextualdag.graphs import is_acyclic

NAMES = ["a", "b", "c", "d"]
KNOWN = {"required_edges": [("x1", "x5"), (4, 1)], "forbidden_edges": [("x1", "x4")]}
EDGES = pd.DataFrame({"source": ["a"], "target": ["b"]})
SMALL = {"random_state": 0, "verbose": False, "hidden_layers": (16,), "n_members": 1}


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(200, 5, 2, n_edges=6, random_state=0)


def read(**given):
    return Knowledge.read(NAMES, "ContextualDAG", **given)


def test_nothing_known_allows_all():
    known = read()
    assert known.allowed.all()
    assert not known.required.any()


def test_tiers_forbid_what_points_back():
    allowed = read(tiers=[["a", 1], [], ["d", "c"]]).allowed
    assert not allowed[2:, :2].any()
    assert allowed[:2].all()
    assert allowed[2:, 2:].all()


def test_names_of_digits_and_positions():
    names = ["10", "0", "x"]
    assert Knowledge.read(names, "FixedDAG", required_edges=[("0", "10")]).required[1, 0]
    assert Knowledge.read(names, "FixedDAG", required_edges=[("0", 2)]).required[1, 2]
    unclear = "0 may be the variable '0' or the position 0, which is '10'. Write '0' or '10', as text."
    for given in ({"required_edges": [(0, "x")]}, {"forbidden_edges": [("x", 0)]}, {"tiers": [[0], ["10", "x"]]}):
        with pytest.raises(InvalidParameterError, match=re.escape(unclear)):
            Knowledge.read(names, "FixedDAG", **given)
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), columns=[10, 0, "x"])
    with pytest.raises(InvalidParameterError, match=r"'order' parameter of SortedDAG is unclear: 0 may be"):
        SortedDAG(order=[0, "10", "x"], **SMALL).fit(table, np.arange(60.0)[:, None])
    with pytest.raises(InvalidParameterError, match=r"'transform' parameter is unclear: 0 may be"):
        FixedDAG(transform={0: "none"}).fit(table)
    with pytest.raises(InvalidInputError, match=r"interventions are unclear in row 1: 0 may be"):
        FixedDAG().fit(table, interventions=[None, 0, *[None] * 58])
    model = FixedDAG(random_state=0).fit(table)
    Z = model.typical_context()
    with pytest.raises(InvalidInputError, match=r"source: 0 may be"):
        model.effect(0, "x", Z)
    with pytest.raises(InvalidInputError, match=r"interventions: 0 may be"):
        model.do(Z, {0: 1.0})
    assert model.do(Z, {"0": 1.0}).means["0"].item() == 1


def test_what_would_close_a_cycle_of_required_edges_is_not_allowed():
    allowed = read(required_edges=[("a", "b"), ("b", "c")]).allowed
    assert not allowed[1, 0]
    assert not allowed[2, 1]
    assert not allowed[2, 0]
    assert allowed[0, 2]
    assert allowed[3].all()
    assert allowed[:, 3].all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"required_edges": [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]}, "cycle: 'a → b', 'b → c', 'c → a'\\."),
        ({"required_edges": [("a", "b")], "forbidden_edges": [(0, 1)]}, "'a → b' is both in"),
        ({"required_edges": [("c", "a")], "tiers": [["a", "b"], ["c", "d"]]}, "'c → a' is in 'required_edges', but against"),
        ({"tiers": [["a"], ["b"]]}, "Missing: 'c', 'd'"),
        ({"tiers": [["a", "b"], ["b", "c", "d"]]}, "hold 'b' twice"),
        ({"tiers": ["abcd"]}, "must be a list of lists"),
        ({"tiers": {"a": 1}}, "must be a list of lists"),
        ({"forbidden_edges": [("A", "b")]}, "name 'A', which is not a variable. Did you mean 'a'"),
        ({"forbidden_edges": [("a", 7)]}, "name 7, which is not a variable"),
        ({"forbidden_edges": [("a", True)]}, "name True, which is not"),
        ({"forbidden_edges": "a"}, "must be a list of pairs"),
        ({"forbidden_edges": ["ab"]}, "must be a list of pairs"),
        ({"forbidden_edges": [("a", "b", "c")]}, "must be a list of pairs"),
        ({"required_edges": [("a", "a")]}, "from 'a' to itself"),
        ({"forbidden_edges": EDGES}, r"Got a table; .* list\(zip\(table\['source'\], table\['target'\]\)\)"),
        ({"required_edges": pl.from_pandas(EDGES)}, "'required_edges' parameter of ContextualDAG must be a list of pairs"),
    ],
)
def test_contradictions_name_the_culprits(given, message):
    with pytest.raises(InvalidParameterError, match=message):
        read(**given)


def assert_edges_count(model, Z):
    """Numbers of edges are those of the graphs, required ones included; between two cuts they are interpolated."""
    near = 0.2 if isinstance(model, ClusteredDAG) else 0.05  # an edge of a cluster comes and goes in a third of the rows
    for graphs in (model, *(model.select(n_edges=count) for count in (2, 3, 4))):
        found = (graphs.adjacency(Z) != 0).sum((1, 2)).mean()
        assert graphs.chosen_["n_edges"] == pytest.approx(found, abs=near)
        row = graphs.path_[graphs.path_["selected"]].iloc[0]
        assert row["n_edges"] >= 2
    assert model.select(n_edges=2).chosen_["n_edges"] == 2
    with pytest.raises(InvalidParameterError, match=r"n_edges must be from 2, the number of required edges, to .* Got 1.5"):
        model.select(n_edges=1.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        ContextualDAG(**SMALL, structure="varying", **KNOWN),
        ContextualDAG(**SMALL, structure="constant", **KNOWN),
        FixedDAG(random_state=0, **KNOWN),
        ClusteredDAG(n_clusters=3, random_state=0, **KNOWN),
        SortedDAG(order=["x1", "x5", "x2", "x3", "x4"], **SMALL, **KNOWN),
    ],
    ids=lambda model: type(model).__name__,
)
def test_required_edges_are_in_every_graph_and_forbidden_ones_in_none(model, data, tmp_path):
    model.fit(data.X, data.Z)
    outside = np.array([[5.0, -7.0]])
    for graphs in (model, model.select(n_edges=2.0), model.select(n_edges=2.5)):
        W = graphs.adjacency(np.vstack([data.Z, outside]))
        assert (W[:, 0, 4] != 0).all()
        assert (W[:, 4, 1] != 0).all()
        assert not W[:, 0, 3].any()
        assert not W[:, [4, 1, 1], [0, 4, 0]].any()
        assert bool(is_acyclic(torch.from_numpy(W)).all())
    assert_edges_count(model, data.Z)
    table = model.edges(data.Z[:3])
    assert ((table["source"] == "x1") & (table["target"] == "x5")).sum() == 3
    model.save(tmp_path / "model")
    assert np.array_equal(type(model).load(tmp_path / "model").adjacency(data.Z), model.adjacency(data.Z))


@pytest.mark.slow
def test_a_number_of_edges_counts_required_ones():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((300, 4)), columns=NAMES)
    X["c"] += 0.8 * X["a"]
    X["d"] += 0.8 * X["b"] + 0.3 * X["c"]
    Z = rng.standard_normal((300, 1))
    X["d"] += np.where(Z[:, 0] > 0, 1, 0) * X["a"]

    def found(model):
        return (model.adjacency(Z) != 0).sum((1, 2)).mean(), model.chosen_["n_edges"]

    for count in (2, 3):  # edges from a to b and from c to d do not help to predict, or hardly
        model = FixedDAG(random_state=0, selection=count, required_edges=[("a", "b"), ("c", "d")]).fit(X, Z)
        assert found(model) == (count, count)
    model = FixedDAG(random_state=0, required_edges=[("a", "b"), ("c", "d")]).fit(X, Z)
    for count in (2, 3, 4):
        assert found(model.select(n_edges=count)) == (count, count)
    assert model.path_["n_edges"].min() == 2
    levels = [level.n_edges for level in levels_of(model)]
    assert min(levels) == 2
    assert all(model.select(n_edges=level).chosen_["n_edges"] >= 2 for level in levels)
    with pytest.raises(InvalidParameterError, match="n_edges must be from 2, the number of required edges, to"):
        model.select(n_edges=1)
    with pytest.raises(InvalidParameterError, match="'selection' parameter of FixedDAG must be at least 2, the number of"):
        FixedDAG(random_state=0, selection=1, required_edges=[("a", "b"), ("c", "d")]).fit(X, Z)

    varying = ContextualDAG(**SMALL, structure="varying", selection=2, required_edges=[("b", "a")]).fit(X, Z)
    assert found(varying) == pytest.approx((2, 2), abs=0.02)
    for count in (1, 1.5, 3):
        assert found(varying.select(n_edges=count)) == pytest.approx((count, count), abs=0.02)


@pytest.mark.slow
def test_halves_know_it_too(data):
    model = BootstrapDAG(FixedDAG(random_state=0, **KNOWN), n_resamples=4, n_jobs=1, verbose=False).fit(data.X, data.Z)
    P = model.edge_probabilities(data.Z[:5])
    assert (P[:, 0, 4] == 1).all()
    assert not P[:, 4, 0].any()
    assert not P[:, 0, 3].any()
    assert (model.consensus(data.Z[:5], threshold=1.0)[:, 0, 4] != 0).all()


@pytest.mark.slow
def test_tiers_hold_in_every_context(data):
    model = ContextualDAG(**SMALL, structure="varying", tiers=[["x4", "x5"], ["x1", "x2", "x3"]]).fit(data.X, data.Z)
    W = model.adjacency(data.Z)
    assert not W[:, :3, 3:].any()
    assert W[:, 3:, :3].any()


def test_an_order_that_contradicts_is_named(data):
    model = SortedDAG(order=["x5", "x4", "x3", "x2", "x1"], required_edges=[("x1", "x5")], **SMALL)
    with pytest.raises(InvalidParameterError, match="'x1 → x5' is in 'required_edges', but against the order"):
        model.fit(data.X, data.Z)


def test_required_edges_are_at_variables_that_vary():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), columns=["a", "b", "c"]).assign(k=1.0)
    for edge in (("a", "k"), ("k", "b")):
        message = re.escape(
            f"'required_edges' of FixedDAG hold {edge[0]} → {edge[1]}, but 'k' does not vary in the rows of X"
        )
        with (
            pytest.warns(UserWarning, match="do not vary get no edges"),
            pytest.raises(InvalidParameterError, match=message),
        ):
            FixedDAG(random_state=0, required_edges=[("a", "b"), edge]).fit(X)


def test_a_mask_has_to_allow_required_edges(data):
    mask = np.triu(np.ones((200, 5, 5), dtype=bool), 1)
    mask[17, 0, 4] = False
    with pytest.raises(InvalidInputError, match="mask does not allow the required edge x1 → x5"):
        SortedDAG(required_edges=[("x1", "x5")], **SMALL).fit(data.X, data.Z, mask=mask)


def test_pairs_of_the_columns_of_a_table():
    assert not read(forbidden_edges=list(zip(EDGES["source"], EDGES["target"], strict=True))).allowed[0, 1]


def test_tiers_against_the_order_are_refused_and_forbidden_edges_along_it_are_not(data):
    order = ["x2", "x1", "x3", "x4", "x5"]
    model = SortedDAG(order=order, tiers=[["x1", "x3"], ["x2"], ["x4", "x5"]])
    with pytest.raises(InvalidParameterError, match=r"'tiers' .* contradict its 'order': 'x2' comes before 'x1'"):
        model.fit(data.X, data.Z)
    names = sorted(order)
    allowed = SortedDAG(order=order, tiers=[["x1", "x2"], ["x3", "x4", "x5"]])._knowledge(names).allowed
    np.testing.assert_array_equal(allowed, SortedDAG(order=order)._knowledge(names).allowed)
    assert not SortedDAG(order=order, forbidden_edges=[("x2", "x1")])._knowledge(names).allowed[1, 0]


def test_directions_follow_from_what_is_known():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3)) * [1, 2, 0.5]
    X[:, 1] += 2 * X[:, 0]
    X[:, 2] += 0.4 * X[:, 1]
    chain = FixedDAG(noise="unequal", random_state=0).fit(X)
    assert chain.undirected_edges_ == [("x1", "x2"), ("x2", "x3")]
    first = FixedDAG(noise="unequal", tiers=[["x1"], ["x2", "x3"]], random_state=0).fit(X)
    assert first.undirected_edges_ == []  # x3 -> x2 would meet x1 -> x2
    assert [pair for pair, _ in first.edges(first.typical_context()).groupby(["source", "target"])] == [
        ("x1", "x2"),
        ("x2", "x3"),
    ]
