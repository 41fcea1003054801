"""Folders that are damaged, forged or no folders at all, made from a saved model.

`damaged` changes a copy at random: bits, lengths, entries of the metadata, tensors. In half of the copies the hashes
are made right again, as one who forges a model would. `forged` aims at what a loader does with the numbers: sizes out of all
proportion, tolerances of zero, nesting. `impostors` puts something that is no regular file in the place of a file.

`judge` says what a loader made of such a folder:

    for one in damaged(model, np.random.default_rng(0), scratch, count=1000):
        found = judge(one.folder)
        assert found.fine, f"{one.what}: {found.text}"
"""

import copy
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

METADATA, TENSORS = "metadata.json", "tensors.safetensors"
N_CONTEXTS = 7  # that a loaded model is asked about
SPARSE = 50 << 30

Document = dict[str, Any]
Tensors = dict[str, torch.Tensor]
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Mutation:
    """A changed copy of a saved folder.

    Attributes
    ----------
    folder : Path
        The copy. It is deleted when the next one is made.
    what : str
        What was changed.
    rehashed : bool
        Whether the hashes fit the content.
    """

    folder: Path
    what: str
    rehashed: bool


@dataclass(frozen=True)
class Judgement:
    """What a loader made of a folder: "refused" and "sound" are fine, "foreign" and "wrong" are not."""

    outcome: str
    text: str = ""

    @property
    def fine(self) -> bool:
        """Whether nothing is to be mended."""
        return self.outcome in ("refused", "sound")


def damaged(model: Path, rng: np.random.Generator, scratch: Path, count: int) -> Iterator[Mutation]:
    """Copies of a saved folder with something changed at random, every other one with right hashes.

    Parameters
    ----------
    model : Path
        What `save` wrote: a model, a checkpoint or a half-sample.
    rng : numpy.random.Generator
        Where to change what.
    scratch : Path
        An existing folder for the copies, one at a time.
    count : int
        Number of copies.
    """
    metadata, data = (model / METADATA).read_bytes(), (model / TENSORS).read_bytes()
    for number in range(count):
        while True:
            what, files, rehashed = _changed(metadata, data, rng, rehash=bool(number % 2))
            if not _is_same(files, metadata, data):
                break
        yield _written(scratch, what, files, rehashed)


def _changed(metadata: bytes, data: bytes, rng: np.random.Generator, rehash: bool) -> tuple[str, dict[str, bytes], bool]:
    """What was changed, the files, and whether their hashes fit."""
    if not rehash and rng.random() < 0.5:
        contents = {METADATA: bytearray(metadata), TENSORS: bytearray(data)}
        what = OF_BYTES[rng.integers(len(OF_BYTES))](contents, rng)
        return what, {name: bytes(one) for name, one in contents.items()}, False
    document, tensors = json.loads(metadata), safetensors.torch.load(data)
    what = OF_CONTENT[rng.integers(len(OF_CONTENT))](document, tensors, rng)
    if rehash:
        return what, *_sealed(document, _bytes_of(tensors))
    return what, {METADATA: json.dumps(document).encode(), TENSORS: _bytes_of(tensors)}, False


def _is_same(files: dict[str, bytes], metadata: bytes, data: bytes) -> bool:
    """Whether files say what they said before, but for white space."""
    try:
        return files[TENSORS] == data and json.loads(files[METADATA]) == json.loads(metadata)
    except (KeyError, ValueError, RecursionError):
        return False


