"""How often `model.summary()` is right about what varies: `python -m benchmarks.variation`.

Three designs. In "half constant" half of the pairs of `make_varying_dag(reversals=False)` get the same weight in all
contexts, and X is simulated anew; "fixed" is `make_fixed_dag`, "paper" is `make_varying_dag`, where edges reverse. Graphs
are the true ones or those of fits. Counted are the pairs that have an edge both in truth and in the graphs: how many of
those that are constant, and of those that change, have a p-value of at most .05 and are said to vary. Pairs that reverse in
the graphs have no p-value and are said to vary.
"""

import argparse
import math
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from contextualdag import ContextualDAG
from contextualdag.datasets import Dataset, make_fixed_dag, make_varying_dag
from contextualdag.paper.outputs import markdown_table
from contextualdag.training.context_test import LEVEL
from contextualdag.training.data import Rows
from contextualdag.training.variation import benjamini_hochberg, edge_variation

WEIGHT = 0.6  # of the edges that are made constant
STREAM = 1  # of the random numbers that are drawn for them
COLUMNS = ["design", "graphs", "rows", "data sets", "constant edges", "p ≤ .05", "vary", "changing edges", "p ≤ .05", "vary"]


def half_constant(n: int, p: int, seed: int, degrees_of_freedom: float = math.inf, n_features: int = 2) -> Dataset:
    """Data with one order in which half of the pairs have the same weight in every context."""
    data = make_varying_dag(n, p, n_features, n_edges=round(1.2 * p), reversals=False, random_state=seed)
    rng = np.random.default_rng([seed, STREAM])
    pairs = np.argwhere((data.W != 0).any(0))
    j, k = pairs[rng.permutation(len(pairs))[: len(pairs) // 2]].T
    W = data.W.copy()
    W[:, j, k] = WEIGHT
    noise = rng.standard_normal((n, p))
    if degrees_of_freedom < math.inf:
        noise = rng.standard_t(degrees_of_freedom, (n, p))
    X: NDArray[Any] = np.linalg.solve(np.eye(p) - W.transpose(0, 2, 1), noise[:, :, None])[:, :, 0]
    return Dataset(X, data.Z, W, data.names)


DESIGNS: dict[str, Any] = {
    "half constant": half_constant,
    "half constant, t noise": lambda n, p, seed: half_constant(n, p, seed, degrees_of_freedom=3),
    "half constant, 5 features": lambda n, p, seed: half_constant(n, p, seed, n_features=5),
    "fixed": lambda n, p, seed: make_fixed_dag(n, p, weight=WEIGHT, random_state=seed),
    "paper": lambda n, p, seed: make_varying_dag(n, p, random_state=seed),
}


def of_true_graphs(data: Dataset) -> pd.DataFrame:
    """The p-values of the true graphs, as `summary` has them of fitted ones."""
    W = torch.from_numpy(data.W)
    Z = torch.from_numpy((data.Z - data.Z.mean(0)) / data.Z.std(0))
    features = {str(column): (column,) for column in range(Z.shape[1])}
    found = edge_variation(lambda rows: W[rows], Rows(torch.from_numpy(data.X), Z), features)
    names = np.array(data.names, dtype=object)
    ends = {"source": names[found.source.numpy()], "target": names[found.target.numpy()]}
    varies = benjamini_hochberg(found.p_value) | found.reverses
    return pd.DataFrame(ends | {"p_value": found.p_value.numpy(), "varies": varies.numpy()})


def judged(summary: pd.DataFrame, data: Dataset) -> NDArray[np.bool_]:
    """One row for each true pair of a summary: whether it is constant, has a small p-value (or none), is said to vary."""
    number = {name: index for index, name in enumerate(data.names)}
    joined = (data.W != 0).any(0) | (data.W != 0).any(0).T
    changes = np.ptp(data.W, axis=0) > 0
    changes |= changes.T
    rows = []
    for edge in summary.itertuples():
        j, k = number[edge.source], number[edge.target]
        if joined[j, k]:
            rejected = edge.p_value <= LEVEL or (bool(edge.varies) and math.isnan(edge.p_value))
            rows.append((not changes[j, k], rejected, bool(edge.varies)))
    return np.array(rows, dtype=bool).reshape(-1, 3)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--graphs", nargs="+", choices=["true", "fitted"], default=["true", "fitted"])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first data set")
    parser.add_argument("--data-sets", type=int, default=10)
    parser.add_argument("--members", type=int, default=3)
    given = parser.parse_args(arguments)
    rows = []
    for design in given.designs:
        for graphs in given.graphs:
            parts = []
            for seed in range(given.first, given.first + given.data_sets):
                data = DESIGNS[design](given.rows, given.variables, seed)
                if graphs == "true":
                    summary = of_true_graphs(data)
                else:
                    model = ContextualDAG(n_members=given.members, random_state=seed, verbose=False)
                    summary = model.fit(data.X, data.Z).summary()
                parts.append(judged(summary, data))
                print(design, graphs, seed, parts[-1].mean(0).round(2), flush=True)
            found = np.concatenate(parts)
            cells = []
            for chosen in (found[found[:, 0]], found[~found[:, 0]]):
                shares = [f"{100 * share:.1f} %" for share in chosen[:, 1:].mean(0)] if len(chosen) else ["", ""]
                cells += [len(chosen), *shares]
            rows.append([design, graphs, given.rows, given.data_sets, *cells])
    print()
    print(markdown_table(COLUMNS, rows))


if __name__ == "__main__":
    main()
