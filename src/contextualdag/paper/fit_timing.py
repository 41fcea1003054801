"""Seconds of whole fits: alone, two at once, beside busy programs, on one core, and the first of a process.

Every piece of work runs in processes of its own, ``python -m contextualdag.paper.fit_timing``, so that nothing that ran
before has compiled or loaded anything for it.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from contextualdag.datasets import Dataset, make_varying_dag
from contextualdag.errors import SweepError
from contextualdag.metrics import f1_score

if TYPE_CHECKING:
    from contextualdag.estimators import ContextualDAG

THREE = (0, 1, 2)
SPIN = "while True: pass"


@dataclass(frozen=True)
class Work:
    """A fit to time: n training and n validation rows of the paper's design with two context features.

    `copies` processes fit the same data at once, beside `busy` processes that compute without end. `cores` limits the cores
    that each may use. Without `warm` the time is that of the first fit of a process, from its start.
    """

    what: str
    n: int = 1000
    p: int = 20
    networks: int | None = None
    data_sets: Sequence[int] = THREE
    copies: int = 1
    busy: int = 0
    cores: int | None = None
    warm: bool = True


@dataclass(frozen=True)
class Timed:
    """What a piece of work took: median seconds of a fit (the slowest of those at once), all of them, F1, memory in MB."""

    work: Work
    seconds: float
    every: tuple[float, ...]
    f1: float
    megabytes: float | None


DEFAULT = Work("default fit")
CPU_WORK = (
    DEFAULT,
    replace(DEFAULT, what="the same on one core", cores=1),
    Work("one network", networks=1),
    replace(DEFAULT, what="two default fits at once", data_sets=(0,), copies=2),
    replace(DEFAULT, what="a default fit beside two busy loops", data_sets=(0,), busy=2),
    replace(DEFAULT, what="the first fit of a process, from its start", data_sets=(0,), warm=False),
    Work("default fit, p = 50", p=50),
    Work("default fit, n = 10 000", n=10_000, data_sets=(0,)),
    Work("default fit, p = 200", p=200, data_sets=(0,)),
)
GPU_WORK = (
    DEFAULT,
    Work("one network", networks=1),
    replace(DEFAULT, what="the first fit of a process, from its start", data_sets=(0,), warm=False),
    Work("default fit, p = 50", p=50),
    Work("default fit, n = 10 000", n=10_000),
)


def work_on(device: torch.device) -> tuple[Work, ...]:
    """What is timed on a device. One core is left out where a process cannot be kept on one."""
    if device.type == "cuda":
        return GPU_WORK
    return tuple(work for work in CPU_WORK if work.cores is None or hasattr(os, "sched_setaffinity"))


def time_fits(device: torch.device, works: Sequence[Work], begin: Callable[[str], None]) -> Iterator[Timed]:
    """Time pieces of work, one after another."""
    for work in works:
        begin(work.what)
        with _busy(work.busy):
            answers = _at_once([_command(work, device)] * work.copies)
        # Of fits at once each data set counts with its slowest.
        every = [max(seconds) for seconds in zip(*(answer["seconds"] for answer in answers), strict=True)]
        memory = [answer["megabytes"] for answer in answers if answer["megabytes"] is not None]
        f1 = statistics.mean(answers[0]["f1"])
        yield Timed(work, statistics.median(every), tuple(every), f1, max(memory, default=None))


def _command(work: Work, device: torch.device) -> list[str]:
    return [sys.executable, "-m", "contextualdag.paper.fit_timing", json.dumps(asdict(work)), str(device), str(time.time())]


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    """As many processes that never rest."""
    programs = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]  # noqa: S603
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _at_once(commands: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Run commands at the same time; each prints its answer as the last line."""
    programs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
        for command in commands
    ]
    try:
        outputs = [program.communicate() for program in programs]
    finally:
        for program in programs:
            if program.poll() is None:
                program.kill()
                program.wait()
    for program, (_, said) in zip(programs, outputs, strict=True):
        if program.returncode:
            reason = said.strip().splitlines()[-1:] or ["it said nothing"]
            raise SweepError(f"A timed fit ended with status {program.returncode}: {reason[0]}")
    return [json.loads(output.splitlines()[-1]) for output, _ in outputs]


def run(work: Work, device: str, started: float) -> dict[str, Any]:
    """Fit the data sets of one piece of work in this process: seconds, F1 on new contexts, and the memory used at most."""
    if work.cores is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: work.cores])
    seconds, f1 = [], []
    if work.warm:  # compiled code is for one size on a GPU, and for all on the CPU
        on_gpu = torch.device(device).type == "cuda"
        size = work if on_gpu else replace(work, n=min(work.n, 200), p=min(work.p, 10))
        _fit(size, device, max(work.data_sets) + 1)
    for data_set in work.data_sets:
        begin = time.time() if work.warm else started
        model, test = _fit(work, device, data_set)
        seconds.append(time.time() - begin)
        f1.append(float(f1_score(test.W, model.adjacency(test.Z))))
    return {"seconds": seconds, "f1": f1, "megabytes": _megabytes()}


def _fit(work: Work, device: str, data_set: int) -> tuple["ContextualDAG", Dataset]:
    """A fitted model, and data that it has not seen. What it learned is on the CPU, so nothing is left to wait for."""
    from contextualdag.estimators import ContextualDAG

    data, n = make_varying_dag(3 * work.n, work.p, 2, random_state=data_set), work.n
    own: dict[str, Any] = {} if work.networks is None else {"n_members": work.networks}
    model = ContextualDAG(random_state=0, device=device, verbose=False, **own)
    return model.fit(data.X[:n], data.Z[:n], data.X[n : 2 * n], data.Z[n : 2 * n]), data[2 * n :]


def _megabytes() -> float | None:
    """The most memory that this process has held; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(run(Work(**given), sys.argv[2], float(sys.argv[3]))) + "\n")
