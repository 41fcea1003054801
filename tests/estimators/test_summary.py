"""The summary of a fitted model: a table, a sentence, JSON."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidInputError, NotFittedError
from contextualdag.estimators import load_model
from contextualdag.estimators.summary import AVERAGED, for_json, in_words

QUICK = {"hidden_layers": (16,), "n_members": 1, "n_budgets": 6, "max_epochs": 60, "random_state": 0, "verbose": False}
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def tables():
    """Edges a -> b of weight 4, in the units of b, and c -> d that depends on age."""
    rng = np.random.default_rng(0)
    Z = pd.DataFrame({"age": rng.uniform(20, 80, 500), "site": np.where(rng.random(500) < 0.5, "Ely", "York")})
    X = rng.standard_normal((500, 4))
    X[:, 1] += 0.8 * X[:, 0]
    X[:, 3] += (Z["age"].to_numpy() - 50) / 20 * X[:, 2]
    return pd.DataFrame(X * [1, 5, 1, 1], columns=NAMES), Z


ESTIMATORS = [
    ContextualDAG(structure="common-order", **QUICK),
    SortedDAG(order=NAMES, **QUICK),
    FixedDAG(random_state=0),
    ClusteredDAG(n_clusters=3, random_state=0),
    BootstrapDAG(FixedDAG(random_state=0), n_resamples=4, n_jobs=1, verbose=False),
    BootstrapDAG(ClusteredDAG(n_clusters=3, random_state=0), n_resamples=4, n_jobs=1, selection="stability", verbose=False),
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_every_estimator_has_it(estimator, tables, tmp_path):
    model = estimator.fit(*tables)
    table = model.summary()
    W = model.adjacency(tables[1])
    joined = (W != 0).any(0)
    assert len(table) == np.triu(joined | joined.T).sum()
    for row in table.itertuples():
        j, k = NAMES.index(row.source), NAMES.index(row.target)
        forward, backward = W[:, j, k], W[:, k, j]
        assert (forward != 0).sum() >= (backward != 0).sum()
        assert row.share == pytest.approx(((forward != 0) | (backward != 0)).mean())
        assert row.reversed * row.share == pytest.approx((backward != 0).mean(), abs=1e-12)
        assert row.weight == pytest.approx(forward[forward != 0].mean(), rel=1e-4)
        assert row.spread == pytest.approx(forward.std(), rel=1e-3, abs=1e-6)
    pairs = table.set_index(table["source"] + table["target"])
    turned = [pair for pair in ("ab", "ba") if pair in pairs.index]
    assert not pairs.loc[turned[0], "varies"] or pairs.loc[turned[0], "reversed"] >= 0.05
    if "cd" in pairs.index:
        assert pairs.loc["cd", "varies"]
        assert pairs.loc["cd", "changes_with"] == "age" or pairs.loc["cd", "reversed"] >= 0.05

    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.summary(), table)
    assert in_words(loaded) == in_words(model) != ""
    rows = json.loads(json.dumps(for_json(loaded), allow_nan=False))
    assert [row["source"] for row in rows] == table["source"].tolist()


@pytest.fixture(scope="module")
def model(tables):
    return FixedDAG(random_state=0).fit(*tables)


def test_another_point_of_the_path_has_none(model, tmp_path):
    other = model.select(n_edges=1)
    with pytest.raises(InvalidInputError, match="fit with the selection parameter"):
        other.summary()
    assert (in_words(other), for_json(other)) == ("", None)
    assert len(model.summary())
    other.save(tmp_path / "other")
    with pytest.raises(InvalidInputError, match="This model has no summary"):
        load_model(tmp_path / "other").summary()
    with pytest.raises(NotFittedError):
        FixedDAG().summary()


def test_validation_sets_and_masks(tables):
    X, Z = tables
    mask = np.broadcast_to(np.triu(np.ones((4, 4), dtype=bool), 1), (500, 4, 4)).copy()
    mask[:250] = False
    fitted = SortedDAG(**QUICK).fit(X, Z, mask=mask)
    assert fitted.summary()["share"].max() <= 0.5
    given = FixedDAG(random_state=0).fit(X[:300], Z[:300], X[300:], Z[300:])
    assert given._variation.share.tolist() == [1.0] * len(given.summary())


def test_units_change_weights_and_nothing_else(tables):
    X, Z = tables
    first = FixedDAG(noise="unequal", random_state=0).fit(X, Z).summary()
    second = FixedDAG(noise="unequal", random_state=0).fit(X.assign(b=1000 * X["b"]), Z).summary()
    factor = np.where(second["target"] == "b", 1000, np.where(second["source"] == "b", 1e-3, 1))
    np.testing.assert_allclose(second["weight"], first["weight"] * factor, rtol=1e-3)
    np.testing.assert_allclose(second["p_value"], first["p_value"], rtol=1e-2)


def test_directions_that_the_data_do_not_tell():
    data = make_fixed_dag(1500, n_nodes=6, random_state=1, noise_scale=(0.3, 3))
    model = FixedDAG(random_state=0).fit(data.X, data.Z)
    table = model.summary()
    pairs = zip(table["source"], table["target"], strict=True)
    said = {tuple(sorted(pair)) for pair, directed in zip(pairs, table["directed"], strict=True) if not directed}
    assert said == set(model.undirected_edges_) != set()


def test_without_context_or_without_edges():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    empty = FixedDAG(selection=0, random_state=0).fit(X, rng.standard_normal((200, 1)))
    assert not len(empty.summary())
    assert (in_words(empty), for_json(empty)) == ("", [])
    X[:, 2] += X[:, 0]
    model = FixedDAG(random_state=0).fit(X)
    assert model.summary()["p_value"].isna().all()
    assert not model.summary()["varies"].any()
    assert in_words(model) == ""


def test_a_table_that_is_too_short():
    data = make_varying_dag(40, n_nodes=3, n_edges=2, n_features=2, random_state=0)
    model = FixedDAG(random_state=0, selection=2).fit(data.X[:12], data.Z[:12])
    assert model.summary()["p_value"].isna().all()
    assert in_words(model) == "None of the 2 edges is tested, for lack of rows."


NAN = float("nan")


@pytest.mark.parametrize(
    ("p_values", "of_features", "reverse", "sentence"),
    [
        ([0.5], [[NAN, NAN]], [0.0], "The only edge is the same for everyone as far as the data tell."),
        ([0.001], [[0.01, 0.2]], [0.0], "The only edge changes with age."),
        (
            [0.5, 0.001, 0.001, NAN],
            [[NAN, NAN], [0.01, 0.001], [0.2, 0.3], [NAN, NAN]],
            [0.0, 0.01, 0.0, 0.4],
            "Of 4 edges 1 is the same for everyone as far as the data tell, 1 changes with site, 1 changes with the "
            f"context, 1 reverses.{AVERAGED}",
        ),
        # 0.04 is not enough where four are tested.
        (
            [0.5, 0.04, 0.6, 0.7],
            [[NAN, NAN], [0.01, 0.001], [NAN, NAN], [NAN, NAN]],
            [0.0] * 4,
            "All 4 edges are the same for everyone as far as the data tell.",
        ),
    ],
)
def test_sentences(model, p_values, of_features, reverse, sentence):
    n, variation = len(p_values), model._variation
    numbers = torch.ones(n, dtype=torch.float64)
    changed = replace(
        variation,
        source=torch.arange(n) % 4,
        target=(torch.arange(n) + 1) % 4,
        share=numbers,
        weight=numbers,
        spread=numbers,
        reverse=torch.tensor(reverse),
        p_value=torch.tensor(p_values),
        of_features=torch.tensor(of_features),
    )
    other = model.select(n_edges=1)
    other._variation = changed
    assert in_words(other) == sentence
