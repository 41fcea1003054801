"""A fitted estimator to a folder and back."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from contextualdag.checks import find_device, in_one_line
from contextualdag.contexts import ContextEncoder, ContextSummary
from contextualdag.errors import NotFittedError, PersistenceError
from contextualdag.estimators.rows_of_fit import RowsOfFit
from contextualdag.estimators.scaling import Preparation, Scaling
from contextualdag.estimators.stored import check_contexts, check_learned, check_preparation
from contextualdag.estimators.summary import pack_variation, unpack_variation
from contextualdag.folder import load_folder, read_metadata, save_folder
from contextualdag.network import MeanNetwork
from contextualdag.training.context_test import ContextTest
from contextualdag.training.means import HIDDEN_LAYERS
from contextualdag.training.packing import Tensors, pack_setting, under, unpack_setting
from contextualdag.training.solution import unpack_solution
from contextualdag.training.stored import expect, expect_tensor
from contextualdag.training.structure import StructureScore
from contextualdag.transforms import Transforms

if TYPE_CHECKING:
    from contextualdag.estimators.base import GraphEstimator

    Model = TypeVar("Model", bound=GraphEstimator)

METADATA = "metadata.json"
FILES = {METADATA, "tensors.safetensors"}


def save_model(model: "GraphEstimator", path: str | os.PathLike[str]) -> None:
    """Write parameters, the preparation of tables and the whole path."""
    if not hasattr(model, "_solution"):
        name = type(model).__name__
        raise NotFittedError(f"This {name} is not fitted yet, so there is nothing to save. Call fit(X, Z) first.")
    model._check_parameters()  # what could not be loaded again is not saved
    preparation, prepared_tensors = _pack_preparation(model._preparation)
    solution, tensors = model._solution.pack()
    metadata = {
        "parameters": _pack_parameters(model),
        "n_samples": model.n_samples_,
        "noise": model.noise_,
        "rows": asdict(model.rows_),
        "outliers": model.outliers_,
        "structure": model.structure_,
        "structure_scores": {name: asdict(score) for name, score in model.structure_scores_.items()},
        "context_test": None if model.context_test_ is None else asdict(model.context_test_),
        "n_held_out": model.n_held_out_,
        "preparation": preparation,
        "solution": solution,
    }
    more, more_tensors = model._pack_more()
    metadata["more"] = more
    tensors = {f"solution/{name}": value for name, value in tensors.items()} | prepared_tensors
    tensors["noise_scale"] = torch.from_numpy(model.noise_scale_.copy())
    tensors["noise_changes"] = torch.from_numpy(model._noise_changes.copy())
    tensors["untold"] = torch.from_numpy(model._untold.copy())
    tensors["explained"] = torch.from_numpy(model._explained.copy())
    tensors |= {f"variation/{name}": value for name, value in pack_variation(model._variation).items()}
    save_folder(
        path, type(model).__name__, metadata, tensors | {f"more/{name}": value for name, value in more_tensors.items()}
    )


def load_as(cls: type["Model"], path: str | os.PathLike[str], device: str) -> "Model":
    """Read a model of one kind, onto a device.

    Everything in the folder is checked before it is used, see `contextualdag.estimators.stored`: it may come from anyone.
    """
    place = find_device(device)
    metadata, tensors = load_folder(path, cls.__name__)
    try:
        model = _unpack_parameters(cls, metadata["parameters"], device)
        model._check_parameters()
        model._preparation = _unpack_preparation(metadata["preparation"], tensors, place)
        model.names_, model.n_samples_ = list(model._preparation.names), metadata["n_samples"]
        model._knowledge(model.names_)
        model._solution = unpack_solution(metadata["solution"], under(tensors, "solution"), place, *_sizes(model))
        model.n_held_out_, model._explained = metadata["n_held_out"], tensors["explained"].numpy()
        model._variation = unpack_variation(under(tensors, "variation"))
        test, scores = metadata["context_test"], metadata["structure_scores"]
        model.structure_ = metadata["structure"]
        model.structure_scores_ = {name: StructureScore(**score) for name, score in scores.items()}
        model.context_test_ = None if test is None else _unpack_test(test)
        model.rows_, model.outliers_ = RowsOfFit(**metadata["rows"]), list(metadata["outliers"])
        model.noise_, model.noise_scale_ = metadata["noise"], tensors["noise_scale"].numpy()
        model._noise_changes, model._untold = tensors["noise_changes"].numpy(), tensors["untold"].numpy()
        check_learned(model)
        model._unpack_more(metadata["more"], under(tensors, "more"), place)
    except Exception as error:  # whatever comes of metadata that no save wrote
        _, version = kind_and_version(path)
        raise PersistenceError(
            f"{os.fspath(path)} was written by contextualdag {version} in a form that this version cannot read "
            f"({type(error).__name__}: {in_one_line(error)}); fit the model again, or load it with that version."
        ) from error
    return model


def _sizes(model: "GraphEstimator") -> tuple[int, int]:
    """Numbers of encoded context features and of variables."""
    return len(model._preparation.scaling.z_mean), len(model.names_)


def _pack_parameters(model: "GraphEstimator") -> dict[str, Any]:
    """Constructor parameters; an estimator among them as its kind and its own."""
    given = model.get_params(deep=False)
    return {
        name: {"estimator": type(value).__name__, "parameters": _pack_parameters(value)}
        if hasattr(value, "get_params")
        else pack_setting(value)
        for name, value in given.items()
    }


def _unpack_parameters(cls: type["Model"], packed: dict[str, Any], device: str) -> "Model":
    """An estimator with the parameters that `_pack_parameters` packed, for a device."""
    given: dict[str, Any] = {}
    for name, value in packed.items():
        if isinstance(value, dict) and "estimator" in value:
            given[name] = _unpack_parameters(cls._wraps[value["estimator"]], value["parameters"], device)
        else:
            given[name] = device if name == "device" else unpack_setting(value)
    return cls(**given)


def _unpack_test(packed: dict[str, Any]) -> ContextTest:
    interval = packed["gain_interval"]
    return ContextTest(**packed | {"gain_interval": None if interval is None else tuple(interval)})


def is_saved_model(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds what a save wrote, and no other file."""
    return kind_and_version(folder)[0] is not None and {file.name for file in Path(folder).iterdir()} <= FILES


