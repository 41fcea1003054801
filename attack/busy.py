"""A fit while other programs keep all cores busy: it may take its share of the time longer, and no more."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from attack.program import Case, Found

TITLE = "A fit on busy cores"
MOST = 3.0  # times the time on idle cores
FIT = """
import time
from attack.models import estimator, tables
X, Z = tables(200)
estimator({kind!r}).fit(X[:50], Z[:50])
start = time.perf_counter()
estimator({kind!r}).fit(X, Z).adjacency(Z)
print(time.perf_counter() - start)
"""


def cases(short: bool) -> Iterator[Case]:
    """One network, and one graph. Quick cases report times without judging them: other programs may be at work there."""
    for number in itertools.count():
        yield {"kind": ("varying", "fixed")[number % 2], "timed": not short}


def check(case: Case, scratch: Path) -> Found:
    """Time a fit alone and beside a busy loop for each core, each twice, and take the better times."""
    alone = min(_seconds(case["kind"]) for _ in range(2))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(_n_cores())]
    try:
        time.sleep(0.2)
        busy = min(_seconds(case["kind"]) for _ in range(2))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    ratio = busy / max(alone, 0.1)  # shorter fits are not worth a complaint
    said = f"A fit takes {busy:.2f} s on busy cores and {alone:.2f} s otherwise, {ratio:.1f} times as long."
    return Found({"fits": 4.0}, said if case["timed"] and ratio > MOST else "", {"times as long": ratio})


def _n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _seconds(kind: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(kind=kind)], capture_output=True, text=True, check=True, timeout=300
    )
    return float(done.stdout)
