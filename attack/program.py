"""What attacks have in common: cases, a check of each, time, counts, a table, and files from which a failure is replayed.

An attack is a module with `TITLE`, `cases`, which yields cases as plain dicts without end or until they are exhausted, and
`check`, which tries one. A case says all that is needed to try it again.
"""

import importlib
import json
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

ATTACKS = {  # and the share of the time that each may take
    "projections": 4.0,
    "kills": 4.0,
    "mutations": 4.0,
    "special_files": 1.0,
    "types": 2.0,
    "outputs": 2.0,
    "seeds": 1.0,
    "busy": 1.0,
    "fuzz": 2.0,
    "load": 2.0,
    "browser": 1.0,
}
Case = dict[str, Any]


@dataclass
class Found:
    """What a case showed: how much was tried, and what is wrong, which is nothing in most cases.

    Attributes
    ----------
    counts : dict of str to float
        What was counted; summed over cases.
    problem : str
        A sentence on what is wrong; empty if nothing is.
    worst : dict of str to float
        What was measured; of all cases the largest is reported.
    skipped : str
        Why the attack cannot be made here; empty if it can.
    """

    counts: dict[str, float]
    problem: str = ""
    worst: dict[str, float] = field(default_factory=dict)
    skipped: str = ""


class Attack(Protocol):
    """A module of this package."""

    TITLE: str

    def cases(self, short: bool) -> Iterable[Case]:
        """Cases to try, the most telling first; all of them quick if `short`."""

    def check(self, case: Case, scratch: Path) -> Found:
        """Try a case; `scratch` is a folder for what is written, the same for all cases of the attack."""


@dataclass
class Row:
    """A row of the table."""

    name: str
    title: str
    counts: dict[str, float] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)
    problems: list[Path] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What was tried, how often it went wrong, and how long it took."""
        tried = ", ".join(f"{count:,.0f} {what}" for what, count in self.counts.items())
        tried += "".join(f"; {what} {_short(value)}" for what, value in self.worst.items())
        return self.title, self.skipped or tried, str(len(self.problems)), f"{self.seconds:.0f} s"


def load(name: str) -> Attack:
    """The module of an attack."""
    return cast("Attack", importlib.import_module(f"attack.{name}"))


def attack(name: str, seconds: float, short: bool, scratch: Path, failures: Path) -> Row:
    """Try cases of one attack until the time is over, and write a file for each that goes wrong."""
    module = load(name)
    row, start = Row(name, module.TITLE), time.monotonic()
    scratch = scratch / name
    scratch.mkdir(parents=True, exist_ok=True)
    for case in _until(module.cases(short), start + seconds):
        found = _tried(module, case, scratch)
        for what, count in found.counts.items():
            row.counts[what] = row.counts.get(what, 0) + count
        for what, value in found.worst.items():
            row.worst[what] = max(row.worst.get(what, value), value)
        if found.problem:
            failures.mkdir(parents=True, exist_ok=True)
            file = failures / f"{name}-{len(row.problems) + 1}.json"
            file.write_text(json.dumps({"attack": name, "case": case, "problem": found.problem}, indent=1))
            row.problems.append(file)
            print(f"  {file}: {found.problem.strip().splitlines()[-1][:300]}", flush=True)
        if found.skipped:
            row.skipped = f"not here: {found.skipped}"
            break
    row.seconds = time.monotonic() - start
    return row


def replay(file: Path, scratch: Path) -> str:
    """Try the case of a file again; what is wrong with it, or nothing."""
    document = json.loads(file.read_text())
    folder = scratch / str(document["attack"])
    folder.mkdir(parents=True, exist_ok=True)
    return _tried(load(document["attack"]), document["case"], folder).problem


def table(rows: Iterable[Row]) -> str:
    """The table at the end, in Markdown."""
    lines = ["| Attack | Tried | Failures | Time |", "| --- | --- | --- | --- |"]
    return "\n".join(lines + [f"| {' | '.join(row.cells)} |" for row in rows])


def _tried(module: Attack, case: Case, scratch: Path) -> Found:
    try:
        return module.check(case, scratch)
    except Exception:  # that is what is looked for
        return Found({}, f"The attack ended in an error: {traceback.format_exc()[-2000:]}")


def _until(cases: Iterable[Case], end: float) -> Iterator[Case]:
    """Cases as long as there is time, but at least one."""
    for number, case in enumerate(cases):
        if number and time.monotonic() > end:
            return
        yield case


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}"
