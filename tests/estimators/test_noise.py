"""Units, unequal noise and outliers, seen from the outside."""

import numpy as np
import pandas as pd
import pytest

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG, SortedDAG
from contextualdag.datasets import make_fixed_dag, make_varying_dag
from contextualdag.errors import InvalidParameterError
from contextualdag.estimators import load_model
from contextualdag.estimators.remarks import directions, remarks
from contextualdag.metrics import f1_score
from contextualdag.plotting import plot_graph

pytestmark = pytest.mark.slow

QUICK = {
    "structure": "varying",
    "hidden_layers": (32,),
    "learning_rate": 1e-2,
    "n_members": 1,
    "random_state": 0,
    "verbose": False,
    "device": "cpu",
}
FACTORS = np.array([1.0, 4.0, 0.125, 2.0, 1024.0, 0.5])


@pytest.fixture(scope="module")
def data():
    return make_varying_dag(900, n_nodes=6, n_features=2, n_edges=6, random_state=3)


@pytest.fixture(scope="module")
def unequal(data):
    return ContextualDAG(noise="unequal", **QUICK).fit(data.X[:600], data.Z[:600])


@pytest.fixture(scope="module")
def equal(data):
    return ContextualDAG(**QUICK).fit(data.X[:600], data.Z[:600])


def test_powers_of_two_change_the_weights_by_their_factors_to_the_last_bit(unequal, data):
    model = ContextualDAG(noise="unequal", **QUICK).fit(data.X[:600] * FACTORS, data.Z[:600] * [8.0, 0.25])
    W = model.adjacency(data.Z[600:] * [8.0, 0.25])
    np.testing.assert_array_equal(W, unequal.adjacency(data.Z[600:]) * (FACTORS / FACTORS[:, None]))
    np.testing.assert_array_equal(model.noise_scale_, unequal.noise_scale_ * FACTORS)
    assert model.held_out_score_ == unequal.held_out_score_
    assert model.score(data.X[600:] * FACTORS, data.Z[600:] * [8.0, 0.25]) == unequal.score(data.X[600:], data.Z[600:])


def test_equal_noise_is_found_and_given_up_in_other_units(equal, data):
    assert equal.noise_ == "equal"
    assert any("of one size" in remark for remark in remarks(equal))
    units = 10 ** np.random.default_rng(0).uniform(-3, 3, 6)
    model = ContextualDAG(**QUICK).fit(data.X[:600] * units, data.Z[:600])
    assert model.noise_ == "unequal"
    assert any("Units do not matter" in remark for remark in remarks(model))
    truth, Z = data.W[600:], data.Z[600:]
    assert f1_score(truth, model.adjacency(Z)) > f1_score(truth, equal.adjacency(Z)) - 0.08
    np.testing.assert_allclose(model.noise_scale_ / units, 1, rtol=0.25)


def test_samples_are_in_the_units_given(data):
    scaled = ContextualDAG(noise="unequal", **QUICK).fit(data.X[:600] * FACTORS + 5, data.Z[:600])
    drawn = scaled.sample(data.Z[600:], random_state=0)
    np.testing.assert_allclose(drawn.std(0) / FACTORS, data.X[600:].std(0), rtol=0.3)
    np.testing.assert_allclose((drawn.mean(0) - 5) / FACTORS, 0, atol=0.3)


def test_saved_and_loaded(unequal, data, tmp_path):
    unequal.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu")
    assert (loaded.noise_, loaded.outliers_) == ("unequal", unequal.outliers_)
    np.testing.assert_array_equal(loaded.adjacency(data.Z[600:]), unequal.adjacency(data.Z[600:]))
    np.testing.assert_array_equal(loaded.sample(data.Z[:5], 0), unequal.sample(data.Z[:5], 0))


