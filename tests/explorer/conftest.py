"""A small model with a number, a skewed number and a category as context, fitted once."""

import numpy as np
import pandas as pd
import pytest

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.explorer.callbacks import Answers
from contextualdag.explorer.fitted_graphs import FittedGraphs

NAMES = ["sleep", "mood", "stress", "<b>exercise</b>", "screen time"]


@pytest.fixture(scope="session")
def model():
    data = make_varying_dag(600, n_nodes=5, n_edges=6, n_features=3, random_state=3)
    site = np.where(data.Z[:, 2] < -0.3, "Lisbon", "Oslo & environs")
    Z = pd.DataFrame({"age": np.round(45 + 20 * data.Z[:, 0]), "income": np.exp(data.Z[:, 1]), "site": site})
    fit = ContextualDAG(hidden_layers=(32,), dropout=0.0, max_epochs=60, random_state=0, verbose=False)
    return fit.fit(pd.DataFrame(data.X, columns=NAMES), Z)


@pytest.fixture(scope="session")
def graphs(model):
    return FittedGraphs(model)


@pytest.fixture(scope="session")
def answers(graphs):
    return Answers(graphs)
