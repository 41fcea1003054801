"""Fit another package to the data in one file and write its answer to another. Run in the environment of that package.

    python -I peer_script.py contextualized data.npz answer.npz '{"seed": 0, ...}'

It must not import contextualdag, which is not installed there.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np


def contextualized(data: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """From X, Z and the contexts `Z_validation`, `Z_test` to the graphs `validation` and `test`, and the seconds."""
    from contextualized.easy import ContextualizedBayesianNetworks  # type: ignore[import-not-found]

    start = time.perf_counter()
    model = ContextualizedBayesianNetworks(**settings["model"])
    model.fit(data["Z"], data["X"], **settings["fit"])
    fitted = time.perf_counter()
    test = model.predict_networks(data["Z_test"])
    predicted = time.perf_counter()
    validation = model.predict_networks(data["Z_validation"])
    return {
        "test": test,
        "validation": validation,
        "fit_seconds": fitted - start,
        "graph_seconds": predicted - fitted,
    }


def golem(data: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """From X to the weights, the edges that the package's threshold leaves of them, and the seconds.

    Each of `settings["stages"]` starts from the weights of the one before, the first from zeros.
    """
    from castle.algorithms import GOLEM  # type: ignore[import-not-found]

    start = time.perf_counter()
    X = data["X"] - data["X"].mean(0)
    weights = edges = None
    for stage in settings["stages"]:
        model = GOLEM(B_init=weights, **stage)
        model.learn(X)
        weights, edges = np.asarray(model.weight_causal_matrix), np.asarray(model.causal_matrix)
    return {"weights": weights, "edges": edges, "fit_seconds": time.perf_counter() - start}


PACKAGES = {"contextualized": contextualized, "golem": golem}


def main(package: str, source: Path, target: Path, settings: dict[str, Any]) -> None:
    import torch

    with np.load(source, allow_pickle=False) as arrays:
        data = dict(arrays)
    if settings["threads"] is not None:
        torch.set_num_threads(settings["threads"])
    torch.manual_seed(settings["seed"])
    np.random.seed(settings["seed"])  # noqa: NPY002 - contextualized-ml splits its data by the global generator
    np.savez(target, **PACKAGES[package](data, settings))


def _end_with_parent() -> None:
    """Exit when the process that waits for the answer is gone, for instance because it was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    _end_with_parent()
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4]))
