from dataclasses import replace

import pytest
import torch

from contextualdag import files
from contextualdag.errors import PersistenceError
from contextualdag.folder import load_folder, save_folder
from contextualdag.training.checkpoint import KIND, Checkpoint
from contextualdag.training.path import Path, PathPoint
from contextualdag.training.trainer import Fit

SHAPES = {"weight": (3,)}


def test_a_path_comes_back(two_nodes, tmp_path):
    split, folder = two_nodes(10), tmp_path / "path"
    first = Checkpoint(folder, {"a": 1}, seed=None)
    path = first.begin(split, SHAPES)
    assert path == Path()
    state = {"weight": torch.arange(3.0)}
    path.pretrained, path.largest_budget = (state,), 2.0
    path.points.append(PathPoint(1.0, (0.5,), 3.0, (Fit(state, 0.1, 0.2, 7),)))
    first.save(path)
    second = Checkpoint(folder, {"a": 1}, seed=None)
    assert second.seed == first.seed
    again = second.begin(split, SHAPES)
    assert again.largest_budget == 2.0
    assert torch.equal(again.pretrained[0]["weight"], state["weight"])
    assert again.points[0].fits[0].epochs == 7
    assert torch.equal(again.points[0].fits[0].learned["weight"], state["weight"])


def test_other_rows_or_settings_are_refused(two_nodes, tmp_path):
    split, folder = two_nodes(10), tmp_path / "path"
    checkpoint = Checkpoint(folder, {"a": 1}, seed=5)
    checkpoint.save(checkpoint.begin(split, SHAPES))
    other = replace(split, train=replace(split.train, X=split.train.X + 1))
    weighted = replace(split, train=replace(split.train, weight=torch.ones(10)))
    for settings, rows in (({"a": 2}, split), ({"a": 1}, other), ({"a": 1}, weighted)):
        with pytest.raises(PersistenceError, match="belongs to other data or settings"):
            Checkpoint(folder, settings, seed=5).begin(rows, SHAPES)
    assert Checkpoint(folder, {"a": 1}, seed=9).seed == 9


def begun(split, folder):
    """A checkpoint with one network and one point."""
    checkpoint = Checkpoint(folder, {"a": 1}, seed=5)
    path, state = checkpoint.begin(split, SHAPES), {"weight": torch.arange(3.0)}
    path.pretrained, path.largest_budget = (state,), 2.0
    path.points.append(PathPoint(1.0, (0.5,), 3.0, (Fit(state, 0.1, 0.2, 7),)))
    checkpoint.save(path)
    return load_folder(folder, KIND)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("n_pretrained", 10**9),
        ("n_pretrained", -1),
        ("n_pretrained", 2),
        ("largest_budget", float("nan")),
        ("points", [{}]),
        ("others", {"x": {}}),
        ("others", []),
    ],
)
def test_a_forged_path_is_refused(two_nodes, tmp_path, entry, value):
    split = two_nodes(10)
    metadata, tensors = begun(split, tmp_path / "path")
    metadata["path"][entry] = value
    save_folder(tmp_path / "path", KIND, metadata, tensors)
    with pytest.raises(PersistenceError, match=r"is not as a fit writes it .*; delete it to start anew"):
        Checkpoint(tmp_path / "path", {"a": 1}, seed=5).begin(split, SHAPES)


@pytest.mark.parametrize("name", ["pretrained/0/weight", "fit/0/0/weight"])
def test_forged_weights_are_refused(two_nodes, tmp_path, name):
    split = two_nodes(10)
    metadata, tensors = begun(split, tmp_path / "path")
    for wrong in (torch.full((3,), torch.nan), torch.zeros(50_000), torch.zeros(3, dtype=torch.int64)):
        save_folder(tmp_path / "path", KIND, metadata, tensors | {name: wrong})
        with pytest.raises(PersistenceError, match="is not as a fit writes it"):
            Checkpoint(tmp_path / "path", {"a": 1}, seed=5).begin(split, SHAPES)


def test_an_empty_folder_is_a_place_for_a_checkpoint(two_nodes, tmp_path):
    split = two_nodes(10)
    (tmp_path / "path").mkdir()
    begun(split, tmp_path / "path")
    assert len(Checkpoint(tmp_path / "path", {"a": 1}, seed=5).begin(split, SHAPES).points) == 1


def test_a_checkpoint_that_a_killed_save_left_as_a_backup_is_found(two_nodes, tmp_path):
    split = two_nodes(10)
    begun(split, tmp_path / "path")
    (tmp_path / "path").rename(files._sibling(tmp_path / "path", "backup"))
    assert len(Checkpoint(tmp_path / "path", {"a": 1}, seed=5).begin(split, SHAPES).points) == 1
