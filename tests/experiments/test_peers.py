"""Other packages on the same data: the baseline, thresholds, cells, tables, and the environment that one of them needs."""

import ast
import itertools
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contextualdag.errors import InvalidInputError, InvalidParameterError, SweepError
from contextualdag.experiments import contextualized_script, peer_environment, peer_methods, peers
from contextualdag.experiments.naive import sort_and_regress
from contextualdag.experiments.peer_environment import CONTEXTUALIZED, Environment, make_environment
from contextualdag.experiments.peer_figures import draw_peers, peers_page, summarise_peers, write_peers
from contextualdag.experiments.peer_methods import SOLVERS, threshold_for
from contextualdag.experiments.peers import PEERS, VARIANTS, peer_cells, peer_settings, run_peer_cell, run_peers
from contextualdag.experiments.run import score_graphs, simulate

SMALL = {"design": "varying", "graph": "erdos-renyi", "n": 120, "p": 5, "m": 2, "data_set": 0}


# The naive baseline.


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
    turned = sort_and_regress(X * [0.01, 1, 100])
    assert (turned != 0).tolist() == [[False, True, False], [False, False, True], [False, False, False]]


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((3, 3)), np.full((9, 2), np.nan)])
def test_naive_baseline_refuses_what_it_cannot_sort(X):
    with pytest.raises(InvalidInputError, match="more rows than columns"):
        sort_and_regress(X)


# Thresholds.


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


# Cells.


def test_cells_are_four_sizes_and_five_variants():
    settings = peer_settings()
    assert [setting["variant"] for setting in settings] == ["paper"] * 4 + list(VARIANTS)[1:]
    assert len(peer_cells()) == 9 * 10 * len(PEERS)
    assert list(SOLVERS) == list(PEERS)
    assert len(peer_cells(quick=True, data_sets=3, methods=["naive"])) == 3 * len(peer_settings(quick=True))
    with pytest.raises(InvalidParameterError, match=r"no method \['best'\]. There are: ours, contextualized"):
        peer_cells(methods=["best"])


def test_variants_have_the_graphs_of_the_paper(tmp_path, monkeypatch):
    seen = {}

    def look(problem):
        seen[len(seen)] = problem
        return peer_methods._naive(problem)

    monkeypatch.setitem(peers.SOLVERS, "naive", look)
    for variant in ("paper", "standardised"):
        run_peer_cell(SMALL | {"method": "naive", "variant": variant}, tmp_path)
    data, _ = simulate(SMALL | {"method": "fixed"})
    assert np.array_equal(seen[0].train.X, data.X[:120])
    assert np.array_equal(seen[1].test.W != 0, data.W[240:] != 0)
    assert not np.allclose(seen[1].test.X, data.X[240:])
    assert seen[0].n_edges == pytest.approx(np.count_nonzero(data.W[120:240]) / 120)


@pytest.mark.parametrize("method", ["ours", "dagma", "naive"])
def test_methods_answer_in_rows(method, tmp_path, capsys):
    if method == "dagma":
        pytest.importorskip("dagma", reason="dagma is not installed")
    cell = SMALL | {"method": method, "variant": "mean-shift"}
    default, told = run_peer_cell(cell, tmp_path, device="cpu")
    assert [default["choice"], told["choice"]] == ["default", "told"]
    assert default["acyclic"] == 1
    assert told["n_edges"] == pytest.approx(5, abs=1.5)
    assert default["fit_seconds"] > 0
    assert {"f1", "shd", "estimation_error", "graph_seconds"} <= set(told)
    assert capsys.readouterr() == ("", "")


def test_graphs_with_cycles_are_scored_too():
    two = np.array([[[0, 1.0], [1.0, 0]]])
    scores = score_graphs(np.triu(two), two)
    assert scores["acyclic"] == 0
    assert scores["cpdag_shd"] is None
    assert scores["shd"] == 1