def test_bad_rows_are_named_and_do_little_harm(equal, data):
    bad = [7, 100, 555]
    X = data.X[:600].copy()
    X[bad] *= 10
    model = ContextualDAG(**QUICK).fit(X, data.Z[:600])
    assert set(bad) <= set(model.outliers_)
    assert len(model.outliers_) < 10
    (remark,) = (remark for remark in remarks(model) if "may be errors" in remark)
    assert ", ".join(str(row) for row in model.outliers_) in remark
    truth, Z = data.W[600:], data.Z[600:]
    assert f1_score(truth, model.adjacency(Z)) > f1_score(truth, equal.adjacency(Z)) - 0.1
    np.testing.assert_allclose(model.noise_scale_, equal.noise_scale_, rtol=0.3)
    assert (X[bad] == data.X[bad] * 10).all()


@pytest.fixture(scope="module")
def fixed():
    return make_fixed_dag(1500, n_nodes=6, random_state=1, noise_scale=(0.3, 3))


@pytest.fixture(scope="module")
def one_graph(fixed):
    return FixedDAG(random_state=0).fit(fixed.X)


def test_one_graph_under_unequal_noise_has_edges_without_a_direction(one_graph, fixed):
    model = one_graph
    assert model.noise_ == "unequal"
    W = model.graph_ != 0
    joined = {tuple(sorted((model.names_[j], model.names_[k]))) for j, k in np.argwhere(W)}
    assert set(model.undirected_edges_) <= joined
    assert model.undirected_edges_
    assert any("do not tell the direction" in remark for remark in remarks(model))
    heads = sum(
        type(patch.get_arrowstyle()).__name__ != "Curve"
        for patch in plot_graph(model).patches
        if hasattr(patch, "get_arrowstyle")
    )
    assert heads == W.sum() - len(model.undirected_edges_)
    assert FixedDAG(noise="equal", random_state=0).fit(fixed.X).undirected_edges_ == []


def test_tables_and_networkx_graphs_mark_edges_without_a_direction(one_graph):
    context = one_graph.typical_context()
    table = one_graph.edges(context)
    assert list(table.columns) == ["sample", "source", "target", "weight", "directed"]
    undirected = table[~table["directed"]]
    pairs = [tuple(sorted(pair)) for pair in zip(undirected["source"], undirected["target"], strict=True)]
    assert sorted(pairs) == one_graph.undirected_edges_
    assert table["directed"].any()
    marked = one_graph.to_networkx(context).edges(data="directed")
    assert list(marked) == list(table[["source", "target", "directed"]].itertuples(index=False, name=None))


def test_edges_whose_weights_vary_have_a_direction(unequal, data):
    table = unequal.summary()
    assert table["varies"].any()
    assert table[table["varies"]]["directed"].all()


@pytest.fixture(scope="module")
def partly():
    """Variables of which a -> b varies, b -> c does not but follows, and d -> e is the same everywhere and apart."""
    rng = np.random.default_rng(1)
    Z = rng.uniform(-1, 1, (1500, 1))
    X = rng.standard_normal((1500, 5)) * [0.5, 2, 1, 0.7, 1.5]
    X[:, 1] += 2 * X[:, 0] * (1 + 2 * Z[:, 0])
    X[:, 2] += 0.6 * X[:, 1]
    X[:, 4] += 1.2 * X[:, 3]
    return pd.DataFrame(X, columns=list("abcde")), Z


ALONG_ONE_ORDER = QUICK | {"structure": "common-order", "noise": "unequal", "n_budgets": 12, "max_epochs": 80}


@pytest.fixture(scope="module")
def in_part(partly):
    return ContextualDAG(**ALONG_ONE_ORDER).fit(*partly)


def test_weights_that_do_not_change_leave_directions_open(in_part, partly, tmp_path):
    assert in_part.varies_
    pairs = in_part.undirected_edges_
    assert ("d", "e") in pairs
    assert ("a", "b") not in pairs
    table = in_part.summary()
    known = dict(zip(zip(table["source"], table["target"], strict=True), table["directed"], strict=True))
    assert all(known[pair] for pair in zip(*table.loc[table["varies"], ["source", "target"]].T.to_numpy(), strict=True))
    assert sorted(tuple(sorted(pair)) for pair, directed in known.items() if not directed) == pairs
    (said,) = directions(in_part)
    assert said.startswith("The size of the noise is unknown")
    assert "d — e" in said
    in_part.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", device="cpu")
    assert loaded.undirected_edges_ == pairs
    pd.testing.assert_frame_equal(loaded.edges(partly[1][:50]), in_part.edges(partly[1][:50]))


