"""``contextualdag benchmark``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Part(StrEnum):
    """What is timed."""

    PROTOCOL = "protocol"
    PROJECTIONS = "projections"
    FITS = "fits"


def benchmark(
    gpu: Annotated[bool, typer.Option("--gpu", help="Time the GPU instead of the CPU.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Two small sizes of the protocol, under a minute.")] = False,
    only: Annotated[Part | None, typer.Option(help="Time a single part; all by default.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table and the picture.")] = Path("benchmarks/results"),
    baseline: Annotated[bool, typer.Option(help="Also time Algorithm 1 as batched inverses, which is slow.")] = True,
) -> None:
    """Time training by the paper's protocol, projections and whole fits, and write a table and a picture.

    Whole fits take about ten minutes on two cores. Times mean something only where nothing else is running.

    Example: contextualdag benchmark --gpu --out timings
    """
    import torch

    from contextualdag.paper import fit_timing, timing
    from contextualdag.paper.timing_figures import write_results
    from contextualdag.progress import RunProgress

    if gpu and not torch.cuda.is_available():
        raise typer.BadParameter("PyTorch finds no CUDA device here. Leave --gpu out to time the CPU.", param_hint="--gpu")
    if quick and only not in (None, Part.PROTOCOL):
        raise typer.BadParameter(f"--quick times the protocol only; leave it out to time {only}.", param_hint="--quick")
    device = torch.device("cuda" if gpu else "cpu")
    parts = {Part.PROTOCOL} if quick else set(Part) if only is None else {only}
    grid = tuple(dict.fromkeys(timing.N_GRID + timing.P_GRID)) if gpu else timing.CPU_CELLS
    cells = timing.QUICK_CELLS["p"] if quick else grid
    cells = cells if Part.PROTOCOL in parts else ()
    works = fit_timing.work_on(device) if Part.FITS in parts else ()
    timings: list[timing.Timing] = []
    fits: list[fit_timing.Timed] = []
    projections = []
    with RunProgress() as progress:
        progress.start("timing", len(cells) + len(works))
        for one in timing.run_protocol(device, cells, baseline, lambda what: progress.step(len(timings), what)):
            timings.append(one)  # noqa: PERF402 - the length is read while the next one runs
        if Part.PROJECTIONS in parts:
            progress.step(len(timings), "projections")
            projections = timing.time_projections(device, baseline)
        for timed in fit_timing.time_fits(device, works, lambda what: progress.step(len(timings) + len(fits), what)):
            fits.append(timed)  # noqa: PERF402 - likewise
    for path in write_results(out, timing.device_name(device), timings, projections, fits):
        typer.echo(path)
