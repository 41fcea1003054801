import numpy as np
import pytest
import torch
from scipy.stats import kstest

from contextualdag.datasets import Dataset, make_fixed_dag, make_varying_dag
from contextualdag.datasets.synthetic import SKELETONS
from contextualdag.errors import InvalidParameterError
from contextualdag.graphs import is_acyclic

DESIGNS = [make_varying_dag, make_fixed_dag]
HARD = {
    "graph": "scale-free",
    "noise_scale": (0.5, 2),
    "standardise": True,
    "mean_shift": 0.5,
    "weak_edges": True,
    "context_correlation": 0.7,
}


def residuals(data):
    return data.X - np.einsum("nj,njk->nk", data.X, data.W)


def test_the_design_of_the_paper():
    data = make_varying_dag(2000, 20, 2, random_state=0)
    assert data.X.shape == (2000, 20)
    assert data.Z.shape == (2000, 2)
    assert np.abs(data.Z).max() <= 1
    assert bool(is_acyclic(torch.from_numpy(data.W)).all())
    assert (data.W != 0).sum() / 2000 == pytest.approx(5, abs=0.01)
    assert (data.W >= 0).all()
    ever = (data.W != 0).any(0)
    assert 5 < (ever | ever.T).sum() / 2 <= 10
    assert (ever & ever.T).any()  # some edges are reversed
    noise = residuals(data)
    assert noise.mean() == pytest.approx(0, abs=0.02)
    assert noise.std() == pytest.approx(1, abs=0.02)


def test_the_fixed_design_of_the_paper():
    data = make_fixed_dag(2000, random_state=0)
    assert data.X.shape == (2000, 20)
    assert data.Z.shape == (2000, 2)
    assert np.abs(data.Z).max() <= 1
    assert (np.ptp(data.W, axis=0) == 0).all()
    assert sorted(data.W[0].ravel())[-11:] == [0] + [0.3] * 10
    assert data.W.flags.writeable
    assert np.corrcoef(data.X.T, data.Z.T)[:20, 20:] == pytest.approx(0, abs=0.08)


def test_the_order_of_the_fixed_design_is_random():
    forward = [np.triu(make_fixed_dag(2, 6, 1, 5, random_state=seed).W[0]).astype(bool).sum() for seed in range(200)]
    assert np.mean(forward) == pytest.approx(2.5, abs=0.3)


def test_every_weight_of_the_fixed_design():
    data = make_fixed_dag(2, 6, weight=-1.5, random_state=0)
    assert set(data.W.ravel()) == {0, -1.5}


def test_seeds_keep_their_data():
    # As drawn before the design had options (commit f5971c7).
    data = make_varying_dag(200, 6, n_edges=7, random_state=3)
    assert data.X[0] == pytest.approx([1.15565178, 2.1508145, 1.51522876, -0.78002534, 1.49955781, 0.23118019])
    assert data.Z[0] == pytest.approx([-0.4145585, -0.99701983])
    assert np.argwhere(data.W[0]).tolist() == [[0, 1], [0, 2], [4, 1], [5, 2]]
    assert data.W.sum() == pytest.approx(519.7420346873139)


@pytest.mark.parametrize("design", DESIGNS)
def test_same_seed_same_data(design):
    first, second, other = (design(50, 5, 3, n_edges=4, random_state=seed) for seed in (1, 1, 2))
    for name in ("X", "Z", "W"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))


@pytest.mark.parametrize("design", DESIGNS)
def test_generators_go_on_where_they_were(design):
    rng = np.random.default_rng(1)
    first, second = (design(20, 5, n_edges=4, noise_scale=(1, 2), random_state=rng) for _ in range(2))
    assert not np.array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.X, design(20, 5, n_edges=4, noise_scale=(1, 2), random_state=1).X)


def test_slices_keep_rows_together():
    data = make_varying_dag(50, 5, n_edges=4, random_state=1)
    part = data[10:20]
    assert len(part) == 10
    np.testing.assert_array_equal(part.W, data.W[10:20])
    assert part.names == data.names == ("x1", "x2", "x3", "x4", "x5")


