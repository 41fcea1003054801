"""The benchmark of what is said of edges and effects: its parts, its tables, and runs that are kept."""

import os

import numpy as np
import pandas as pd
import pytest

from benchmarks import trust
from contextualdag import FixedDAG
from contextualdag.effects import total_effects


def test_simulated_effects_are_the_total_effects():
    _, new = trust.drawn(10, 5, 0, n_edges=8)
    assert np.abs(new.W).max() > 0
    np.testing.assert_allclose(trust.simulated_effects(new, 0), total_effects(new.W), atol=1e-12)


def test_tables():
    tiers = pd.DataFrame({"n": 9, "p": 5, "data_set": [0, 1], "f1_without": [0.5, 0.7], "f1_with_tiers": [0.6, 0.6]})
    assert trust.table_of_tiers(tiers).splitlines()[-1] == "| 9 | 5 | 2 | 0.600 | 0.600 | 1 |"
    edges = pd.DataFrame({"kind": ["fixed", "fixed"], "graphs": [10, 20], "lacking": [0, 1], "having": [0, 0]})
    assert trust.table_of_edges(edges).splitlines()[-1] == "| fixed | 30 | 1 | 0 |"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fixed", "clustered"])
def test_what_is_known_holds_everywhere(kind):
    found = trust.count_violations(kind, 60, 6, 0)
    assert found["graphs"] > 1000
    assert (found["lacking"], found["having"]) == (0, 0)


def test_finished_runs_are_kept_and_the_page_has_its_text(tmp_path, monkeypatch, capsys):
    asked = []

    def fit(n, p, data_set):
        asked.append((n, data_set))
        return {"f1_without": 0.5, "f1_with_tiers": 0.75}

    monkeypatch.setattr(trust, "RUNS", {**trust.RUNS, trust.TIERS: (fit, *trust.RUNS[trust.TIERS][1:])})
    page = tmp_path / "page.md"
    page.write_text("# Trust\n\nBy hand.\n\n## Tiers\n\nold\n")
    for data_sets in (["0"], ["0", "3"]):
        trust.main([str(tmp_path / "runs"), str(page), "--parts", "tiers", "--data-sets", *data_sets, "--rows", "200"])
    assert asked == [(200, 0), (200, 3)]
    assert "| 200 | 20 | 2 | 0.500 | 0.750 | 2 |" in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("# Trust\n\nBy hand.\n\n## Tiers\n")
    assert "old" not in text
    assert "| 200 | 20 | 2 |" in text


@pytest.mark.slow
def test_a_small_bootstrap(monkeypatch):
    monkeypatch.setattr(trust, "ContextualDAG", lambda **_: FixedDAG(random_state=0))  # takes no time
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    found = trust.fit_bootstrap(60, 5, 0, n_resamples=2)
    assert found["acyclic"] == 1
    assert 0 <= found["covered"] <= 1
    assert found["error"] > 0
