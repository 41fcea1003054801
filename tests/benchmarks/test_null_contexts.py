import numpy as np
import pandas as pd
import pytest

from benchmarks import null_contexts


def test_uniform_p_values_pass_and_others_do_not():
    steps = pd.Series(np.arange(1, 201) / 200)
    assert null_contexts.uniformity(steps) > 0.5
    assert null_contexts.uniformity(steps**2) < 0.001


@pytest.mark.parametrize("name", [name for name in null_contexts.DATA if name.startswith(("one graph", "diabetes"))])
def test_tables_that_come_with_the_package_are_drawn(name):
    X, Z = null_contexts.DATA[name](np.random.default_rng(0), null_contexts.NO_FILES)
    assert np.isfinite(X).all(axis=None)
    assert len(X) == len(Z)


def test_contexts_are_drawn_anew():
    X, Z = null_contexts.diabetes(np.random.default_rng(0), null_contexts.NO_FILES)
    other_X, other_Z = null_contexts.diabetes(np.random.default_rng(1), null_contexts.NO_FILES)
    assert X.equals(other_X)
    assert Z.shape == other_Z.shape == (len(X), 2)
    assert not Z.equals(other_Z)


@pytest.mark.slow
def test_finished_runs_are_kept(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(null_contexts, "N_SIMULATED", 60)
    runs = tmp_path / "runs.csv"
    pd.DataFrame([{"data": "one graph", "seed": 0, "p_value": 0.02, "structure": "varying"}]).to_csv(runs, index=False)
    page = tmp_path / "page.md"
    null_contexts.main([str(runs), str(page), "--data", "one graph", "--seeds", "2"])
    found = pd.read_csv(runs)
    assert found["seed"].tolist() == [0, 1]
    assert found["p_value"][0] == 0.02
    assert capsys.readouterr().out.splitlines()[-1].startswith("| one graph | 2 | ")
    assert "| one graph | 2 | " in page.read_text(encoding="utf-8")
