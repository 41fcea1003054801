"""Cells side by side in one process, and how they are kept."""

import json

import pytest

from contextualdag.errors import PersistenceError
from contextualdag.experiments import one_process
from contextualdag.experiments.designs import Figure, cells_of
from contextualdag.experiments.finished import load_results
from contextualdag.experiments.one_process import run_side_by_side
from contextualdag.experiments.run import run_cell, run_cells

SMALL = Figure("varying", "erdos-renyi", "n", "Small", (60, 90), (4,), (2,))


def squares(cells):
    return [[{"square": cell["n"] ** 2}] for cell in cells]


def test_groups_have_one_method_and_one_size_and_fit_the_memory(monkeypatch):
    cells = cells_of(SMALL, ["fixed", "contextual"], 5)
    groups = one_process._groups(cells)
    assert [len(group) for group in groups] == [5, 5, 5, 5]
    assert all(len({(cell["method"], cell["n"]) for cell in group}) == 1 for group in groups)
    monkeypatch.setattr(one_process, "MOST_ENTRIES", 3 * 60 * 16)
    assert [len(group) for group in one_process._groups(cells)] == [3, 2, 3, 2, 2, 2, 1, 2, 2, 1]


def test_results_are_kept_and_not_run_again(tmp_path):
    cells = cells_of(SMALL, ["fixed"], 3)
    seen = []
    first = run_side_by_side(cells[:4], squares, tmp_path, begin=lambda *row: seen.append(row[:2]))
    assert (first.n_finished, first.n_skipped, first.failed) == (4, 0, ())
    assert seen[-1] == (4, 4)
    asked = []

    def remember(some):
        asked.extend(some)
        return squares(some)

    second = run_side_by_side(cells, remember, tmp_path)
    assert (second.n_finished, second.n_skipped) == (2, 4)
    assert asked == cells[4:]
    table = load_results(tmp_path)
    assert (table["square"] == table["n"] ** 2).all()
    assert len(table) == 6


def test_a_group_that_fails_is_told_and_the_others_go_on(tmp_path):
    cells = cells_of(SMALL, ["fixed"], 2)

    def fails_at_60(some):
        if some[0]["n"] == 60:
            raise ValueError("no luck")
        return squares(some)

    report = run_side_by_side(cells, fails_at_60, tmp_path)
    assert report.n_finished == 2
    assert [(cell["n"], message) for cell, message in report.failed] == [(60, "ValueError: no luck")] * 2
    assert run_side_by_side(cells, squares, tmp_path).n_finished == 2


def test_bad_folders(tmp_path):
    cells = cells_of(SMALL, ["fixed"], 2)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(PersistenceError, match="is a file where a folder was expected"):
        run_side_by_side(cells, squares, file)
    folder = tmp_path / "sweep"
    run_side_by_side(cells, squares, folder)
    one = next(folder.glob("*.json"))
    one.write_text(json.dumps(json.loads(one.read_text()) | {"version": 7}))
    with pytest.raises(PersistenceError, match="has version 7"):
        run_side_by_side(cells, squares, folder)


def test_side_by_side_gives_the_rows_of_one_by_one():
    cells = cells_of(Figure("varying", "erdos-renyi", "n", "Small", (60,), (5,), (2,)), ["sorted-truth", "clustered"], 2)
    alone = [run_cell(cell, device="cpu") for cell in cells]
    for found, expected in zip(run_cells(cells, device="cpu"), alone, strict=True):
        for row, other in zip(found, expected, strict=True):
            assert {k: v for k, v in row.items() if k != "fit_seconds"} == {
                k: v for k, v in other.items() if k != "fit_seconds"
            }
