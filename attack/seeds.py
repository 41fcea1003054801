"""One seed, one model: alone, in threads, in processes of joblib, spawned, and with other thread counts."""

import hashlib
import itertools
import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np

from attack.models import estimator, tables
from attack.program import Case, Found

TITLE = "Same seed, same bits"
WAYS = ("threads", "other threads", "spawned", "joblib")
KINDS = ("varying", "fixed", "clustered", "bootstrap")


def cases(short: bool) -> Iterator[Case]:
    """All kinds of models in all ways."""
    for number in itertools.count():
        way, kind = WAYS[number % len(WAYS)], KINDS[number // len(WAYS) % len(KINDS)]
        yield {"way": way, "kind": kind, "seed": number // 16}


def check(case: Case, scratch: Path) -> Found:
    """Fit alone and in another way, and compare every bit of the graphs."""
    kind, seed = case["kind"], case["seed"]
    alone = fingerprint(kind, seed)
    others: list[str] = []
    if case["way"] == "threads":
        _side_by_side([(kind, seed), (kind, seed)], others)
    elif case["way"] == "other threads":
        _side_by_side([(kind, seed), ("varying", seed + 1), ("fixed", seed + 2)], others)
        others = others[:1]
    elif case["way"] == "spawned":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            others = pool.starmap(fingerprint, [(kind, seed)])
    else:
        others = joblib.Parallel(n_jobs=2)(joblib.delayed(fingerprint)(kind, seed) for _ in range(2))
    same = all(other == alone for other in others) and bool(others)
    return Found({"models": float(len(others))}, "" if same else f"{kind}: {case['way']} gives other bits than alone.")


def _side_by_side(wanted: list[tuple[str, int]], found: list[str]) -> None:
    results: dict[int, str] = {}

    def work(position: int) -> None:
        results[position] = fingerprint(*wanted[position])

    threads = [threading.Thread(target=work, args=(position,)) for position in range(len(wanted))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.extend(results.get(position, "failed") for position in range(len(wanted)))


def fingerprint(kind: str, seed: int) -> str:
    """A hash of the graphs of a model."""
    X, Z = tables()
    graphs = estimator(kind, seed).fit(X, Z).adjacency(Z)
    return hashlib.sha256(np.ascontiguousarray(graphs).tobytes()).hexdigest()
