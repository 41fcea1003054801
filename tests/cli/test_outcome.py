"""How commands end, whatever they raise."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from contextualdag.cli import COMMANDS, app
from contextualdag.cli.outcome import Program, resumable
from contextualdag.errors import PersistenceError


def program(body):
    """An application with one command that does what `body` does."""
    application = typer.Typer(cls=Program, pretty_exceptions_enable=False)

    @application.callback()
    def main(debug: bool = False) -> None:
        pass

    @application.command()
    def work() -> None:
        body()

    return application


def raiser(error):
    def body():
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PersistenceError("model/ is of\nanother version."), "Error: model/ is of another version."),
        (ImportError("Sweeps need the package distributed."), "Error: Sweeps need the package distributed."),
        (PermissionError(13, "Permission denied", "/out"), "Error: Permission denied: /out"),
        (OSError(28, "No space left on device"), "Error: No space left on device"),
        (
            ZeroDivisionError("by zero"),
            "Error: ZeroDivisionError: by zero (unexpected error; rerun with --debug to see where it comes from)",
        ),
    ],
)
def test_errors_are_one_line_on_stderr(error, line):
    result = CliRunner().invoke(program(raiser(error)), ["work"])
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"{line}\n")


def test_debug_lets_an_error_through():
    error = PersistenceError("no")
    result = CliRunner().invoke(program(raiser(error)), ["--debug", "work"])
    assert result.exception is error


def test_ctrl_c_says_how_to_go_on():
    def body():
        with resumable("Run it again."):
            raise KeyboardInterrupt

    result = CliRunner().invoke(program(body), ["work"])
    assert (result.exit_code, result.stderr) == (130, "Stopped. Run it again.\n")
    result = CliRunner().invoke(program(raiser(KeyboardInterrupt())), ["work"])
    assert (result.exit_code, result.stderr) == (130, "Stopped. Run the same command to start again.\n")


def test_what_a_command_decides_itself_stays():
    assert CliRunner().invoke(program(raiser(typer.Exit(7))), ["work"]).exit_code == 7
    result = CliRunner().invoke(program(raiser(typer.BadParameter("too large"))), ["work"])
    assert result.exit_code == 2
    assert "too large" in result.stderr
    assert CliRunner().invoke(program(raiser(typer.Abort())), ["work"]).exit_code == 1


@pytest.mark.parametrize("debug", [False, True])
def test_messages_of_the_library_go_to_stderr(debug):
    def body():
        import logging

        logger = logging.getLogger("contextualdag.sweeps.cluster")
        logger.warning("waits for workers")
        logger.debug("a detail")

    result = CliRunner().invoke(program(body), [*(["--debug"] if debug else []), "work"])
    assert result.stderr == "waits for workers\n" + "a detail\n" * debug


def test_wrong_usage():
    for arguments in (["demo", "--samples", "3"], ["nothing"], ["reproduce"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "Traceback" not in result.stderr


def test_every_help_has_an_example():
    for arguments in [[], *([command.__name__] for command in COMMANDS)]:
        result = CliRunner().invoke(app, [*arguments, "--help"])
        assert result.exit_code == 0
        assert f"Example: contextualdag {arguments[0] if arguments else 'demo'}" in result.output


def test_help_imports_little():
    heavy = ("torch", "numpy", "pandas", "matplotlib", "dask")
    code = f"import sys, contextualdag.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
