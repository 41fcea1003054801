"""The environment of another package: created for real, but for a tiny package and without a network."""

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import environment
from benchmarks.peers.environment import CONTEXTUALIZED, GCASTLE, Environment, make_environment
from contextualdag.errors import SweepError

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder of two tiny packages; `peer` asks for `ballast`."""
    folder = tmp_path_factory.mktemp("packages")
    for name, needs in (("peer", "Requires-Dist: ballast\n"), ("ballast", "")):
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            info = f"{name}-1.0.dist-info"
            wheel.writestr(f"{name}.py", "answer = 42\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            names = [f"{name}.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
            wheel.writestr(f"{info}/RECORD", "".join(f"{one},,\n" for one in names))
    return folder


@pytest.fixture
def offline(packages, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def ask(python, code):
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_environment_is_made_once_and_a_half_made_one_anew(tmp_path, offline):
    wanted = Environment("peer", ("peer==1.0",), ("ballast",), "peer")
    for half_made in (tmp_path / "peer", tmp_path / ".unfinished-killed"):
        (half_made / "bin").mkdir(parents=True)
        (half_made / "bin" / "python").touch()
    python = make_environment(tmp_path, wanted)
    assert ask(python, "import peer; print(peer.answer)").stdout == "42\n"
    assert "No module named 'ballast'" in ask(python, "import ballast").stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != ".lock"] == ["peer"]
    made = python.parent.stat().st_mtime_ns
    assert make_environment(tmp_path, wanted) == python
    assert python.parent.stat().st_mtime_ns == made


# Makes a folder with itself as the interpreter, and fails at all else, as pip does without a network.
NO_NETWORK = """#!/bin/sh
[ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && exit
echo 'ERROR: No matching distribution found for torch==2.13.0' >&2
exit 1
"""


@pytest.mark.parametrize("wanted", [CONTEXTUALIZED, GCASTLE], ids=lambda wanted: wanted.name)
def test_no_network_is_said_clearly(wanted, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(NO_NETWORK)
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(
        SweepError, match=rf"of {wanted.name} could not be created: `.* install torch==2.13.0 .*` ended with status 1"
    ) as caught:
        make_environment(tmp_path / "cache", wanted)
    assert "\nERROR: No matching distribution found for torch==2.13.0\n" in str(caught.value)
    assert str(caught.value).endswith("check the network and try again. The other methods can be run without it.")
    assert [path for path in (tmp_path / "cache").iterdir() if path.name != ".lock"] == []


def test_what_is_not_marked_as_finished_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    wanted = Environment("peer", (), (), "peer")
    folder = tmp_path / "peer"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    mark = folder / "finished.json"
    for content in (None, "{}", environment._content(replace(wanted, install=("other",)))):
        if content is not None:
            mark.write_text(content)
        with pytest.raises(SweepError, match="status 1"):
            make_environment(tmp_path, wanted)
    mark.write_text(environment._content(wanted))
    assert make_environment(tmp_path, wanted) == folder / "bin" / "python"
    (folder / "bin" / "python").unlink()
    with pytest.raises(SweepError, match="status 1"):
        make_environment(tmp_path, wanted)


def test_pytorch_is_the_pinned_one():
    constraints = (Path(__file__).parents[3] / "constraints.txt").read_text().split()
    assert CONTEXTUALIZED.install[0] in constraints
    assert GCASTLE.install[0] in constraints
