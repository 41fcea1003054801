"""Folders of tensors and metadata: what comes back and what is refused."""

import hashlib
import json
import math
import os

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contextualdag import folder as persistence
from contextualdag.errors import ContextualDAGError, PersistenceError
from contextualdag.folder import FORMAT_VERSION, load_folder, save_folder

OLD = {"name": "old"}, {"W": torch.arange(6.0).reshape(2, 3)}
NEW = {"name": "new"}, {"W": torch.ones(4)}


@pytest.fixture
def model(tmp_path):
    """A folder with the old content."""
    save_folder(tmp_path / "model", "ContextualDAG", *OLD)
    return tmp_path / "model"


def assert_holds(path, expected, kind="ContextualDAG"):
    metadata, tensors = load_folder(path, kind)
    assert metadata == expected[0]
    assert tensors.keys() == expected[1].keys()
    for name, tensor in expected[1].items():
        torch.testing.assert_close(tensors[name], tensor, rtol=0, atol=0, equal_nan=True)


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def refusal(path, kind="ContextualDAG"):
    """The message of the refusal to load; it is one sentence."""
    with pytest.raises(PersistenceError) as caught:
        load_folder(path, kind)
    message = str(caught.value)
    assert message.endswith(".")
    assert ". " not in message
    assert "\n" not in message
    return message


def rewrite(path, **changes):
    """Change entries of metadata.json and leave its hash as it is."""
    file = path / "metadata.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_every_dtype_comes_back(tmp_path):
    tensors = {str(dtype): torch.tensor([0, 1, 3]).to(dtype) for dtype in persistence._DTYPES}
    save_folder(tmp_path / "model", "example", {}, tensors)
    assert_holds(tmp_path / "model", ({}, tensors), "example")


def test_odd_tensors_come_back(tmp_path):
    base = torch.arange(12.0).reshape(3, 4)
    shared = torch.ones(3)
    tensors = {
        "no rows": torch.empty(0, 5),
        "no dimension": torch.tensor(2.5),
        "not finite": torch.tensor([math.inf, -math.inf, math.nan, -0.0]),
        "transposed": base.T,
        "every second": base[:, ::2],
        "expanded": torch.ones(1, 3).expand(4, 3),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "shared": shared,
        "shared again": shared,
        "größe/θ": torch.ones(1),
    }
    save_folder(tmp_path / "model", "example", {}, tensors)
    assert_holds(tmp_path / "model", ({}, tensors), "example")


def test_nothing_comes_back_as_nothing(tmp_path):
    save_folder(tmp_path / "model", "example", {}, {})
    assert load_folder(tmp_path / "model", "example") == ({}, {})


def test_callers_tensors_stay_as_they_are(tmp_path):
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).T)
    save_folder(tmp_path / "model", "example", {}, {"weight": weight})
    assert weight.requires_grad
    assert weight.stride() == (1, 3)
    _, loaded = load_folder(tmp_path / "model", "example")
    assert not loaded["weight"].requires_grad
    loaded["weight"].zero_()
    assert_holds(tmp_path / "model", ({}, {"weight": weight.detach()}), "example")


def test_tensors_go_to_the_device(model):
    _, tensors = load_folder(model, "ContextualDAG", device=torch.device("meta"))
    assert tensors["W"].is_meta


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_from_and_to_a_gpu(tmp_path):
    save_folder(tmp_path / "model", "example", {}, {"W": torch.ones(3, device="cuda")})
    assert load_folder(tmp_path / "model", "example")[1]["W"].device.type == "cpu"
    assert load_folder(tmp_path / "model", "example", "cuda")[1]["W"].device.type == "cuda"


def test_metadata_comes_back(tmp_path):
    metadata = {
        "unicode": "größe θ 図 🙂 \ud800",
        "ключ": [None, True, False, 0, -1, 2**80, 0.1, 1e-320, "", [], {}],
        "tuple": (1, (2,)),
        "numpy": [np.float32(0.5), np.int8(3), np.bool_(True), np.float64(math.inf), np.str_("a")],
        "infinities": {"up": math.inf, "down": -math.inf},
    }
    save_folder(tmp_path / "model", "example", metadata | {"nan": math.nan}, {})
    loaded, _ = load_folder(tmp_path / "model", "example")
    assert math.isnan(loaded.pop("nan"))
    assert loaded == metadata | {"tuple": [1, [2]], "numpy": [0.5, 3, True, math.inf, "a"]}
    assert [type(value) for value in loaded["numpy"]] == [float, int, bool, float, str]


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.text().filter(lambda key: key != "__float__")
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=10)


