"""How every command ends: errors as one line on stderr, and exit codes that scripts can use."""

import contextlib
import errno
import logging
from collections.abc import Iterator
from typing import Any

import typer
import typer.core

from contextualdag.errors import ContextualDAGError

FAILED, STOPPED = 1, 130


class Program(typer.core.TyperGroup):
    """The group of all commands. Whatever a command raises becomes a line and an exit code, unless --debug is given."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        debug = bool(ctx.params.get("debug"))
        with _messages(debug), _said_in_a_line(debug):
            return super().invoke(ctx)


class Stopped(KeyboardInterrupt):
    """Ctrl-C where a command knows how to go on."""


@contextlib.contextmanager
def resumable(how_to_go_on: str) -> Iterator[None]:
    """Say how to go on when Ctrl-C comes.

    Parameters
    ----------
    how_to_go_on : str
        One sentence.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise Stopped(how_to_go_on) from error


@contextlib.contextmanager
def _said_in_a_line(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo(f"Stopped. {str(error) or 'The same command starts again.'}", err=True)
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        # Typer's own exceptions know their exit code, and a reader that went away is none of our business.
        is_typers = hasattr(error, "exit_code") or isinstance(error, typer.Abort)
        if debug or is_typers or getattr(error, "errno", None) == errno.EPIPE:
            raise
        typer.echo(f"Error: {in_a_line(error)}", err=True)
        raise typer.Exit(FAILED) from None


def in_a_line(error: Exception) -> str:
    """What an exception says, without its newlines; one that nobody foresaw also says how to see more."""
    text = " ".join(str(error).split())
    if isinstance(error, ContextualDAGError | ImportError) and text:
        return text
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename is not None else error.strerror
    return f"{type(error).__name__}: {text} (not foreseen; contextualdag --debug ... shows where it comes from)"


@contextlib.contextmanager
def _messages(debug: bool) -> Iterator[None]:
    """What the library logs goes to stderr while a command runs; details only with --debug."""
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
        typer.echo(self.format(record), err=True)
