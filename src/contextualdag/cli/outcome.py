"""How every command ends: files that are written safely, errors as one line on stderr, exit codes for scripts."""

import contextlib
import errno
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import typer.core

from contextualdag.cli.terminal import say
from contextualdag.errors import ContextualDAGError, PersistenceError
from contextualdag.files import write_file
from contextualdag.printable import printable

FAILED, STOPPED = 1, 130
CHOICES = re.compile(r"'(.*)' is not one of ((?:'[^']*'(?:, )?)+)\.", re.DOTALL)


class Program(typer.core.TyperGroup):
    """The group of all commands. An exception of a command becomes a line and an exit code, unless --debug is given."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        debug = bool(ctx.params.get("debug"))
        with _log_to_stderr(debug), _errors_as_lines(debug):
            return super().invoke(ctx)


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a command that can say how to resume."""


@contextlib.contextmanager
def resumable(how_to_resume: str) -> Iterator[None]:
    """Say how to resume when Ctrl-C is pressed.

    Parameters
    ----------
    how_to_resume : str
        One sentence.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise Stopped(how_to_resume) from error


def in_a_line(error: Exception) -> str:
    """The message of an exception in one line; for an unexpected error also how to see more."""
    text = " ".join(str(error).split())
    if isinstance(error, ContextualDAGError | ImportError) and text:
        return text
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename is not None else error.strerror
    return f"{type(error).__name__}: {text} (unexpected error; rerun with --debug to see where it comes from)"


def check_output(path: Path, overwrite: bool) -> None:
    """Raise, before any work is done, if a file cannot or must not be written there."""
    if path.is_dir():
        raise PersistenceError(f"{path} is a folder where a file is to be written.")
    if path.exists() and not overwrite:
        raise PersistenceError(f"{path} exists already; add --overwrite to replace it, or choose another name.")


def write_output(path: Path, content: bytes) -> None:
    """Write a file in one step, and create its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)


@contextlib.contextmanager
def _errors_as_lines(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo(f"Stopped. {str(error) or 'Run the same command to start again.'}", err=True)
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        # Typer's exceptions have exit codes of their own, and a closed pipe is no error of ours.
        is_typers = hasattr(error, "exit_code") or isinstance(error, typer.Abort)
        if is_typers and isinstance(getattr(error, "message", None), str):
            error.message = printable(_with_suggestion(error.message))  # type: ignore[attr-defined]
        if debug or is_typers or getattr(error, "errno", None) == errno.EPIPE:
            raise
        say(f"Error: {in_a_line(error)}", err=True)
        raise typer.Exit(FAILED) from None


def _with_suggestion(message: str) -> str:
    """What typer says of a value that is none of those an option takes, with the nearest of them; else the same."""
    from contextualdag.checks import did_you_mean

    message = message.removeprefix("Value error, ")  # of the library that checks types for it
    wrong = CHOICES.fullmatch(message)
    return message if wrong is None else message + did_you_mean(wrong[1], re.findall(r"'([^']*)'", wrong[2]))


@contextlib.contextmanager
def _log_to_stderr(debug: bool) -> Iterator[None]:
    """Show the log of the library on stderr while a command runs; details only with --debug."""
    logger, handler, before = logging.getLogger("contextualdag"), _Echo(), logging.getLogger("contextualdag").level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class _Echo(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        for line in self.format(record).splitlines():
            say(line, err=True)
