"""Save tensors and metadata to a folder and load them again: safetensors and JSON, never pickle.

This module defines the content of a folder; `contextualdag.files` reads and replaces folders in one step.
"""

import contextlib
import hashlib
import json
import math
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from contextualdag.checks import in_one_line
from contextualdag.errors import PersistenceError
from contextualdag.files import look, read_folder, replace_folder

__all__ = ["FORMAT_VERSION", "load_folder", "save_folder"]

FORMAT_VERSION = 6

_FORMAT = "contextualdag"
_METADATA = "metadata.json"
_TENSORS = "tensors.safetensors"
_KEYS = ("format_version", "kind", "versions", "tensors_sha256", "tensors_bytes", "metadata_sha256", "content")
_DTYPES = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.bool}
_DTYPES |= {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint64, torch.uint32, torch.uint16, torch.uint8}
_FLOAT = "__float__"
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_DEEPEST = 64
_LARGEST_METADATA = 1 << 28


def save_folder(path: str | os.PathLike[str], kind: str, metadata: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write tensors and metadata to a folder, completely or not at all.

    If the process is killed, the folder holds either all of the old content or all of the new one. Missing parent folders
    are created. Hidden folders that killed saves left next to it are removed.

    Parameters
    ----------
    path : str or path-like
        The folder. If it exists, it must be empty or hold nothing but an earlier save, which is replaced.
    kind : str
        Kind of the content, for example "ContextualDAG". `load_folder` must be given the same.
    metadata : mapping
        Values that JSON can hold: strings as keys; None, booleans, numbers, strings, lists and mappings as values. Tuples
        are loaded as lists and numpy scalars as Python numbers. Infinities and NaN are kept.
    tensors : mapping of str to Tensor
        Dense tensors on any device. They are copied to the CPU and not changed.

    Raises
    ------
    PersistenceError
        If the content cannot be stored, or the folder cannot be written or holds something else than a save.

    Examples
    --------
    >>> import tempfile, torch
    >>> from contextualdag.folder import load_folder, save_folder
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     save_folder(f"{parent}/model", "example", {"kappa": 0.5}, {"W": torch.eye(2)})
    ...     metadata, tensors = load_folder(f"{parent}/model", "example")
    >>> metadata, tensors
    ({'kappa': 0.5}, {'W': tensor([[1., 0.],
            [0., 1.]])})
    """
    # Content that cannot be stored fails here, before anything is written.
    content = _encode(metadata, "metadata")
    tensor_data = safetensors.torch.save({name: _storable(name, tensor) for name, tensor in tensors.items()})
    document = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "versions": {
            # Not imported, because the package imports this module.
            "contextualdag": sys.modules["contextualdag"].__version__,
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "tensors_sha256": hashlib.sha256(tensor_data).hexdigest(),
        "tensors_bytes": len(tensor_data),
        "content": content,
    }
    document["metadata_sha256"] = _hash(document)
    metadata_data = json.dumps(document, indent=2, allow_nan=False).encode() + b"\n"

    with _explain(f"{path} could not be saved", "check the permissions and the free space, or save to another path"):
        replace_folder(path, {_TENSORS: tensor_data, _METADATA: metadata_data}, _refuse_to_destroy, _is_saved)


def load_folder(
    path: str | os.PathLike[str], kind: str, device: str | torch.device = "cpu"
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Load what `save_folder` wrote, and check that nothing is missing or changed.

    Nothing in the folder is ever executed. The check finds damage; it does not prove who wrote the folder.

    Parameters
    ----------
    path : str or path-like
        The folder.
    kind : str
        Kind of the content, as it was saved.
    device : str or torch.device, default="cpu"
        Device of the loaded tensors.

    Returns
    -------
    metadata : dict
    tensors : dict of str to Tensor

    Raises
    ------
    PersistenceError
        If the folder is missing, damaged, of another kind or format, or not a save at all.

    Examples
    --------
    >>> import tempfile, torch
    >>> from contextualdag.folder import load_folder, save_folder
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     save_folder(f"{parent}/model", "checkpoint", {}, {"W": torch.eye(2)})
    ...     load_folder(f"{parent}/model", "ContextualDAG")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    contextualdag.errors.PersistenceError: ... holds a 'checkpoint' where a 'ContextualDAG' was expected; ...
    """
    with _explain(f"{path} could not be read", "check the permissions"):
        files = read_folder(path, (_METADATA, _TENSORS), _most)
    if _METADATA not in files:
        raise PersistenceError(f"{path} is not a contextualdag folder: it has no {_METADATA}; give a folder that was saved.")
    document = _check_metadata(files[_METADATA], path, kind)
    if _TENSORS not in files:
        raise PersistenceError(f"{path} has no {_TENSORS}; restore the folder from a copy or save it again.")
    data, expected = files[_TENSORS], document["tensors_bytes"]
    if len(data) != expected:
        raise PersistenceError(
            f"{_TENSORS} of {path} has {len(data)} bytes and must have {expected}, so it was cut short or replaced; "
            "restore the folder from a copy or save it again."
        )
    if hashlib.sha256(data).hexdigest() != document["tensors_sha256"]:
        raise PersistenceError(
            f"{_TENSORS} of {path} was changed after it was saved: its SHA-256 differs from the one in {_METADATA}; "
            "restore the folder from a copy or save it again."
        )
    try:
        tensors = safetensors.torch.load(data)
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PersistenceError(
            f"{_TENSORS} of {path} is not a safetensors file ({in_one_line(error)}); save the folder again."
        ) from error
    return document["content"], {name: tensor.to(device) for name, tensor in tensors.items()}


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What metadata.json of a folder says, unchecked; empty if it is missing or no JSON."""
    files = read_folder(path, (_METADATA,), _most)
    with contextlib.suppress(KeyError, ValueError):
        document = _parse(files[_METADATA])
        return document if isinstance(document, dict) else {}
    return {}


def _most(name: str, files: Mapping[str, bytes]) -> int | None:
    """How many bytes a file of a save may have: that of tensors as many as sound metadata promise, else it is not read."""
    if name == _METADATA:
        return _LARGEST_METADATA
    try:
        document = _parse(files[_METADATA])
        promised = document["tensors_bytes"] if _hash(document) == document["metadata_sha256"] else None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return promised if isinstance(promised, int) and not isinstance(promised, bool) else None


@contextlib.contextmanager
def _explain(problem: str, remedy: str) -> Iterator[None]:
    """Turn an error of the operating system into a sentence with a remedy."""
    try:
        yield
    except PersistenceError:
        raise
    except OSError as error:
        raise PersistenceError(f"{problem} ({error}); {remedy}.") from error


def _storable(name: str, tensor: Tensor) -> Tensor:
    where = f"tensors[{name!r}]"
    if not isinstance(name, str) or name == "__metadata__":
        raise PersistenceError(f"The name of a tensor must be a string other than '__metadata__'. Got {name!r} instead.")
    if not isinstance(tensor, Tensor):
        raise PersistenceError(f"{where} must be a torch.Tensor. Got {type(tensor).__name__} instead.")
    if tensor.layout != torch.strided or tensor.is_meta:
        got = "a meta tensor" if tensor.is_meta else f"{tensor.layout}"
        raise PersistenceError(f"{where} must be dense and hold data. Got {got} instead; try `.to_dense()`.")
    if tensor.dtype not in _DTYPES:
        raise PersistenceError(f"{where} has dtype {tensor.dtype}, which safetensors cannot store; convert it first.")
    # A copy, because safetensors refuses tensors that share memory and ignores lazy conjugation.
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _encode(value: Any, where: str, depth: int = 0) -> Any:
    """Metadata as strict JSON; raises an error that names the entry that does not fit."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: str(float(value))}
    if depth > _DEEPEST:
        raise PersistenceError(f"The metadata must not be nested deeper than {_DEEPEST} levels, or contain itself.")
    if isinstance(value, list | tuple):
        return [_encode(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key == _FLOAT:
                raise PersistenceError(f"The keys of {where} must be strings other than '{_FLOAT}'. Got {key!r} instead.")
        return {key: _encode(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}
    raise PersistenceError(
        f"{where} must be None, a boolean, a number, a string, a list or a mapping. Got {type(value).__name__} instead; "
        "pass arrays as tensors."
    )


def _decode(value: Any, depth: int = 0) -> Any:
    """Metadata from JSON; raises ValueError for what `_encode` never writes."""
    if depth > _DEEPEST + 1:
        raise ValueError(f"it is nested deeper than {_DEEPEST} levels")
    if isinstance(value, list):
        return [_decode(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if _FLOAT in value:
            number = value[_FLOAT]
            if len(value) > 1 or not isinstance(number, str) or number not in _NOT_FINITE:
                raise ValueError(f"{value!a:.80} is no number")
            return _NOT_FINITE[number]
        return {key: _decode(item, depth + 1) for key, item in value.items()}
    return value


def _hash(document: Mapping[str, Any]) -> str:
    """Hash of everything but the hash, independent of order and white space."""
    rest = {key: value for key, value in document.items() if key != "metadata_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def _parse(data: bytes) -> Any:
    """Parse strict JSON; raises ValueError for everything that is wrong with it."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(data.decode(), parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _check_metadata(data: bytes, path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    repair = "restore the folder from a copy or save it again"
    try:
        document = _parse(data)
    except ValueError as error:
        raise PersistenceError(f"{_METADATA} of {path} is broken JSON ({in_one_line(error)}); {repair}.") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise PersistenceError(
            f"{path} is not a contextualdag folder: its {_METADATA} belongs to something else; give a folder that was saved."
        )
    # Checked first, because a newer format may differ in everything else.
    version = document.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise PersistenceError(
            f"{path} was written by a newer contextualdag (format {version!a:.80}, and this version reads up to format "
            f"{FORMAT_VERSION}); upgrade contextualdag to load it."
        )
    missing = [key for key in _KEYS if key not in document]
    if missing:
        raise PersistenceError(f"{_METADATA} of {path} lacks {', '.join(missing)}; {repair}.")
    try:
        changed = _hash(document) != document["metadata_sha256"]
    except (ValueError, RecursionError):  # a number such as 1e999, which is read as infinity
        changed = True
    if changed:
        raise PersistenceError(
            f"{_METADATA} of {path} was changed after it was saved: its SHA-256 differs from the one it states; {repair}."
        )
    if type(version) is not int or version != FORMAT_VERSION:
        raise PersistenceError(
            f"{path} was written by an older contextualdag (format {version!a:.80}, and this version reads format "
            f"{FORMAT_VERSION}); save it again, or load it with the version that wrote it."
        )
    size = document["tensors_bytes"]
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise PersistenceError(f"{_METADATA} of {path} says that {_TENSORS} has {size!a:.80} bytes; {repair}.")
    if document["kind"] != kind:
        raise PersistenceError(
            f"{path} holds a {document['kind']!a:.80} where a '{kind}' was expected; load it as that or give another folder."
        )
    try:
        return document | {"content": _decode(document["content"])}
    except ValueError as error:
        raise PersistenceError(
            f"The content of {_METADATA} of {path} is not as a save writes it: {error}; {repair}."
        ) from error


def _is_save(files: Mapping[str, bytes]) -> bool:
    try:
        document = _parse(files[_METADATA])
    except (KeyError, ValueError):
        return False
    return isinstance(document, dict) and document.get("format") == _FORMAT


def _is_saved(target: Path) -> bool:
    """Whether there is a save at `target`."""
    found = look(target, (_METADATA,), _most)
    return found is not None and _is_save(found[1])


def _refuse_to_destroy(target: Path) -> None:
    """Raise `PersistenceError` if something other than an earlier save would be lost."""
    found = look(target, (_METADATA,), _most)
    if found is None or not found[0]:
        return
    names, files = found
    if not _is_save(files):
        raise PersistenceError(f"{target} is not empty and not a contextualdag folder; save to another path.")
    others = sorted(names - {_METADATA, _TENSORS})
    if others:
        raise PersistenceError(
            f"{target} also holds {', '.join(others[:5])}, which contextualdag did not write and a save would delete; "
            "move it away or save to another path."
        )
