import numpy as np
import pandas as pd
import pytest

from benchmarks import variation


def test_half_of_the_pairs_are_constant():
    data = variation.half_constant(200, 10, seed=0)
    joined, changes = (data.W != 0).any(0), np.ptp(data.W, axis=0) > 0
    assert (joined & ~changes).sum() == joined.sum() // 2
    assert data.W[:, joined & ~changes] == pytest.approx(variation.WEIGHT)
    noise = data.X - (data.X[:, :, None] * data.W).sum(1)
    assert np.corrcoef(noise.T)[np.triu_indices(10, 1)] == pytest.approx(0, abs=0.3)
    assert noise.std(0) == pytest.approx(1, abs=0.2)


def test_pairs_are_judged_by_the_truth():
    data = variation.half_constant(200, 4, seed=0)
    data.W[:] = 0
    data.W[:, 0, 1], data.W[:100, 1, 2] = 0.6, 0.5
    edges = [("x1", "x2", 0.5, False), ("x3", "x2", float("nan"), True), ("x1", "x4", 0.01, True)]
    summary = pd.DataFrame(edges, columns=["source", "target", "p_value", "varies"])
    assert variation.judged(summary, data).tolist() == [[True, False, False], [False, True, True]]


def test_the_table(capsys):
    variation.main(["--graphs", "true", "--designs", "fixed", "--rows", "100", "--variables", "8", "--data-sets", "1"])
    assert "| fixed | true | 100 | 1 | 10 | " in capsys.readouterr().out
