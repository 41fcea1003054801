"""A path that is being fitted, kept in a folder after every step, so that a killed fit can go on."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import Any

from torch import Tensor

from contextualdag.errors import PersistenceError
from contextualdag.folder import load_folder, save_folder
from contextualdag.training.path import Path, PathPoint
from contextualdag.training.refit import Refit
from contextualdag.training.trainer import Fit

KIND = "checkpoint"
CURVE = ("member_losses", "honest_loss", "cuts", "n_edges", "losses", "best", "polished")  # of a refit, besides its networks
KEPT = ("member_cuts", "pairs")  # likewise, as tensors


class Checkpoint:
    """One folder with one path. `seed` is that of a path begun earlier, None if there is none.

    Parameters
    ----------
    folder : path
        Written by nothing else; created when first saved to.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = folder
        self.seed: int | None = None
        self._fingerprint: str | None = None
        self._begun: Path | None = None
        if FilePath(folder).exists():
            metadata, tensors = load_folder(folder, KIND)
            self.seed, self._fingerprint = metadata["seed"], metadata["fingerprint"]
            self._begun = unpack_path(metadata["path"], tensors)

    def begin(self, fingerprint: str, seed: int) -> Path:
        """The path begun earlier, or a new one. Data or settings that differ from the earlier ones are refused."""
        if self._begun is not None and self._fingerprint != fingerprint:
            raise PersistenceError(
                f"The checkpoint in {os.fspath(self.folder)} belongs to other data or settings. Use another folder, or "
                "delete it to start anew."
            )
        self.seed, self._fingerprint = seed, fingerprint
        return Path() if self._begun is None else self._begun

    def save(self, path: Path) -> None:
        """Keep the path as it is now."""
        metadata, tensors = pack_path(path)
        save_folder(self.folder, KIND, {"seed": self.seed, "fingerprint": self._fingerprint, "path": metadata}, tensors)


def fingerprint(settings: dict[str, Any], tensors: Iterable[Tensor]) -> str:
    """A hash that changes with any setting and any number of the data."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode())
    for tensor in tensors:
        digest.update(repr(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def pack_path(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A path as JSON and named tensors."""
    tensors: dict[str, Tensor] = {}
    for k, state in enumerate(path.pretrained):
        tensors |= {f"pretrained/{k}/{name}": value for name, value in state.items()}
    rows = []
    for index, point in enumerate(path.points):
        row: dict[str, Any] = {"l1_budget": point.l1_budget, "thresholds": point.thresholds, "n_edges": point.n_edges}
        row["fits"] = _pack_fits(point.fits, f"fit/{index}", tensors)
        row["refit"] = None
        if (refit := point.refit) is not None:
            row["refit"] = {field: getattr(refit, field) for field in CURVE}
            row["refit"]["fits"] = _pack_fits(refit.fits, f"refit/{index}", tensors)
            tensors |= {f"kept/{index}/{field}": getattr(refit, field) for field in KEPT}
        rows.append(row)
    about = {"largest_budget": path.largest_budget, "is_constant": path.is_constant, "n_pretrained": len(path.pretrained)}
    return about | {"points": rows}, tensors


def unpack_path(metadata: dict[str, Any], tensors: dict[str, Tensor]) -> Path:
    """What `pack_path` packed."""
    points = []
    for index, row in enumerate(metadata["points"]):
        refit = None
        if (second := row["refit"]) is not None:
            curve: dict[str, Any] = {name: second[name] for name in CURVE}
            curve |= {"member_losses": tuple(curve["member_losses"])} | named(tensors, f"kept/{index}")
            refit = Refit(fits=_unpack_fits(second["fits"], f"refit/{index}", tensors), **curve)
        fits = _unpack_fits(row["fits"], f"fit/{index}", tensors)
        points.append(PathPoint(row["l1_budget"], tuple(row["thresholds"]), row["n_edges"], fits, refit))
    pretrained = tuple(named(tensors, f"pretrained/{k}") for k in range(metadata["n_pretrained"]))
    return Path(pretrained, metadata["largest_budget"], points, metadata["is_constant"])


def _pack_fits(fits: Sequence[Fit], prefix: str, tensors: dict[str, Tensor]) -> list[dict[str, Any]]:
    rows = []
    for k, fit in enumerate(fits):
        for name, value in fit.state.items():
            tensors[f"{prefix}/{k}/{name}"] = value
        rows.append({"train_loss": fit.train_loss, "validation_loss": fit.validation_loss, "epochs": fit.epochs})
    return rows


def _unpack_fits(rows: Sequence[dict[str, Any]], prefix: str, tensors: dict[str, Tensor]) -> tuple[Fit, ...]:
    return tuple(Fit(named(tensors, f"{prefix}/{k}"), **row) for k, row in enumerate(rows))


def named(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix + "/"): value for name, value in tensors.items() if name.startswith(prefix + "/")}
