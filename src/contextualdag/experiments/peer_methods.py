"""The methods of the comparison with other packages: data in, graphs for the test contexts out."""

import contextlib
import importlib
import io
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextualdag.datasets import Dataset
from contextualdag.errors import SweepError
from contextualdag.estimators import ContextualDAG
from contextualdag.experiments.naive import sort_and_regress
from contextualdag.experiments.peer_environment import make_environment
from contextualdag.experiments.run import within_path

Array = NDArray[np.float64]
DAGMA_THRESHOLD = 0.3  # the package's default, which we apply ourselves, to have the weights before it as well
SCRIPT = Path(__file__).with_name("contextualized_script.py")


@dataclass(frozen=True)
class Problem:
    """One data set in three parts, the mean number of edges in the second, and how to compute.

    `validation` is for methods that stop or choose by it or hold out rows of both, and for telling the number of edges.
    """

    train: Dataset
    validation: Dataset
    test: Dataset
    n_edges: float
    seed: int
    device: str
    threads: int | None
    cache: Path


@dataclass(frozen=True)
class Answer:
    """Test graphs as the method gives them, and with the true number of edges; seconds to fit, and for the test graphs."""

    default: Array
    told: Array
    fit_seconds: float
    graph_seconds: float


def threshold_for(weights: Array, n_edges: float) -> float:
    """The threshold that leaves a mean number of edges: those with larger absolute weights.

    Parameters
    ----------
    weights : array of shape (n, p, p)
        Graphs.
    n_edges : float
        The wanted mean number of edges. The nearest that can be had is taken, the smaller one of two.

    Returns
    -------
    float
        Zero, or the absolute value of one of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from contextualdag.experiments.peer_methods import threshold_for
    >>> threshold_for(np.array([[[0, 0.5], [-0.2, 0]], [[0, 0.9], [0, 0]]]), n_edges=1.0)
    0.2
    """
    sizes, counts = np.unique(np.abs(weights), return_counts=True)
    if sizes[0] > 0:
        sizes, counts = np.insert(sizes, 0, 0.0), np.insert(counts, 0, 0)
    above = counts[::-1].cumsum()[::-1] - counts  # how many are larger than each size
    # From the largest size down, so that of two that are equally near the sparser one comes first.
    nearest = int(np.argmin(np.abs(above[::-1] / len(weights) - n_edges)))
    return float(sizes[::-1][nearest])


def _cut(weights: Array, threshold: float) -> Array:
    return np.where(np.abs(weights) > threshold, weights, 0.0)


def _ours(problem: Problem) -> Answer:
    train, validation, Z = problem.train, problem.validation, problem.test.Z
    start = time.perf_counter()
    model = ContextualDAG(random_state=problem.seed, device=problem.device, verbose=False)
    model.fit(train.X, train.Z, validation.X, validation.Z)
    fitted = time.perf_counter()
    default = model.adjacency(Z)
    seconds = time.perf_counter() - fitted
    told = model.select(n_edges=within_path(model, problem.n_edges)).adjacency(Z)
    return Answer(default, told, fitted - start, seconds)


def _dagma(problem: Problem) -> Answer:
    try:
        linear = importlib.import_module("dagma.linear")
    except ImportError as error:
        raise ImportError("The package dagma is not installed. Try: pip install dagma") from error
    start = time.perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):  # it always draws a progress bar
        # A copy, which the package centres in place.
        weights = linear.DagmaLinear(loss_type="l2").fit(problem.train.X.copy(), w_threshold=0.0)
    seconds = time.perf_counter() - start
    np.fill_diagonal(weights, 0.0)
    default = np.where(np.abs(weights) < DAGMA_THRESHOLD, 0.0, weights)
    return _one_for_all(problem, default, weights, seconds)


def _naive(problem: Problem) -> Answer:
    start = time.perf_counter()
    weights = sort_and_regress(problem.train.X)
    return _one_for_all(problem, weights, weights, time.perf_counter() - start)


def _one_for_all(problem: Problem, default: Array, weights: Array, seconds: float) -> Answer:
    """The answer of a method that knows no context."""
    told = _cut(weights, threshold_for(weights[None], problem.n_edges))
    copies = (len(problem.test), 1, 1)
    return Answer(np.tile(default, copies), np.tile(told, copies), seconds, 0.0)


def _contextualized(problem: Problem) -> Answer:
    return _contextualized_with(problem, {}, {})


def _contextualized_tuned(problem: Problem) -> Answer:
    # The best of seven settings that were tried on one data set with n=1000, p=20, m=2.
    return _contextualized_with(problem, {"sample_specific_l1": 0.01}, {"train_batch_size": 16, "es_patience": 10})


def _contextualized_with(problem: Problem, model: dict[str, Any], fit: dict[str, Any]) -> Answer:
    python = make_environment(problem.cache)
    train, validation = problem.train, problem.validation
    # It takes no validation set, and splits its data at random: with both sets, the halves are of the same size.
    fit = {"val_split": 0.5} | fit
    if problem.device == "cpu":
        fit["accelerator"] = "cpu"
    settings = {"seed": problem.seed, "threads": problem.threads, "model": model, "fit": fit}
    # It writes checkpoints and logs into the current folder.
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "data.npz", Path(name) / "graphs.npz"
        X, Z = np.concatenate([train.X, validation.X]), np.concatenate([train.Z, validation.Z])
        np.savez(source, X=X, Z=Z, Z_validation=validation.Z, Z_test=problem.test.Z)
        command = [str(python.absolute()), "-I", str(SCRIPT), str(source), str(target), json.dumps(settings)]
        threads = {} if problem.threads is None else {"OMP_NUM_THREADS": str(problem.threads)}
        done = subprocess.run(  # noqa: S603
            command,
            cwd=name,
            env=os.environ | threads,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise SweepError(f"contextualized-ml failed with status {done.returncode}. Its last words:\n{said}")
        with np.load(target, allow_pickle=False) as graphs:
            test, at_validation = (graphs[part].astype(np.float64) for part in ("test", "validation"))
            fit_seconds, graph_seconds = float(graphs["fit_seconds"]), float(graphs["graph_seconds"])
    told = _cut(test, threshold_for(at_validation, problem.n_edges))
    return Answer(test, told, fit_seconds, graph_seconds)


SOLVERS: dict[str, Callable[[Problem], Answer]] = {
    "ours": _ours,
    "contextualized": _contextualized,
    "contextualized-tuned": _contextualized_tuned,
    "dagma": _dagma,
    "naive": _naive,
}
