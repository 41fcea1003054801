from typer.testing import CliRunner

from contextualdag import __version__
from contextualdag.cli import app


def test_the_version_is_told():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"contextualdag {__version__}\n")
