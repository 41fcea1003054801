"""A path that is being fitted, kept in a folder after every training, so that a killed fit can be resumed."""

import hashlib
import json
import os
import secrets
from dataclasses import fields
from typing import Any

from torch import Tensor

from contextualdag.checks import in_one_line, is_integer, is_number
from contextualdag.errors import PersistenceError
from contextualdag.files import is_begun, restore
from contextualdag.folder import load_folder, save_folder
from contextualdag.training.data import Split
from contextualdag.training.packing import Tensors, pack_points, under, unpack_points
from contextualdag.training.path import Path
from contextualdag.training.stored import Shapes, check_points, check_state, expect, expect_flags

KIND = "checkpoint"


class Checkpoint:
    """A folder with one path, and the settings that it belongs to.

    Parameters
    ----------
    folder : path
        Folder that nothing else writes to; created when first saved to.
    settings : dict
        Everything besides the rows that the path depends on.
    seed : int, optional
        Seed of the fit. By default that of the path in the folder, or a new one.

    Attributes
    ----------
    seed : int
        Seed to use.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any], seed: int | None) -> None:
        self.folder, self.settings = folder, settings
        self._metadata: dict[str, Any] | None = None
        self._tensors: dict[str, Tensor] = {}
        restore(folder)  # what a killed save left
        if is_begun(folder):
            self._metadata, self._tensors = load_folder(folder, KIND)
            if not is_integer(self._metadata.get("seed")):
                raise self._unsound("it has no seed")
        if seed is None:
            seed = secrets.randbits(63) if self._metadata is None else self._metadata["seed"]
        self.seed: int = seed
        self._fingerprint = ""

    def begin(self, split: Split, shapes: Shapes) -> Path:
        """The path begun earlier, or a new one. Rows or settings that differ from the earlier ones are refused.

        `shapes` are those of the weights of the networks of the fit, by name.
        """
        self._fingerprint = fingerprint(self.settings, split)
        if self._metadata is None:
            return Path()
        if self._metadata.get("fingerprint") != self._fingerprint:
            raise PersistenceError(
                f"The checkpoint in {os.fspath(self.folder)} belongs to other data or settings. Use another folder, or "
                "delete it to start anew."
            )
        try:
            return _unpack_path(self._metadata["path"], self._tensors, n_nodes=split.train.X.shape[1], shapes=shapes)
        except Exception as error:  # whatever comes of metadata that no fit wrote
            raise self._unsound(f"{type(error).__name__}: {in_one_line(error)}") from error

    def _unsound(self, why: str) -> PersistenceError:
        folder = os.fspath(self.folder)
        return PersistenceError(f"The checkpoint in {folder} is not as a fit writes it ({why}); delete it to start anew.")

    def save(self, path: Path) -> None:
        """Keep the path as it is now."""
        packed, tensors = _pack_path(path)
        save_folder(self.folder, KIND, {"seed": self.seed, "fingerprint": self._fingerprint, "path": packed}, tensors)


def _pack_path(path: Path) -> tuple[dict[str, Any], Tensors]:
    """The path as JSON and named tensors."""
    rows, tensors = pack_points(path.points)
    for k, state in enumerate(path.pretrained):
        tensors |= {f"pretrained/{k}/{name}": value for name, value in state.items()}
    packed: dict[str, Any] = {"largest_budget": path.largest_budget, "n_pretrained": len(path.pretrained), "points": rows}
    if path.allowed is not None:
        tensors["allowed"] = path.allowed
    packed["others"] = {}
    for kind, other in path.others.items():
        packed["others"][kind], own = _pack_path(other)
        tensors |= {f"others/{kind}/{name}": value for name, value in own.items()}
    return packed, tensors


def _unpack_path(packed: dict[str, Any], tensors: Tensors, n_nodes: int, shapes: Shapes) -> Path:
    """What `_pack_path` packed; raises ValueError for a path that cannot belong to networks with weights of these shapes."""
    n_pretrained, largest, allowed = packed["n_pretrained"], packed["largest_budget"], tensors.get("allowed")
    expect(
        is_integer(n_pretrained) and 0 <= n_pretrained <= len(tensors), "n_pretrained", "a number of networks", n_pretrained
    )
    expect(largest is None or is_number(largest, 0, high_open=True), "largest_budget", "a number of at least 0", largest)
    pretrained = tuple(under(tensors, f"pretrained/{k}") for k in range(n_pretrained))
    for k, state in enumerate(pretrained):
        check_state(state, f"pretrained[{k}]", shapes)
    if allowed is not None:
        expect_flags(allowed, "allowed", (n_nodes, n_nodes))
    others = {
        kind: _unpack_path(other, under(tensors, f"others/{kind}"), n_nodes, shapes)
        for kind, other in packed["others"].items()
    }
    points = unpack_points(packed["points"], tensors)
    check_points(points, n_nodes, shapes)
    return Path(pretrained, largest, points, allowed, others)


def fingerprint(settings: dict[str, Any], split: Split) -> str:
    """A hash that changes with any setting and any number of the data."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode())
    for rows in (split.train, split.held_out):
        for field in fields(rows):
            tensor = getattr(rows, field.name)
            if tensor is not None:
                digest.update(f"{field.name} {tuple(tensor.shape)}".encode())
                digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
