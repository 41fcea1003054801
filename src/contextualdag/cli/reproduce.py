"""``contextualdag reproduce``."""

from pathlib import Path
from typing import Annotated

import typer

from contextualdag.cli.options import QuietOption

NAMES = "er-n, er-p, sf-n, sf-p, fixed-n, timings-n, timings-p, illustration, drug, or all of them."


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAMES, show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="A small version, about three minutes on two cores.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for figures, tables and finished work.")] = Path("results"),
    data_sets: Annotated[int | None, typer.Option(min=2, help="Data sets for each size.")] = None,
    methods: Annotated[str | None, typer.Option(help="Comma-separated methods to run; all by default.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://...")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes on this machine.")] = None,
    device: Annotated[str, typer.Option(help="Device to fit on: auto, cpu or cuda.")] = "auto",
    data: Annotated[Path | None, typer.Option(help="Data file of the drug study; downloaded by default.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Run an experiment of the paper and draw it with the published points beside ours.

    Finished work is kept: run the same command again to resume an interrupted run.

    Example: contextualdag reproduce er-n --quick
    """
    from contextualdag.cli.outcome import FAILED, in_a_line, resumable
    from contextualdag.errors import InvalidParameterError
    from contextualdag.paper import reproduction
    from contextualdag.progress import RunProgress

    chosen = tuple(part.strip() for part in methods.split(",")) if methods is not None else None
    settings = reproduction.Settings(quick, device, data_sets, chosen, scheduler, workers, data)
    try:
        reproduction.check(name, settings)
    except InvalidParameterError as error:
        raise typer.BadParameter(str(error)) from None
    failed = []
    with resumable("Finished work is kept; run the same command again to resume."), RunProgress(not quiet) as progress:
        if name == reproduction.ALL:
            runs = reproduction.reproduce_all(out, settings, progress)
        else:
            runs = iter([(name, reproduction.reproduce(name, out, settings, progress))])
        for one, made in runs:
            if isinstance(made, Exception):
                failed.append(f"{one}: {in_a_line(made)}")
                continue
            failed += [f"{one}: {sentence}" for sentence in made.failed]
            for path in made.paths:
                typer.echo(path)
    for sentence in failed:
        typer.echo(f"Failed: {sentence}", err=True)
    if failed:
        raise typer.Exit(FAILED)
