"""Fits to real data sets, against what is known about them: `python -m benchmarks.real results/real.md`.

Settings were fixed before anything was compared: defaults, logarithms and the condition as context for the protein data.
What is written before the tables in the file stays.
"""

import argparse
import contextlib
import importlib
import io
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextualdag import ContextualDAG, FixedDAG
from contextualdag.datasets import load_actg175, load_sachs, load_weather
from contextualdag.paper.outputs import markdown_table

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

TABLES = "## Protein signalling"
DAGMA_THRESHOLD = 0.3  # the package's default
SACHS_COLUMNS = (
    *("method", "seed", "structure", "pairs", "precision", "recall", "SHD", "directions right", "directions left open"),
    *("held out", "seconds"),
)
OTHER_COLUMNS = ("data set", "rows", "variables", "context", "structure", "pairs", "p of the context", "held out", "seconds")


def as_graph(edges: Iterable[tuple[str, str]], names: Sequence[str]) -> Flags:
    """Flags of shape (p, p) of edges given by name."""
    graph = np.zeros((len(names), len(names)), dtype=bool)
    for source, target in edges:
        graph[names.index(source), names.index(target)] = True
    return graph


def against(consensus: Flags, graphs: Flags) -> dict[str, float]:
    """How graphs (n, p, p) compare with the consensus (p, p), which may have cycles but no pair in both directions.

    Precision and recall are of pairs, whatever their direction; the distance counts pairs that are missing, superfluous or
    reversed. All are means over the graphs. `shared` and `right` count the pairs in both, and those of the same direction.
    """
    upper = np.triu(np.ones(consensus.shape, dtype=bool), 1)
    known = (consensus | consensus.T) & upper
    found = (graphs | graphs.transpose(0, 2, 1)) & upper
    shared = (found & known).sum((1, 2))
    right = (graphs & consensus).sum((1, 2))
    pairs = found.sum((1, 2))
    distance = (found != known).sum((1, 2)) + shared - right
    return {
        "pairs": float(pairs.mean()),
        "precision": float((shared / np.maximum(pairs, 1)).mean()),
        "recall": float((shared / known.sum()).mean()),
        "distance": float(distance.mean()),
        "shared": float(shared.mean()),
        "right": float(right.mean()),
    }


def dagma(X: Array) -> Array:
    """The graph of the package dagma, with its defaults."""
    linear = importlib.import_module("dagma.linear")
    with contextlib.redirect_stderr(io.StringIO()):  # it always shows a progress bar
        weights: Array = linear.DagmaLinear(loss_type="l2").fit(X.copy(), w_threshold=DAGMA_THRESHOLD)
    return weights


def fit(model: Any, *tables: Any) -> tuple[Any, float]:
    """A fitted model and the seconds that it took."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # remarks on the data, which the page makes in words
        model.fit(*tables)
    return model, time.perf_counter() - begin


def sachs_rows(path: str | None, n_rows: int, seeds: Iterable[int]) -> list[list[object]]:
    """One row for each method and seed; the seed draws the rows, too."""
    data = load_sachs(path)
    consensus = as_graph(data.consensus, list(data.X))
    table: list[list[object]] = []
    for seed in seeds:
        drawn = np.sort(np.random.default_rng(seed).permutation(len(data.X))[:n_rows])
        X, Z = data.X.iloc[drawn], data.condition.iloc[drawn]
        models = {
            "ContextualDAG": (ContextualDAG(random_state=seed, verbose=False), (X, Z)),
            "FixedDAG, means by condition": (FixedDAG(random_state=seed), (X, Z)),
            "FixedDAG, pooled": (FixedDAG(random_state=seed), (X,)),
        }
        for name, (model, tables) in models.items():
            model, seconds = fit(model, *tables)
            W = model.adjacency(Z if len(tables) > 1 else np.empty((1, 0)))
            table.append(_sachs_row(name, seed, model, consensus, W, seconds))
        centred = X - X.groupby(Z["condition"], observed=True).transform("mean")
        for name, values in {"dagma, centred by condition": centred, "dagma, pooled": X}.items():
            begin = time.perf_counter()
            weights = dagma(values.to_numpy())
            table.append(_sachs_row(name, seed, None, consensus, weights[None], time.perf_counter() - begin))
        for row in table[-5:]:
            print(*row, sep=" | ", flush=True)
    return table


def _sachs_row(method: str, seed: int, model: Any, consensus: Flags, W: Array, seconds: float) -> list[object]:
    scores = against(consensus, W != 0)
    return [
        method,
        seed,
        getattr(model, "structure_", "one graph"),
        f"{scores['pairs']:.1f}",
        f"{scores['precision']:.2f}",
        f"{scores['recall']:.2f}",
        f"{scores['distance']:.1f}",
        f"{scores['right']:.1f} of {scores['shared']:.1f}",
        "" if model is None else len(model.undirected_edges_),
        "" if model is None else f"{model.held_out_score_:.3f}",
        f"{seconds:.0f}",
    ]


def cyclic_context(Z: Any) -> Any:
    """The context of the weather with sine and cosine of month and hour, so that the last meets the first."""
    turns = {"month": (Z["month"] - 1) / 12, "hour": Z["hour"] / 24}
    waves = {f"{wave.__name__} {name}": wave(2 * np.pi * turn) for name, turn in turns.items() for wave in (np.sin, np.cos)}
    return Z[["origin"]].assign(**waves)


def other_rows(n_rows: int) -> list[list[object]]:
    """One row for each of the other data sets, with defaults."""
    from sklearn.datasets import load_diabetes

    weather, trial = load_weather(), load_actg175()
    drawn = np.sort(np.random.default_rng(0).permutation(len(weather.X))[:n_rows])
    diabetes = load_diabetes(as_frame=True, scaled=False).frame
    sets: dict[str, tuple[Any, Any, str, dict[str, Any]]] = {
        "weather, without humid": (
            weather.X.drop(columns="humid").iloc[drawn],
            cyclic_context(weather.Z).iloc[drawn],
            "airport, month, hour",
            {},
        ),
        "ACTG 175, square roots": (np.sqrt(trial.X), trial.Z, "arm, age", {"tiers": trial.tiers}),
        "diabetes": (diabetes.drop(columns=["age", "sex"]), diabetes[["age", "sex"]], "age, sex", {}),
    }
    table: list[list[object]] = []
    for name, (X, Z, context, options) in sets.items():
        model, seconds = fit(ContextualDAG(random_state=0, verbose=False, **options), X, Z)
        pairs = (model.adjacency(Z) != 0).sum((1, 2)).mean()
        test = model.context_test_
        row = [name, len(X), X.shape[1], context, model.structure_, f"{pairs:.1f}"]
        table.append([*row, "" if test is None else f"{test.p_value:.3f}", f"{model.held_out_score_:.3f}", f"{seconds:.0f}"])
        print(*table[-1], sep=" | ", flush=True)
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sachs", help="cyto_full_data.csv of cdt, or its folder; by default the installed cdt is used")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args(arguments)
    proteins = markdown_table(SACHS_COLUMNS, sachs_rows(given.sachs, given.rows, range(given.seeds)))
    others = markdown_table(OTHER_COLUMNS, other_rows(given.rows))
    words = given.out.read_text().split(TABLES)[0].rstrip() if given.out.exists() else "# Real data"
    given.out.write_text(f"{words}\n\n{TABLES}\n\n{proteins}\n\n## Other data sets\n\n{others}\n")


if __name__ == "__main__":
    main()
