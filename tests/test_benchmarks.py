import subprocess
import sys
from pathlib import Path

from contextualdag.experiments.cells import cell_key
from contextualdag.experiments.finished import write_cell

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_projection_benchmark_writes_its_table(tmp_path):
    out = tmp_path / "new" / "table.md"
    command = [sys.executable, str(BENCHMARKS / "projection.py"), "--p", "5", "--n", "40", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert text in done.stdout
    rows = [line for line in text.splitlines() if line.startswith("| 5 |")]
    assert len(rows) == 4
    assert "| 1.00000 | 0.000 |" in rows[2]  # the order projection: all of the optimum, none cyclic


def test_the_recovery_table_of_what_was_run(tmp_path):
    cell = {"design": "varying", "graph": "erdos-renyi", "n": 100, "p": 20, "m": 2, "data_set": 0, "method": "ours"}
    scores = {"f1": 0.7, "shd": 3.0, "cpdag_shd": 3.0, "estimation_error": 0.3, "precision": 0.7, "recall": 0.7}
    rows = [
        {"choice": choice, **scores, "n_edges": 5.0, "acyclic": 1.0, "fit_seconds": 1.0} for choice in ("default", "told")
    ]
    finished, none, out = tmp_path / "cells", tmp_path / "none", tmp_path / "recovery.md"
    finished.mkdir()
    none.mkdir()
    write_cell(finished, cell_key(cell), {"version": 1, "cell": cell, "rows": rows, "seconds": 1.0})
    out.write_text("# Our words\n\nthat stay.\n\n## An old table\n")
    command = [
        sys.executable,
        str(BENCHMARKS / "recovery_table.py"),
        str(finished),
        str(none),
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert text.startswith("# Our words\n\nthat stay.\n\n## What was aimed at")
    assert "| er-n | 100 | 20 | 2 | 1 | 0.700 | 0.700 | 0.345 | 0.490 | 0.300 |" in text
    assert "| told, n ≤ 1000: at least .05 above the oracle | 1 of 32 cells | 31 not run |" in text
    assert "old table" not in text
    assert "Data that flatter less" not in text
