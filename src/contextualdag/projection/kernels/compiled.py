"""How the kernels are compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for the CPU, releasing the GIL, with IEEE division; cached on disk where a folder can be written."""
    return _compile(function)


def compiled_sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a sum whose terms may be added in any order, so that it runs on vectors."""
    return _compile(function, fastmath={"reassoc", "nsz"})


def _compile(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    try:
        return njit(function, cache=True, nogil=True, error_model="numpy", **options)  # type: ignore[no-any-return]
    except RuntimeError:  # neither the package's folder nor the user's cache can be written: compile in each process
        return njit(function, nogil=True, error_model="numpy", **options)  # type: ignore[no-any-return]
