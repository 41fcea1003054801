"""The command line. A command is a function in `COMMANDS`.

Commands import what they need inside their functions, so that ``--help`` stays quick. They raise exceptions, which
`Program` turns into one line on stderr.
"""

from typing import Annotated

import typer

from contextualdag import __version__
from contextualdag.cli import benchmark, check, effects, fit, graphs, pages, reproduce, simulated, summary
from contextualdag.cli.outcome import Program

COMMANDS = (
    simulated.demo,
    simulated.simulate,
    check.check,
    fit.fit,
    summary.summary,
    graphs.graphs,
    effects.effects,
    pages.explore,
    pages.report,
    reproduce.reproduce,
    benchmark.benchmark,
)

app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"contextualdag {__version__}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Learn a directed acyclic graph for every context.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.

    Example: contextualdag demo
    """


for command in COMMANDS:
    app.command()(command)
