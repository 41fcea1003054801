"""A model with a number and a category as context, fitted once."""

import numpy as np
import pandas as pd
import pytest

from contextualdag import ContextualDAG
from contextualdag.datasets import make_varying_dag


@pytest.fixture(scope="session")
def model():
    data = make_varying_dag(400, n_nodes=4, n_features=2, n_edges=4, random_state=0)
    Z = pd.DataFrame({"age": data.Z[:, 0], "site": np.where(data.Z[:, 1] > 0, "Leeds", "<b>York</b>")})
    X = pd.DataFrame(data.X, columns=["mood", "sleep", "stress", "<script>x</script>"])
    return ContextualDAG(hidden_layers=(16,), n_budgets=6, max_epochs=40, structure="varying", random_state=0).fit(X, Z)
