"""The makers of broken folders: what they make, and that a loader which trusts a folder is found out."""

import json

import numpy as np
import pytest
import torch

from attack.folders import METADATA, TENSORS, damaged, forged, judge
from contextualdag.errors import PersistenceError
from contextualdag.folder import load_folder, save_folder


@pytest.fixture
def saved(tmp_path):
    save_folder(tmp_path / "saved", "example", {"n_nodes": 3, "points": [{"cut": 0.5}]}, {"W": torch.eye(3)})
    return tmp_path / "saved"


def read(folder):
    return load_folder(folder, "example")


def test_the_same_generator_makes_the_same_copies(saved, tmp_path):
    def made():
        rng = np.random.default_rng(5)
        return [(one.what, one.rehashed) for one in damaged(saved, rng, tmp_path, count=20)]

    assert made() == made()


def test_half_of_the_copies_have_right_hashes_and_all_differ(saved, tmp_path):
    before = json.loads((saved / METADATA).read_text()), (saved / TENSORS).read_bytes()
    n_rehashed = 0
    for one in damaged(saved, np.random.default_rng(0), tmp_path, count=100):
        n_rehashed += one.rehashed
        if one.rehashed:
            now = json.loads((one.folder / METADATA).read_text()), (one.folder / TENSORS).read_bytes()
            assert now != before, one.what
        else:
            with pytest.raises(PersistenceError):
                read(one.folder)
    assert n_rehashed >= 45  # some changes cannot be hashed


def test_what_is_changed_is_read_where_hashes_are_right(saved, tmp_path):
    changes = [one.what for one in forged(saved, tmp_path) if one.rehashed]
    assert "content/n_nodes = 1000000000" in changes
    assert "content/points/0/cut = -1.0" in changes
    assert "W: infinite" in changes
    forgeries = forged(saved, tmp_path)
    huge = next(one for one in forgeries if one.what == "content/n_nodes = 1000000000")
    assert read(huge.folder)[0]["n_nodes"] == 10**9


def test_what_a_judge_says(saved):
    def refuse(folder):
        raise PersistenceError("A sentence.")

    def refuse_in_lines(folder):
        raise PersistenceError("Two\nlines.")

    def fail(folder):
        raise KeyError("x")

    assert judge(saved, read).outcome == "sound"
    assert judge(saved, refuse).outcome == "refused"
    assert judge(saved, refuse_in_lines).outcome == "wrong"
    assert judge(saved, fail).outcome == "foreign"
