import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from contextualdag.cli import app


def test_demo_shows_two_contexts_and_writes_its_report(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--samples", "400", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    assert result.output.count("z = (") == 2
    assert "recovered exactly" in result.output
    assert "F1 of edges" in result.output
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "One graph for every context" in page


def test_help_names_the_commands_and_imports_little():
    code = "import sys, contextualdag.cli; print([m for m in ('torch', 'pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output


def test_benchmark_writes_a_table_and_a_picture(tmp_path):
    result = CliRunner().invoke(app, ["benchmark", "--quick", "--no-baseline", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    page, picture = (tmp_path / line.rsplit("/", 1)[1] for line in result.output.split())
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| 1000 ")]
    assert [row.split(" | ")[1] for row in rows] == ["10", "20"]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_benchmark_without_a_gpu_says_so():
    result = CliRunner().invoke(app, ["benchmark", "--gpu"])
    assert result.exit_code == 2
    assert "no CUDA device" in result.output


def test_reproduce_runs_draws_and_goes_on_where_it_stopped(tmp_path):
    arguments = ["reproduce", "er-n", "--quick", "--methods", "fixed,clustered", "--workers", "1", "--out", str(tmp_path)]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "contextualdag", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [path.rsplit("/", 1)[1] for path in done.stdout.split()] == [
        f"er-n-quick.{kind}" for kind in ("csv", "png", "svg")
    ]
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*.json")}
    assert len(before) == 3 * 2 * 2
    again = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "contextualdag", *arguments], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*.json")} == before


def test_an_unknown_figure_gets_a_list():
    result = CliRunner().invoke(app, ["reproduce", "er"])
    assert result.exit_code == 1
    assert "er-n, er-p, sf-n, sf-p, fixed-n" in result.output


def test_bad_options_are_refused():
    result = CliRunner().invoke(app, ["demo", "--samples", "3"])
    assert result.exit_code == 2
    assert "--samples" in result.output
