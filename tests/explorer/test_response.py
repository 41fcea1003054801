from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from contextualdag import FixedDAG
from contextualdag.explorer.graphs import FittedGraphs


@pytest.fixture(scope="module")
def model():
    """dose -> crp, which is learned from as a logarithm."""
    rng = np.random.default_rng(0)
    dose = rng.standard_normal(500)
    table = pd.DataFrame(
        {"dose": dose, "crp": np.exp(1 + dose + 0.5 * rng.standard_normal(500)), "age": rng.standard_normal(500)}
    )
    return FixedDAG(noise="equal", transform={"crp": "log"}, random_state=0).fit(
        table, pd.DataFrame({"z": np.zeros(500) + rng.random(500)})
    )


def test_what_is_told_is_in_the_units_of_the_table(model):
    graphs = FittedGraphs(model)
    values = graphs.default.a
    view = replace(graphs.default, level=graphs.selected, cause=0, shift=1.5)
    response = graphs.response(view, values)
    Z = pd.DataFrame({"z": [values[0]]})
    assert response.reached[1]
    np.testing.assert_allclose(response.before, model.means(Z).to_numpy()[0])
    np.testing.assert_allclose(response.after, model.do(Z, {"dose": response.after[0]}).means.to_numpy()[0])
    assert response.changes[1] > response.before[1]  # on the logarithm's scale a shift multiplies
