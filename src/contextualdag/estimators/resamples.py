"""Graphs of half-samples: on processes of this machine, side by side on a GPU, or on a Dask cluster; kept as they come."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from contextualdag.checks import in_one_line
from contextualdag.cluster import client_of
from contextualdag.errors import ContextualDAGError, PersistenceError, TrainingError
from contextualdag.files import is_begun, restore
from contextualdag.folder import load_folder, save_folder
from contextualdag.training.checkpoint import fingerprint
from contextualdag.training.problem import Problem
from contextualdag.training.recipe import learn_resamples
from contextualdag.training.solution import Solution, unpack_solution

KIND = "resample"
AT_ONCE = 64  # on a GPU

# Called with the number of resamples that are done.
Report = Callable[[int], None]


def solve_resamples(
    problems: Sequence[Problem],
    n_jobs: int | None = None,
    scheduler: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    report: Report = lambda done: None,
) -> list[Solution]:
    """Solve problems of half-samples, each as it would be alone.

    Parameters
    ----------
    problems : sequence of Problem
        See `contextualdag.training.resampling`.
    n_jobs : int, optional
        Number of processes on the CPU; by default as many as there are cores. With 1 there is no other process.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers solve them instead.
    folder : path, optional
        Where solutions are kept as they come. Those that are there already are not solved again.
    report : callable, optional
        Called with the number of problems that are solved.
    """
    store = None if folder is None else _Store(Path(folder), problems)
    found: dict[int, Solution] = {} if store is None else store.load()
    report(len(found))
    left = {index: problem for index, problem in enumerate(problems) if index not in found}
    for index, solution in _solved(left, n_jobs, scheduler):
        if store is not None:
            store.keep(index, solution)
        found[index] = solution
        report(len(found))
    return [found[index] for index in range(len(problems))]


def _solved(left: Mapping[int, Problem], n_jobs: int | None, scheduler: str | None) -> Iterator[tuple[int, Solution]]:
    """Solutions as they come."""
    if not left:
        return
    if scheduler is not None:
        yield from _on_cluster(left, scheduler)
    elif next(iter(left.values())).split.train.X.device.type != "cpu":
        yield from _at_once(left)
    else:
        n_jobs = min(n_jobs or os.cpu_count() or 1, len(left))
        yield from (_solve(index, problem) for index, problem in left.items()) if n_jobs == 1 else _on_cores(left, n_jobs)


def _solve(index: int, problem: Problem) -> tuple[int, Solution]:
    return index, learn_resamples([problem])[0]


def _at_once(left: Mapping[int, Problem]) -> Iterator[tuple[int, Solution]]:
    """On a device that takes many networks at a time; problems with other numbers of rows are trained apart."""
    alike: dict[object, list[int]] = {}
    for index, problem in left.items():
        alike.setdefault(problem.shape, []).append(index)
    for indices in alike.values():
        for first in range(0, len(indices), AT_ONCE):
            some = indices[first : first + AT_ONCE]
            yield from zip(some, learn_resamples([left[index] for index in some]), strict=True)


def _on_cores(left: Mapping[int, Problem], n_jobs: int) -> Iterator[tuple[int, Solution]]:
    """On processes of this machine, each with one thread."""
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs")
        tasks: Iterable[Any] = (delayed(_solve)(index, problem) for index, problem in left.items())
        try:
            yield from pool(tasks)
        except BrokenProcessPool as error:
            raise TrainingError(
                "A process that fitted a half-sample was killed, perhaps for want of memory. Finished ones are kept if fit "
                "was given a checkpoint: call it again, with a smaller n_jobs."
            ) from error


def _on_cluster(left: Mapping[int, Problem], scheduler: str) -> Iterator[tuple[int, Solution]]:
    """On the workers of a Dask cluster. A problem whose worker dies is solved by another one."""
    from distributed import as_completed

    with client_of(scheduler) as client:
        futures = [client.submit(_solve, index, problem, pure=False) for index, problem in left.items()]
        for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
            if future.cancelled():
                raise TrainingError(
                    "The dask scheduler went away or dropped the work. Finished half-samples are kept if fit was given a "
                    "checkpoint: call it again."
                )
            error = future.exception()
            if error is None:
                yield future.result()
            elif isinstance(error, ContextualDAGError):
                raise error
            else:
                raise TrainingError(f"A half-sample failed on the cluster: {type(error).__name__}: {error}") from error


class _Store:
    """A folder with one folder for each solution."""

    def __init__(self, folder: Path, problems: Sequence[Problem]) -> None:
        rows = problems[0].split.train
        self.folder, self.device, self.sizes = folder, rows.X.device, (rows.Z.shape[1], rows.X.shape[1])
        self._fingerprints = [_fingerprint(problem) for problem in problems]

    def load(self) -> dict[int, Solution]:
        """The solutions that are there; one of other data or settings is an error."""
        found = {}
        for index, own in enumerate(self._fingerprints):
            place = self._place(index)
            restore(place)  # what a killed save left
            if not is_begun(place):
                continue
            try:
                metadata, tensors = load_folder(place, KIND)
            except PersistenceError as error:
                raise PersistenceError(
                    f"A finished half-sample cannot be read: {error} Delete {place} to fit it anew; the others are kept."
                ) from error
            if metadata.get("fingerprint") != own:
                raise PersistenceError(
                    f"The half-sample in {place} belongs to other data or settings. Use another folder, or delete it to "
                    "start anew."
                )
            try:
                found[index] = unpack_solution(metadata["solution"], tensors, self.device, *self.sizes)
            except Exception as error:  # whatever comes of metadata that no fit wrote
                raise PersistenceError(
                    f"The half-sample in {place} is not as a fit writes it ({type(error).__name__}: {in_one_line(error)}); "
                    "delete it to fit it anew."
                ) from error
        return found

    def keep(self, index: int, solution: Solution) -> None:
        """Write a solution."""
        packed, tensors = solution.pack()
        save_folder(self._place(index), KIND, {"fingerprint": self._fingerprints[index], "solution": packed}, tensors)

    def _place(self, index: int) -> Path:
        return self.folder / f"resample-{index:04d}"


def _fingerprint(problem: Problem) -> str:
    settings = {"settings": repr(problem.settings), "seed": problem.seed}
    allowed = hashlib.sha256(problem.allowed.numpy().tobytes()).hexdigest()
    return fingerprint(settings | {"allowed": allowed}, problem.split)
