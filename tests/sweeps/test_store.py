"""Cells, their keys and seeds, and their results in files."""

import fcntl
import os

import pytest

from contextualdag.errors import PersistenceError
from contextualdag.sweeps.store import cell_key, cell_seed, load_results, locked, unfinished, write_cell

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("cell", "key", "seed"),
    # From the first version of this file. Results on disk depend on them: they must never change.
    [
        ({}, "44136fa355b3678a", 144922251),
        ({"n": 1000, "p": 20}, "c7db7e8308f071c8", 528840277),
        ({"x": 0.1, "none": None, "method": "ä", "flag": True}, "aff9e19dee3c8543", 469316522),
    ],
)
def test_keys_and_seeds_never_change(cell, key, seed):
    assert (cell_key(cell), cell_seed(cell)) == (key, seed)
    backwards = dict(reversed(cell.items()))
    assert (cell_key(backwards), cell_seed(backwards)) == (key, seed)


def test_values_that_are_equal_in_python_but_not_in_json_have_their_own_keys():
    assert len({cell_key({"x": value}) for value in (1, 1.0, True, "1")}) == 4


def test_numbers_that_are_not_finite_survive(tmp_path):
    write_cell(tmp_path, {"x": 1}, [{"y": float("nan")}, {"y": float("inf")}], 0.5)
    assert load_results(tmp_path)["y"].isna().tolist() == [True, False]


def test_what_a_killed_write_leaves_is_ignored(tmp_path):
    write_cell(tmp_path, {"x": 1}, [{"y": 2}], 0.5)
    (tmp_path / f".{cell_key({'x': 1})}.json.tmp").write_text('{"vers')
    assert load_results(tmp_path)["y"].tolist() == [2]


def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PersistenceError, match="No space left"):
        write_cell(tmp_path, {"x": 1}, [], 0.5)
    assert list(tmp_path.iterdir()) == []


def test_one_sweep_at_a_time_in_a_folder(tmp_path):
    descriptor = os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(PersistenceError, match="Another process"), locked(tmp_path):
        pass
    os.close(descriptor)
    with locked(tmp_path):
        pass


def test_a_version_may_depend_on_the_cell(tmp_path):
    cells = [{"method": "a"}, {"method": "b"}]
    versions = {"a": "a, first settings", "b": "b"}

    def version(cell):
        return versions[cell["method"]]

    for cell in cells:
        write_cell(tmp_path, cell, [{"y": 2}], 0.5, version)
    assert len(load_results(tmp_path, version)) == 2
    assert unfinished(cells, tmp_path, version) == (tmp_path, {})
    versions["a"] = "a, second settings"
    file = tmp_path / f"{cell_key(cells[0])}.json"
    with pytest.raises(PersistenceError, match=r"has version 'a, first settings' .* 'a, second settings'") as caught:
        load_results(tmp_path, version)
    assert str(file) in str(caught.value)
    file.unlink()
    assert list(unfinished(cells, tmp_path, version)[1].values()) == [{"method": "a"}]


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / ".lock").mkdir()  # also for a user who may write everywhere
    with pytest.raises(PersistenceError, match="cannot be written"), locked(tmp_path):
        pass
