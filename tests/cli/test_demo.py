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
