"""A virtual environment for a package that cannot be installed beside ours, created once and completely, or not at all."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from contextualdag.errors import SweepError
from contextualdag.files import exclusive_lock

_LOCK = ".lock"
_MARK = "finished.json"
_UNFINISHED = ".unfinished-"
_SHOWN_LINES = 6
_WITHOUT = "The other methods can be run without it."


@dataclass(frozen=True)
class Environment:
    """What to install, which of it to uninstall again, and a module that must be importable then."""

    name: str
    install: tuple[str, ...]
    remove: tuple[str, ...]
    module: str


# It requires torchvision, does not use it, and cannot be imported beside a torchvision built for another PyTorch.
CONTEXTUALIZED = Environment(
    "contextualized-ml", ("torch==2.13.0", "contextualized-ml==0.2.9"), ("torchvision",), "contextualized.easy"
)
# It does not require PyTorch, which most of its algorithms use.
GCASTLE = Environment("gcastle", ("torch==2.13.0", "gcastle==1.0.4"), (), "castle.algorithms")


def make_environment(cache: str | os.PathLike[str], environment: Environment) -> Path:
    """The Python of a virtual environment, which is created with pip if it does not exist.

    The environment is created under another name and renamed at the end, so an interrupted one is never used: the next call
    removes it and starts again. Other processes wait meanwhile.

    Parameters
    ----------
    cache : path
        Folder that holds the environment, in a subfolder of its name. Created if missing.
    environment : Environment
        What to install.

    Returns
    -------
    Path
        The interpreter, to be run in a process of its own.

    Raises
    ------
    SweepError
        If the environment cannot be created, for instance without a network.

    Examples
    --------
    >>> from benchmarks.peers.environment import CONTEXTUALIZED, make_environment
    >>> make_environment("environments", CONTEXTUALIZED)  # doctest: +SKIP
    PosixPath('environments/contextualized-ml/bin/python')
    """
    folder = Path(cache) / environment.name
    if _is_finished(folder, environment):
        return _python(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(folder.parent / _LOCK, wait=True):
            if not _is_finished(folder, environment):  # another process may have created it while this one waited
                _make(folder, environment)
    except OSError as error:
        raise SweepError(
            f"The environment of {environment.name} cannot be written to {folder} ({error}). Give a cache folder that "
            f"can be written. {_WITHOUT}"
        ) from error
    return _python(folder)


def _make(folder: Path, environment: Environment) -> None:
    for leftover in folder.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover)
    new = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
    try:
        _run([sys.executable, "-m", "venv", str(new)], environment)
        # Through the interpreter: scripts such as bin/pip would remember the folder's first name.
        pip = [str(_python(new)), "-m", "pip", "--disable-pip-version-check", "--no-input"]
        _run([*pip, "install", *environment.install], environment)
        if environment.remove:
            _run([*pip, "uninstall", "--yes", *environment.remove], environment)
        _run([str(_python(new)), "-I", "-c", f"import {environment.module}"], environment)
        (new / _MARK).write_text(_content(environment), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _run(command: Sequence[str], environment: Environment) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise SweepError(
            f"The environment of {environment.name} could not be created: `{' '.join(command)}` ended with status "
            f"{done.returncode}. Its last lines:\n" + "\n".join(said[-_SHOWN_LINES:]) + "\n"
            f"pip must reach a package index: check the network and try again. {_WITHOUT}"
        )


def _is_finished(folder: Path, environment: Environment) -> bool:
    """Whether the folder holds this environment, created by this version of Python, with an interpreter that exists."""
    try:
        return (folder / _MARK).read_text(encoding="utf-8") == _content(environment) and _python(folder).exists()
    except (OSError, UnicodeDecodeError):
        return False


def _content(environment: Environment) -> str:
    return json.dumps(asdict(environment) | {"python": sys.version})


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
