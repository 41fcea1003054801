import numpy as np
import pandas as pd
import pytest

from contextualdag import BootstrapDAG, ClusteredDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
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


def test_effects_of_a_bootstrap_have_a_band():
    data = make_varying_dag(200, n_nodes=4, n_edges=4, n_features=1, reversals=False, random_state=0)
    site = np.where(data.Z[:, 0] > 0, "a", "b")
    Z = pd.DataFrame({"age": data.Z[:, 0], "site": site})
    model = BootstrapDAG(ClusteredDAG(n_clusters=2, random_state=0), n_resamples=4, n_jobs=1, verbose=False)
    model.fit(data.X, Z)
    source, target = model.summary()[["source", "target"]].iloc[0]
    (band,) = model.plot_effect(source, target, "age").collections
    j, k = model.names_.index(source), model.names_.index(target)
    low, high = model.effect_intervals(model.typical_context())
    top, bottom = band.get_paths()[0].vertices[:, 1].max(), band.get_paths()[0].vertices[:, 1].min()
    assert bottom <= low[0, j, k] <= high[0, j, k] <= top
    (lines,) = model.plot_effect(source, target, "site").collections
    assert len(lines.get_segments()) == 2
    labels = [text.get_text() for text in model.plot_effect(source, target, "site").get_legend().get_texts()]
    assert "90 % interval of the total" in labels
