"""How far total effects of fitted models are from the true ones: `python -m benchmarks.effects`.

Data sets of `make_varying_dag`; a model with default parameters, and one graph for all contexts beside it. The error is the
root mean square of the difference over all pairs of variables and over new contexts, divided by the root mean square of the
true values.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag
from contextualdag.effects import total_effects
from contextualdag.estimators.base import GraphEstimator
from contextualdag.paper.outputs import markdown_table

N_NEW = 1000  # contexts that the fit has not seen
METHODS = {"default": ContextualDAG, "one graph": FixedDAG}
COLUMNS = ["rows", "model", "data set", "total effects", "weights of edges", "seconds"]


def relative_error(true: NDArray[np.float64], found: NDArray[np.float64]) -> float:
    return float(np.sqrt(((found - true) ** 2).mean() / (true**2).mean()))


def errors(model: GraphEstimator, Z: NDArray[np.float64], W: NDArray[np.float64]) -> tuple[float, float]:
    """Relative errors of total effects, and of weights, in contexts Z with the true graphs W."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # directions that the data do not tell
        found = model.total_effects(Z)
    return relative_error(total_effects(W), found), relative_error(W, model.adjacency(Z))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[316, 1000, 3162])
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--data-sets", type=int, default=2)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--unequal-noise", action="store_true", help="standard deviations from 0.5 to 2")
    given = parser.parse_args(arguments)
    scale: Any = (0.5, 2.0) if given.unequal_noise else "equal"
    rows = []
    for n in given.rows:
        for seed in range(given.data_sets):
            data = make_varying_dag(n + N_NEW, given.variables, noise_scale=scale, random_state=seed)
            for name in given.methods:
                options = {"verbose": False} if name == "default" else {}
                begin = time.perf_counter()
                model = METHODS[name](random_state=seed, **options).fit(data.X[:n], data.Z[:n])
                took = time.perf_counter() - begin
                of_effects, of_weights = errors(model, data.Z[n:], data.W[n:])
                rows.append([n, name, seed, f"{of_effects:.3f}", f"{of_weights:.3f}", f"{took:.0f}"])
                print(*rows[-1], flush=True)
    print()
    print(markdown_table(COLUMNS, rows))


if __name__ == "__main__":
    main()
