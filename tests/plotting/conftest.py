import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def model():
    """Six variables with long names whose graph changes with two numbers and a category."""
    data = make_varying_dag(600, n_nodes=6, n_features=2, random_state=0)
    site = np.random.default_rng(0).choice(["Leeds", "London", "Isle of Wight"], 600)
    Z = pd.DataFrame({"age": 40 + 15 * data.Z[:, 0], "neuroticism": data.Z[:, 1], "site": site})
    X = pd.DataFrame(data.X, columns=["anxiety", "depressed mood", "sleep", "alcohol", "self-esteem", "work hours"])
    return ContextualDAG(hidden_layers=(16,), n_budgets=8, max_epochs=40, structure="varying", random_state=0).fit(X, Z)


@pytest.fixture(scope="session")
def fixed():
    """Three variables, no context."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 2] += X[:, 0]
    return FixedDAG(random_state=0).fit(X)


def random_graph(p, seed, degree=1.5):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.standard_normal((p, p)) * (rng.random((p, p)) < degree / p), 1)
    order = rng.permutation(p)
    return W[np.ix_(order, order)]


def edges_of(ax):
    """Edges that are drawn, as pairs of node numbers."""
    gids = [patch.get_gid() for patch in ax.patches if str(patch.get_gid()).startswith("edge-")]
    return sorted(tuple(int(part) for part in gid.split("-")[1:]) for gid in gids)


def boxes_of(texts):
    figure = texts[0].figure
    figure.canvas.draw()
    return [text.get_window_extent() for text in texts]


def assert_all_inside(figure):
    """Nothing that is drawn sticks out of the figure, by half a point at most."""
    figure.canvas.draw()
    drawn, size = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) > -0.007
    assert drawn.x1 < size[0] + 0.007
    assert drawn.y1 < size[1] + 0.007
