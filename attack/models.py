"""Small models that attacks are made on, fitted when they are first asked for."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contextualdag import BootstrapDAG, ClusteredDAG, ContextualDAG, FixedDAG
from contextualdag.datasets import make_varying_dag

QUICK: dict[str, Any] = {"hidden_layers": (8,), "dropout": 0.0, "max_epochs": 15, "n_budgets": 4, "verbose": False}
N_NODES = 4


@functools.cache
def tables(n: int = 120, p: int = N_NODES) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Variables and contexts: two numbers and a category."""
    data = make_varying_dag(n, n_nodes=p, n_edges=p, n_features=2, random_state=0)
    site = np.where(data.Z[:, 1] < 0, "u", "v")
    X = pd.DataFrame(data.X, columns=[f"x{k}" for k in range(p)])
    return X, pd.DataFrame({"age": data.Z[:, 0], "dose": data.Z[:, 1], "site": site})


def estimator(kind: str, seed: int = 0) -> Any:
    """An estimator that fits in a second or less."""
    if kind == "fixed":
        return FixedDAG(random_state=seed)
    if kind == "clustered":
        return ClusteredDAG(n_clusters=2, random_state=seed)
    varying = ContextualDAG(structure="varying", n_members=1, random_state=seed, **QUICK)
    return varying if kind == "varying" else BootstrapDAG(varying, n_resamples=4, n_jobs=1, verbose=False, random_state=seed)


def saved(kind: str, scratch: Path) -> Path:
    """The folder of a model; it is fitted if it is not there."""
    folder = scratch / f"model-{kind}"
    if not folder.exists():
        X, Z = tables()
        estimator(kind).fit(X, Z).save(folder)
    return folder
