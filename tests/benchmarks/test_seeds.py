"""Seeds are compared by their numbers of edges, and finished runs are not made again."""

from types import SimpleNamespace

import pandas as pd
import pytest

from benchmarks import seeds
from contextualdag import FixedDAG
from contextualdag.datasets import make_fixed_dag


def test_ratios_are_those_of_all_pairs():
    assert seeds.ratios([72, 130, 100]) == [130 / 72, 100 / 72, 130 / 100]
    assert seeds.ratios([0, 0, 5]) == [1, float("inf"), float("inf")]
    assert seeds.ratios([7]) == []


def test_edges_are_counted_and_runs_are_kept(tmp_path, monkeypatch, capsys):
    made = make_fixed_dag(200, 5, n_edges=4, random_state=0)
    data = SimpleNamespace(X=made.X, Z=made.Z)
    monkeypatch.setattr(seeds, "load_drug_consumption", lambda path: data)
    monkeypatch.setattr(seeds, "METHODS", {"FixedDAG": lambda seed: FixedDAG(random_state=seed)})
    runs = tmp_path / "runs.csv"
    seeds.main([str(runs), "--seeds", "2"])
    found = pd.read_csv(runs)
    expected = [(FixedDAG(random_state=seed).fit(made.X, made.Z).graph_ != 0).sum() for seed in range(2)]
    assert found["edges"].tolist() == expected
    assert (found["strongest"] <= found["edges"]).all()
    assert "| FixedDAG | 2 | " in capsys.readouterr().out
    monkeypatch.setattr(seeds, "counts", lambda *_: pytest.fail("finished already"))
    seeds.main([str(runs), "--seeds", "2"])
