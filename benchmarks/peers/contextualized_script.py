"""Fit contextualized-ml to the data in one file and write its graphs to another. Run in an environment of its own.

    python -I contextualized_script.py data.npz graphs.npz '{"seed": 0, ...}'

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


def main(source: Path, target: Path, settings: dict[str, Any]) -> None:
    """Read X, Z and the contexts `Z_validation`, `Z_test`; write the graphs `validation` and `test`, and the seconds."""
    import torch
    from contextualized.easy import ContextualizedBayesianNetworks  # type: ignore[import-not-found]

    with np.load(source, allow_pickle=False) as data:
        X, Z, Z_validation, Z_test = (data[name] for name in ("X", "Z", "Z_validation", "Z_test"))
    if settings["threads"] is not None:
        torch.set_num_threads(settings["threads"])
    torch.manual_seed(settings["seed"])
    np.random.seed(settings["seed"])  # noqa: NPY002 - the package splits its data by the global generator
    start = time.perf_counter()
    model = ContextualizedBayesianNetworks(**settings["model"])
    model.fit(Z, X, **settings["fit"])
    fitted = time.perf_counter()
    test = model.predict_networks(Z_test)
    predicted = time.perf_counter()
    validation = model.predict_networks(Z_validation)
    np.savez(target, test=test, validation=validation, fit_seconds=fitted - start, graph_seconds=predicted - fitted)


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
    main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
