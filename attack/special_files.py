"""Pipes, devices, links, folders and sparse files in the place of the files of a model."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from attack.folders import impostors, judge
from attack.models import saved
from attack.processes import limited
from attack.program import Case, Found

TITLE = "Special files"
SECONDS = 10


def cases(short: bool) -> Iterator[Case]:
    """Each kind of file in each place."""
    for number in range(6 if short else 40):
        yield {"number": number}


def check(case: Case, scratch: Path) -> Found:
    """Load, within a process that may take 2 GB and some seconds."""
    model = saved("fixed", scratch)
    state, found = limited(_judge, case["number"], str(model), str(scratch), seconds=SECONDS, gigabytes=2)
    if state != "done":
        return Found({"files": 1}, f"The loader {state} ({found}) at file {case['number']} of attack.folders.impostors.")
    return Found({"files": float(found is not None)}, found or "")


def _judge(number: int, model: str, scratch: str) -> str | None:
    for one in itertools.islice(impostors(Path(model), Path(scratch)), number, number + 1):
        found = judge(one.folder)
        return "" if found.fine else f"{one.what}: {found.outcome}, {found.text}"
    return None
