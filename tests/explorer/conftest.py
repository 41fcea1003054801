"""Models, each fitted once.

A small one with a number, a skewed number and a category as context; that of the demo; one of the drug data; two with one
graph for all contexts, in which some edges have no direction.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contextualdag import BootstrapDAG, ContextualDAG, FixedDAG
from contextualdag.datasets import load_drug_consumption, make_fixed_dag, make_varying_dag
from contextualdag.explorer.callbacks import Answers
from contextualdag.explorer.graphs import FittedGraphs
from contextualdag.paper.illustration import N_EDGES, N_FEATURES, N_NODES

DRUGS = Path(__file__).parents[3] / "shared" / "datasets" / "drug_consumption.data"
NAMES = ["sleep", "mood", "stress", "<b>exercise</b>", "screen time"]


@pytest.fixture(scope="session")
def model():
    data = make_varying_dag(600, n_nodes=5, n_edges=6, n_features=3, random_state=3)
    site = np.where(data.Z[:, 2] < -0.3, "Lisbon", "Oslo & environs")
    Z = pd.DataFrame({"age": np.round(45 + 20 * data.Z[:, 0]), "income": np.exp(data.Z[:, 1]), "site": site})
    fit = ContextualDAG(hidden_layers=(32,), dropout=0.0, max_epochs=60, structure="varying", random_state=0, verbose=False)
    return fit.fit(pd.DataFrame(data.X, columns=NAMES), Z)


@pytest.fixture(scope="session")
def bootstrap_model():
    """A small model that tells how sure its edges are."""
    data = make_varying_dag(150, n_nodes=4, n_edges=4, n_features=2, random_state=0)
    fit = ContextualDAG(
        hidden_layers=(16,),
        dropout=0.0,
        max_epochs=40,
        n_members=1,
        structure="varying",
        random_state=0,
        verbose=False,
    )
    return BootstrapDAG(fit, n_resamples=6, n_jobs=1, verbose=False).fit(data.X, data.Z)


@pytest.fixture(scope="session")
def demo_model():
    """As `contextualdag demo` makes it, of fewer rows and in less time."""
    data = make_varying_dag(1000, N_NODES, N_FEATURES, n_edges=N_EDGES, random_state=0)
    return ContextualDAG(max_epochs=30, n_budgets=8, structure="varying", random_state=0, verbose=False).fit(data.X, data.Z)


@pytest.fixture(scope="session")
def drug_model():
    """Eighteen real variables, and graphs with more edges than are drawn."""
    if not DRUGS.exists():
        pytest.skip("needs ../shared/datasets/drug_consumption.data")
    data = load_drug_consumption(DRUGS)
    fit = ContextualDAG(
        hidden_layers=(16,),
        dropout=0.0,
        max_epochs=30,
        n_budgets=8,
        n_members=1,
        structure="varying",
        random_state=0,
        verbose=False,
    )
    return fit.fit(data.X[:800], data.Z[:800])


@pytest.fixture(scope="session", params=["FixedDAG", "ContextualDAG"])
def one_graph(request):
    data = make_fixed_dag(1500, n_nodes=6, n_edges=8, random_state=3, noise_scale=(0.3, 3))
    if request.param == "FixedDAG":
        return FittedGraphs(FixedDAG(random_state=0).fit(data.X))
    fit = ContextualDAG(hidden_layers=(16,), structure="constant", random_state=0, verbose=False)
    return FittedGraphs(fit.fit(data.X, data.Z))


@pytest.fixture(scope="session")
def graphs(model):
    return FittedGraphs(model)


@pytest.fixture(scope="session")
def answers(graphs):
    return Answers(graphs)
