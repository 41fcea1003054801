import functools

import numpy as np
import pandas as pd
import pytest

from benchmarks import structures

QUICK = {"hidden_layers": (8,), "n_members": 1, "n_budgets": 3, "max_epochs": 5}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name in ("ContextualDAG", "SortedDAG"):
        monkeypatch.setattr(structures, name, functools.partial(getattr(structures, name), **QUICK))


def test_pairs_that_point_either_way_are_counted_once():
    W = np.zeros((3, 3, 3))
    W[0, 0, 1] = W[1, 1, 0] = W[2, 0, 1] = 0.5
    W[:, 1, 2] = -1
    assert structures.n_reversed(W) == 1
    assert structures.n_reversed(W[:1]) == 0


@pytest.mark.slow
def test_designs_have_an_order_or_not():
    for design, is_one in (("one order, 10 pairs", True), ("three tenths of 20 pairs reversed", False)):
        found = structures.fit(design, structures.FREE, 60, 0, p=8)
        assert (found["truly_reversed"] == 0) == is_one
        assert found["structure"] == "varying"
        assert 0 <= found["f1"] <= 1


@pytest.mark.slow
def test_finished_runs_are_kept_and_the_page_is_written(tmp_path, capsys):
    runs, page = tmp_path / "runs.csv", tmp_path / "page.md"
    page.write_text("# Kept\n\nAn introduction.\n\n| edges | of before |\n|---|---|\n", encoding="utf-8")
    arguments = [str(runs), str(page), "--designs", "one order, 10 pairs", "--rows", "60", "--data-sets", "0"]
    structures.main([*arguments, "--methods", structures.TOLD, structures.DEFAULT])
    found = pd.read_csv(runs)
    assert set(found["method"]) == {structures.TOLD, structures.DEFAULT}
    told = found[found["method"] == structures.TOLD]
    assert told["reversed"].item() == 0
    before = runs.read_bytes()
    structures.main([*arguments, "--methods", structures.TOLD, structures.DEFAULT])
    assert runs.read_bytes() == before
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Kept\n\nAn introduction.\n\n| edges | n | fit |")
    assert "of before" not in text
    assert text.strip().splitlines()[-1] in capsys.readouterr().out


def test_an_order_is_only_told_where_there_is_one(tmp_path):
    arguments = [str(tmp_path / "runs.csv"), "--designs", "the paper's", "--rows", "60", "--data-sets", "0"]
    with pytest.raises(SystemExit):
        structures.main([*arguments, "--methods", structures.TOLD])
    assert not (tmp_path / "runs.csv").exists()


@pytest.mark.slow
def test_features_that_matter_and_noise():
    found = structures.test_features(60, 0)
    assert list(found) == ["p_value", "z1", "z2", "z3", "noise1", "noise2"]
    assert all(0 < p <= 1 for p in found.values())
    line = structures.table_of_features(pd.DataFrame([{"n": 60, "data_set": 0, **found}])).splitlines()[-1]
    assert line.startswith("| 60 | 1 | ")
