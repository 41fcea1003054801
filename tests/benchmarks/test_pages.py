"""The pages in results/ that are made from finished cells."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers.comparison import peer_version
from contextualdag.paper.recovery import cell_version
from contextualdag.sweeps.store import write_cell

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
CELL = {"design": "varying", "graph": "erdos-renyi", "n": 100, "p": 20, "m": 2, "data_set": 0, "method": "ours"}
SCORES = {"f1": 0.7, "shd": 3.0, "cpdag_shd": 3.0, "estimation_error": 0.3, "precision": 0.7, "recall": 0.7}
ROWS = [{"choice": choice, **SCORES, "n_edges": 5.0, "acyclic": 1.0, "fit_seconds": 1.0} for choice in ("default", "given")]


def run(module, *arguments):
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_the_recovery_table_of_what_was_run(tmp_path):
    finished, none, out = tmp_path / "cells", tmp_path / "none", tmp_path / "recovery.md"
    finished.mkdir()
    none.mkdir()
    write_cell(finished, CELL, ROWS, 1.0, cell_version)
    out.write_text("# Our words\n\nthat stay.\n\n## An old table\n")
    run("recovery_table", finished, none, out)
    text = out.read_text()
    assert text.startswith("# Our words\n\nthat stay.\n\n## Aims")
    assert "| er-n | 100 | 20 | 2 | 1 | 0.700 | 0.700 | 0.345 | 0.490 | 0.300 |" in text
    assert "| given, n ≤ 1000: at least .05 above the oracle | 1 of 32 cells | 31 not run |" in text
    assert "old table" not in text
    assert "Harder data" not in text


def test_the_recovery_table_has_the_variants(tmp_path):
    finished, variants, out = tmp_path / "cells", tmp_path / "variants", tmp_path / "recovery.md"
    finished.mkdir()
    variants.mkdir()
    at = CELL | {"n": 1000}
    write_cell(finished, at, ROWS, 1.0, cell_version)
    write_cell(variants, at | {"variant": "weak-edges"}, ROWS, 1.0, peer_version)
    run("recovery_table", finished, variants, out)
    assert "| weak and negative edges | 1 | 0.700 | 0.700 | 0.300 | 5.0 |" in out.read_text()


def test_the_grid_beside_the_paper(tmp_path):
    finished, out = tmp_path / "cells", tmp_path / "results"
    finished.mkdir()
    sizes = [("varying", "erdos-renyi"), ("varying", "scale-free"), ("fixed", "erdos-renyi")]
    for design, graph in sizes:
        cell = CELL | {"design": design, "graph": graph, "n": 1000, "method": "contextual"}
        write_cell(finished, cell, ROWS, 1.0, cell_version)
    run("paper_grid", finished, out)
    page = (out / "agreement.md").read_text()
    assert page.startswith("| method | cells | within two standard errors, or better |")
    assert "| Contextual DAG | 5 | " in page
    assert "| er-n | 1000 | 20 | 2 | 0.700 / 0.803 (1) | not run |" in page
    assert len((out / "cells.csv").read_text().splitlines()) == 1 + 2 * 3
