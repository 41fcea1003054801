"""A fitted ContextualDAG to a folder and back."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from contextualdag.errors import NotFittedError
from contextualdag.estimators.tables import ContextEncoder
from contextualdag.persistence import load_folder, save_folder
from contextualdag.projection import LogDet, Order
from contextualdag.training.path import Path, PathPoint
from contextualdag.training.trainer import Fit

if TYPE_CHECKING:
    from contextualdag.estimators.contextual import ContextualDAG

KIND = "ContextualDAG"
ARRAYS = ("_z_mean", "_z_scale", "_x_mean", "noise_scale_")
SOLVERS = {"Order": Order, "LogDet": LogDet}


def save_model(model: "ContextualDAG", path: str | os.PathLike[str]) -> None:
    """Write constructor parameters, names, the whole path and all networks."""
    if not hasattr(model, "noise_scale_"):
        raise NotFittedError("This ContextualDAG is not fitted yet, so there is nothing to save. Call fit(X, Z) first.")
    parameters = model.get_params(deep=False)
    if not isinstance(model.acyclicity, str):
        parameters["acyclicity"] = {"solver": type(model.acyclicity).__name__, **asdict(model.acyclicity)}
    points, encoder = model._path.points, model.encoder_
    metadata = {
        "parameters": parameters,
        "names": model.names_,
        "context": [{"name": n, "categories": c} for n, c in zip(encoder.names, encoder.categories, strict=True)],
        "x_scale": model._x_scale,
        "largest_budget": model._path.largest_budget,
        "selected": model._selected,
        "has_mean_network": model._mean_network is not None,
        "points": [
            {
                "l1_budget": point.l1_budget,
                "threshold": point.threshold,
                "n_edges": point.n_edges,
                "fit": _results(point.fit),
                "refit": None if point.refit is None else _results(point.refit),
            }
            for point in points
        ],
    }
    tensors = {f"array/{name}": torch.from_numpy(getattr(model, name).copy()) for name in ARRAYS}
    tensors["array/allowed"] = model._allowed
    tensors |= _prefixed("pretrained", model._path.pretrained)
    if model._mean_network is not None:
        tensors |= _prefixed("mean", model._mean_network.state_dict())
    for index, point in enumerate(points):
        tensors |= _prefixed(f"fit/{index}", point.fit.state)
        if point.refit is not None:
            tensors |= _prefixed(f"refit/{index}", point.refit.state)
    save_folder(path, KIND, metadata, tensors)


def load_model(cls: type["ContextualDAG"], path: str | os.PathLike[str], device: str) -> "ContextualDAG":
    """Read what `save_model` wrote, onto `device`."""
    metadata, tensors = load_folder(path, KIND)
    parameters = dict(metadata["parameters"])
    if isinstance(parameters["acyclicity"], dict):
        settings = dict(parameters["acyclicity"])
        parameters["acyclicity"] = SOLVERS[settings.pop("solver")](**settings)
    parameters["hidden_layers"] = tuple(parameters["hidden_layers"])
    model = cls(**(parameters | {"device": device}))
    model.names_ = metadata["names"]
    kinds = tuple(None if c["categories"] is None else tuple(c["categories"]) for c in metadata["context"])
    model.encoder_ = ContextEncoder(tuple(c["name"] for c in metadata["context"]), kinds)
    for name in ARRAYS:
        setattr(model, name, tensors[f"array/{name}"].numpy())
    model._x_scale = metadata["x_scale"]
    model._device = torch.device(model._choose_device())
    model._build(len(model._z_mean), tensors["array/allowed"], with_mean=metadata["has_mean_network"])
    if model._mean_network is not None:
        model._mean_network.load_state_dict(_of(tensors, "mean"))
        model._mean_network.eval().requires_grad_(False)
    points = [
        PathPoint(
            row["l1_budget"],
            row["threshold"],
            row["n_edges"],
            Fit(_of(tensors, f"fit/{index}"), **row["fit"]),
            None if row["refit"] is None else Fit(_of(tensors, f"refit/{index}"), **row["refit"]),
        )
        for index, row in enumerate(metadata["points"])
    ]
    model._path = Path(_of(tensors, "pretrained"), metadata["largest_budget"], points)
    model._selected = metadata["selected"]
    return model


def _results(fit: Fit) -> dict[str, Any]:
    return {"train_loss": fit.train_loss, "validation_loss": fit.validation_loss, "epochs": fit.epochs}


def _prefixed(prefix: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": value for name, value in state.items()}


def _of(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix + "/"): value for name, value in tensors.items() if name.startswith(prefix + "/")}
