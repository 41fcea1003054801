"""Cells in groups in one process, and how their results are kept."""

import json

import pytest

from contextualdag.errors import InvalidParameterError, PersistenceError
from contextualdag.sweeps.local import run_in_groups
from contextualdag.sweeps.store import load_results

pytestmark = pytest.mark.slow

CELLS = [{"n": n, "data_set": data_set} for n in (60, 90) for data_set in range(3)]


def squares(cells):
    return [[{"square": cell["n"] ** 2}] for cell in cells]


def by_n(cells):
    sizes = dict.fromkeys(cell["n"] for cell in cells)
    return [[cell for cell in cells if cell["n"] == n] for n in sizes]


def test_results_are_kept_and_not_run_again(tmp_path):
    seen = []
    first = run_in_groups(CELLS[:4], squares, tmp_path, group=by_n, progress=lambda *row: seen.append(row[:2]))
    assert (first.n_finished, first.n_skipped, first.failed) == (4, 0, ())
    assert seen == [(3, 4), (4, 4)]
    asked = []

    def remember(some):
        asked.extend(some)
        return squares(some)

    second = run_in_groups(CELLS, remember, tmp_path, group=by_n)
    assert (second.n_finished, second.n_skipped) == (2, 4)
    assert asked == CELLS[4:]
    table = load_results(tmp_path)
    assert (table["square"] == table["n"] ** 2).all()
    assert len(table) == 6


def test_a_group_that_fails_is_reported_and_the_others_go_on(tmp_path):
    def fails_at_60(some):
        if some[0]["n"] == 60:
            raise ValueError("no luck")
        return squares(some)

    report = run_in_groups(CELLS, fails_at_60, tmp_path, group=by_n)
    assert report.n_finished == 3
    assert [(cell["n"], message) for cell, message in report.failed] == [(60, "ValueError: no luck")] * 3
    assert run_in_groups(CELLS, squares, tmp_path, group=by_n).n_finished == 3


def test_bad_folders_and_cells(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(PersistenceError, match="is a file where a folder was expected"):
        run_in_groups(CELLS, squares, file, group=by_n)
    folder = tmp_path / "sweep"
    with pytest.raises(InvalidParameterError, match="must differ"):
        run_in_groups([CELLS[0], CELLS[0]], squares, folder, group=by_n)
    run_in_groups(CELLS, squares, folder, group=by_n)
    one = next(folder.glob("*.json"))
    one.write_text(json.dumps(json.loads(one.read_text()) | {"version": 7}))
    with pytest.raises(PersistenceError, match="has version 7"):
        run_in_groups(CELLS, squares, folder, group=by_n)