def forged(model: Path, scratch: Path, every: int = 1) -> Iterator[Mutation]:
    """Copies of a saved folder with right hashes and numbers that would cost a loader its memory, its time or its sense.

    Parameters
    ----------
    model, scratch : Path
        As for `damaged`.
    every : int, default=1
        Make only every so many of them: there are a few thousand.
    """
    metadata, data = (model / METADATA).read_bytes(), (model / TENSORS).read_bytes()
    of_entries = [(place, value) for place in _places(json.loads(metadata)) for value in FORGERIES.get(str(place[-1]), ())]
    for place, value in of_entries[::every]:
        document = json.loads(metadata)
        _set(document, place, value)
        yield _written(scratch, f"{_named(place)} = {_short(value)}", *_sealed(document, data))
    of_tensors = [(name, what) for name in sorted(safetensors.torch.load(data)) for what in TENSOR_FORGERIES]
    for name, what in of_tensors[::every]:
        tensors = safetensors.torch.load(data)
        tensors[name] = TENSOR_FORGERIES[what](tensors[name])
        yield _written(scratch, f"{name}: {what}", *_sealed(json.loads(metadata), _bytes_of(tensors)))
    for depth in (70, 800, 100_000):
        document = json.loads(metadata)
        text = json.dumps(document).replace('"content": {', f'"content": {{"deep": {"[" * depth}{"]" * depth}, ', 1)
        try:
            document = json.loads(text)
            yield _written(scratch, f"nesting of {depth}", *_sealed(document, data))
        except RecursionError:
            yield _written(scratch, f"nesting of {depth}", {METADATA: text.encode(), TENSORS: data}, False)


def impostors(model: Path, scratch: Path) -> Iterator[Mutation]:
    """Copies of a saved folder with something else in the place of a file, or of the whole folder."""
    makers: dict[str, Callable[[Path], None]] = {
        "a FIFO": lambda file: os.mkfifo(file),
        "a link to an endless device": lambda file: file.symlink_to("/dev/zero"),
        "a link to a terminal's input": lambda file: file.symlink_to("/dev/stdin"),
        "a folder": lambda file: file.mkdir(),
        "a link to itself": lambda file: file.symlink_to(file),
        "a link to nothing": lambda file: file.symlink_to(file.with_name("nothing")),
        "a sparse file of 50 GB": _make_sparse,
        "an empty file": lambda file: file.touch(),
    }
    for what, make in makers.items():
        for name in (METADATA, TENSORS):
            folder = _fresh(scratch)
            shutil.copytree(model, folder)
            (folder / name).unlink()
            make(folder / name)
            yield Mutation(folder, f"{what} as {name}", False)
        if what != "a folder":
            folder = _fresh(scratch)
            make(folder)
            yield Mutation(folder, f"{what} as the folder", False)


def judge(folder: Path, load: Callable[[Path], Any] | None = None) -> Judgement:
    """What a loader makes of a folder, and whether a model that it gives answers as a model should.

    Parameters
    ----------
    folder : Path
        The folder.
    load : callable, optional
        The loader; by default `load_model`, on the CPU.
    """
    from contextualdag.errors import ContextualDAGError, PersistenceError
    from contextualdag.estimators import load_model

    try:
        model = load_model(folder, "cpu") if load is None else load(folder)
    except PersistenceError as error:
        text = str(error)
        return (
            Judgement("refused", text) if text and "\n" not in text else Judgement("wrong", f"no sentence: {text[-300:]!r}")
        )
    except Exception as error:  # that is what is looked for
        return Judgement("foreign", f"{type(error).__name__}: {error}")
    try:
        problem = _flaw(model)
    except ContextualDAGError as error:  # such as numbers so large that graphs cannot be computed
        return Judgement("refused", str(error))
    except Exception as error:
        return Judgement("wrong", f"loaded, but then {type(error).__name__}: {error}")
    return Judgement("wrong", problem) if problem else Judgement("sound")


