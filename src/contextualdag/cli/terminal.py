"""What commands print: sentences and tables in which names are shown letter by letter, whatever they contain."""

import sys
from collections.abc import Iterable, Sequence

import typer

from contextualdag.printable import printable


def say(text: str, err: bool = False) -> None:
    """Print a paragraph, which is not broken into lines."""
    typer.echo(printable(text), err=err)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = (), title: str = "") -> None:
    """Print a table; columns of `numbers` are aligned on the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Neither markup nor emoji: a name may look like them.
    table = Table(title=Text(printable(title)) if title else None, title_justify="left", box=box.SIMPLE)
    for column in columns:
        table.add_column(Text(printable(column)), justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False).print(table)


def write_data(content: bytes) -> None:
    """Write a file to the standard output as it is; on a terminal hidden characters are written out."""
    if sys.stdout.isatty():
        for line in content.decode().splitlines():
            say(line)
    else:
        typer.echo(content, nl=False)
