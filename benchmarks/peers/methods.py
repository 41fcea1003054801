"""The methods of the comparison: from data to graphs of the test contexts."""

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
from numpy.typing import ArrayLike, NDArray

from benchmarks.peers.environment import CONTEXTUALIZED, GCASTLE, Environment, make_environment
from contextualdag.datasets import Dataset
from contextualdag.errors import InvalidInputError, SweepError
from contextualdag.estimators import ContextualDAG
from contextualdag.paper.recovery import within_path

Array = NDArray[np.float64]
DAGMA_THRESHOLD = 0.3  # the package's default, which we apply ourselves, to have the weights before it too
SCRIPT = Path(__file__).with_name("peer_script.py")
# The penalties of the paper (Ng, Ghassami and Zhang, 2020), in which GOLEM-NV starts from the solution for equal variances.
# Paper and package take 100,000 iterations for each of the two, together three minutes for p=20 and n=1000. On these data
# the objective no longer moves after 10,000, or 20,000 where units differ: Adam's steps do not grow with the weights.
GOLEM_STAGES = (
    {"equal_variances": True, "lambda_1": 2e-2, "lambda_2": 5.0, "num_iter": 30_000},
    {"equal_variances": False, "lambda_1": 2e-3, "lambda_2": 5.0, "num_iter": 30_000},
)


