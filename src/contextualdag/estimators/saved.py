"""A fitted estimator to a folder and back."""

import math
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

import torch

from contextualdag.contexts import ContextEncoder, ContextSummary
from contextualdag.errors import NotFittedError
from contextualdag.estimators.parameters import check_device
from contextualdag.estimators.preparation import Scaling
from contextualdag.folder import load_folder, save_folder
from contextualdag.projection import LogDet, Order
from contextualdag.training.checkpoint import named, pack_path, unpack_path
from contextualdag.training.selection import Choice

if TYPE_CHECKING:
    from contextualdag.estimators.path_estimator import PathEstimator

    Model = TypeVar("Model", bound=PathEstimator)

ARRAYS = ("z_mean", "z_scale", "x_mean", "noise_scale", "context_quantiles", "context_means")
SOLVERS = {"Order": Order, "LogDet": LogDet}


def save_model(model: "PathEstimator", path: str | os.PathLike[str]) -> None:
    """Write constructor parameters, names, the whole path and all networks."""
    if not hasattr(model, "noise_scale_"):
        name = type(model).__name__
        raise NotFittedError(f"This {name} is not fitted yet, so there is nothing to save. Call fit(X, Z) first.")
    parameters = {name: _packed(value) for name, value in model.get_params(deep=False).items()}
    encoder = model.encoder_
    path_metadata, tensors = pack_path(model._path)
    metadata = {
        "parameters": parameters,
        "names": model.names_,
        "n_samples": model.n_samples_,
        "held_out": {"n": model.n_held_out_, "score": model.held_out_score_},
        "context": [{"name": n, "categories": c} for n, c in zip(encoder.names, encoder.categories, strict=True)],
        "x_scale": model._scaling.x_scale,
        "has_mean_network": model._mean_network is not None,
        "choice": asdict(model._choice),
        "path": path_metadata,
    }
    scaling = model._scaling
    of_contexts = (model._summary.quantiles, model._summary.means)
    arrays = (scaling.z_mean, scaling.z_scale, scaling.x_mean, model.noise_scale_, *of_contexts)
    tensors |= {f"array/{name}": torch.from_numpy(values.copy()) for name, values in zip(ARRAYS, arrays, strict=True)}
    tensors |= {f"state/{name}": value for name, value in model._state().items()}
    if model._mean_network is not None:
        tensors |= {f"mean/{name}": value for name, value in model._mean_network.state_dict().items()}
    save_folder(path, type(model).__name__, metadata, tensors)


def load_model(cls: type["Model"], path: str | os.PathLike[str], device: str) -> "Model":
    """Read what `save_model` wrote, onto `device`."""
    metadata, tensors = load_folder(path, cls.__name__)
    parameters = {name: _unpacked(value) for name, value in metadata["parameters"].items()}
    if "n_members" in parameters:
        parameters.setdefault("cross_fit", False)  # as it was before there was a choice
    model = cls(**(parameters | {"device": device}))
    model.names_, model.n_samples_ = metadata["names"], metadata["n_samples"]
    held_out = metadata.get("held_out", {"n": 0, "score": math.nan})
    model.n_held_out_, model.held_out_score_ = held_out["n"], held_out["score"]
    kinds = tuple(None if c["categories"] is None else tuple(c["categories"]) for c in metadata["context"])
    model.encoder_ = ContextEncoder(tuple(c["name"] for c in metadata["context"]), kinds)
    z_mean, z_scale, x_mean, model.noise_scale_, quantiles, means = (tensors[f"array/{name}"].numpy() for name in ARRAYS)
    model._summary = ContextSummary(model.encoder_, quantiles, means)
    model._scaling = Scaling(z_mean, z_scale, x_mean, metadata["x_scale"])
    model._device = check_device(model)
    model._restore(named(tensors, "state"))
    model._build(len(z_mean))
    model._mean_network = None
    if metadata["has_mean_network"]:
        model._mean_network = model._new_mean_network(len(z_mean))
        model._mean_network.load_state_dict(named(tensors, "mean"))
        model._mean_network.eval().requires_grad_(False)
    model._path = unpack_path(metadata["path"], tensors)
    model._choice = Choice(**metadata["choice"])
    return model


def _packed(value: object) -> object:
    """A constructor parameter as JSON can hold it."""
    if isinstance(value, Order | LogDet):
        return {"solver": type(value).__name__, **asdict(value)}
    return list(value) if isinstance(value, tuple) else value


def _unpacked(value: object) -> object:
    if isinstance(value, dict) and "solver" in value:
        return SOLVERS[value["solver"]](**{name: setting for name, setting in value.items() if name != "solver"})
    return tuple(value) if isinstance(value, list) else value
