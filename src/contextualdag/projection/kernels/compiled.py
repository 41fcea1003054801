"""Compiled loops on the CPU: how they are compiled with numba, and how they run on several threads."""

import ctypes
import functools
import itertools
import os
from collections.abc import Callable
from typing import Any

import torch

from contextualdag.threads import n_threads, side_by_side

SLICES_PER_THREAD = 8
MOST_IN_A_SLICE = 50  # times what is worth a thread: an interruption from the keyboard waits for the end of a slice
_IMPORTED_IN = os.getpid()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for the CPU, releasing the GIL, with IEEE division; cached on disk if a folder can be written."""
    return _compile(function)


def compiled_sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a sum whose terms may be added in any order, so that it can be vectorised."""
    return _compile(function, fastmath={"reassoc", "nsz"})


def _compile(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    from numba import njit

    try:
        return njit(function, cache=True, nogil=True, error_model="numpy", **options)  # type: ignore[no-any-return]
    except RuntimeError:  # neither the package's folder nor the user's cache can be written: every process compiles
        return njit(function, nogil=True, error_model="numpy", **options)  # type: ignore[no-any-return]


@functools.cache
def _openmp_pause() -> Callable[[int], int] | None:
    """OpenMP's `omp_pause_resource_all`, from the runtime that PyTorch has loaded, if there is one."""
    try:
        return ctypes.CDLL(None).omp_pause_resource_all
    except (AttributeError, OSError, TypeError):  # no OpenMP, one older than 5.0, or a system without a global namespace
        return None


def _rest_openmp_threads() -> None:
    """Stop PyTorch's idle threads; its next operation starts them again.

    They spin for about four milliseconds after each operation, on the cores that our threads need: otherwise a
    projection right after a layer of the network gets no second core at all.
    """
    pause = _openmp_pause()
    # A forked child inherits the list of threads but not the threads, and would wait for them forever.
    if pause is not None and os.getpid() == _IMPORTED_IN:
        pause(1)  # omp_pause_soft; a failure code only means that they keep spinning


def over_samples(kernel: Callable[..., None], n: int, worth_a_thread: int, *args: Any) -> None:
    """Call ``kernel(start, stop, *args)`` on slices that cover 0..n, on as many threads as `n_threads` says.

    `worth_a_thread` is the number of samples below which another thread costs more than it saves: about a millisecond of
    work.

    The kernels release the GIL. Each thread takes the next slice when it has finished one, so that a thread that shares
    its core with another program does not delay the others.

    We do not use numba's parallel loops: its default threading layer aborts the process when two Python threads enter it
    at once, as a Dask worker's do, and its OpenMP layer aborts after a fork. Our threads exist only during the call, so
    a forked child misses none.
    """
    workers = min(n_threads(), n // worth_a_thread)
    n_slices = max(1, n // (worth_a_thread * MOST_IN_A_SLICE))
    if workers > 1:
        n_slices = min(max(workers * SLICES_PER_THREAD, n_slices), n)
    cuts = [n * s // n_slices for s in range(n_slices + 1)]
    if workers <= 1:
        for start, stop in itertools.pairwise(cuts):
            kernel(start, stop, *args)
        return
    if torch.get_num_threads() > 1:
        _rest_openmp_threads()
    side_by_side(lambda s: kernel(cuts[s], cuts[s + 1], *args), range(n_slices))
