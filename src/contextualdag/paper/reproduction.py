"""The experiments of the paper by name: how to run each, how to draw it, and which settings it takes."""

import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from contextualdag.checks import did_you_mean, find_device
from contextualdag.errors import InvalidParameterError
from contextualdag.paper import recovery

if TYPE_CHECKING:
    from contextualdag.sweeps.store import Cell, SweepReport

ALL = "all"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What a user may set. None stands for the default of the experiment."""

    quick: bool = False
    device: str = "auto"
    data_sets: int | None = None
    methods: tuple[str, ...] | None = None
    scheduler: str | None = None
    workers: int | None = None
    data: Path | None = None


class Progress(Protocol):
    """Receiver of the progress of a run."""

    def say(self, text: str) -> None:
        """Show one line."""

    def start(self, what: str, total: int) -> None:
        """Begin to count to `total`."""

    def step(self, done: int, what: str = "") -> None:
        """Show that `done` of the total is done."""

    def finish(self) -> None:
        """Stop counting."""


@dataclass(frozen=True)
class Made:
    """The files that a run wrote, and a sentence for each part that failed."""

    paths: tuple[Path, ...]
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """One figure or table of the paper. `run` is called with a name for files, the folder, the settings and the progress."""

    about: str
    settings: tuple[str, ...]
    run: Callable[[str, Path, Settings, Progress], Made]


def reproduce(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    """Run one experiment and draw it.

    Parameters
    ----------
    name : str
        Name of the experiment, a key of `REPRODUCTIONS`.
    folder : Path
        Folder for results, tables and pictures. Results of an earlier run there are not computed again.
    settings : Settings
        Settings of the run.
    progress : Progress
        Receiver of the progress.

    Returns
    -------
    Made
    """
    check(name, settings)
    try:
        return REPRODUCTIONS[name].run(f"{name}-quick" if settings.quick else name, folder, settings, progress)
    finally:
        progress.finish()


def reproduce_all(folder: Path, settings: Settings, progress: Progress) -> Iterator[tuple[str, Made | Exception]]:
    """Run every experiment, each with the settings that it takes. One that fails does not stop the others."""
    check(ALL, settings)
    for name, one in REPRODUCTIONS.items():
        taken = {setting: getattr(settings, setting) for setting in one.settings}
        progress.say(f"{name}: {one.about}")
        try:
            made: Made | Exception = reproduce(name, folder, Settings(**taken), progress)
        except Exception as error:  # the other experiments may still succeed
            _logger.debug("%s failed.", name, exc_info=error)
            made = error
        yield name, made


def check(name: str, settings: Settings) -> None:
    """Raise if there is no such experiment, or if it cannot do what the settings ask for."""
    names = [*REPRODUCTIONS, ALL]
    if name not in names:
        hint = did_you_mean(name, names, 0.5)
        raise InvalidParameterError(f"There is no experiment '{name}'.{hint} There are: {', '.join(names)}.")
    of_all = {setting for one in REPRODUCTIONS.values() for setting in one.settings}
    takes = of_all if name == ALL else REPRODUCTIONS[name].settings
    plain = Settings()
    for setting in (field.name for field in fields(Settings)):
        if getattr(settings, setting) != getattr(plain, setting) and setting not in takes:
            able = [other for other, one in REPRODUCTIONS.items() if setting in one.settings]
            option = f"--{setting.replace('_', '-')}"
            raise InvalidParameterError(f"{option} has no effect on '{name}'. It is for: {', '.join(able)}.")
    if settings.scheduler is not None and settings.workers is not None:
        raise InvalidParameterError("--workers is for this machine and --scheduler for a cluster; give only one of them.")
    if settings.methods is not None:
        recovery.check_methods(settings.methods, recovery.METHODS)


def _recovery(figure: str, name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.paper.recovery_figures import write_figure
    from contextualdag.sweeps.cluster import run_sweep
    from contextualdag.sweeps.local import run_in_groups
    from contextualdag.sweeps.store import load_results

    shown = recovery.figure(figure, settings.quick)
    n_data_sets = settings.data_sets or (recovery.QUICK_DATA_SETS if settings.quick else recovery.DATA_SETS)
    cells = recovery.cells_of(shown, settings.methods or list(recovery.METHODS), n_data_sets)
    progress.start(name, len(cells))

    def step(done: int, total: int, cell: "Cell") -> None:
        progress.step(done)

    results, version, device = folder / "cells", recovery.cell_version, settings.device
    # On one GPU, fits side by side in one process are faster than many processes.
    if settings.scheduler is None and settings.workers is None and find_device(device).type == "cuda":
        run_cells = functools.partial(recovery.run_cells, device=device)
        report = run_in_groups(cells, run_cells, results, group=recovery.group_by_size, progress=step, version=version)
    else:
        run_cell = functools.partial(recovery.run_cell, device=device, threads=1)
        report = run_sweep(
            cells,
            run_cell,
            results,
            scheduler=settings.scheduler,
            n_workers=settings.workers,
            progress=step,
            version=version,
        )
    title = f"{shown.title}, small version" if settings.quick else shown.title
    paths = write_figure(name, load_results(results, version), shown, folder, title)
    return Made(tuple(paths), _failed(report, len(cells)))


def _timings(along: str, name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.paper.timing import measure, sizes
    from contextualdag.paper.timing_figures import write_timing_figure

    file = folder / f"{name}.csv"
    progress.start(name, len(sizes(along, settings.device, settings.quick)))
    measure(file, along, settings.device, settings.quick, progress.step)
    return Made(tuple(write_timing_figure(file, along)))


def _illustration(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.paper.illustration import run_illustration, write_illustration

    run_illustration(folder / name, quick=settings.quick, device=settings.device)
    return Made(tuple(write_illustration(folder / name, folder / name)))


def _drug(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.paper.drug import run_drug
    from contextualdag.paper.drug_report import write_drug_report

    run_drug(folder, data=settings.data, quick=settings.quick, device=settings.device, say=progress.say)
    return Made(tuple(write_drug_report(folder)))


def _failed(report: "SweepReport", n_cells: int) -> tuple[str, ...]:
    failed = f"{len(report.failed)} of {n_cells} cells failed; run the same command again to retry them."
    return (failed,) if report.failed else ()


_SWEEP = ("quick", "device", "data_sets", "methods", "scheduler", "workers")
REPRODUCTIONS = {
    name: Reproduction(f"recovery along {shown.along}: {shown.title}", _SWEEP, functools.partial(_recovery, name))
    for name, shown in recovery.FIGURES.items()
} | {
    "timings-n": Reproduction("seconds of training along n", ("quick", "device"), functools.partial(_timings, "n")),
    "timings-p": Reproduction("seconds of training along p", ("quick", "device"), functools.partial(_timings, "p")),
    "illustration": Reproduction("the first figure: graphs at four contexts", ("quick", "device"), _illustration),
    "drug": Reproduction("the drug study", ("quick", "device", "data"), _drug),
}
