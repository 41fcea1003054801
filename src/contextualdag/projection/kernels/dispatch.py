"""Which kernel runs: compiled loops where they exist, plain PyTorch everywhere else."""

import functools
import importlib
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from contextualdag.errors import InvalidParameterError
from contextualdag.projection.kernels import l1_torch, logdet_torch, order_torch

KERNELS = ("auto", "numba", "torch")


def choose(kernel: str, device: torch.device) -> str:
    """Name the kernel to use, "numba" or "torch", for tensors on `device`."""
    if kernel == "auto":
        return "numba" if device.type == "cpu" and _numba_or_warning() else "torch"
    if kernel == "numba":
        if device.type != "cpu":
            raise InvalidParameterError(
                f"kernel='numba' works on the CPU, and the input is on {device}. Use kernel='auto' or 'torch'."
            )
        if _without_numba() is not None:
            raise InvalidParameterError(f"kernel='numba' cannot be used: {_without_numba()}. Available: 'torch'.")
    return kernel


def order_projection(kernel: str, device: torch.device) -> Callable[[Tensor, float, int], Tensor]:
    """Function that keeps the heaviest acyclic subgraph, see `order_torch.project`."""
    if choose(kernel, device) == "numba":
        from contextualdag.projection.kernels import order_numba

        return order_numba.project
    return order_torch.project


def logdet_descent(kernel: str, device: torch.device) -> Callable[..., Tensor]:
    """Function that runs the log-det descent, see `logdet_torch.descend`."""
    if choose(kernel, device) == "numba":
        from contextualdag.projection.kernels import logdet_numba

        return logdet_numba.descend
    return logdet_torch.descend


def sum_and_count_above(device: torch.device) -> Callable[[Tensor, float], Tensor]:
    """Function that the root search of the l1 step calls in each pass, see `l1_torch.sum_and_count_above`."""
    if choose("auto", device) == "numba":
        from contextualdag.projection.kernels import l1_numba

        return l1_numba.sum_and_count_above
    return l1_torch.sum_and_count_above


@functools.cache
def _without_numba() -> str | None:
    """Why numba cannot be used; None if it can."""
    try:
        importlib.import_module("numba")
    except ImportError as error:
        return str(error)
    return None


@functools.cache
def _numba_or_warning() -> bool:
    why_not = _without_numba()
    if why_not is not None:
        warnings.warn(
            f"numba cannot be imported ({why_not}): projections on the CPU run in plain PyTorch, with the same result but "
            "many times slower. Install numba to speed them up.",
            RuntimeWarning,
            stacklevel=2,
        )
    return why_not is None
