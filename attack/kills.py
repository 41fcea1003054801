"""Processes killed while they save and while they fit: what is there is whole, and what is resumed ends the same."""

import itertools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from attack.models import estimator, saved, tables
from attack.processes import killed, limited
from attack.program import Case, Found

TITLE = "Kills in save and fit"
LONGEST_SAVE, LONGEST_FIT = 0.06, 1.2  # seconds until the kill
KILLS_OF_A_FIT = 3  # each resumed by the next


def cases(short: bool) -> Iterator[Case]:
    """Kills of saves, and of fits in one case of six."""
    chance = random.Random(0)  # noqa: S311 - no secret
    for number in itertools.count():
        if number % 6 == 5:
            delays = [chance.uniform(0, LONGEST_FIT) for _ in range(1 if short else KILLS_OF_A_FIT)]
            yield {"what": "fit", "kind": ("varying", "bootstrap")[number // 6 % 2], "delays": delays}
        else:
            yield {"what": "save", "delays": [chance.uniform(0, LONGEST_SAVE) for _ in range(10)]}


def check(case: Case, scratch: Path) -> Found:
    """Kill, and look at what is left."""
    return _saves(case, scratch) if case["what"] == "save" else _fits(case, scratch)


def _saves(case: Case, scratch: Path) -> Found:
    from contextualdag.errors import ContextualDAGError
    from contextualdag.estimators import load_model

    first, second, folder = saved("varying", scratch), saved("fixed", scratch), scratch / "overwritten"
    counts = {"kills of a save": 0.0}
    shutil.rmtree(folder, ignore_errors=True)
    load_model(first, "cpu").save(folder)
    for delay in case["delays"]:
        counts["kills of a save"] += killed(_save_by_turns, str(first), str(second), str(folder), after=delay)
        try:
            kind = type(load_model(folder, "cpu")).__name__
        except ContextualDAGError as error:
            return Found(counts, f"Killed {delay:.4f} s into a save, and the model is lost: {error}")
        if kind not in ("ContextualDAG", "FixedDAG"):
            return Found(counts, f"Killed into a save, and there is a {kind}.")
        load_model(first, "cpu").save(folder)
    left = [file.name for file in scratch.iterdir() if folder.name in file.name and file != folder]
    return Found(counts, f"Files are left after the next save: {left}" if left else "")


def _save_by_turns(begin: Callable[[], None], *paths: str) -> None:
    from contextualdag.estimators import load_model

    models = [load_model(path, "cpu") for path in paths[:2]]
    begin()
    while True:
        for model in models:
            model.save(paths[2])


def _fits(case: Case, scratch: Path) -> Found:
    kind, checkpoint = case["kind"], scratch / "checkpoint"
    counts = {"kills of a fit": 0.0}
    shutil.rmtree(checkpoint, ignore_errors=True)
    for delay in case["delays"]:
        counts["kills of a fit"] += killed(_fit, kind, str(checkpoint), after=delay)
    state, found = limited(_fitted, kind, str(checkpoint), seconds=120)
    if state != "done":
        return Found(counts, f"The fit that resumed {state}.")
    expected = scratch / f"alone-{kind}.npy"
    if not expected.exists():
        state, graphs = limited(_fitted, kind, None, seconds=120)
        if state != "done":
            return Found(counts, f"The fit that was not killed {state}.")
        np.save(expected, graphs)
    if not np.array_equal(found, np.load(expected)):
        return Found(counts, "The fit that was killed and resumed has other graphs than one that was not.")
    counts["resumed fits"] = 1.0
    return Found(counts)


def _fit(begin: Callable[[], None], kind: str, checkpoint: str) -> None:
    X, Z = tables()
    model = estimator(kind)
    begin()
    model.fit(X, Z, checkpoint=checkpoint)


def _fitted(kind: str, checkpoint: str | None) -> np.ndarray:
    X, Z = tables()
    graphs: np.ndarray = estimator(kind).fit(X, Z, checkpoint=checkpoint).adjacency(Z)
    return graphs
