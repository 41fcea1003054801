"""The methods of the comparison: the naive baseline, thresholds, and the packages with environments of their own."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import methods, peer_script
from benchmarks.peers.comparison import run_peer_cell
from benchmarks.peers.methods import sort_and_regress, threshold_for
from contextualdag.errors import InvalidInputError, SweepError

pytestmark = pytest.mark.long

SMALL = {"design": "varying", "graph": "erdos-renyi", "n": 120, "p": 5, "m": 2, "data_set": 0}


def orthogonal(n, p, seed):
    """Columns of mean zero and variance one that are exactly orthogonal."""
    raw = np.random.default_rng(seed).standard_normal((n, p + 1))
    raw[:, 0] = 1
    return np.linalg.qr(raw)[0][:, 1:] * n**0.5


def test_naive_baseline_against_all_steps_of_the_lasso():
    # On orthogonal columns with coefficients b, the adaptive lasso at penalty t is max(1 - t / b^2, 0) b.
    n, b = 200, np.array([0.9, -0.5, 0.2, 0.05])
    columns = orthogonal(n, 5, seed=0)
    x, noise = columns[:, :4] * 0.5, columns[:, 4]
    y = x @ b + noise
    variance = np.sum(noise**2) / (n - 5)  # that of least squares, on four variables and a mean
    best = (np.inf, None)
    for t in [*(b**2), 0.0]:
        w = np.maximum(1 - t / b**2, 0) * b
        bic = np.sum((y - x @ w) ** 2) / variance + np.log(n) * np.sum(w != 0)
        best = min(best, (bic, tuple(w)))
    W = sort_and_regress(np.column_stack([y, x]))
    assert W[1:, 0] == pytest.approx(best[1])
    assert 0 < np.count_nonzero(W) < 4
    assert not W[:, 1:].any()


def test_naive_baseline_goes_by_variance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    X[:, 1] += X[:, 2]
    X[:, 0] += X[:, 1]
    W = sort_and_regress(X)
    assert (W != 0).tolist() == [[False, False, False], [True, False, False], [False, True, False]]
    reversed_ = sort_and_regress(X * [0.01, 1, 100])
    assert (reversed_ != 0).tolist() == [[False, True, False], [False, False, True], [False, False, False]]


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((3, 3)), np.full((9, 2), np.nan)])
def test_naive_baseline_refuses_what_it_cannot_sort(X):
    with pytest.raises(InvalidInputError, match="more rows than columns"):
        sort_and_regress(X)


@pytest.mark.parametrize("n_edges", [0.0, 0.4, 1.0, 2.6, 7.0, 50.0])
def test_threshold_leaves_the_nearest_number_of_edges(n_edges):
    weights = np.random.default_rng(0).integers(-4, 5, size=(3, 4, 4)) / 4
    means = [np.mean([np.sum(np.abs(w) > t) for w in weights]) for t in np.arange(0, 1.01, 0.25)]
    threshold = threshold_for(weights, n_edges)
    found = np.sum(np.abs(weights) > threshold) / 3
    assert abs(found - n_edges) == pytest.approx(min(abs(mean - n_edges) for mean in means))


def test_threshold_of_two_that_are_equally_near_is_the_sparser():
    assert threshold_for(np.array([[[0, 3.0], [2.0, 0]]]), 1.5) == 2.0
    assert threshold_for(np.array([[[1.0, 3.0], [2.0, 4.0]]]), 4.0) == 0.0


@pytest.mark.parametrize("method", ["ours", "dagma", "naive"])
def test_methods_answer_in_rows(method, tmp_path, capsys):
    if method == "dagma":
        pytest.importorskip("dagma", reason="dagma is not installed")
    cell = SMALL | {"method": method, "variant": "mean-shift"}
    default, given = run_peer_cell(cell, tmp_path, device="cpu")
    assert [default["choice"], given["choice"]] == ["default", "given"]
    assert default["acyclic"] == 1
    assert given["n_edges"] == pytest.approx(5, abs=1.5)
    assert default["fit_seconds"] > 0
    assert {"f1", "shd", "estimation_error", "graph_seconds"} <= set(given)
    assert capsys.readouterr() == ("", "")


# Stand-ins for the packages, whose graphs are known.
CONTEXTUALIZED = """
import numpy as np
class ContextualizedBayesianNetworks:
    def __init__(self, **settings):
        self.settings = settings
    def fit(self, C, X, **settings):
        if len(C) != len(X) or settings["val_split"] != 0.5 or settings["accelerator"] != "cpu":
            raise ValueError("not what was agreed")
        self.p = X.shape[1]
    def predict_networks(self, C):
        W = np.triu(np.ones((len(C), self.p, self.p), dtype=np.float32), 1) * 0.1
        W[:, 0, 1:] = 0.2 + np.arange(self.p - 1) + self.settings["sample_specific_l1"]
        return W
