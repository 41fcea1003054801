"""Folders of models that are damaged or forged, half of them with right hashes: refused with a sentence, or sound."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attack.folders import damaged, forged, judge
from attack.models import saved
from attack.processes import limited
from attack.program import Case, Found

TITLE = "Mutated folders"
KINDS = ("varying", "fixed", "bootstrap", "clustered")
BATCH, FORGERIES = 100, 60
MEMORY = 4.0  # gigabytes


def cases(short: bool) -> Iterator[Case]:
    """Batches of random damage, and of forgeries as long as there are any."""
    size = BATCH // 4 if short else BATCH
    for number in itertools.count():
        kind = KINDS[number // 2 % len(KINDS)]
        if number % 2 == 0:
            yield {"kind": kind, "seed": number, "count": size}
        else:
            start = number // 8 * FORGERIES
            yield {"kind": kind, "from": start, "to": start + (FORGERIES // 4 if short else FORGERIES)}


def check(case: Case, scratch: Path) -> Found:
    """Judge a batch within a process that may take 4 GB; if it ends before its time, say at which folder."""
    model = saved(case["kind"], scratch)
    log = scratch / "log"
    log.write_text("")
    state, found = limited(_judge, case, str(model), str(scratch), str(log), seconds=120, gigabytes=MEMORY)
    lines = log.read_text().splitlines()
    counts = {"folders": float(len(lines)), "with right hashes": float(sum(line.startswith("1") for line in lines))}
    if state != "done":
        return Found(counts, f"The loader {state} ({found}) at: {lines[-1][2:] if lines else 'the start'}")
    return Found(counts, "; ".join(found[:5]))


def _judge(case: Case, model: str, scratch: str, log: str) -> list[str]:
    if "seed" in case:
        made = damaged(Path(model), np.random.default_rng(case["seed"]), Path(scratch), case["count"])
    else:
        made = itertools.islice(forged(Path(model), Path(scratch)), case["from"], case["to"])
    problems = []
    with Path(log).open("a") as file:
        for one in made:
            file.write(f"{int(one.rehashed)} {one.what}\n".encode("ascii", "replace").decode())
            file.flush()
            found = judge(one.folder)
            if not found.fine:
                problems.append(f"{one.what}: {found.outcome}, {found.text}")
    return problems
