from dataclasses import replace

import pytest
import torch

from contextualdag.errors import PersistenceError
from contextualdag.training.checkpoint import Checkpoint
from contextualdag.training.path import Path, PathPoint
from contextualdag.training.trainer import Fit


def test_a_path_comes_back(two_nodes, tmp_path):
    split, folder = two_nodes(10), tmp_path / "path"
    first = Checkpoint(folder, {"a": 1}, seed=None)
    path = first.begin(split)
    assert path == Path()
    state = {"weight": torch.arange(3.0)}
    path.pretrained, path.largest_budget = (state,), 2.0
    path.points.append(PathPoint(1.0, (0.5,), 3.0, (Fit(state, 0.1, 0.2, 7),)))
    first.save(path)
    second = Checkpoint(folder, {"a": 1}, seed=None)
    assert second.seed == first.seed
    again = second.begin(split)
    assert again.largest_budget == 2.0
    assert torch.equal(again.pretrained[0]["weight"], state["weight"])
    assert again.points[0].fits[0].epochs == 7
    assert torch.equal(again.points[0].fits[0].learned["weight"], state["weight"])


def test_other_rows_or_settings_are_refused(two_nodes, tmp_path):
    split, folder = two_nodes(10), tmp_path / "path"
    checkpoint = Checkpoint(folder, {"a": 1}, seed=5)
    checkpoint.save(checkpoint.begin(split))
    other = replace(split, train=replace(split.train, X=split.train.X + 1))
    weighted = replace(split, train=replace(split.train, weight=torch.ones(10)))
    for settings, rows in (({"a": 2}, split), ({"a": 1}, other), ({"a": 1}, weighted)):
        with pytest.raises(PersistenceError, match="belongs to other data or settings"):
            Checkpoint(folder, settings, seed=5).begin(rows)
    assert Checkpoint(folder, {"a": 1}, seed=9).seed == 9
