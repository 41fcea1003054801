import functools

import numpy as np
import pandas as pd
import pytest

from benchmarks import noise
from contextualdag.paper.recovery import simulate

QUICK = {"hidden_layers": (8,), "n_members": 1, "n_budgets": 3, "max_epochs": 5}
CELL = {"design": "varying", "graph": "erdos-renyi", "n": 300, "p": noise.P, "m": noise.M, "data_set": 0}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(noise, "ContextualDAG", functools.partial(noise.ContextualDAG, **QUICK))


def test_scales_of_the_noise_are_those_of_the_data():
    data, _ = simulate(CELL)
    scaled, _ = simulate(CELL, units=1.0)
    np.testing.assert_allclose(noise.noise_of(data), 1, rtol=0.25)
    factors = scaled.X[0] / data.X[0]
    np.testing.assert_allclose(noise.noise_of(scaled), noise.noise_of(data) * np.abs(factors), rtol=1e-6)


def test_rows_that_were_multiplied_are_found():
    data, _ = simulate(CELL, outliers=0.01)
    before, _ = simulate(CELL)
    found = noise.multiplied(data, before)
    assert found.sum() == (data.X != before.X).any(1).sum() > 0
    np.testing.assert_array_equal(found, (data.X != before.X).any(1))


@pytest.mark.slow
@pytest.mark.parametrize("row", ["one row in a hundred times ten", "one graph, noise of .5 to 2"])
def test_a_run_and_its_line(row):
    found = noise.fit(row, 300, 0)
    assert 0 <= found["f1"] <= found["skeleton_f1"] <= 1
    assert found["right"] <= found["directions"]
    assert found["named"] <= found["outliers"]
    assert (found["outliers"] > 0) == ("hundred" in row)
    line = noise.table(pd.DataFrame([{"row": row, "n": 300, "data_set": 0, **found}])).splitlines()[-1]
    assert line.startswith(f"| {row} | 300 | 1 | {found['f1']:.3f} ± ")
    assert ("others" in line) == ("hundred" in row)


@pytest.mark.slow
def test_finished_runs_are_kept_and_the_page_is_written(tmp_path, capsys):
    runs, page = tmp_path / "runs.csv", tmp_path / "page.md"
    arguments = [str(runs), str(page), "--rows", "equal", "--sizes", "60", "--data-sets", "0"]
    noise.main(arguments)
    before = runs.read_bytes()
    noise.main(arguments)
    assert runs.read_bytes() == before
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Units and noise\n\n| data | n |")
    assert text.count("| equal | 60 | 1 |") == 1
    assert text.strip().splitlines()[-1] in capsys.readouterr().out
