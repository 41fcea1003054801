"""Run the commands of a page again and replace their output by what they print now.

    python docs/refresh_transcripts.py docs/first-ten-minutes.md

In every ``console`` code block, lines that begin with "$ contextualdag" are run, in order and in one temporary folder; the
lines after each are replaced by its output. Other blocks stay as they are.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
PROMPT = "$ "


def refresh(page: Path) -> None:
    """Rewrite one page."""
    with tempfile.TemporaryDirectory() as folder:
        page.write_text(BLOCK.sub(lambda block: _run(block[1], Path(folder)), page.read_text()))


def _run(block: str, folder: Path) -> str:
    commands = [line for line in block.splitlines() if line.startswith(PROMPT)]
    return "".join(f"{command}\n{_output(command.removeprefix(PROMPT), folder)}" for command in commands)


def _output(command: str, folder: Path) -> str:
    words = shlex.split(command)
    if words[0] != "contextualdag":
        raise SystemExit(f"Only contextualdag commands can be run. Got: {command}")
    # As a module, so that it is the one installed for this Python; COLUMNS is the width of a page.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", *words],
        cwd=folder,
        env=os.environ | {"COLUMNS": "88"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
