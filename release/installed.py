"""The wheel in a new environment: installed, and tried as one tries a package for the first time."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

from release.artefacts import ROOT

LIMIT = 900  # seconds for one step
QUICK = ("--max-epochs", "10", "--members", "1")


def environment(folder: Path, *wanted: str, constraints: str = "constraints.txt") -> Path:
    """A new environment with some packages; its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--constraint", str(ROOT / constraints), *wanted], check=True, cwd=folder)
    return python


def try_out(python: Path, folder: Path) -> None:
    """Import, ask for the version, simulate, fit, look at graphs, and open the page; any failure ends the program."""
    program = python.with_name("contextualdag")
    said = _run(python, "-c", "import contextualdag; print(contextualdag.__file__, contextualdag.__version__)", at=folder)
    if str(ROOT) in said:
        raise SystemExit(f"The environment imports the package from the tree: {said}")
    version = said.split()[-1]
    if version not in _run(program, "--version", at=folder):
        raise SystemExit(f"contextualdag --version does not say {version}.")
    _run(python, "-m", "pip", "check", at=folder)
    _run(program, "simulate", "--samples", "300", "--out", "data.csv", at=folder)
    header = (folder / "data.csv").read_text().splitlines()[0].split(",")
    nodes, features = ([name for name in header if name.startswith(letter)] for letter in "xz")
    _run(program, "fit", "data.csv", "--context", ",".join(features), *QUICK, "--out", "model", at=folder)
    _run(program, "graphs", "model", "--out", "graph.json", at=folder)
    if not json.loads((folder / "graph.json").read_text())["variables"] == nodes:
        raise SystemExit("The graph of the model has other variables than the data.")
    _explore(program, folder)


def _explore(program: Path, folder: Path) -> None:
    command = [str(program), "explore", "model", "--port", "0", "--no-open"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            address = next(word for word in said.split() if word.startswith("http://"))
            with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own page
                if b"contextualdag" not in answer.read():
                    raise SystemExit("The page of the explorer is not ours.")
        finally:
            process.terminate()


def _run(program: Path, *arguments: str, at: Path) -> str:
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(program), *arguments]
    done = subprocess.run(command, cwd=at, env=outside, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