@pytest.mark.parametrize("active", [0.0, 1.0])
def test_none_or_all_active(active):
    data = make_varying_dag(50, 5, n_edges=4, active=active, random_state=1)
    edges = (data.W != 0).sum((1, 2))
    assert edges.max() == 0 if active == 0 else edges.sum() >= 50 * 4 - 1


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("graph", SKELETONS)
def test_noise_is_independent_and_graphs_are_acyclic(design, graph):
    data = design(4000, 8, graph=graph, random_state=0)
    assert bool(is_acyclic(torch.from_numpy(data.W)).all())
    noise = residuals(data)
    assert np.cov(noise.T) == pytest.approx(np.eye(8), abs=0.09)
    assert np.corrcoef(noise.T, data.Z.T)[:8, 8:] == pytest.approx(0, abs=0.06)
    assert noise.mean(0) == pytest.approx(0, abs=0.06)


def test_scale_free_skeletons_against_drawing_one_by_one():
    p, n_edges, n_graphs = 7, 5, 1500
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, p + 1)
    expected, degrees = np.zeros(p), np.zeros(p)
    for _ in range(n_graphs):
        pairs = set()
        while len(pairs) < n_edges:
            j, k = rng.choice(p, size=2, p=weights / weights.sum())
            if j != k:
                pairs.add((min(j, k), max(j, k)))
        expected += np.sort(np.bincount(np.ravel(list(pairs)), minlength=p))
        j, k = SKELETONS["scale-free"](p, n_edges, rng)
        assert len(set(zip(j, k, strict=True))) == n_edges
        assert (j < k).all()
        degrees += np.sort(np.bincount(np.concatenate([j, k]), minlength=p))
    assert degrees / n_graphs == pytest.approx(expected / n_graphs, abs=0.1)


def test_scale_free_graphs_have_hubs_and_any_node_may_be_one():
    rng = np.random.default_rng(0)
    degrees = {
        graph: np.array([np.bincount(np.concatenate(draw(20, 10, rng)), minlength=20) for _ in range(500)])
        for graph, draw in SKELETONS.items()
    }
    assert degrees["scale-free"].max(1).mean() > 1.5 * degrees["erdos-renyi"].max(1).mean()
    assert degrees["scale-free"].mean(0) == pytest.approx(1, abs=0.3)
    assert degrees["erdos-renyi"].mean(0) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(("n_nodes", "n_edges"), [(1, 0), (2, 1), (4, 0), (4, 6)])
@pytest.mark.parametrize("graph", SKELETONS)
def test_skeletons_from_none_to_all_pairs(graph, n_nodes, n_edges):
    data = make_fixed_dag(10, n_nodes, n_edges=n_edges, graph=graph, random_state=0)
    assert (data.W[0] != 0).sum() == n_edges
    data = make_varying_dag(10, n_nodes, n_edges=n_edges, graph=graph, random_state=0)
    assert (data.W != 0).sum() == 5 * n_edges


@pytest.mark.parametrize("design", DESIGNS)
def test_unequal_noise(design):
    plain, scaled = (design(1000, 50, noise_scale=scale, random_state=0) for scale in ("equal", (0.5, 2)))
    np.testing.assert_array_equal(plain.W, scaled.W)
    np.testing.assert_array_equal(plain.Z, scaled.Z)
    sd = residuals(scaled)[0] / residuals(plain)[0]
    assert residuals(scaled) == pytest.approx(residuals(plain) * sd)
    assert kstest(sd, "uniform", args=(0.5, 1.5)).pvalue > 0.01
    assert residuals(scaled).std(0) == pytest.approx(sd, rel=0.09)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("noise_scale", ["equal", (0.5, 2)])
def test_standardised_data_have_the_rescaled_truth(design, noise_scale):
    plain, scaled = (design(500, 8, noise_scale=noise_scale, standardise=on, random_state=0) for on in (False, True))
    sd = plain.X.std(0)
    assert scaled.X.std(0) == pytest.approx(1)
    np.testing.assert_allclose(scaled.X, plain.X / sd)
    np.testing.assert_array_equal(scaled.W != 0, plain.W != 0)
    np.testing.assert_allclose(scaled.W, np.einsum("j,njk,k->njk", sd, plain.W, 1 / sd))
    assert residuals(scaled) == pytest.approx(residuals(plain) / sd)


