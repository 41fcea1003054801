"""Do two seeds give as many edges? `python -m benchmarks.seeds runs.csv --data drug_consumption.data --seeds 6`.

Each seed divides the rows of one table, the drug study, into rows to train on and rows held out, and starts the networks.
Two seeds are compared by the ratio of their numbers of edges, the larger over the smaller: of all edges, and of the
strongest, which explain nine tenths of what all do. Finished runs are kept in the CSV.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.runs import completed
from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import load_drug_consumption
from contextualdag.paper.outputs import markdown_table

METHODS: dict[str, Any] = {
    "ContextualDAG": lambda seed: ContextualDAG(random_state=seed, device="cpu", verbose=False),
    "ContextualDAG, graphs that vary": lambda seed: ContextualDAG(
        structure="varying", random_state=seed, device="cpu", verbose=False
    ),
    "FixedDAG": lambda seed: FixedDAG(random_state=seed, device="cpu"),
}
COLUMNS = ("method", "seeds", "edges", "median ratio", "largest ratio", "strongest edges", "median ratio", "largest ratio")


def counts(model: Any, X: Any, Z: Any) -> dict[str, Any]:
    """Fit a model and count its edges, on average over the rows."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, Z)
    seconds = time.process_time() - begin
    edges, strongest = ((its.adjacency(Z) != 0).sum((1, 2)).mean() for its in (model, model.select(explained=0.9)))
    return {"edges": edges, "strongest": strongest, "structure": model.structure_, "seconds": seconds}


def ratios(numbers: Sequence[float]) -> list[float]:
    """The larger over the smaller number of all pairs; infinite where only one of them is zero."""
    pairs = [sorted(pair) for pair in itertools.combinations(numbers, 2)]
    return [1.0 if low == high else high / low if low else float("inf") for low, high in pairs]


def table(runs: pd.DataFrame) -> str:
    """A row for each method: its numbers of edges over the seeds, and their ratios."""
    rows = []
    for method, its in runs.groupby("method", sort=False):
        row: list[object] = [method, len(its)]
        for column in ("edges", "strongest"):
            found = ratios(its[column].tolist())
            spread = f"{its[column].min():.0f} to {its[column].max():.0f}"
            row += [spread, *(f"{of(found):.2f}" if found else "" for of in (np.median, np.max))]
        rows.append(row)
    return markdown_table(COLUMNS, rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="CSV of finished runs; those that are missing are added")
    parser.add_argument("--data", help="UCI's drug_consumption.data; by default it is downloaded once")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    given = parser.parse_args(arguments)
    data = load_drug_consumption(given.data)

    def run(method: str, seed: int) -> dict[str, Any]:
        return counts(METHODS[method](seed), data.X, data.Z)

    wanted = [{"method": method, "seed": seed} for seed in range(given.seeds) for method in given.methods]
    print(table(completed(given.runs, wanted, run)))


if __name__ == "__main__":
    main()
