"""The paper's first figure: five variables whose graph turns with two context features. What is learned goes to a folder."""

import io
import os
import shutil
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contextualdag.datasets import Dataset, make_varying_dag
from contextualdag.errors import PersistenceError
from contextualdag.estimators import ContextualDAG, FixedDAG
from contextualdag.files import write_file

if TYPE_CHECKING:
    import pandas

N_NODES, N_FEATURES, N_EDGES = 5, 2, 6
N_SAMPLES, QUICK_SAMPLES, N_CONTEXTS = 10_000, 1000, 10_000
VERSION = 1


@dataclass(frozen=True)
class Learned:
    """A model, the data that it is fitted to, and other data of the same design to judge it by."""

    model: ContextualDAG
    train: Dataset
    test: Dataset
    graphs: np.ndarray
    seconds: float


@dataclass(frozen=True)
class Illustration:
    """Graphs of contexts that no model has seen: the true ones, those of a contextual and that of a fixed model."""

    names: tuple[str, ...]
    n_samples: int
    Z: np.ndarray
    truth: np.ndarray
    contextual: np.ndarray
    fixed: np.ndarray


def learn(
    n_samples: int,
    n_contexts: int,
    seed: int = 0,
    *,
    device: str = "auto",
    verbose: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Learned:
    """Simulate, fit, and predict the graphs of new contexts."""
    data = make_varying_dag(n_samples + n_contexts, N_NODES, N_FEATURES, n_edges=N_EDGES, random_state=seed)
    train, test = data[:n_samples], data[n_samples:]
    start = time.perf_counter()
    # With so many samples one network is good enough, and quicker than the default.
    model = ContextualDAG(n_members=1, random_state=seed, device=device, verbose=verbose)
    model.fit(train.X, train.Z, checkpoint=checkpoint)
    seconds = time.perf_counter() - start
    return Learned(model, train, test, model.adjacency(test.Z), seconds)


def run_illustration(
    folder: str | os.PathLike[str], *, quick: bool = False, device: str = "auto", random_state: int = 0, verbose: bool = True
) -> Path:
    """Fit the models of the first figure and keep them and their graphs in a folder. A folder that has them is left alone.

    Parameters
    ----------
    folder : path
        Gets ``graphs.npz``, all that the figure needs, and the fitted models.
    quick : bool, default=False
        1000 samples instead of 10 000.
    device : str, default="auto"
        Where to fit.
    random_state : int, default=0
        Of the data and of the fits.
    verbose : bool, default=True
        A progress bar on a terminal.

    Returns
    -------
    Path
        ``graphs.npz``.
    """
    folder = Path(folder)
    file = folder / "graphs.npz"
    if file.exists():
        load_illustration(folder)
        return file
    n_samples = QUICK_SAMPLES if quick else N_SAMPLES
    checkpoint = folder / "checkpoint"
    found = learn(n_samples, N_CONTEXTS, random_state, device=device, verbose=verbose, checkpoint=checkpoint)
    fixed = FixedDAG(random_state=random_state, device=device).fit(found.train.X)
    found.model.save(folder / "contextual")
    fixed.save(folder / "fixed")
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        version=VERSION,
        names=np.array(found.model.names_),
        n_samples=n_samples,
        Z=found.test.Z,
        truth=found.test.W,
        contextual=found.graphs,
        fixed=fixed.graph_,
    )
    write_file(file, buffer.getvalue())
    shutil.rmtree(checkpoint, ignore_errors=True)
    return file


def load_illustration(folder: str | os.PathLike[str]) -> Illustration:
    """Read what `run_illustration` keeps."""
    file = Path(folder) / "graphs.npz"
    try:
        # From memory, since NumPy leaves a file open that it cannot read.
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored:
            arrays = dict(stored)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise PersistenceError(f"{file} cannot be read ({error}); delete it to fit again.") from error
    expected = {"version", "names", "n_samples", "Z", "truth", "contextual", "fixed"}
    if arrays.keys() != expected or int(arrays["version"]) != VERSION:
        raise PersistenceError(f"{file} is of another version of contextualdag; delete it to fit again.")
    names = tuple(str(name) for name in arrays["names"])
    graphs = (arrays["truth"], arrays["contextual"], arrays["fixed"])
    return Illustration(names, int(arrays["n_samples"]), arrays["Z"], *graphs)


def edge_table(names: tuple[str, ...] | list[str], graphs: Mapping[str, np.ndarray]) -> "pandas.DataFrame":
    """Every edge that some of the graphs has, with its weight in each: source, target and one column for each graph."""
    import pandas as pd

    anywhere = np.any([W != 0 for W in graphs.values()], axis=0)
    rows = [
        {"source": names[j], "target": names[k], **{kind: float(W[j, k]) for kind, W in graphs.items()}}
        for j, k in zip(*np.nonzero(anywhere), strict=True)
    ]
    return pd.DataFrame(rows, columns=["source", "target", *graphs])
