"""Work side by side on the CPU: one thread for each piece, and none that burns a core while it waits.

Networks are small, so PyTorch's own threads gain little within one operation, and they spin while they wait for one another:
two fits on the same cores then take many times as long as one after the other. So within a fit PyTorch uses one thread, and
independent trainings and samples use the cores.
"""

import collections
import contextlib
import functools
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import torch
from threadpoolctl import ThreadpoolController

LONGEST_WAIT = 0.1  # seconds between looks at the keyboard
ROWS_WORTH_THREADS = 4000  # in a prediction for fewer, PyTorch's threads gain little and disturb other programs

Item = TypeVar("Item")
Result = TypeVar("Result")
Job = Generator[None, None, Result]


class _Limit:
    """Numbers of threads of libraries are those of the whole process, and fits may run in several threads of it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_inside = 0
        self.n_threads = 1
        self.others = contextlib.ExitStack()
        self.worker = threading.local()


_limit = _Limit()


@contextlib.contextmanager
def one_thread_each(device: torch.device) -> Iterator[None]:
    """Let PyTorch and the products of compiled loops use one thread within, so that `side_by_side` has the others.

    Nothing changes for a GPU.
    """
    if device.type != "cpu":
        yield
        return
    with _limit.lock:
        if _limit.n_inside == 0:
            _limit.n_threads = torch.get_num_threads()
            torch.set_num_threads(1)
            _limit.others.enter_context(_blas().limit(limits=1))
        _limit.n_inside += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.n_inside -= 1
            if _limit.n_inside == 0:
                torch.set_num_threads(_limit.n_threads)
                _limit.others.close()


@functools.cache
def _blas() -> ThreadpoolController:
    """The threads of the library that matrix products of compiled loops use."""
    import scipy.linalg  # noqa: F401 - it brings the library

    return ThreadpoolController().select(user_api="blas")


def n_threads() -> int:
    """Number of threads that may run side by side here: PyTorch's, or those that it left; one within `side_by_side`."""
    if getattr(_limit.worker, "is_busy", False):
        return 1
    with _limit.lock:
        return _limit.n_threads if _limit.n_inside else torch.get_num_threads()


def interruptibly(work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Run compiled work such that an interruption from the keyboard is heeded at once.

    Python only sees an interruption between two of its instructions, and only in the main thread. So this thread waits while
    another one works; if it is interrupted it calls `stop`, which has to make the work end soon.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    is_busy = getattr(_limit.worker, "is_busy", False)

    def work_like_here() -> None:
        _limit.worker.is_busy = is_busy
        work()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work_like_here)
        try:
            # A wait without an end is not interrupted on every system, nor with every handler of signals.
            while not wait([working], timeout=LONGEST_WAIT).done:
                pass
        except KeyboardInterrupt:
            stop()
            raise
        working.result()


def side_by_side(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Call a function of independent items on as many threads as there may be; results are in the order of the items.

    Each thread takes the next item when it has finished one. If a call fails, the others end and its error is raised.

    Examples
    --------
    >>> from contextualdag.threads import side_by_side
    >>> side_by_side(lambda x: x * x, [1, 2, 3])
    [1, 4, 9]
    """

    def job(item: Item) -> Job[Result]:
        yield from ()
        return function(item)

    return in_turns([job(item) for item in items])


def in_turns(jobs: Sequence[Job[Result]]) -> list[Result]:
    """Run generators to their end on as many threads as there may be, and return what they return, in their order.

    A thread takes a job for one step at a time, up to its next yield. So three jobs on two threads keep both busy until all
    are nearly done, where one after another the third would have a thread to itself. If a job fails, the others end and its
    error is raised.

    Examples
    --------
    >>> from contextualdag.threads import in_turns
    >>> def count(n):
    ...     for _ in range(n):
    ...         yield
    ...     return n
    >>> in_turns([count(3), count(1)])
    [3, 1]
    """
    results: dict[int, Result] = {}
    waiting = collections.deque(range(len(jobs)))  # its methods are atomic
    failed = threading.Event()

    def work() -> None:
        # A job that is not waiting has a thread already, so a thread that finds none is not needed any more.
        while waiting and not failed.is_set():
            try:
                index = waiting.popleft()
            except IndexError:
                return
            try:
                next(jobs[index])
            except StopIteration as end:
                results[index] = end.value
            else:
                waiting.append(index)

    def work_alone() -> None:
        _limit.worker.is_busy = True
        try:
            work()
        except BaseException:
            failed.set()
            raise
        finally:
            _limit.worker.is_busy = False

    workers = min(n_threads(), len(jobs))
    if workers <= 1:
        work()
    else:
        # The calling thread works too, so that an interruption from the keyboard reaches it.
        with ThreadPoolExecutor(workers - 1) as pool:
            others = [pool.submit(work_alone) for _ in range(workers - 1)]
            work_alone()
            for other in others:
                other.result()
    return [results[index] for index in range(len(jobs))]