@dataclass(frozen=True)
class Problem:
    """One data set in three parts, the mean number of edges in the second, and how to compute.

    Methods may use `validation` to stop early or to select; it also gives the true number of edges.
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
    """Test graphs by default, and with the number of edges given; seconds to fit, and seconds for the test graphs."""

    default: Array
    given: Array
    fit_seconds: float
    graph_seconds: float


def threshold_for(weights: Array, n_edges: float) -> float:
    """The threshold on absolute weights that leaves a mean number of edges.

    Parameters
    ----------
    weights : array of shape (n, p, p)
        Weights of the graphs.
    n_edges : float
        Mean number of edges. The nearest possible one is taken, the smaller of two.

    Returns
    -------
    float
        Zero, or the absolute value of one of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.peers.methods import threshold_for
    >>> threshold_for(np.array([[[0, 0.5], [-0.2, 0]], [[0, 0.9], [0, 0]]]), n_edges=1.0)
    0.2
    """
    sizes, counts = np.unique(np.abs(weights), return_counts=True)
    if sizes[0] > 0:
        sizes, counts = np.insert(sizes, 0, 0.0), np.insert(counts, 0, 0)
    above = counts[::-1].cumsum()[::-1] - counts  # number of larger weights
    # From the largest size down, so that the sparser of two equally near ones comes first.
    nearest = int(np.argmin(np.abs(above[::-1] / len(weights) - n_edges)))
    return float(sizes[::-1][nearest])


def sort_and_regress(X: ArrayLike) -> Array:
    """One graph for all samples: sort the variables by variance and regress each on those before it.

    Reisach, Seiler and Weichwald, "Beware of the simulated DAG!" (2021), call it sortnregress. In many simulated data sets
    the variance grows along the edges, and then it does as well as methods that learn. The regression is an adaptive lasso
    selected by BIC, with the coefficients of least squares as its weights.

    Parameters
    ----------
    X : array of shape (n, p)
        Variables; rows are samples. There must be more rows than columns, since BIC needs the noise variance.

    Returns
    -------
    array of shape (p, p)
        Weights of a DAG; entry (j, k) is the effect of variable j on k.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.peers.methods import sort_and_regress
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3))
    >>> X[:, 0] += 2 * X[:, 2]
    >>> sort_and_regress(X).round(1)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [2., 0., 0.]])
    """
    from sklearn.linear_model import LassoLarsIC, LinearRegression

    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) <= X.shape[1] or not np.isfinite(X).all():
        raise InvalidInputError(
            f"X must be a table of finite numbers with more rows than columns. Got shape {X.shape}"
            + ("." if np.isfinite(X).all() else " with NaN or infinity.")
        )
    W = np.zeros((X.shape[1], X.shape[1]))
    order = np.argsort(X.var(0), kind="stable")
    for position in range(1, len(order)):
        before, target = order[:position], order[position]
        scale = np.abs(LinearRegression().fit(X[:, before], X[:, target]).coef_)
        lasso = LassoLarsIC(criterion="bic").fit(X[:, before] * scale, X[:, target])
        W[before, target] = lasso.coef_ * scale
    return W


def _cut(weights: Array, threshold: float) -> Array:
    return np.where(np.abs(weights) > threshold, weights, 0.0)


def _ours(problem: Problem) -> Answer:
    train, validation, Z = problem.train, problem.validation, problem.test.Z
    start = time.perf_counter()
    model = ContextualDAG(missing="impute", random_state=problem.seed, device=problem.device, verbose=False)
    model.fit(train.X, train.Z, validation.X, validation.Z)
    fitted = time.perf_counter()
    default = model.adjacency(Z)
    seconds = time.perf_counter() - fitted
    given = model.select(n_edges=within_path(model, problem.n_edges)).adjacency(Z)
    return Answer(default, given, fitted - start, seconds)


def _dagma(problem: Problem) -> Answer:
    try:
        linear = importlib.import_module("dagma.linear")
    except ImportError as error:
        raise ImportError("The package dagma is not installed. Try: pip install dagma") from error
    start = time.perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):  # it always shows a progress bar
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
    """The answer of a method that ignores the context."""
    given = _cut(weights, threshold_for(weights[None], problem.n_edges))
    copies = (len(problem.test), 1, 1)
    return Answer(np.tile(default, copies), np.tile(given, copies), seconds, 0.0)


def _contextualized(problem: Problem) -> Answer:
    return _contextualized_with(problem, {}, {})


def _contextualized_tuned(problem: Problem) -> Answer:
    # The best of seven settings on one data set with n=1000, p=20, m=2.
    return _contextualized_with(problem, {"sample_specific_l1": 0.01}, {"train_batch_size": 16, "es_patience": 10})


def _contextualized_with(problem: Problem, model: dict[str, Any], fit: dict[str, Any]) -> Answer:
    train, validation = problem.train, problem.validation
    # It takes no validation set and splits its data at random; with both sets, the halves have the same size.
    fit = {"val_split": 0.5} | fit
    if problem.device == "cpu":
        fit["accelerator"] = "cpu"
    X, Z = np.concatenate([train.X, validation.X]), np.concatenate([train.Z, validation.Z])
    data = {"X": X, "Z": Z, "Z_validation": validation.Z, "Z_test": problem.test.Z}
    found = _run_script("contextualized", CONTEXTUALIZED, problem, data, {"model": model, "fit": fit})
    test, at_validation = (found[part].astype(np.float64) for part in ("test", "validation"))
    given = _cut(test, threshold_for(at_validation, problem.n_edges))
    return Answer(test, given, float(found["fit_seconds"]), float(found["graph_seconds"]))


def _golem_nv(problem: Problem) -> Answer:
    found = _run_script("golem", GCASTLE, problem, {"X": problem.train.X}, {"stages": GOLEM_STAGES})
    weights = found["weights"].astype(np.float64)
    if not np.isfinite(weights).all():
        raise SweepError("The weights of GOLEM-NV are not finite.")
    return _one_for_all(problem, np.where(found["edges"] != 0, weights, 0.0), weights, float(found["fit_seconds"]))


def _run_script(
    package: str, environment: Environment, problem: Problem, data: dict[str, Array], settings: dict[str, Any]
) -> dict[str, Any]:
    """What the script answers, run in an environment in a process of its own."""
    python = make_environment(problem.cache, environment)
    settings = {"seed": problem.seed, "threads": problem.threads} | settings
    # contextualized-ml writes checkpoints and logs into the current folder.
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "data.npz", Path(name) / "answer.npz"
        np.savez(source, **data)  # type: ignore[arg-type]  # numpy has an option allow_pickle among the names
        command = [str(python.absolute()), "-I", str(SCRIPT), package, str(source), str(target), json.dumps(settings)]
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
            lines = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise SweepError(f"{environment.name} failed with status {done.returncode}. Its last lines:\n{lines}")
        with np.load(target, allow_pickle=False) as answer:
            return dict(answer)


SOLVERS: dict[str, Callable[[Problem], Answer]] = {
    "ours": _ours,
    "contextualized": _contextualized,
    "contextualized-tuned": _contextualized_tuned,
    "dagma": _dagma,
    "golem-nv": _golem_nv,
    "naive": _naive,
}