def test_means_that_move_with_the_context():
    plain, shifted = (make_varying_dag(500, 30, 4, mean_shift=sd, random_state=0) for sd in (0, 0.5))
    np.testing.assert_array_equal(plain.W, shifted.W)
    B, error, *_ = np.linalg.lstsq(plain.Z, shifted.X - plain.X, rcond=None)
    assert error == pytest.approx(0)
    assert B.std() == pytest.approx(0.5, abs=0.1)
    assert B.mean() == pytest.approx(0, abs=0.15)


@pytest.mark.parametrize(("weak_edges", "least"), [(True, 0.25), (0.8, 0.8), (1.0, 1.0)])
def test_weak_edges_of_both_signs(weak_edges, least):
    plain = make_varying_dag(300, 12, n_edges=60, random_state=0)
    weak = make_varying_dag(300, 12, n_edges=60, weak_edges=weak_edges, random_state=0)
    edges = plain.W != 0
    np.testing.assert_array_equal(weak.W != 0, edges)
    _, j, k = np.nonzero(edges)
    pair = 12 * np.minimum(j, k) + np.maximum(j, k)
    ratio = weak.W[edges] / plain.W[edges]
    by_pair = [ratio[pair == one] for one in np.unique(pair)]
    factor = np.array([ratios[0] for ratios in by_pair])
    for ratios, first in zip(by_pair, factor, strict=True):
        assert ratios == pytest.approx(first)  # the same in all contexts and both directions
    assert ((np.abs(factor) > least - 1e-9) & (np.abs(factor) < 1 + 1e-9)).all()
    assert np.abs(factor).mean() == pytest.approx((1 + least) / 2, abs=0.1)
    assert 0.25 < (factor < 0).mean() < 0.75


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_correlated_contexts_stay_uniform(correlation):
    data = make_varying_dag(20000, 3, 3, n_edges=2, context_correlation=correlation, random_state=0)
    expected = 6 / np.pi * np.arcsin(correlation / 2)
    assert np.corrcoef(data.Z.T)[np.triu_indices(3, k=1)] == pytest.approx(expected, abs=0.02)
    for column in data.Z.T:
        assert kstest(column, "uniform", args=(-1, 2)).pvalue > 0.01
    assert (data.W != 0).sum() / 20000 == pytest.approx(1, abs=0.01)


def test_a_single_context_feature_has_nothing_to_be_correlated_with():
    plain, other = (make_varying_dag(50, 5, 1, context_correlation=r, random_state=0) for r in (0, 0.9))
    np.testing.assert_array_equal(plain.X, other.X)


