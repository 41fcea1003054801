import os

import pytest

from contextualdag.atomic_file import write_file


def test_a_file_is_written_and_replaced(tmp_path):
    for content in (b"first", b"second"):
        write_file(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch):
    write_file(tmp_path / "file", b"first")

    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        write_file(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