def _pack_preparation(preparation: Preparation) -> tuple[dict[str, Any], Tensors]:
    scaling, contexts = preparation.scaling, preparation.contexts
    encoder, network = contexts.encoder, preparation.mean_network
    metadata = {
        "names": preparation.names,
        "context": [
            {"name": n, "categories": c, "ordered": n in encoder.ordered, "cycle": encoder.cycles.get(n)}
            | ({"origin": encoder.origins[n]} if n in encoder.origins else {})
            | ({"joined": dict(encoder.joined[n])} if n in encoder.joined else {})
            for n, c in zip(encoder.names, encoder.categories, strict=True)
        ],
        "has_mean_network": network is not None,
        "transforms": [[column.kind, column.transform] for column in preparation.transforms.columns],
    }
    arrays = {"z_mean": scaling.z_mean, "z_scale": scaling.z_scale, "x_mean": scaling.x_mean}
    arrays |= {"x_scale": scaling.x_scale, "unit": scaling.unit}
    arrays |= {"context_quantiles": contexts.quantiles, "context_means": contexts.means}
    arrays |= preparation.transforms.arrays()
    tensors = {f"array/{name}": torch.from_numpy(values.copy()) for name, values in arrays.items()}
    if network is not None:
        tensors |= {f"mean/{name}": value for name, value in network.state_dict().items()}
    return metadata, tensors


def _unpack_preparation(metadata: dict[str, Any], tensors: Tensors, device: torch.device) -> Preparation:
    arrays = {name: value.numpy() for name, value in under(tensors, "array").items()}
    described = metadata["context"]
    check_contexts(described)
    encoder = ContextEncoder(
        names=tuple(column["name"] for column in described),
        categories=tuple(None if column["categories"] is None else tuple(column["categories"]) for column in described),
        ordered=frozenset(column["name"] for column in described if column["ordered"]),
        cycles={column["name"]: tuple(column["cycle"]) for column in described if column["cycle"]},
        origins={column["name"]: column["origin"] for column in described if column.get("origin") is not None},
        joined={column["name"]: column["joined"] for column in described if column.get("joined") is not None},
    )
    contexts = ContextSummary(encoder, arrays["context_quantiles"], arrays["context_means"])
    names = ("z_mean", "z_scale", "x_mean", "x_scale", "unit")
    scaling = Scaling(**{name: arrays[name] for name in names}, device=device)
    transforms = Transforms.of(metadata["names"], metadata["transforms"], arrays)
    prepared = Preparation(tuple(metadata["names"]), contexts, scaling, None, transforms)
    check_preparation(prepared)
    expect(isinstance(metadata["has_mean_network"], bool), "has_mean_network", "true or false", metadata["has_mean_network"])
    if metadata["has_mean_network"]:
        network = MeanNetwork(len(scaling.z_mean), len(scaling.x_mean), HIDDEN_LAYERS, "silu").to(device)
        weights = under(tensors, "mean")
        for name, own in network.state_dict().items():  # before they are cast to the type of the network
            expect_tensor(weights.get(name), f"mean/{name}", own.shape)
        network.load_state_dict(weights)
        network.eval().requires_grad_(False)
        prepared = replace(prepared, mean_network=network)
    return prepared


def kind_and_version(path: str | os.PathLike[str]) -> tuple[str | None, str]:
    """What a folder says it holds, and which version wrote it; None where it does not say."""
    document = read_metadata(path)
    try:
        kind, version = document["kind"], document["versions"]["contextualdag"]
    except (KeyError, TypeError):
        return None, "of unknown version"
    return (kind if isinstance(kind, str) else None), in_one_line(f"{version!s:.40}")