def test_all_options_at_once():
    data, again, other = (make_varying_dag(4000, 10, 3, random_state=seed, **HARD) for seed in (4, 4, 5))
    for name in ("X", "Z", "W"):
        np.testing.assert_array_equal(getattr(data, name), getattr(again, name))
        assert not np.array_equal(getattr(data, name), getattr(other, name))
    assert data.X.std(0) == pytest.approx(1)
    assert (data.W != 0).sum() / 4000 == pytest.approx(5, abs=0.01)
    assert bool(is_acyclic(torch.from_numpy(data.W)).all())
    # The part of X that Z does not explain is the part that follows W.
    B = np.linalg.lstsq(data.Z, data.X, rcond=None)[0]
    noise = residuals(Dataset(data.X - data.Z @ B, data.Z, data.W, data.names))
    assert np.corrcoef(noise.T) == pytest.approx(np.eye(10), abs=0.07)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "'n_samples' parameter of {} must be an integer of at least 1. Got 0 instead."),
        ({"n_nodes": 2.5}, "'n_nodes' parameter of {} must be an integer of at least 1. Got 2.5 instead."),
        ({"n_features": True}, "'n_features' parameter of {} must be an integer of at least 1. Got True instead."),
        (
            {"n_nodes": 3, "n_edges": 4},
            "'n_edges' parameter of {} must be from 0 to 3, the pairs of 3 nodes. Got 4 instead.",
        ),
        ({"n_edges": -1}, "'n_edges' parameter of {} must be from 0 to 190, the pairs of 20 nodes. Got -1 instead."),
        ({"n_edges": 2.0}, "'n_edges' parameter of {} must be from 0 to 190"),
        ({"graph": "star"}, "'graph' parameter of {} must be one of ['erdos-renyi', 'scale-free']. Got 'star' instead."),
        ({"graph": ["star"]}, "'graph' parameter of {} must be one of"),
        ({"noise_scale": "unequal"}, "'noise_scale' parameter of {} must be 'equal' or a pair (low, high)"),
        ({"noise_scale": 2.0}, "'noise_scale' parameter of {} must be 'equal' or a pair (low, high)"),
        ({"noise_scale": (1, 2, 3)}, "of numbers with 0 < low <= high. Got (1, 2, 3) instead."),
        ({"noise_scale": (0, 1)}, "of numbers with 0 < low <= high. Got (0, 1) instead."),
        ({"noise_scale": (2, 1)}, "of numbers with 0 < low <= high. Got (2, 1) instead."),
        ({"noise_scale": (1, np.inf)}, "of numbers with 0 < low <= high. Got (1, inf) instead."),
        ({"noise_scale": (1, "2")}, "of numbers with 0 < low <= high. Got (1, '2') instead."),
        ({"standardise": 1}, "'standardise' parameter of {} must be True or False. Got 1 instead."),
        ({"n_samples": 1, "standardise": True}, "'n_samples' parameter of {} must be at least 2 where X is standardised"),
    ],
)
def test_bad_arguments_of_both_designs(design, arguments, message):
    with pytest.raises(InvalidParameterError) as error:
        design(**arguments)
    assert message.format(design.__name__) in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"active": 1.5}, "'active' parameter of make_varying_dag must be in [0, 1]. Got 1.5 instead."),
        ({"mean_shift": -1}, "'mean_shift' parameter of make_varying_dag must be a finite number of at least 0. Got -1"),
        (
            {"mean_shift": np.nan},
            "'mean_shift' parameter of make_varying_dag must be a finite number of at least 0. Got nan",
        ),
        (
            {"weak_edges": 0.0},
            "'weak_edges' parameter of make_varying_dag must be True, False or a float in (0, 1]. Got 0.0",
        ),
        ({"weak_edges": 1}, "'weak_edges' parameter of make_varying_dag must be True, False or a float in (0, 1]. Got 1 "),
        (
            {"weak_edges": 1.5},
            "'weak_edges' parameter of make_varying_dag must be True, False or a float in (0, 1]. Got 1.5",
        ),
        (
            {"context_correlation": 1},
            "'context_correlation' parameter of make_varying_dag must be a number in [0, 1). Got 1",
        ),
        ({"context_correlation": -0.1}, "'context_correlation' parameter of make_varying_dag must be a number in [0, 1)"),
    ],
)
def test_bad_arguments_of_the_varying_design(arguments, message):
    with pytest.raises(InvalidParameterError) as error:
        make_varying_dag(**arguments)
    assert message in str(error.value)


@pytest.mark.parametrize("weight", [0, np.inf, "0.3", None])
def test_bad_weights_of_the_fixed_design(weight):
    with pytest.raises(InvalidParameterError) as error:
        make_fixed_dag(weight=weight)
    expected = f"'weight' parameter of make_fixed_dag must be a finite number other than 0. Got {weight!r} instead."
    assert expected in str(error.value)


def test_units_change_nothing_else():
    plain, scaled = (make_varying_dag(300, 5, n_edges=5, units=units, random_state=0) for units in (0, 2))
    factors = scaled.X[0] / plain.X[0]
    np.testing.assert_allclose(scaled.X, plain.X * factors)
    np.testing.assert_allclose(residuals(scaled), residuals(plain) * factors, atol=1e-9 * factors.max())
    assert (scaled.W != 0).tolist() == (plain.W != 0).tolist()
    assert 0.01 <= factors.min() < 1 < factors.max() <= 100


