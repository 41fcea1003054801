"""Work in other processes: within limits of memory and time, and killed on the way."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from typing import Any

GIGABYTE = 1 << 30


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["contextualdag.estimators", "attack.models", "scipy.optimize"])
    return context


CONTEXT = _context()


def limited(function: Callable[..., Any], *args: Any, seconds: float, gigabytes: float | None = None) -> tuple[str, Any]:
    """Call a function in another process: ("done", result), ("hung", None) or ("died", how).

    Of the memory it may take `gigabytes` more than it has after its start.
    """
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_run, args=(theirs, gigabytes, function, args))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            return "hung", None
        try:
            return "done", ours.recv()
        except EOFError:
            process.join(5)
            return "died", f"exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()
        ours.close()


def killed(function: Callable[..., Any], *args: Any, after: float) -> bool:
    """Call a function in another process and kill it some time after it said that it begins; whether it was still at it.

    The function is given a callable as its first argument, which it calls when it begins.
    """
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_announced, args=(theirs, function, args))
    process.start()
    theirs.close()
    if ours.poll(60):
        with contextlib.suppress(EOFError):
            ours.recv()
    time.sleep(after)
    alive = process.is_alive()
    if alive and process.pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    process.join()
    ours.close()
    return bool(alive)


def _run(theirs: Any, gigabytes: float | None, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    import torch

    torch.set_num_threads(1)
    if gigabytes is not None:
        import resource

        with open("/proc/self/statm") as file:  # noqa: PTH123 - no path of ours
            now = int(file.read().split()[0]) * resource.getpagesize()
        most = int(now + gigabytes * GIGABYTE)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    theirs.send(function(*args))


def _announced(theirs: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    import torch

    torch.set_num_threads(1)
    function(lambda: theirs.send(None), *args)
