"""The program of attacks: what fails is counted, kept in a file and replayed."""

import json
import math
import types

import numpy as np
import pytest

from attack import program
from attack.program import ATTACKS, Found, attack, load, replay, table
from attack.projections import has_cycle


@pytest.fixture
def module(monkeypatch):
    """An attack that fails at the cases whose number is odd, and breaks at 4."""

    def check(case, scratch):
        if case["number"] == 4:
            raise RuntimeError("broken")
        return Found({"things": 2.0}, "odd" if case["number"] % 2 else "", {"most": float(case["number"])})

    one = types.SimpleNamespace(
        TITLE="Numbers", cases=lambda short: ({"number": k} for k in range(2 if short else 6)), check=check
    )
    monkeypatch.setattr(program, "load", lambda name: one)
    return one


def test_failures_are_counted_and_replayed(module, tmp_path, capsys):
    row = attack("numbers", math.inf, False, tmp_path / "scratch", tmp_path / "failures")
    assert (row.counts, row.worst) == ({"things": 10.0}, {"most": 5.0})
    assert [json.loads(file.read_text())["case"]["number"] for file in row.problems] == [1, 3, 4, 5]
    assert [replay(file, tmp_path)[:3] for file in row.problems] == ["odd", "odd", "The", "odd"]
    assert "broken" in capsys.readouterr().out
    assert "| Numbers | 10 things; most 5 | 4 |" in table([row])


def test_at_least_one_case_is_tried_and_time_ends_the_rest(module, tmp_path):
    row = attack("numbers", 0, False, tmp_path, tmp_path)
    assert row.counts == {"things": 2.0}


def test_what_cannot_be_tried_says_why(module, tmp_path):
    module.check = lambda case, scratch: Found({}, skipped="no browser")
    assert attack("numbers", math.inf, False, tmp_path, tmp_path).cells[1] == "not here: no browser"


@pytest.mark.parametrize("name", ATTACKS)
def test_cases_of_all_attacks_fit_into_files(name):
    module = load(name)
    case = next(iter(module.cases(short=True)))
    assert json.loads(json.dumps(case)) == case
    assert module.TITLE


def test_cycles_are_found():
    edges = np.zeros((4, 3, 3), dtype=bool)
    edges[1, [0, 1], [1, 2]] = True
    edges[2, [0, 1, 2], [1, 2, 0]] = True
    edges[3, 1, 1] = True
    assert has_cycle(edges).tolist() == [False, False, True, True]
