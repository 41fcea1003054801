"""A path that is being fitted, kept in a folder after every training, so that a killed fit can be resumed."""

import hashlib
import json
import os
import secrets
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any

from torch import Tensor

from contextualdag.errors import PersistenceError
from contextualdag.folder import load_folder, save_folder
from contextualdag.training.data import Split
from contextualdag.training.packing import Tensors, pack_points, under, unpack_points
from contextualdag.training.path import Path

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
        if FilePath(folder).exists():
            self._metadata, self._tensors = load_folder(folder, KIND)
        if seed is None:
            seed = secrets.randbits(63) if self._metadata is None else self._metadata["seed"]
        self.seed: int = seed
        self._fingerprint = ""

    def begin(self, split: Split) -> Path:
        """The path begun earlier, or a new one. Rows or settings that differ from the earlier ones are refused."""
        self._fingerprint = fingerprint(self.settings, split)
        if self._metadata is None:
            return Path()
        if self._metadata["fingerprint"] != self._fingerprint:
            raise PersistenceError(
                f"The checkpoint in {os.fspath(self.folder)} belongs to other data or settings. Use another folder, or "
                "delete it to start anew."
            )
        return _unpack_path(self._metadata["path"], self._tensors)

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


def _unpack_path(packed: dict[str, Any], tensors: Tensors) -> Path:
    """What `_pack_path` packed."""
    pretrained = tuple(under(tensors, f"pretrained/{k}") for k in range(packed["n_pretrained"]))
    others = {kind: _unpack_path(other, under(tensors, f"others/{kind}")) for kind, other in packed["others"].items()}
    points = unpack_points(packed["points"], tensors)
    return Path(pretrained, packed["largest_budget"], points, tensors.get("allowed"), others)


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