@given(metadata=st.dictionaries(keys, values))
def test_any_json_comes_back(metadata):
    encoded = persistence._encode(metadata, "metadata")
    text = json.dumps(encoded, allow_nan=False)
    # repr tells NaN from NaN, and -0.0 from 0.0.
    assert repr(persistence._decode(persistence._parse(text.encode()))) == repr(metadata)


def test_files_are_plain_and_complete(model):
    assert names_in(model) == ["metadata.json", "tensors.safetensors"]
    document = json.loads((model / "metadata.json").read_text(), parse_constant=pytest.fail)
    assert document["format"] == "contextualdag"
    assert document["format_version"] == FORMAT_VERSION == 6
    assert document["kind"] == "ContextualDAG"
    assert document["content"] == {"name": "old"}
    assert document["versions"].keys() == {"contextualdag", "torch", "numpy", "python"}
    assert document["versions"]["torch"] == torch.__version__
    assert document["tensors_bytes"] == (model / "tensors.safetensors").stat().st_size


def test_white_space_and_order_are_no_change(model):
    document = json.loads((model / "metadata.json").read_text())
    (model / "metadata.json").write_text(json.dumps(dict(reversed(document.items()))))
    assert_holds(model, OLD)


def test_no_folder(tmp_path):
    assert "There is no folder at" in refusal(tmp_path / "missing")
    assert "There is no folder at" in refusal(tmp_path / "missing" / "too")


def test_a_file(tmp_path):
    (tmp_path / "model").write_text("hello")
    assert "is a file where a folder was expected" in refusal(tmp_path / "model")


def test_not_ours(tmp_path):
    assert "is not a contextualdag folder: it has no metadata.json" in refusal(tmp_path)
    for other in ("{}", "[1]", '{"format": "other"}'):
        (tmp_path / "metadata.json").write_text(other)
        assert "is not a contextualdag folder: its metadata.json belongs to something else" in refusal(tmp_path)


def test_other_kind(model):
    assert "holds a 'ContextualDAG' where a 'checkpoint' was expected" in refusal(model, "checkpoint")


def test_newer_format(model):
    rewrite(model, format_version=FORMAT_VERSION + 1)
    message = refusal(model)
    assert f"was written by a newer contextualdag (format {FORMAT_VERSION + 1}," in message
    assert "upgrade contextualdag" in message


def test_truncated_tensors(model):
    file = model / "tensors.safetensors"
    size = file.stat().st_size
    os.truncate(file, size - 3)
    assert f"tensors.safetensors of {model} has {size - 3} bytes and must have {size}" in refusal(model)


def test_changed_tensors(model):
    file = model / "tensors.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert f"tensors.safetensors of {model} was changed after it was saved" in refusal(model)


def test_missing_tensors(model):
    (model / "tensors.safetensors").unlink()
    assert "has no tensors.safetensors" in refusal(model)


@pytest.mark.parametrize("change", [{"content": {"name": "odd"}}, {"format_version": 0}, {"extra": 1}, {"tensors_bytes": 5}])
def test_changed_metadata(model, change):
    rewrite(model, **change)
    assert f"metadata.json of {model} was changed after it was saved" in refusal(model)


def test_an_older_format(tmp_path, monkeypatch):
    monkeypatch.setattr("contextualdag.folder.FORMAT_VERSION", 1)
    save_folder(tmp_path / "older", "model", {"name": "old"}, {})
    monkeypatch.undo()
    with pytest.raises(PersistenceError, match=r"was written by an older contextualdag \(format 1, and this version reads"):
        load_folder(tmp_path / "older", "model")


def test_changed_metadata_too_large_a_number(model):
    file = model / "metadata.json"
    file.write_text(file.read_text().replace('"old"', "1e999"))
    assert "was changed after it was saved" in refusal(model)


def test_metadata_that_lacks_a_key(model):
    document = json.loads((model / "metadata.json").read_text())
    del document["kind"]
    (model / "metadata.json").write_text(json.dumps(document))
    assert "lacks kind" in refusal(model)


@pytest.mark.parametrize(
    "broken",
    [b"", b'{"format": "contextualdag', b"\xff\xfe", b'{"format": NaN}', b"[" * 100_000],
    ids=["empty", "cut", "bytes", "nan", "deep"],
)
def test_broken_json(model, broken):
    (model / "metadata.json").write_bytes(broken)
    assert "is broken JSON" in refusal(model)


def test_tensors_that_are_no_safetensors(model):
    document = json.loads((model / "metadata.json").read_text())
    data = b"\x80\x04not a safetensors file"
    (model / "tensors.safetensors").write_bytes(data)
    document["tensors_bytes"] = len(data)
    document["tensors_sha256"] = hashlib.sha256(data).hexdigest()
    document["metadata_sha256"] = persistence._hash(document)
    (model / "metadata.json").write_text(json.dumps(document))
    assert "is not a safetensors file" in refusal(model)