def test_a_peer_that_cannot_be_installed_fails_alone(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(peers, "QUICK_SIZES", ((40, 5, 2),))
    monkeypatch.setattr(peers, "QUICK_VARIANTS", ())
    # A file where a folder must be is the quickest of the reasons.
    (tmp_path / "cache").touch()
    settings = {"quick": True, "device": "cpu", "data_sets": 1, "methods": ["contextualized", "naive"], "workers": 1}
    steps = []
    report = run_peers(
        tmp_path / "cells", cache=tmp_path / "cache", begin=lambda done, total, cell: steps.append((done, total)), **settings
    )
    assert report.n_finished == 1
    assert steps == [(1, 2), (2, 2)]
    ((cell, message),) = report.failed
    assert cell["method"] == "contextualized"
    assert "cannot be written" in message


# The environment, made for real, but of a package of our own and without a network.


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder of two tiny packages; `peer` asks for `ballast`."""
    folder = tmp_path_factory.mktemp("packages")
    for name, needs in (("peer", "Requires-Dist: ballast\n"), ("ballast", "")):
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            info = f"{name}-1.0.dist-info"
            wheel.writestr(f"{name}.py", "answer = 42\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            names = [f"{name}.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
            wheel.writestr(f"{info}/RECORD", "".join(f"{one},,\n" for one in names))
    return folder


@pytest.fixture
def offline(packages, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def ask(python, code):
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_environment_is_made_once_and_a_half_made_one_anew(tmp_path, offline):
    wanted = Environment("peer", ("peer==1.0",), ("ballast",), "peer")
    for half_made in (tmp_path / "peer", tmp_path / ".unfinished-killed"):
        (half_made / "bin").mkdir(parents=True)
        (half_made / "bin" / "python").touch()
    python = make_environment(tmp_path, wanted)
    assert ask(python, "import peer; print(peer.answer)").stdout == "42\n"
    assert "No module named 'ballast'" in ask(python, "import ballast").stderr
    assert [path.name for path in tmp_path.iterdir()] == ["peer"]
    made = python.parent.stat().st_mtime_ns
    assert make_environment(tmp_path, wanted) == python
    assert python.parent.stat().st_mtime_ns == made


# Makes a folder with itself as the interpreter, and fails at all else, as pip does without a network.
NO_NETWORK = """#!/bin/sh
[ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && exit
echo 'ERROR: No matching distribution found for contextualized-ml==0.2.9' >&2
exit 1
"""


def test_no_network_is_said_clearly(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(NO_NETWORK)
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(SweepError, match=r"could not be made: `.* install torch==2.13.0 .*` ended with status 1") as caught:
        make_environment(tmp_path / "cache")
    assert "\nERROR: No matching distribution found for contextualized-ml==0.2.9\n" in str(caught.value)
    assert str(caught.value).endswith("check the network and try again. The other methods can be run without it.")
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_is_not_marked_as_finished_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    wanted = Environment("peer", (), (), "peer")
    folder = tmp_path / "peer"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    mark = folder / "finished.json"
    for content in (None, "{}", peer_environment._content(replace(wanted, install=("other",)))):
        if content is not None:
            mark.write_text(content)
        with pytest.raises(SweepError, match="status 1"):
            make_environment(tmp_path, wanted)
    mark.write_text(peer_environment._content(wanted))
    assert make_environment(tmp_path, wanted) == folder / "bin" / "python"
    (folder / "bin" / "python").unlink()
    with pytest.raises(SweepError, match="status 1"):
        make_environment(tmp_path, wanted)


def test_pytorch_is_the_pinned_one():
    constraints = Path(__file__).parents[2] / "constraints.txt"
    assert CONTEXTUALIZED.install[0] in constraints.read_text().split()


# The script that runs there: here with a stand-in for the package, whose graphs are known.

STAND_IN = """
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


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """An interpreter that has a module `contextualized.easy` of ours."""
    package = tmp_path / "contextualized"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "easy.py").write_text(STAND_IN)
    python = tmp_path / "python"
    # Without -I, which would hide the stand-in.
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(peer_methods, "make_environment", lambda cache: python)
    return package / "easy.py"


def test_contextualized_graphs_come_back_and_are_cut(stand_in, tmp_path):
    cell = SMALL | {"method": "contextualized-tuned", "variant": "paper"}
    default, told = run_peer_cell(cell, tmp_path, device="cpu", threads=1)
    assert default["n_edges"] == 10
    assert told["n_edges"] == 4  # four weights are larger than the six that are equal
    assert default["acyclic"] == told["acyclic"] == 1


def test_contextualized_failure_is_told(stand_in, tmp_path):
    stand_in.write_text("raise OSError('broken')")
    with pytest.raises(SweepError, match=r"(?s)failed with status 1. Its last words:.*OSError: broken"):
        run_peer_cell(SMALL | {"method": "contextualized", "variant": "paper"}, tmp_path)


def test_script_needs_nothing_of_ours():
    tree = ast.parse(Path(contextualized_script.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    foreign = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    assert foreign == {"numpy", "torch", "contextualized"}


# Tables and the picture.


@pytest.fixture(scope="module")
def results():
    """Numbers of our own making, with a trend in the methods."""
    rows = []
    for cell, choice in itertools.product(peer_cells(quick=True, data_sets=3), ("default", "told")):
        rank = list(PEERS).index(cell["method"])
        scores = {"f1": 0.9 - 0.1 * rank + 0.01 * cell["data_set"], "shd": 1.0 + rank, "cpdag_shd": None, "n_edges": 5.0}
        scores |= {"estimation_error": 0.1, "acyclic": 1.0, "fit_seconds": 10.0**-rank, "graph_seconds": 0.0}
        rows.append(cell | {"choice": choice} | scores)
    return pd.DataFrame(rows)


def test_summary_is_in_the_order_of_the_methods(results):
    table = summarise_peers(results.sample(frac=1, random_state=0), quick=True)
    assert table["method"].tolist()[::2] == list(PEERS) * 3
    assert table["variant"].tolist()[:: 2 * len(PEERS)] == ["paper", "unequal-noise", "standardised"]
    assert table["f1"][0] == pytest.approx(0.91)
    assert table["f1_se"][0] == pytest.approx(0.01 / 3**0.5)
    assert set(table["data_sets"]) == {3}
    with pytest.raises(InvalidInputError, match="no results for this comparison"):
        summarise_peers(results)
    with pytest.raises(InvalidInputError, match="must have the columns"):
        summarise_peers(results[["n", "p"]], quick=True)


def test_page_has_means_errors_and_times(results):
    page = peers_page(summarise_peers(results, quick=True), "Title")
    assert page.startswith("# Title\n")
    row = "| dagma | told | 0.610 ± 0.006 | 4.00 | 0.100 | 5.0 | 1.00 | 0.0 | 0.00 | 3 |"
    assert page.count(row) == 3
    assert "## n=316, p=10, m=2: unequal noise" in page
    lonely = peers_page(summarise_peers(results[results["data_set"] == 0], quick=True), "Title")
    assert "nan" not in lonely
    assert "| 1 |" in lonely


def test_files_are_written_from_results_alone(results, tmp_path):
    paths = write_peers(tmp_path / "new", results, quick=True)
    assert [path.name for path in paths] == [f"peers-quick.{kind}" for kind in ("csv", "md", "png", "svg")]
    assert len(pd.read_csv(paths[0])) == 3 * len(PEERS) * 2
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_picture_has_a_panel_for_each_score_and_group(results):
    table = summarise_peers(results, quick=True)
    assert len(draw_peers(table, "Title").axes) == 6
    assert len(draw_peers(table[table["variant"] == "paper"], "Title").axes) == 3
