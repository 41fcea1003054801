import pytest
import torch
from typer.testing import CliRunner

from contextualdag.cli import app

pytestmark = pytest.mark.long


def test_benchmark_writes_a_table_and_a_picture(tmp_path):
    result = CliRunner().invoke(app, ["benchmark", "--quick", "--no-baseline", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    page, picture = (tmp_path / line.rsplit("/", 1)[1] for line in result.stdout.split())
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| 1000 ")]
    assert [row.split(" | ")[1] for row in rows] == ["10", "20"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_quick_benchmark_times_the_protocol_only():
    result = CliRunner().invoke(app, ["benchmark", "--quick", "--only", "fits"])
    assert result.exit_code == 2
    assert "--quick times the protocol only" in result.output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_benchmark_without_a_gpu_says_so():
    result = CliRunner().invoke(app, ["benchmark", "--gpu"])
    assert result.exit_code == 2
    assert "no CUDA device" in result.output