def test_refusals_are_also_os_errors(tmp_path):
    with pytest.raises(OSError, match="There is no folder"):
        load_folder(tmp_path / "missing", "example")
    assert issubclass(PersistenceError, ContextualDAGError)


class Odd:
    pass


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": [{"b": Odd()}]}, r"metadata\['a'\]\[0\]\['b'\] must be .* Got Odd instead"),
        ({"a": np.zeros(2)}, r"metadata\['a'\] must be .* Got ndarray instead; pass arrays as tensors"),
        ({"a": torch.zeros(())}, r"metadata\['a'\] must be .* Got Tensor instead"),
        ({"a": {1, 2}}, r"metadata\['a'\] must be .* Got set instead"),
        ({"a": b"x"}, r"metadata\['a'\] must be .* Got bytes instead"),
        ({"a": {1: "x"}}, r"The keys of metadata\['a'\] must be strings .* Got 1 instead"),
        ({"__float__": "inf"}, r"The keys of metadata must be strings other than '__float__'"),
    ],
)
def test_metadata_that_does_not_fit(tmp_path, metadata, message):
    with pytest.raises(PersistenceError, match=message):
        save_folder(tmp_path / "model", "example", metadata, {})
    assert names_in(tmp_path) == []


def test_metadata_that_contains_itself(tmp_path):
    metadata = {}
    metadata["self"] = metadata
    with pytest.raises(PersistenceError, match="nested deeper than 64 levels, or contain itself"):
        save_folder(tmp_path / "model", "example", metadata, {})


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"a": np.zeros(2)}, r"tensors\['a'\] must be a torch.Tensor. Got ndarray instead"),
        ({"a": torch.eye(2).to_sparse()}, r"tensors\['a'\] must be dense .* Got torch.sparse_coo instead"),
        ({"a": torch.zeros(2, device="meta")}, r"tensors\['a'\] must be dense .* Got a meta tensor instead"),
        ({"a": torch.zeros(2, dtype=torch.complex128)}, r"tensors\['a'\] has dtype torch.complex128"),
        ({"__metadata__": torch.zeros(2)}, r"other than '__metadata__'"),
        ({1: torch.zeros(2)}, r"The name of a tensor must be a string .* Got 1 instead"),
    ],
)
def test_tensors_that_do_not_fit(tmp_path, tensors, message):
    with pytest.raises(PersistenceError, match=message):
        save_folder(tmp_path / "model", "example", {}, tensors)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("text", [None, "not JSON", '{"format": "other"}'])
def test_folders_of_others_are_not_overwritten(tmp_path, text):
    (tmp_path / "thesis.tex").write_text("precious")
    if text is not None:
        (tmp_path / "metadata.json").write_text(text)
    with pytest.raises(PersistenceError, match="is not empty and not a contextualdag folder; save to another path"):
        save_folder(tmp_path, "example", {}, {})
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_files_of_others_in_our_folder_are_not_deleted(model):
    (model / "notes.txt").write_text("precious")
    with pytest.raises(PersistenceError, match=r"also holds notes\.txt, which contextualdag did not write"):
        save_folder(model, "ContextualDAG", *NEW)
    assert_holds(model, OLD)
    assert (model / "notes.txt").read_text() == "precious"


def test_files_are_not_overwritten(tmp_path):
    (tmp_path / "model").write_text("precious")
    with pytest.raises(PersistenceError, match="is a file where a folder was expected"):
        save_folder(tmp_path / "model", "example", {}, {})
    with pytest.raises(PersistenceError, match="is a file where a folder was expected"):
        save_folder(tmp_path / "model" / "inside", "example", {}, {})
    assert (tmp_path / "model").read_text() == "precious"


def test_parents_and_empty_folders(tmp_path):
    save_folder(tmp_path / "a" / "b" / "model", "ContextualDAG", *OLD)
    assert_holds(tmp_path / "a" / "b" / "model", OLD)
    (tmp_path / "empty").mkdir()
    save_folder(tmp_path / "empty", "ContextualDAG", *OLD)
    assert_holds(tmp_path / "empty", OLD)


def test_bad_metadata_keeps_the_old_content(model):
    with pytest.raises(PersistenceError, match=r"metadata\['name'\] must be"):
        save_folder(model, "ContextualDAG", {"name": Odd()}, NEW[1])
    assert_holds(model, OLD)
    assert names_in(model.parent) == ["model"]