def _flaw(model: Any) -> str:
    """What is wrong with the answers of a loaded model; empty if nothing is."""
    from contextualdag.graphs import is_acyclic

    if not hasattr(model, "adjacency"):
        return ""
    needs_mask = getattr(model, "order", "") is None
    Z = _contexts(model)
    p = len(model.names_)
    given = {"mask": np.broadcast_to(np.triu(np.ones((p, p), dtype=bool), 1), (len(Z), p, p))} if needs_mask else {}
    W = model.adjacency(Z, **given)
    if W.shape != (len(Z), p, p) or not np.isfinite(W).all():
        return f"graphs of shape {W.shape} with {int((~np.isfinite(W)).sum())} entries that are not finite"
    if not bool(is_acyclic(torch.from_numpy(W)).all()):
        return "a cyclic graph"
    repr(model), model.path_, model.chosen_, model.context_summary_, model.explained_, model.held_out_score_
    if model._variation is not None:
        model.summary()
    if needs_mask:
        return ""
    model.edges(Z), model.undirected_edges_, model.select(l1_budget=model.chosen_["l1_budget"])
    if not np.isfinite(model.sample(Z, random_state=0)).all():
        return "a sample that is not finite"
    if hasattr(model, "edge_probabilities"):
        P = model.edge_probabilities(Z)
        if not ((P >= 0) & (P <= 1)).all():
            return "probabilities beyond zero and one"
        if not bool(is_acyclic(torch.from_numpy(model.consensus(Z))).all()):
            return "a cyclic consensus"
        low, high = model.weight_intervals(Z)
        if not (low <= high).all():
            return "intervals that end before they begin"
    return ""


def _contexts(model: Any) -> Any:
    """Contexts of the fit, from the smallest values to the largest, as a table in the user's columns."""
    import pandas as pd

    if not model.context_features_:
        return np.zeros((N_CONTEXTS, 0))
    quantiles = np.linspace(0, 1, N_CONTEXTS)
    return pd.concat([model.typical_context(float(quantile)) for quantile in quantiles], ignore_index=True)


# Bytes of the files.


def _flip_a_bit(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    name, data = _a_file(files, rng)
    at, bit = int(rng.integers(len(data))), int(rng.integers(8))
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at} of {name} flipped"


