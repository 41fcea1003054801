"""What of the paper can be run again, by name: how to run it, how to draw it, and which settings it takes."""

import difflib
import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from contextualdag.errors import InvalidParameterError
from contextualdag.experiments import designs

if TYPE_CHECKING:
    from contextualdag.experiments.sweep import SweepReport

ALL = "all"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What a user may choose. None stands for what an experiment does by itself."""

    quick: bool = False
    device: str = "auto"
    data_sets: int | None = None
    methods: tuple[str, ...] | None = None
    scheduler: str | None = None
    workers: int | None = None
    data: Path | None = None


class Progress(Protocol):
    """Who is told how far a run is."""

    def say(self, text: str) -> None:
        """One line."""

    def start(self, what: str, total: int) -> None:
        """So much is to be done."""

    def step(self, done: int, what: str = "") -> None:
        """So much of it is done."""

    def finish(self) -> None:
        """Nothing more is counted."""


@dataclass(frozen=True)
class Made:
    """The files that a run wrote, and a sentence for each part of it that failed."""

    paths: tuple[Path, ...]
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """One figure or table of the paper. `run` gets its name for files, the folder, the settings and the progress."""

    about: str
    settings: tuple[str, ...]
    run: Callable[[str, Path, Settings, Progress], Made]


def reproduce(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    """Run one experiment and draw it.

    Parameters
    ----------
    name : str
        A key of `REPRODUCTIONS`.
    folder : Path
        Where results, tables and pictures go. What it has of an earlier run is not run again.
    settings : Settings
        What to run.
    progress : Progress
        Who is told.

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
    """Run every experiment, each with those settings that it takes. One that fails does not stop the others."""
    check(ALL, settings)
    for name, one in REPRODUCTIONS.items():
        taken = {setting: getattr(settings, setting) for setting in one.settings}
        progress.say(f"{name}: {one.about}")
        try:
            made: Made | Exception = reproduce(name, folder, Settings(**taken), progress)
        except Exception as error:  # Hours of other experiments may still come.
            _logger.debug("%s failed.", name, exc_info=error)
            made = error
        yield name, made


def check(name: str, settings: Settings) -> None:
    """Raise if there is no such experiment, or if it cannot do what the settings ask for."""
    names = [*REPRODUCTIONS, ALL]
    if name not in names:
        near = difflib.get_close_matches(name, names, 1, 0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise InvalidParameterError(f"There is no experiment '{name}'.{hint} There are: {', '.join(names)}.")
    # Methods have other names in other experiments, so one list cannot serve all of them.
    of_all = {setting for one in REPRODUCTIONS.values() for setting in one.settings} - {"methods"}
    takes = of_all if name == ALL else REPRODUCTIONS[name].settings
    plain = Settings()
    for setting in (field.name for field in fields(Settings)):
        if getattr(settings, setting) != getattr(plain, setting) and setting not in takes:
            able = [other for other, one in REPRODUCTIONS.items() if setting in one.settings]
            option = f"--{setting.replace('_', '-')}"
            raise InvalidParameterError(f"{option} means nothing to '{name}'. It is for: {', '.join(able)}.")
    if settings.scheduler is not None and settings.workers is not None:
        raise InvalidParameterError("--workers is for this machine and --scheduler for another; give one of them.")
    if settings.methods is not None and name in designs.FIGURES:
        designs.check_methods(settings.methods)
    elif settings.methods is not None:
        from contextualdag.experiments.peers import peer_cells

        peer_cells(methods=settings.methods)


def _recovery(figure: str, name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.experiments.figures import write_figure
    from contextualdag.experiments.finished import load_results
    from contextualdag.experiments.one_process import run_side_by_side, wants_one_process
    from contextualdag.experiments.run import run_cell, run_cells
    from contextualdag.experiments.sweep import run_sweep

    shown = designs.figure(figure, settings.quick)
    n_data_sets = settings.data_sets or (designs.QUICK_DATA_SETS if settings.quick else designs.DATA_SETS)
    cells = designs.cells_of(shown, settings.methods or list(designs.METHODS), n_data_sets)
    progress.start(name, len(cells))

    def finished(done: int, total: int, cell: object) -> None:
        progress.step(done)

    if settings.scheduler is None and settings.workers is None and wants_one_process(settings.device):
        side_by_side = functools.partial(run_cells, device=settings.device)
        report = run_side_by_side(cells, side_by_side, folder / "cells", begin=finished)
    else:
        report = run_sweep(
            cells,
            functools.partial(run_cell, device=settings.device, threads=1),
            folder / "cells",
            scheduler=settings.scheduler,
            n_workers=settings.workers,
            begin=finished,
        )
    title = f"{shown.title}, small version" if settings.quick else shown.title
    paths = write_figure(name, load_results(folder / "cells"), shown, folder, title)
    return Made(tuple(paths), _failed(report, len(cells)))


def _timings(along: str, name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.experiments.timing_figures import write_timing_figure
    from contextualdag.experiments.timing_table import measure, sizes

    file = folder / f"{name}.csv"
    progress.start(name, len(sizes(along, settings.device, settings.quick)))
    measure(file, along, settings.device, settings.quick, progress.step)
    return Made(tuple(write_timing_figure(file, along)))


def _illustration(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.experiments.illustration import run_illustration
    from contextualdag.experiments.illustration_figures import write_illustration

    run_illustration(folder / name, quick=settings.quick, device=settings.device)
    return Made(tuple(write_illustration(folder / name, folder / name)))


def _drug(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.experiments.drug import run_drug
    from contextualdag.experiments.drug_figures import write_drug_figures

    run_drug(folder, data=settings.data, quick=settings.quick, device=settings.device, say=progress.say)
    return Made(tuple(write_drug_figures(folder)))


def _peers(name: str, folder: Path, settings: Settings, progress: Progress) -> Made:
    from contextualdag.experiments.finished import load_results
    from contextualdag.experiments.peer_figures import write_peers
    from contextualdag.experiments.peers import peer_cells, run_peers

    n_cells = len(peer_cells(settings.quick, settings.data_sets, settings.methods))
    progress.start(name, n_cells)
    report = run_peers(
        folder / "peer-cells",
        quick=settings.quick,
        device=settings.device,
        data_sets=settings.data_sets,
        methods=settings.methods,
        scheduler=settings.scheduler,
        workers=settings.workers,
        begin=lambda done, total, cell: progress.step(done),
    )
    paths = write_peers(folder, load_results(folder / "peer-cells"), quick=settings.quick)
    return Made(tuple(paths), _failed(report, n_cells))


def _failed(report: "SweepReport", n_cells: int) -> tuple[str, ...]:
    failed = f"{len(report.failed)} of {n_cells} cells failed; the same command tries them again."
    return (failed,) if report.failed else ()


_SWEEP = ("quick", "device", "data_sets", "methods", "scheduler", "workers")
REPRODUCTIONS = {
    name: Reproduction(f"recovery along {shown.along}: {shown.title}", _SWEEP, functools.partial(_recovery, name))
    for name, shown in designs.FIGURES.items()
} | {
    "timings-n": Reproduction("seconds of training along n", ("quick", "device"), functools.partial(_timings, "n")),
    "timings-p": Reproduction("seconds of training along p", ("quick", "device"), functools.partial(_timings, "p")),
    "illustration": Reproduction("the first figure: graphs at four contexts", ("quick", "device"), _illustration),
    "drug": Reproduction("the drug study", ("quick", "device", "data"), _drug),
    "peers": Reproduction("other packages on the same data", _SWEEP, _peers),
}
