"""Recovery of the default ContextualDAG on the paper's Erdős–Rényi design, for a few cells and seeds.

Each job is one data set: training, validation and test sets of equal size. Prints a row for each job and the means.
"""

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

CELLS: dict[str, dict[str, Any]] = {
    "n10000": {"n": 10_000, "seeds": 3},
    "default": {},
    "shifted": {"shift": True},
    "no-intercept": {"intercept": "none"},
    "paper": {"p": 10, "paper": True, "seeds": 5},
}


def one(cell: str, seed: int, threads: int) -> dict[str, Any]:
    """Fit one data set and score the choice without the truth, and the point with the true number of edges."""
    import torch

    from contextualdag import ContextualDAG
    from contextualdag.datasets import make_varying_dag
    from contextualdag.metrics import estimation_error, f1_score, shd

    torch.set_num_threads(threads)
    settings = {"n": 1000, "p": 20, "paper": False, "shift": False, "intercept": None, "seeds": 10} | CELLS[cell]
    n = settings["n"]
    data = make_varying_dag(3 * n, settings["p"], 2, random_state=seed)
    X = data.X
    if settings["shift"]:
        X = X + data.Z @ np.random.default_rng(seed + 10_000).standard_normal((2, settings["p"]))
    options: dict[str, Any] = {"device": "cpu", "random_state": seed}
    if settings["intercept"]:
        options["intercept"] = settings["intercept"]
    start = time.perf_counter()
    model = (ContextualDAG.paper if settings["paper"] else ContextualDAG)(**options)
    model.fit(X[:n], data.Z[:n], X[n : 2 * n], data.Z[n : 2 * n])
    seconds = time.perf_counter() - start
    test = data[2 * n :]
    W = model.adjacency(test.Z)
    told = model.select(n_edges=float((data.W[n : 2 * n] != 0).sum()) / n).adjacency(test.Z)
    return {
        "cell": cell,
        "seed": seed,
        "f1": f1_score(test.W, W),
        "shd": shd(test.W, W),
        "error": estimation_error(test.W, W),
        "f1_told": f1_score(test.W, told),
        "seconds": seconds,
        "points": len(model.path_),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=list(CELLS), help=f"of {', '.join(CELLS)}")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="fits side by side")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, help="data sets a cell (default: 10, fewer for the long ones)")
    arguments = parser.parse_args()
    threads = max(1, (os.cpu_count() or 1) // arguments.processes)
    rows = []
    with ProcessPoolExecutor(arguments.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [
            pool.submit(one, cell, arguments.first_seed + s, threads)
            for cell in arguments.cells
            for s in range(arguments.seeds or CELLS[cell].get("seeds", 10))
        ]
        for job in as_completed(jobs):
            rows.append(job.result())
            print(json.dumps(rows[-1]), flush=True)
    print("\n| cell | data sets | F1 | F1, told the number of edges | estimation error | SHD | seconds a fit |")
    print("|---|---|---|---|---|---|---|")
    for cell in arguments.cells:
        mine = [row for row in rows if row["cell"] == cell]
        means = {key: np.mean([row[key] for row in mine]) for key in ("f1", "f1_told", "error", "shd", "seconds")}
        spread = np.std([row["f1"] for row in mine], ddof=1) / np.sqrt(len(mine)) if len(mine) > 1 else 0
        print(
            f"| {cell} | {len(mine)} | {means['f1']:.3f} ± {spread:.3f} | {means['f1_told']:.3f} | {means['error']:.3f} | "
            f"{means['shd']:.2f} | {means['seconds']:.0f} |"
        )


if __name__ == "__main__":
    main()