"""
GOLEM = """
import numpy as np
class GOLEM:
    def __init__(self, *, B_init, equal_variances, lambda_1, lambda_2, num_iter):
        if (B_init is None) != equal_variances or (lambda_1, lambda_2) != (0.02 if equal_variances else 0.002, 5.0):
            raise ValueError("not what was agreed")
        self.first = B_init
    def learn(self, X):
        if abs(X.mean(0)).max() > 1e-9:
            raise ValueError("X is not centred")
        W = np.triu(np.full((X.shape[1],) * 2, 0.1, dtype=np.float32), 1)
        if self.first is not None:
            if self.first.dtype != np.float32 or not (self.first == W).all():
                raise ValueError("not the weights of the first stage")
            W[0, 1:] = [-0.7, 0.6, 0.25, 0.2]
            W[1, 0] = 0.5
        self.weight_causal_matrix = W
        self.causal_matrix = np.triu(np.abs(W) > 0.3, 1).astype(int)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """An interpreter that has modules `contextualized.easy` and `castle.algorithms` of ours, in the folder given back."""
    for package, module, content in (("contextualized", "easy", CONTEXTUALIZED), ("castle", "algorithms", GOLEM)):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / f"{module}.py").write_text(content)
    python = tmp_path / "python"
    # Without -I, which would hide the stand-in.
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(methods, "make_environment", lambda cache, environment: python)
    return tmp_path


def test_contextualized_graphs_come_back_and_are_cut(stand_in, tmp_path):
    cell = SMALL | {"method": "contextualized-tuned", "variant": "paper"}
    default, given = run_peer_cell(cell, tmp_path, device="cpu", threads=1)
    assert default["n_edges"] == 10
    assert given["n_edges"] == 4  # four weights are larger than the six that are equal
    assert default["acyclic"] == given["acyclic"] == 1


def test_golem_goes_on_from_equal_variances_and_is_cut(stand_in, tmp_path):
    cell = SMALL | {"method": "golem-nv", "variant": "mean-shift"}
    default, given = run_peer_cell(cell, tmp_path, device="cpu", threads=1)
    # The package drops the smallest edge of a cycle and all that are at most 0.3, we the smallest of all.
    assert default["n_edges"] == 2
    assert default["acyclic"] == 1
    assert given["n_edges"] == 5
    assert given["acyclic"] == 0
    assert default["fit_seconds"] > 0


def test_golem_that_diverges_is_reported(monkeypatch, tmp_path):
    answer = {"weights": np.full((5, 5), np.nan), "edges": np.ones((5, 5)), "fit_seconds": 1.0}
    monkeypatch.setattr(methods, "_run_script", lambda *_: answer)
    with pytest.raises(SweepError, match="weights of GOLEM-NV are not finite"):
        run_peer_cell(SMALL | {"method": "golem-nv", "variant": "paper"}, tmp_path)


@pytest.mark.parametrize(
    ("method", "module", "package"),
    [("contextualized", "contextualized/easy.py", "contextualized-ml"), ("golem-nv", "castle/algorithms.py", "gcastle")],
)
def test_failure_of_a_package_is_reported(method, module, package, stand_in, tmp_path):
    (stand_in / module).write_text("raise OSError('broken')")
    with pytest.raises(SweepError, match=rf"(?s)^{package} failed with status 1. Its last lines:.*OSError: broken"):
        run_peer_cell(SMALL | {"method": method, "variant": "paper"}, tmp_path)


def test_script_needs_nothing_of_ours():
    tree = ast.parse(Path(peer_script.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    foreign = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    assert foreign == {"numpy", "torch", "contextualized", "castle"}
