import numpy as np
import pytest

from contextualdag import FixedDAG
from contextualdag.errors import InvalidInputError
from tests.plotting.conftest import assert_all_inside


@pytest.mark.parametrize("features", [("age", "neuroticism"), ("age", "site"), (None, None)])
def test_sparsity(model, features):
    ax = model.plot_sparsity(*features, resolution=12)
    counts = ax.collections[0].get_array()
    assert counts.shape == ((3, 12) if features[1] == "site" else (12, 12))
    assert counts.max() <= 15
    assert "outside" in ax.get_title()
    assert_all_inside(ax.figure)


def test_sparsity_counts_edges(model):
    ax = model.plot_sparsity("age", "neuroticism", resolution=5)
    low, high = model.context_summary_["low"][0], model.context_summary_["high"][0]
    middle = model.typical_context().assign(age=(low + high) / 2)
    low, high = model.context_summary_["low"][1], model.context_summary_["high"][1]
    W = model.adjacency(middle.assign(neuroticism=(low + high) / 2))
    assert ax.collections[0].get_array()[2, 2] == (W != 0).sum()


def test_effect_along_features(model):
    T = model.total_effects(model.typical_context())[0]
    source, target = (model.names_[i] for i in np.unravel_index(np.abs(T).argmax(), T.shape))
    table = model.effect_along(source, target, "age", n_points=5)
    assert table["effect"][2]
    ax = model.plot_effect(source, target, "age")
    assert ax.get_ylabel() == f"effect of {source} on {target}"
    for label, column in (("total", "effect"), ("direct", "direct")):
        line = next(line for line in ax.lines if line.get_label() == label)
        x, y = line.get_xdata(), line.get_ydata()
        middle = len(table) // 2
        near = np.nanargmin(np.abs(x - table["age"][middle]))
        assert y[near] == pytest.approx(table[column][middle], abs=0.05)
    assert_all_inside(ax.figure)
    assert len(model.plot_effect("anxiety", "sleep", "site").patches) == 6
    assert model.plot_effect("anxiety", "sleep").get_xlabel() in ("age", "neuroticism", "site")
    with pytest.raises(InvalidInputError, match="two variables"):
        model.plot_effect("sleep", "sleep")


def test_edge_along_features(model):
    ax = model.plot_edge("anxiety", "sleep", "age")
    solid = next(line for line in ax.lines if line.get_label() == "anxiety → sleep")
    inside = solid.get_xdata()[~np.isnan(solid.get_ydata())]
    if len(inside):
        assert inside.min() >= model.context_summary_["low"][0]
    assert "dotted: outside" in ax.get_title()
    assert_all_inside(ax.figure)
    assert len(model.plot_edge("anxiety", "sleep", "site").patches) == 6
    assert model.plot_edge("anxiety", "sleep").get_xlabel() in ("age", "neuroticism", "site")


def test_along_a_feature_that_does_not_vary(fixed):
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(UserWarning, match="The context does not vary"):
        model = FixedDAG(random_state=0).fit(X, np.full((60, 1), 98.6))
    model.plot_edge("x1", "x2", "z1").figure.canvas.draw()