def _cut_short(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    name, data = _a_file(files, rng)
    size = int(rng.integers(len(data)))
    del data[size:]
    return f"{name} cut to {size} bytes"


def _append(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    name, data = _a_file(files, rng)
    more = rng.bytes(int(rng.integers(1, 100)))
    data += more
    return f"{len(more)} bytes after the end of {name}"


def _overwrite(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    name, data = _a_file(files, rng)
    at = int(rng.integers(len(data)))
    stop = min(len(data), at + int(rng.integers(1, 64)))
    data[at:stop] = rng.bytes(stop - at) if rng.random() < 0.5 else bytes(stop - at)
    return f"bytes {at} to {stop} of {name} overwritten"


def _take_out(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    name, data = _a_file(files, rng)
    at = int(rng.integers(len(data)))
    stop = min(len(data), at + int(rng.integers(1, 64)))
    del data[at:stop]
    return f"bytes {at} to {stop} of {name} taken out"


def _exchange_files(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    files[METADATA], files[TENSORS] = files[TENSORS], files[METADATA]
    return "the files exchanged"


def _lose_a_file(files: dict[str, bytearray], rng: np.random.Generator) -> str:
    name, _ = _a_file(files, rng)
    del files[name]
    return f"{name} lost"


# What the files say.


def _change_a_value(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    place = _a_place(document, rng)
    value = VALUES[rng.integers(len(VALUES))]
    _set(document, place, value)
    return f"{_named(place)} = {_short(value)}"


def _scale_a_number(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    numbers = [place for place in _places(document) if isinstance(_get(document, place), int | float)]
    if not numbers:
        return _change_a_value(document, tensors, rng)
    place = numbers[rng.integers(len(numbers))]
    factor = FACTORS[rng.integers(len(FACTORS))]
    try:
        value = _get(document, place) * factor
        _set(document, place, type(_get(document, place))(value) if math.isfinite(value) else {"__float__": str(value)})
    except (OverflowError, ValueError):
        _set(document, place, 10**400)
    return f"{_named(place)} times {factor}"


def _drop_an_entry(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    place = _a_place(document, rng)
    del _get(document, place[:-1])[place[-1]]
    return f"{_named(place)} dropped"


def _add_an_entry(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    place = _a_place(document, rng)
    holder, value = _get(document, place[:-1]), copy.deepcopy(_get(document, place))
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[KEYS[rng.integers(len(KEYS))]] = value
    return f"one more beside {_named(place)}"


def _exchange_entries(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    one, other = _a_place(document, rng), _a_place(document, rng)
    first, second = copy.deepcopy(_get(document, one)), copy.deepcopy(_get(document, other))
    _set(document, one, second)
    if other[: len(one)] != one:  # not inside what was just replaced
        _set(document, other, first)
    return f"{_named(one)} and {_named(other)} exchanged"


def _change_a_number(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    name = _a_tensor(tensors, rng)
    flat = tensors[name] = tensors[name].clone().contiguous()
    if not flat.numel():
        return _retype(document, tensors, rng)
    at = int(rng.integers(flat.numel()))
    if flat.dtype.is_floating_point:
        value: float = FLOATS[rng.integers(len(FLOATS))]
    elif flat.dtype == torch.bool:
        value = not bool(flat.view(-1)[at])
    else:
        value = INTEGERS[rng.integers(len(INTEGERS))]
    flat.view(-1)[at] = value
    return f"{name}[{at}] = {value}"


def _scale_a_tensor(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    name, factor = _a_tensor(tensors, rng), FACTORS[rng.integers(len(FACTORS))]
    tensors[name] = (tensors[name].double() * factor).to(tensors[name].dtype)
    return f"{name} times {factor}"


def _reshape(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    name = _a_tensor(tensors, rng)
    makers: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda one: one.reshape(-1),
        lambda one: one[None],
        lambda one: one.mT if one.ndim > 1 else one[:, None] if one.ndim else one[None],
        lambda one: one[:0] if one.ndim else one.reshape(1)[:0],
        lambda one: one[:-1] if one.ndim else one,
        lambda one: torch.cat([one, one]) if one.ndim else one[None],
        lambda one: one.reshape(-1)[0] if one.numel() else one,
    ]
    before = tuple(tensors[name].shape)
    tensors[name] = makers[rng.integers(len(makers))](tensors[name]).contiguous()
    return f"{name} of shape {tuple(tensors[name].shape)} instead of {before}"


def _retype(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    name, dtype = _a_tensor(tensors, rng), DTYPES[rng.integers(len(DTYPES))]
    tensors[name] = tensors[name].to(dtype)
    return f"{name} as {dtype}"


def _drop_a_tensor(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    name = _a_tensor(tensors, rng)
    del tensors[name]
    return f"{name} dropped"


def _rename_a_tensor(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    name = _a_tensor(tensors, rng)
    other = f"{name}/x" if rng.random() < 0.5 else name.replace("0", "1")
    tensors[other] = tensors.pop(name)
    return f"{name} renamed to {other}"


def _exchange_tensors(document: Document, tensors: Tensors, rng: np.random.Generator) -> str:
    one, other = _a_tensor(tensors, rng), _a_tensor(tensors, rng)
    tensors[one], tensors[other] = tensors[other].clone(), tensors[one].clone()
    return f"{one} and {other} exchanged"


OF_BYTES = (_flip_a_bit, _flip_a_bit, _cut_short, _append, _overwrite, _take_out, _exchange_files, _lose_a_file)
OF_CONTENT = (
    *(_change_a_value, _change_a_value, _change_a_value, _scale_a_number, _drop_an_entry, _add_an_entry, _exchange_entries),
    *(_change_a_number, _change_a_number, _scale_a_tensor, _reshape, _retype),
    *(_drop_a_tensor, _rename_a_tensor, _exchange_tensors),
)
NAN, INFINITE = {"__float__": "nan"}, {"__float__": "inf"}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.5, 1e308, 1e-320, 10**9, 2**31, 2**63, -(2**63), 2**64, 10**400),
    *(NAN, INFINITE, {"__float__": "-inf"}, {"__float__": "ten"}, {"__float__": [1]}, {"__float__": None}),
    *("", "x", "nan", "\x00", "\ud800", "../../etc", "a" * 10_000),
    *([], {}, [[]], [None], [1, 2, 3], {"": 1}, {"solver": "Order"}, {"solver": "os.system"}, {"mapping": 1}),
    {"solver": "LogDet", "tolerance": 0.0, "max_iterations": 10**9},
    {"estimator": "FixedDAG", "parameters": {}},
)
FACTORS = (-1, 0, 2, 10, 1e-3, 1e9, 1e300, math.inf, math.nan)
FLOATS = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1e30, -1e30, 1e-40, 3.0)
INTEGERS = (0, 1, 2, 100, 127)
KEYS = ("", "x", "kind", "fits", "cut", "estimator", "__class__", "__float__", "__init__")
DTYPES = (torch.float64, torch.float32, torch.float16, torch.int64, torch.bool, torch.complex64, torch.uint8)
HUGE = (10**9, 2**63, -1, 0, 1.5, NAN, "9", None, [10**9])
FORGERIES: dict[str, tuple[Any, ...]] = {
    "hidden_layers": ([50_000, 50_000], [10**9], [1] * 100_000, [0], [-1], [1.5], "128", [[8]]),
    "n_features": HUGE,
    "n_nodes": HUGE,
    "n_pretrained": HUGE,
    "n_samples": HUGE,
    "n_held_out": HUGE,
    "index": HUGE,
    "best": HUGE,
    "cut": (-1.0, NAN, INFINITE, "0", None),
    "l1_budget": (-1.0, NAN, "0", None, -1e308),
    "largest_budget": (-1.0, NAN, "0", -1e308),
    "thresholds": ([], [NAN], [-1.0], [0.0] * 10_000, ["0"]),
    "points": ([], [{}], [None], {}),
    "fits": ([], [{}], [None] * 10_000),
    "cuts": ([], [0.0], [1.0, 0.0], [NAN, NAN], ["0"]),
    "losses": ([], [NAN], [0.0] * 10_000),
    "names": ([], ["x"], [1, 2, 3], ["x", "x", "x"], [["x"]], ["x"] * 100_000),
    "context": ([], [{}], {}, [{"name": "z", "categories": ["a"] * 100_000, "ordered": False, "cycle": None}]),
    "categories": (["a"], ["a"] * 10_000, [], [1], "abc"),
    "origin": ("2024-13-01", "today", "NaT", 2024, []),
    "cycle": ([0, 0], [0, -1], [NAN, 1], [0], "ab", [0, 1, 2]),
    "acyclicity": (
        {"solver": "LogDet", "tolerance": 0.0, "max_iterations": 10**9},
        {"solver": "LogDet", "steps": 10**9, "decay": 0.999999999},
        {"solver": "LogDet", "paper_exact": True, "repair": False, "max_iterations": 10**12},
        {"solver": "Order", "starts": 10**9},
        {"solver": "Order", "kernel": "none"},
        {"solver": "Path"},
        "order",
    ),
    "activation": ("softmax", "__init__", None, ["silu"]),
    "kind": ("BootstrapDAG", "FixedDAG", "ContextualDAG", "SortedDAG", "ClusterGraphs", "ConstantGraph", "object", None, []),
    "structure": ("", "constant", "varying", None),
    "noise": ("", "equal", "unequal", None),
    "estimator": ("BootstrapDAG", "FixedDAG", "object", None),
    "selection": ("all", -1, None, [1]),
    "tiers": ([["x"]], 1, [[10**9]]),
    "forbidden_edges": ([["a", "b"]], 1, [1]),
    "has_mean_network": (True, False, None, "yes"),
    "outliers": ([-1], [10**9], ["0"], [0.5]),
    "resamples": ([], [{}], {}),
    "structure_scores": ([], {"varying": {}}, {"x": None}),
    "context_test": ({}, [], 1),
    "format_version": (0, -1, "6", None, 6.0, 10**400),
    "tensors_bytes": (0, -1, 2**62, "0", None),
    "versions": ([], None, {"contextualdag": 1}),
}
TENSOR_FORGERIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "only NaN": lambda one: torch.full_like(one, math.nan) if one.dtype.is_floating_point else one,
    "infinite": lambda one: torch.full_like(one, math.inf) if one.dtype.is_floating_point else one,
    "negative": lambda one: -one.abs() - 1 if one.dtype != torch.bool else ~one,
    "zero": lambda one: torch.zeros_like(one),
    "ones": lambda one: torch.ones_like(one),
    "1e30": lambda one: torch.full_like(one, 1e30) if one.dtype.is_floating_point else one,
    "empty": lambda one: one.reshape(-1)[:0],
    "transposed": lambda one: one.mT.contiguous() if one.ndim > 1 else one[None],
    "as bool": lambda one: one.bool(),
    "as integers": lambda one: one.nan_to_num().to(torch.int64),
}


def _a_file(files: dict[str, bytearray], rng: np.random.Generator) -> tuple[str, bytearray]:
    name = (METADATA, TENSORS)[rng.integers(2)]
    return name, files[name]


def _a_tensor(tensors: Tensors, rng: np.random.Generator) -> str:
    return sorted(tensors)[rng.integers(len(tensors))]


def _a_place(document: Document, rng: np.random.Generator) -> Place:
    """Any entry, mostly of the content: deep and shallow entries alike."""
    place: Place = ("content",) if "content" in document and rng.random() < 0.9 else ()
    while True:
        holder = _get(document, place)
        if not isinstance(holder, dict | list) or not holder:
            return place if place else (next(iter(document)),)
        if place and place != ("content",) and rng.random() < 0.25:
            return place
        keys = sorted(holder) if isinstance(holder, dict) else range(len(holder))
        place = (*place, keys[rng.integers(len(keys))])


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    """All entries."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*place, key)
            yield from _places(item, (*place, key))


def _get(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def _set(document: Document, place: Place, value: Any) -> None:
    _get(document, place[:-1])[place[-1]] = copy.deepcopy(value)


def _named(place: Place) -> str:
    return "/".join(str(key) for key in place)


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) < 60 else f"{text[:60]}…"


def _bytes_of(tensors: Tensors) -> bytes:
    return safetensors.torch.save({name: one.clone().contiguous() for name, one in tensors.items()})


def _sealed(document: Document, data: bytes) -> tuple[dict[str, bytes], bool]:
    """The files with hashes that fit, and whether that was possible.

    Entries that say what the files hold are left as they are where they were changed, or there would be nothing to find.
    """
    document = {key: value for key, value in document.items() if key != "metadata_sha256"}
    document["tensors_sha256"] = hashlib.sha256(data).hexdigest()
    if document.get("tensors_bytes", 0) not in FORGERIES["tensors_bytes"]:
        document["tensors_bytes"] = len(data)
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (RecursionError, ValueError):
        return {METADATA: json.dumps(document | {"content": None}).encode(), TENSORS: data}, False
    document["metadata_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return {METADATA: json.dumps(document).encode(), TENSORS: data}, True


def _written(scratch: Path, what: str, files: dict[str, bytes], rehashed: bool) -> Mutation:
    folder = _fresh(scratch)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return Mutation(folder, what, rehashed)


def _fresh(scratch: Path) -> Path:
    """The path of the copies, with nothing there."""
    folder = scratch / "mutated"
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)
    return folder


def _make_sparse(file: Path) -> None:
    file.touch()
    os.truncate(file, SPARSE)
