"""A fitted ContextualDAG to a folder and back."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import torch

from contextualdag.errors import NotFittedError
from contextualdag.estimators.preparation import Scaling
from contextualdag.estimators.tables import ContextEncoder
from contextualdag.persistence import load_folder, save_folder
from contextualdag.projection import LogDet, Order
from contextualdag.training.checkpoint import named, pack_path, unpack_path
from contextualdag.training.selection import Choice

if TYPE_CHECKING:
    from contextualdag.estimators.contextual import ContextualDAG

KIND = "ContextualDAG"
ARRAYS = ("z_mean", "z_scale", "x_mean", "noise_scale")
SOLVERS = {"Order": Order, "LogDet": LogDet}


def save_model(model: "ContextualDAG", path: str | os.PathLike[str]) -> None:
    """Write constructor parameters, names, the whole path and all networks."""
    if not hasattr(model, "noise_scale_"):
        raise NotFittedError("This ContextualDAG is not fitted yet, so there is nothing to save. Call fit(X, Z) first.")
    parameters = model.get_params(deep=False)
    if not isinstance(model.acyclicity, str):
        parameters["acyclicity"] = {"solver": type(model.acyclicity).__name__, **asdict(model.acyclicity)}
    encoder = model.encoder_
    path_metadata, tensors = pack_path(model._path)
    metadata = {
        "parameters": parameters,
        "names": model.names_,
        "context": [{"name": n, "categories": c} for n, c in zip(encoder.names, encoder.categories, strict=True)],
        "x_scale": model._scaling.x_scale,
        "has_mean_network": model._mean_network is not None,
        "choice": asdict(model._choice),
        "path": path_metadata,
    }
    scaling = model._scaling
    arrays = (scaling.z_mean, scaling.z_scale, scaling.x_mean, model.noise_scale_)
    tensors |= {f"array/{name}": torch.from_numpy(values.copy()) for name, values in zip(ARRAYS, arrays, strict=True)}
    tensors["array/allowed"] = model._allowed
    if model._mean_network is not None:
        tensors |= {f"mean/{name}": value for name, value in model._mean_network.state_dict().items()}
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
    z_mean, z_scale, x_mean, model.noise_scale_ = (tensors[f"array/{name}"].numpy() for name in ARRAYS)
    model._scaling = Scaling(z_mean, z_scale, x_mean, metadata["x_scale"])
    model._device = torch.device(model._choose_device())
    model._build(len(model._scaling.z_mean), tensors["array/allowed"], with_mean=metadata["has_mean_network"])
    if model._mean_network is not None:
        model._mean_network.load_state_dict(named(tensors, "mean"))
        model._mean_network.eval().requires_grad_(False)
    model._path = unpack_path(metadata["path"], tensors)
    model._choice = Choice(**metadata["choice"])
    return model
