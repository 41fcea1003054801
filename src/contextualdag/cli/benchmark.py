"""``contextualdag benchmark``."""

from pathlib import Path
from typing import Annotated

import typer


def benchmark(
    gpu: Annotated[bool, typer.Option("--gpu", help="Time the GPU instead of the CPU.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Two small sizes, under a minute.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the table and the picture.")] = Path("benchmarks/results"),
    baseline: Annotated[bool, typer.Option(help="Also time Algorithm 1 as batched inverses, which is slow.")] = True,
) -> None:
    """Time training by the paper's protocol and write a table and a picture.

    Example: contextualdag benchmark --gpu --out timings
    """
    import torch

    from contextualdag.paper import timing
    from contextualdag.paper.timing_figures import write_results
    from contextualdag.progress import RunProgress

    if gpu and not torch.cuda.is_available():
        raise typer.BadParameter("PyTorch finds no CUDA device here. Leave --gpu out to time the CPU.", param_hint="--gpu")
    device = torch.device("cuda" if gpu else "cpu")
    grid = tuple(dict.fromkeys(timing.N_GRID + timing.P_GRID)) if gpu else timing.CPU_CELLS
    cells = timing.QUICK_CELLS["p"] if quick else grid
    timings: list[timing.Timing] = []
    with RunProgress() as progress:
        progress.start("timing", len(cells))
        for one in timing.run_protocol(device, cells, baseline, lambda what: progress.step(len(timings), what)):
            timings.append(one)  # noqa: PERF402 - the length is read while the next one runs
        progress.step(len(cells), "projections")
        projections = [] if quick else timing.time_projections(device, baseline)
        progress.step(len(cells), "whole fits")
        fits = [] if quick else timing.time_fits(device)
    for path in write_results(out, timing.device_name(device), timings, projections, fits):
        typer.echo(path)
