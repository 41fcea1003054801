"""The command line. A command is a function in a file of its own, listed in `COMMANDS`.

Imports of a command stand inside its function, so that ``--help`` stays quick. A command raises, and `Program` says in
one line what went wrong.
"""

from typing import Annotated

import typer

from contextualdag.cli import benchmark, demo, explore, fit, graphs, report, reproduce, simulate
from contextualdag.cli.outcome import Program

COMMANDS = (
    demo.demo,
    simulate.simulate,
    fit.fit,
    graphs.graphs,
    explore.explore,
    report.report,
    reproduce.reproduce,
    benchmark.benchmark,
)

app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Learn a directed acyclic graph for every context.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.

    Example: contextualdag demo
    """


for command in COMMANDS:
    app.command()(command)
