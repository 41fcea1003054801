import numpy as np
import pytest

from benchmarks import effects
from contextualdag import FixedDAG
from contextualdag.datasets import make_varying_dag

pytestmark = pytest.mark.slow


def test_errors_are_those_of_the_definition():
    data = make_varying_dag(300, n_nodes=4, n_edges=4, random_state=0)
    model = FixedDAG(random_state=0).fit(data.X, data.Z)
    of_effects, of_weights = effects.errors(model, data.Z, data.W)
    W = model.adjacency(data.Z)
    true, found = (np.linalg.inv(np.eye(4) - graphs) - np.eye(4) for graphs in (data.W, W))
    assert of_effects == pytest.approx(np.linalg.norm(found - true) / np.linalg.norm(true))
    assert of_weights == pytest.approx(np.linalg.norm(W - data.W) / np.linalg.norm(data.W))
    assert effects.relative_error(true, true) == 0


def test_the_table(capsys):
    effects.main(["--rows", "100", "--variables", "6", "--data-sets", "1", "--methods", "one graph", "--unequal-noise"])
    assert "| 100 | one graph | 0 | " in capsys.readouterr().out