@pytest.mark.parametrize("design", [make_varying_dag, make_fixed_dag])
def test_heavy_tails(design):
    data = design(5000, 5, n_edges=5, degrees_of_freedom=3, random_state=0)
    assert kstest(residuals(data).ravel(), "t", args=(3,)).pvalue > 0.01
    assert kstest(residuals(data).ravel(), "norm").pvalue < 1e-6


def test_outliers_are_whole_rows():
    plain, with_outliers = (make_varying_dag(2000, 5, n_edges=5, outliers=share, random_state=0) for share in (0, 0.05))
    times = with_outliers.X / plain.X
    assert set(times.round(6).ravel().tolist()) == {1.0, 10.0}
    assert times.min(1) == pytest.approx(times.max(1))
    assert (times[:, 0] > 5).mean() == pytest.approx(0.05, abs=0.02)


def turned_pairs(data):
    present = (data.W != 0).any(0)
    return int((present & present.T).sum()) // 2, int((present | present.T).sum()) // 2


def test_edges_that_keep_to_one_order():
    free, along = (make_varying_dag(2000, 8, n_edges=12, reversals=given, random_state=0) for given in (True, False))
    assert turned_pairs(free)[0] > 6
    assert turned_pairs(along) == (0, turned_pairs(free)[1])
    sizes = [np.abs(data.W) + np.abs(data.W).transpose(0, 2, 1) for data in (free, along)]
    np.testing.assert_allclose(*sizes)  # joined in the same contexts, with weights of the same size
    assert is_acyclic(torch.from_numpy((along.W != 0).any(0)[None].astype(float))).all()
    same = make_varying_dag(2000, 8, n_edges=12, random_state=0)
    np.testing.assert_array_equal(same.X, free.X)


def test_a_share_of_the_edges_is_reversed():
    data = make_varying_dag(1000, 30, n_edges=200, active=0.9, reversals=0.25, random_state=0)
    turned, joined = turned_pairs(data)
    assert turned / joined == pytest.approx(0.25, abs=0.1)
    assert is_acyclic(torch.from_numpy(data.W)).all()


@pytest.mark.parametrize("reversals", [-0.1, 1.5, "no"])
def test_shares_of_reversals_out_of_range(reversals):
    with pytest.raises(InvalidParameterError, match=r"'reversals' parameter of .* must be True, False or a number"):
        make_varying_dag(10, 3, n_edges=1, reversals=reversals)


@pytest.mark.parametrize("option", [{"degrees_of_freedom": 0}, {"units": -1}, {"outliers": 1}, {"units": "cm"}])
def test_options_out_of_range(option):
    (name,) = option
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of make_varying_dag must be a number"):
        make_varying_dag(10, 3, n_edges=1, **option)


@pytest.mark.parametrize(
    "extreme",
    [
        {"noise_scale": (1e300, 1e308)},
        {"degrees_of_freedom": 1e-320},
        {"mean_shift": 1.7e308, "standardise": True},
        {"noise_scale": (1e-320, 1e308), "standardise": True},
        {"n_samples": 10**18},
        {"n_features": 10**30},
    ],
    ids=str,
)
def test_parameters_too_extreme_to_simulate_with(extreme):
    with pytest.raises(InvalidParameterError, match="make_varying_dag cannot simulate with parameters this extreme: "):
        make_varying_dag(**({"n_samples": 20, "n_nodes": 6, "n_edges": 12, "random_state": 0} | extreme))


def test_weights_too_large_to_simulate_with():
    with pytest.raises(InvalidParameterError, match="parameters this extreme: Singular matrix"):
        make_fixed_dag(20, n_nodes=6, n_edges=12, weight=1e200, random_state=0)


@pytest.mark.parametrize("random_state", ["a", -1, 1.5, [1]])
def test_seeds_that_are_none(random_state):
    with pytest.raises(InvalidParameterError, match="'random_state' parameter of make_fixed_dag must be None, an integer"):
        make_fixed_dag(20, random_state=random_state)
