"""Units of the variables do not change pictures: edges are as wide as weights in standard deviations."""

import numpy as np
import pytest

from contextualdag import FixedDAG
from contextualdag.differences import differences
from contextualdag.explorer.callbacks import Answers
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.plotting import plot_graph
from contextualdag.report.model import varying_edges

FACTORS = np.array([1000.0, 1.0, 0.001])


@pytest.fixture(scope="module")
def models():
    """x1 -> x2 -> x3, in two sets of units."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    X[:, 1] += 1.5 * X[:, 0]
    X[:, 2] += 0.5 * X[:, 1]
    return [FixedDAG(noise="unequal", selection=2, random_state=0).fit(X * factors) for factors in (np.ones(3), FACTORS)]


def test_standardised_weights_are_free_of_units(models):
    one, other = (model.graph_ * model.scale_[:, None] / model.scale_ for model in models)
    assert np.allclose(one, other, rtol=1e-4)
    assert not np.allclose(models[0].graph_, models[1].graph_, rtol=0.5)


def widths(model):
    return sorted(patch.get_linewidth() for patch in plot_graph(model).patches)


def test_widths_of_pictures(models):
    one, other = (widths(model) for model in models)
    assert np.allclose(one, other, rtol=1e-3)


def test_widths_of_the_explorer(models):
    found = []
    for model in models:
        graphs = FittedGraphs(model)
        answers, view = Answers(graphs), graphs.default
        sent = ([], [], view.level, [], None, None, None, None, 0, 0, {"width": 600, "height": 500, "dark": False})
        drawn = answers.draw(*sent)[0]
        found.append(sorted(one["data"]["width"] for one in drawn if one["group"] == "edges"))
    assert np.allclose(found[0], found[1], atol=0.02)


def test_differences_do_not_depend_on_units():
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    B = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0]])
    ratio = FACTORS[:, None] / FACTORS
    kinds = [[one.kind for one in differences(A / r, B / r, r)] for r in (np.ones((3, 3)), ratio)]
    assert kinds[0] == kinds[1] == ["stronger in B", "same"]


def test_edges_that_vary_most(models):
    model = models[1]
    W = np.stack([model.graph_, model.graph_ * np.array([[1, 2, 1], [1, 1, 1.1], [1, 1, 1]])])
    table = varying_edges(model, W)
    spread = table["varies"] * [
        model.scale_[model.names_.index(a)] / model.scale_[model.names_.index(b)]
        for a, b in zip(table["source"], table["target"], strict=True)
    ]
    assert spread.is_monotonic_decreasing
