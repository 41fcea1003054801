"""The comparison with other packages: its cells, its tables and its picture."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers import comparison, methods
from benchmarks.peers.comparison import (
    IN_ENVIRONMENT,
    PEERS,
    VARIANTS,
    peer_cells,
    peer_settings,
    peer_version,
    run_peer_cell,
    run_peers,
)
from benchmarks.peers.environment import CONTEXTUALIZED, GCASTLE
from benchmarks.peers.figures import COLORS, draw_peers, peers_page, summarise_peers, write_peers
from benchmarks.peers.methods import SOLVERS
from contextualdag.errors import InvalidInputError, InvalidParameterError, SweepError
from contextualdag.paper.recovery import method_version, simulate

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
SMALL = {"design": "varying", "graph": "erdos-renyi", "n": 120, "p": 5, "m": 2, "data_set": 0}


def test_cells_are_four_sizes_and_twelve_variants():
    settings = peer_settings()
    assert [setting["variant"] for setting in settings] == ["paper"] * 4 + list(VARIANTS)[1:]
    assert len(peer_cells()) == 16 * 10 * len(PEERS)
    assert list(SOLVERS) == list(PEERS) == list(COLORS)
    assert len(peer_cells(quick=True, data_sets=3, methods=["naive"])) == 3 * len(peer_settings(quick=True))
    with pytest.raises(InvalidParameterError, match=r"no method \['best'\]. There are: ours, contextualized"):
        peer_cells(methods=["best"])


def test_variants_have_the_graphs_of_the_paper(tmp_path, monkeypatch):
    seen = {}

    def look(problem):
        seen[len(seen)] = problem
        return methods._naive(problem)

    monkeypatch.setitem(comparison.SOLVERS, "naive", look)
    for variant in ("paper", "standardised"):
        run_peer_cell(SMALL | {"method": "naive", "variant": variant}, tmp_path)
    data, _ = simulate(SMALL | {"method": "fixed"})
    assert np.array_equal(seen[0].train.X, data.X[:120])
    assert np.array_equal(seen[1].test.W != 0, data.W[240:] != 0)
    assert not np.allclose(seen[1].test.X, data.X[240:])
    assert seen[0].n_edges == pytest.approx(np.count_nonzero(data.W[120:240]) / 120)


def test_a_peer_that_cannot_be_installed_fails_alone(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(comparison, "QUICK_SIZES", ((40, 5, 2),))
    monkeypatch.setattr(comparison, "QUICK_VARIANTS", ())
    # A file where a folder must be is the quickest of the reasons.
    (tmp_path / "cache").touch()
    settings = {"quick": True, "device": "cpu", "data_sets": 1, "methods": [*IN_ENVIRONMENT, "naive"], "workers": 1}
    steps = []
    report = run_peers(
        tmp_path / "cells",
        cache=tmp_path / "cache",
        progress=lambda done, total, cell: steps.append((done, total)),
        **settings,
    )
    assert report.n_finished == 1
    assert steps == [(done, 4) for done in range(1, 5)]
    failed = {cell["method"]: message for cell, message in report.failed}
    assert set(failed) == set(IN_ENVIRONMENT)
    for method, environment in IN_ENVIRONMENT.items():
        assert f"The environment of {environment.name} cannot be written" in failed[method]


def test_an_environment_that_is_missing_stops_its_own_methods_alone(tmp_path):
    reasons = {GCASTLE.name: "There is no network."}
    with pytest.raises(SweepError, match=r"^There is no network\.$"):
        run_peer_cell(SMALL | {"method": "golem-nv", "variant": "paper"}, tmp_path, why_no_environment=reasons)
    # Its own environment is tried, and not the reason of another one given.
    (tmp_path / "cache").touch()
    with pytest.raises(SweepError, match=f"of {CONTEXTUALIZED.name} cannot be written"):
        run_peer_cell(
            SMALL | {"method": "contextualized", "variant": "paper"}, tmp_path / "cache", why_no_environment=reasons
        )


def test_each_environment_is_made_once_and_only_where_cells_need_it(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(comparison, "make_environment", lambda cache, environment: made.append((cache, environment)))
    monkeypatch.setattr(comparison, "run_sweep", lambda cells, *others, **settings: None)
    run_peers(tmp_path, methods=["golem-nv", "naive"])
    assert made == [(tmp_path / "environments", GCASTLE)]
    run_peers(tmp_path, methods=["ours", "dagma"])
    run_peers(tmp_path, scheduler="tcp://scheduler:1")
    assert len(made) == 1
    run_peers(tmp_path)
    assert {environment.name for _, environment in made[1:]} == {"contextualized-ml", "gcastle"}
    assert len(made) == 3


def test_versions_follow_our_settings_and_the_packages():
    assert method_version("ours") in peer_version({"method": "ours"})
    assert "contextualized-ml==0.2.9" in peer_version({"method": "contextualized-tuned"})
    assert "gcastle==1.0.4" in peer_version({"method": "golem-nv"})
    assert "contextualized" not in peer_version({"method": "golem-nv"})
    assert peer_version({"method": "naive"}) == peer_version({"method": "dagma"}) == str(comparison.VERSION)


def run_command(*arguments):
    command = [sys.executable, "-m", "benchmarks.peers", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)  # noqa: S603


def test_the_command_writes_a_page_and_a_picture(tmp_path):
    pytest.importorskip("distributed")
    settings = ["--quick", "--methods", "naive", "--data-sets", 1, "--workers", 1, "--device", "cpu", "--out", tmp_path]
    done = run_command(*settings)
    assert done.returncode == 0, done.stderr
    kinds = ("csv", "md", "png", "svg")
    assert done.stdout.split() == [str(tmp_path / f"peers-quick.{kind}") for kind in kinds]
    assert done.stderr.splitlines()[-1] == "3 of 3 cells"
    assert len(list((tmp_path / "peer-cells").glob("*.json"))) == 3


def test_the_command_refuses_unknown_methods(tmp_path):
    done = run_command("--methods", "best", "--out", tmp_path)
    assert done.returncode == 2
    assert "There is no method ['best']." in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def results():
    """Numbers of our own making, with a trend in the methods."""
    rows = []
    for cell, choice in itertools.product(peer_cells(quick=True, data_sets=3), ("default", "given")):
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
    page = "\n".join(peers_page(summarise_peers(results, quick=True), "Title"))
    assert page.startswith("# Title\n")
    row = "| dagma | given | 0.610 ± 0.006 | 4.00 | 0.100 | 5.0 | 1.00 | 0.0 | 0.00 | 3 |"
    assert page.count(row) == 3
    assert "## n=316, p=10, m=2: unequal noise" in page
    lonely = "\n".join(peers_page(summarise_peers(results[results["data_set"] == 0], quick=True), "Title"))
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
