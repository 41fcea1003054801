"""The command line."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Learn a directed acyclic graph for every context.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main() -> None:
    """Learn a directed acyclic graph for every context."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html.")] = Path("demo"),
    samples: Annotated[int, typer.Option(min=100, help="Rows to learn from.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the data and of the fit.")] = 0,
) -> None:
    """Simulate, fit, compare with the truth, and write a report.

    Example: contextualdag demo --out demo
    """
    from rich.console import Console
    from rich.table import Table

    from contextualdag.demo import demonstrate, write_report

    console = Console()
    console.print(f"Learning a graph for every context from {samples} samples of 5 variables …")
    shown = demonstrate(samples, seed)
    exact = True
    for row in shown.shown:
        context = ", ".join(f"{value:.2f}" for value in shown.Z[row])
        table = Table("edge", "true", "learned", "", title=f"z = ({context})", title_justify="left")
        edges = shown.edges(row)
        for edge, true, learned, remark in edges.itertuples(index=False):
            table.add_row(edge, f"{true:.2f}" if true else "none", f"{learned:.2f}" if learned else "none", remark)
        exact &= not edges[""].any()
        console.print(table)
    wrong = "Both graphs were recovered exactly." if exact else "Not recovered exactly: the edges marked in the last column."
    console.print(wrong)
    scores = Table("on 1000 new contexts", "", title_justify="left")
    for name, value in shown.scores.items():
        scores.add_row(name, f"{value:.3f}")
    console.print(scores)
    console.print(f"Fitted in {shown.seconds:.0f} s. Report: {write_report(shown, out)}", soft_wrap=True)


@app.command()
def benchmark(
    gpu: Annotated[bool, typer.Option("--gpu", help="Time the GPU instead of the CPU.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Two small cells, under a minute.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the table and the picture.")] = Path("benchmarks/results"),
    baseline: Annotated[bool, typer.Option(help="Also time Algorithm 1 as batched inverses, which is slow.")] = True,
) -> None:
    """Time training by the paper's protocol and write a table and a picture.

    Example: contextualdag benchmark --gpu --out timings
    """
    import torch
    from rich.console import Console

    from contextualdag.experiments import timing
    from contextualdag.experiments.timing_results import write_results

    if gpu and not torch.cuda.is_available():
        raise typer.BadParameter("PyTorch finds no CUDA device here. Leave --gpu out to time the CPU.", param_hint="--gpu")
    device = torch.device("cuda" if gpu else "cpu")
    cells = tuple(dict.fromkeys(timing.N_GRID + timing.P_GRID)) if gpu else timing.CPU_CELLS
    console = Console(stderr=True)
    with console.status("starting") as status:
        timings = list(timing.run_protocol(device, timing.QUICK_CELLS if quick else cells, baseline, status.update))
        status.update("projections")
        projections = [] if quick else timing.time_projections(device, baseline)
        status.update("whole fits")
        fits = [] if quick else timing.time_fits(device, (1000, 10_000) if gpu else (1000,))
        profiles = {}
        if gpu and not quick:
            status.update("one epoch, kernel by kernel")
            profiles = {f"n = {n}, p = 20": timing.profile_epoch(n, 20, device) for n in (1000, 10_000)}
    for path in write_results(out, timing.device_name(device), timings, projections, fits, profiles):
        typer.echo(path)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(metavar="FIGURE", help="er-n, er-p, sf-n, sf-p or fixed-n.")],
    quick: Annotated[bool, typer.Option("--quick", help="A small version, about three minutes on two cores.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for figure, table and finished cells.")] = Path("results"),
    data_sets: Annotated[int | None, typer.Option(min=2, help="Data sets for each size.")] = None,
    methods: Annotated[str, typer.Option(help="Methods to run, with commas between them.")] = "all",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://...")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes on this machine.")] = None,
    device: Annotated[str, typer.Option(help="Where to fit: auto, cpu or cuda.")] = "auto",
) -> None:
    """Run a figure of the paper again and draw it with the published points beside ours.

    Finished cells are kept: an interrupted run goes on where it stopped when it is started again.

    Example: contextualdag reproduce er-n --quick
    """
    import functools

    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    from contextualdag.errors import ContextualDAGError
    from contextualdag.experiments import designs
    from contextualdag.experiments.figures import write_figure
    from contextualdag.experiments.finished import load_results
    from contextualdag.experiments.run import run_cell
    from contextualdag.experiments.sweep import run_sweep

    console = Console(stderr=True)
    try:
        shown = designs.figure(name, quick)
        chosen = list(designs.METHODS) if methods == "all" else methods.split(",")
        cells = designs.cells_of(shown, chosen, data_sets or (designs.QUICK_DATA_SETS if quick else designs.DATA_SETS))
        cell_folder = out / "cells"
        run = functools.partial(run_cell, device=device, threads=1)
        with Progress(
            *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn(), console=console
        ) as bar:
            task = bar.add_task(name, total=len(cells))

            def finished(done: int, total: int, cell: object) -> None:
                bar.update(task, completed=done, total=total)

            report = run_sweep(cells, run, cell_folder, scheduler=scheduler, n_workers=workers, begin=finished)
        for cell, message in report.failed:
            console.print(f"Failed: {cell}: {message}", markup=False)
        title = f"{shown.title}, small version" if quick else shown.title
        for path in write_figure(f"{name}-quick" if quick else name, load_results(cell_folder), shown, out, title):
            typer.echo(path)
    except (ContextualDAGError, ImportError) as error:
        console.print(f"Error: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        console.print("Stopped. Finished cells are kept; run the same command again to go on.")
        raise typer.Exit(130) from None
    if report.failed:
        raise typer.Exit(1)
