import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


def test_projection_benchmark_writes_its_table(tmp_path):
    out = tmp_path / "new" / "table.md"
    command = [sys.executable, "-m", "benchmarks.projection", "--p", "5", "--n", "40", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert text in done.stdout
    rows = [line for line in text.splitlines() if line.startswith("| 5 |")]
    assert len(rows) == 4
    assert "| 1.00000 | 0.000 |" in rows[2]  # the order projection: all of the optimum, none cyclic
