"""How often a context that does not matter is said to matter: `python -m benchmarks.null_contexts runs.csv page.md`.

Contexts are drawn at random or permuted among rows, so that nothing depends on them. Counted are p-values of
`context_test_` of at most .05 and models whose graphs vary. P-values should be uniform: the last column is the p-value of a
Kolmogorov-Smirnov test of that, in which steps of .005 count as ties. Finished runs are kept in the CSV, and
the page is written from it.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kstest

from benchmarks.runs import completed
from contextualdag import ContextualDAG
from contextualdag.datasets import load_drug_consumption, load_sachs, make_fixed_dag
from contextualdag.paper.outputs import markdown_table, write_page
from contextualdag.training.context_test import LEVEL, N_PERMUTATIONS
from contextualdag.training.structure import CONSTANT

N_CELLS, N_SIMULATED = 3000, 300
TITLE = "# Contexts that do not matter"
COLUMNS = ["data", "runs", "p ≤ .05", "graphs vary", "uniform, p"]

Tables = tuple[Any, Any]


@dataclass(frozen=True)
class Files:
    """Where data are that do not come with the package; None where their loaders know it."""

    sachs: Path | None = None
    drugs: Path | None = None


NO_FILES = Files()


def _sachs(rng: np.random.Generator, files: Files) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells, standardised within their condition."""
    data = load_sachs(files.sachs)
    by_condition = data.X.groupby(data.condition["condition"], observed=True)
    X = (data.X - by_condition.transform("mean")) / by_condition.transform("std")
    rows = rng.permutation(len(X))[:N_CELLS]
    return X.iloc[rows].reset_index(drop=True), data.condition.iloc[rows].reset_index(drop=True)


def sachs_uniform(rng: np.random.Generator, files: Files) -> Tables:
    X, _ = _sachs(rng, files)
    return X, pd.DataFrame({"uniform": rng.random(len(X))})


def sachs_shuffled(rng: np.random.Generator, files: Files) -> Tables:
    X, condition = _sachs(rng, files)
    return X, _shuffled(condition, rng)


def diabetes(rng: np.random.Generator, files: Files) -> Tables:
    from sklearn.datasets import load_diabetes

    X = load_diabetes(as_frame=True, scaled=False).frame.drop(columns=["age", "sex"])
    return X, pd.DataFrame(rng.standard_normal((len(X), 2)), columns=["first", "second"])


def drugs(rng: np.random.Generator, files: Files) -> Tables:
    data = load_drug_consumption(files.drugs)
    return data.X, _shuffled(data.Z, rng)


def fixed(rng: np.random.Generator, files: Files, **options: Any) -> Tables:
    data = make_fixed_dag(N_SIMULATED, 10, 2, random_state=rng, **options)
    return data.X, data.Z


def fixed_unequal(rng: np.random.Generator, files: Files) -> Tables:
    return fixed(rng, files, noise_scale=(0.5, 2.0))


def fixed_heavy_tails(rng: np.random.Generator, files: Files) -> Tables:
    return fixed(rng, files, degrees_of_freedom=3.0)


DATA: dict[str, Callable[[np.random.Generator, Files], Tables]] = {
    "proteins, uniform context": sachs_uniform,
    "proteins, shuffled conditions": sachs_shuffled,
    "diabetes, normal contexts": diabetes,
    "drugs, shuffled scores": drugs,
    "one graph": fixed,
    "one graph, unequal noise": fixed_unequal,
    "one graph, t noise": fixed_heavy_tails,
}


def run(name: str, seed: int, files: Files = NO_FILES, **settings: Any) -> dict[str, Any]:
    """Fit one of the data sets; the seed draws rows and contexts, too."""
    X, Z = DATA[name](np.random.default_rng(seed), files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # remarks on the tables
        model = ContextualDAG(random_state=seed, verbose=False, **settings).fit(X, Z)
    test = model.context_test_
    return {
        "p_value": None if test is None else test.p_value,
        "structure": model.structure_,
    }


def table(runs: pd.DataFrame) -> str:
    """One line for each data set."""
    lines = []
    for name in [name for name in DATA if name in set(runs["data"])]:
        its = runs[runs["data"] == name]
        rejected, varies = (its["p_value"] <= LEVEL).mean(), (its["structure"] != CONSTANT).mean()
        lines.append(
            [name, len(its), f"{100 * rejected:.0f} %", f"{100 * varies:.0f} %", f"{uniformity(its['p_value']):.2f}"]
        )
    return markdown_table(COLUMNS, lines)


def uniformity(p_values: "pd.Series[float]") -> float:
    """The p-value of a Kolmogorov-Smirnov test that p-values of permutation tests are uniform on their steps."""
    spread = np.random.default_rng(0).random(len(p_values)) / (N_PERMUTATIONS + 1)
    return float(kstest(p_values - spread, "uniform").pvalue)


def _shuffled(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="CSV of finished runs; those that are missing are added")
    parser.add_argument("page", type=Path, nargs="?", help="page to write; its text before the table is kept")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sachs", type=Path, help="cyto_full_data.csv of cdt, or its folder; by default the installed cdt")
    parser.add_argument("--drugs", type=Path, help="drug_consumption.data of UCI; downloaded by default")
    given = parser.parse_args(arguments)
    files = Files(given.sachs, given.drugs)
    wanted = [{"data": name, "seed": seed} for name in given.data for seed in range(given.seeds)]
    found = table(completed(given.runs, wanted, lambda data, seed: run(data, seed, files)))
    print(found)
    if given.page is not None:
        page = given.page
        intro = page.read_text(encoding="utf-8").split("\n| data |")[0].rstrip() if page.exists() else TITLE
        write_page(page, [intro, found])


if __name__ == "__main__":
    main()
