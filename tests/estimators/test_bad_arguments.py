"""Arguments of the wrong kind, before and after a fit: a sentence of ours each, and never an error of a library below."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from matplotlib import pyplot as plt

from contextualdag import ContextualDAG, FixedDAG, SortedDAG
from contextualdag.diagnostics import check_model, check_table
from contextualdag.errors import InvalidInputError, InvalidParameterError
from tests.renamed import renamed, small_model

N = 40
NOT_NUMBERS = ["a", None, True, [1], np.array([1, 2]), float("nan"), 1j, object()]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    values = np.random.default_rng(0).standard_normal((N, 3))
    values[:, 2] += values[:, 0]
    return values


@pytest.fixture(scope="module")
def fixed(X):
    return FixedDAG(random_state=0).fit(X)


@pytest.mark.parametrize("value", [*NOT_NUMBERS[0:1], *NOT_NUMBERS[2:], -1, 10**400, 10**5000], ids=lambda v: str(type(v)))
@pytest.mark.parametrize("argument", ["n_edges", "l1_budget", "explained"])
def test_selections(argument, value, fixed):
    with pytest.raises(InvalidParameterError, match=f"{argument} must be .* Got .*") as caught:
        fixed.select(**{argument: value})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("parameter", "typo", "meant"),
    [
        ("structure", "common_order", "common-order"),
        ("selection", "explaned", "explained"),
        ("noise", "Equal", "equal"),
        ("missing", "imput", "impute"),
        ("acyclicity", "log-det", "logdet"),
        ("activation", "rellu", "relu"),
        ("transform", "auot", "auto"),
        ("transform", {0: "normalscores"}, "normal-scores"),
    ],
)
def test_a_typo_is_told_what_it_may_mean(parameter, typo, meant, X):
    with pytest.raises(InvalidParameterError, match=f"'{parameter}' .* instead. Did you mean '{meant}'\\?$"):
        ContextualDAG(**{parameter: typo}).fit(X, X[:, :1])


def test_what_is_no_typo_is_told_no_other_name(X):
    with pytest.raises(InvalidParameterError, match=r"'structure' .* Got 'fixed' instead\.$"):
        ContextualDAG(structure="fixed").fit(X, X[:, :1])


@pytest.mark.parametrize("quantile", [*NOT_NUMBERS, -0.1, 1.1])
def test_quantiles(quantile, fixed):
    with pytest.raises(InvalidParameterError, match="quantile must be a number from 0 to 1"):
        fixed.typical_context(quantile)


@pytest.mark.parametrize("device", ["mps", "xla", "meta", "cuda:99", "nowhere", "", "cpu,"])
def test_devices_that_are_not_there(device, X):
    with pytest.raises(InvalidParameterError, match=r"[Dd]evice '"):
        FixedDAG(device=device).fit(X)


@pytest.mark.parametrize("random_state", ["a", -1, 1.5, [1], True])
def test_seeds(random_state, fixed):
    with pytest.raises(InvalidParameterError, match="'random_state' parameter of sample must be None, an integer"):
        fixed.sample(np.zeros((2, 1)), random_state=random_state)


VECTORS = {
    "text": "a",
    "nothing": [],
    "text for each row": ["1"] * N,
    "None": [None] * N,
    "NA": [pd.NA] * N,
    "NaN": [float("nan")] * N,
    "400 digits": [10**400] * N,
    "complex": [1j] * N,
    "ragged": [[1], [1, 2]] * (N // 2),
    "a dict": {"a": 1},
    "an object": object(),
    "a number": 3,
    "two columns": np.zeros((N, 2)),
    "masked": np.ma.masked_array(np.ones(N), np.arange(N) == 1),
    "a hole": pd.array([1] * (N - 1) + [pd.NA]),
    "bytes": [b"a"] * N,
    "a set": set(range(N)),
    "a generator": (row for row in range(N)),
    "negative": [-1.0] * N,
    "zero": [0] * N,
    "too few": [1] * (N - 1),
}


@pytest.mark.parametrize("weights", VECTORS.values(), ids=VECTORS)
def test_weights(weights, X):
    with pytest.raises(InvalidInputError, match="sample_weight"):
        FixedDAG().fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    "weights",
    [
        [1e308] * N,
        [1e-310] * N,
        [Decimal(2)] * N,
        [True] * N,
        pd.Series([2] * N, dtype="Int64"),
        pl.Series([2] * N),
        pa.array([2] * N),
        torch.full((N,), 2.0),
        np.ma.masked_array(np.ones(N)),
    ],
    ids=lambda weights: type(weights).__name__,
)
def test_weights_that_are_the_same_for_all_rows(weights, X, fixed):
    model = FixedDAG(random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.adjacency(X), fixed.adjacency(X), rtol=1e-5)


GROUPS = {name: VECTORS[name] for name in ("text", "nothing", "None", "NA", "NaN", "ragged", "a dict", "a number", "masked")}


@pytest.mark.parametrize("groups", [*GROUPS.values(), [{1}] * N], ids=[*GROUPS, "sets"])
def test_groups(groups, X):
    with pytest.raises(InvalidInputError, match="groups"):
        FixedDAG().fit(X, groups=groups)


def test_groups_of_any_kind_that_names_them(X):
    days = pd.date_range("2024-01-01", periods=N // 4)
    weights = []
    for names in (
        range(N // 4),
        [f"g{i}" for i in range(N // 4)],
        days,
        pd.Categorical(range(N // 4)),
        pa.array(range(N // 4)),
    ):
        groups = np.repeat(np.arange(N // 4), 4)
        taken = [list(names)[group] for group in groups]
        weights.append(FixedDAG(random_state=0).fit(X, groups=taken).adjacency(X))
    for found in weights[1:]:
        np.testing.assert_array_equal(found, weights[0])


def test_targets_that_are_masked_or_missing(X, fixed):
    for nothing in (np.ma.masked_all(N, dtype=object), [pd.NA] * N, [None] * N, [""] * N):
        model = FixedDAG(random_state=0).fit(X, interventions=nothing)
        np.testing.assert_array_equal(model.adjacency(X), fixed.adjacency(X))
    holes = pd.DataFrame({"x1": pd.array([True] + [pd.NA] * (N - 1), dtype="boolean")})
    with pytest.raises(InvalidInputError, match=r"must be boolean, .* 'x1' has 39 other values"):
        FixedDAG().fit(X, interventions=holes)


CONTEXTS = {
    "one value": [1],
    "a value of the wrong kind": [["a", "a"]],
    "None": [[None, "a"]],
    "NA": [[pd.NA, "a"]],
    "400 digits": [[10**400, "a"]],
    "too large": [[1e150, "a"]],
    "complex": [[1j, "a"]],
    "no category": [[1, None]],
    "unknown category": [[1, "z"]],
    "bytes": [[1, b"a"]],
    "half a character": [[1, "\ud800"]],
    "a list": [[[1], "a"]],
    "a mapping without such a feature": {"nope": 1},
    "a mapping with text": {"number": "x"},
    "a mapping with a list": {"number": [1, 2]},
    "dates": pd.DataFrame({"number": pd.to_datetime(["2024-01-01"]), "category": ["a"]}),
    "a lazy frame": pl.LazyFrame({"number": [1], "category": ["a"]}),
    "a missing column": pd.DataFrame({"number": [1]}),
    "no rows": np.zeros((0, 2)),
    "three dimensions": np.zeros((1, 2, 2)),
    "masked": np.ma.masked_array([[1.0, 2.0]], [[True, False]]),
    "an object": object(),
}


@pytest.mark.parametrize("z", CONTEXTS.values(), ids=CONTEXTS)
def test_contexts(z):
    model = small_model()
    for ask in (model.plot_graph, model.to_networkx):
        with pytest.raises(InvalidInputError):
            ask(z)


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pa.table(columns).to_batches()[0]],
    ids=["pandas", "polars", "arrow", "batch"],
)
def test_contexts_in_every_kind_of_frame(make):
    model = small_model()
    Z = make({"unused": [[1]], "category": ["b"], "number": [0.5]})
    expected = model.adjacency([[0.5, "b"]])
    np.testing.assert_array_equal(model.adjacency(Z), expected)
    np.testing.assert_array_equal(model.to_frame(Z), expected[0])
    assert model.plot_graph(Z).get_title() == "number\xa0=\xa00.5, category\xa0=\xa0b"


@pytest.mark.parametrize("name", [None, 0, 99, 1.5, True, [1], "nope"])
def test_names(name):
    model = small_model()
    for ask in (
        lambda: model.plot_edge(name, "b"),
        lambda: model.plot_edge("a", "b", name) if name is not None else model.plot_edge("a", None),
        lambda: model.effect_along("a", "b", name),
    ):
        with pytest.raises(InvalidInputError, match="There is no"):
            ask()


def test_places():
    for places in ("a", [["a", 1]], np.full((4, 2), np.nan)):
        with pytest.raises(InvalidInputError, match="places must"):
            small_model().plot_graph(places=places)


def test_context_features_named_like_arguments():
    model = renamed(("self", "Z", "ax", "values"))
    z = {"self": 1.0, "Z": "ax"}
    assert model.to_networkx([[1.0, "ax"]]).graph["context self"] == 1
    assert "self\xa0=\xa01" in model.plot_graph(z).get_title()
    assert model.plot_edge("self", "Z", "self").get_xlabel() == "self"


@pytest.mark.parametrize(
    "order", ["a", 5, [0], [0, 0, 1], [0, 1, 99], ["x1", "x2", "nope"], np.ones((2, 2)), [True, False, 2]]
)
def test_orders(order, X):
    with pytest.raises(InvalidParameterError, match="must hold every variable once, by name or position"):
        SortedDAG(order=order).fit(X, X)


@pytest.mark.parametrize(
    "mask", [[1], [[0, 1], [0]], np.full((N, 3, 3), np.nan), np.ones((N, 3, 3)) * 1j, np.ma.masked_all((N, 3, 3))], ids=str
)
def test_masks(mask, X):
    with pytest.raises(InvalidInputError, match="mask"):
        SortedDAG().fit(X, X, mask=mask)


@pytest.mark.parametrize(
    "nothing",
    [
        np.zeros((0, 3)),
        torch.zeros(0, 3),
        pl.DataFrame({"x1": [], "x2": [], "x3": []}),
        None,
        3.0,
        pl.LazyFrame({"x1": [1]}),
    ],
    ids=lambda table: type(table).__name__,
)
def test_tables_without_rows(nothing, X, fixed):
    for ask in (FixedDAG().fit, fixed.score, check_table, lambda X: check_model(fixed, X)):
        with pytest.raises(InvalidInputError, match="X "):
            ask(nothing)