def test_another_point_of_the_path_keeps_what_is_not_told(in_part, partly):
    fewer = in_part.select(n_edges=2)
    assert set(fewer.undirected_edges_) <= set(in_part.undirected_edges_)
    joined = {tuple(sorted(pair)) for pair in fewer.edges(partly[1])[["source", "target"]].itertuples(index=False)}
    assert set(fewer.undirected_edges_) == joined & set(in_part.undirected_edges_)


def test_tiers_tell_directions_of_graphs_that_vary(partly):
    model = ContextualDAG(tiers=[["a", "d"], ["b", "c", "e"]], **ALONG_ONE_ORDER).fit(*partly)
    assert model.varies_
    assert ("d", "e") not in model.undirected_edges_


def test_equal_noise_tells_all_directions(partly):
    assert ContextualDAG(**ALONG_ONE_ORDER | {"noise": "equal"}).fit(*partly).undirected_edges_ == []


def test_a_mask_for_each_sample_tells_all_directions(partly):
    X, Z = partly
    mask = np.broadcast_to(np.triu(np.ones((5, 5), dtype=bool), 1), (len(X), 5, 5))
    settings = {name: value for name, value in ALONG_ONE_ORDER.items() if name != "structure"}
    one = SortedDAG(**settings)
    for model in (one, BootstrapDAG(one, n_resamples=2, n_jobs=1, selection="stability", verbose=False)):
        model.fit(X, Z, mask=mask)
        assert (model.varies_, model.noise_) == (True, "unequal")
        assert model.undirected_edges_ == []


def test_a_given_order_tells_all_directions(fixed):
    model = SortedDAG(order=range(6), n_budgets=6, max_epochs=40, **QUICK | {"structure": "constant"}).fit(fixed.X, fixed.Z)
    assert (model.varies_, model.noise_) == (False, "unequal")
    assert model.undirected_edges_ == []
    assert model.edges(fixed.Z[:1])["directed"].all()


@pytest.mark.parametrize("paper", [ContextualDAG.paper, FixedDAG.paper, ClusteredDAG.paper])
def test_the_settings_of_the_paper_weigh_all_rows_alike(paper, data):
    settings = {"max_epochs": 2, "n_budgets": 2, "verbose": False} if paper.__self__ is ContextualDAG else {"n_clusters": 2}
    settings = {} if paper.__self__ is FixedDAG else settings
    X = data.X[:200].copy()
    X[7] *= 10
    assert paper(random_state=0, **settings).fit(X, data.Z[:200]).outliers_ == []
    assert paper(random_state=0, robust=True, **settings).fit(X, data.Z[:200]).outliers_ == [7]


@pytest.mark.parametrize("kind", [ContextualDAG, FixedDAG])
def test_an_unknown_noise_is_refused(kind, data):
    with pytest.raises(InvalidParameterError, match=r"'noise' parameter of .* must be one of .* Got 'gaussian'"):
        kind(noise="gaussian").fit(data.X, data.Z)


@pytest.mark.parametrize("noise", ["auto", "unequal"])
def test_a_column_that_others_determine(noise, data):
    X = np.column_stack([data.X[:300], data.X[:300, 0] + 2 * data.X[:300, 1]])
    with pytest.warns(
        UserWarning, match=r"linear function of the others of them: \['x1', 'x2', 'x7'\].*contextualdag check"
    ):
        model = ContextualDAG(noise=noise, **QUICK).fit(X, data.Z[:300])
    assert np.isfinite(model.adjacency(data.Z[300:])).all()
    assert np.isfinite(model.noise_scale_).all()


def test_spreads_of_all_sizes(data):
    units = np.array([1e-12, 1e12, 1.0, 1e-6, 1e6, 1.0])
    model = ContextualDAG(**QUICK).fit(data.X[:300] * units, data.Z[:300])
    W = model.adjacency(data.Z[300:]) * (units[:, None] / units)
    assert np.isfinite(W).all()
    assert model.noise_ == "unequal"
    assert f1_score(data.W[300:], W) > 0.6
