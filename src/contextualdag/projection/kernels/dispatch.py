"""Selection of the kernel: numba on the CPU, Triton on CUDA, plain PyTorch elsewhere and for very large graphs."""

import functools
import importlib
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from contextualdag.errors import InvalidParameterError
from contextualdag.projection.kernels import l1_torch, logdet_torch, order_torch

KERNELS = ("auto", "numba", "triton", "torch")
DEVICES = {"numba": "cpu", "triton": "cuda"}
LARGEST_P = {"order": 256, "logdet": 128}  # for Triton, whose programs hold a graph on chip


def choose(kernel: str, device: torch.device, p: int, problem: str) -> str:
    """Name the kernel to use for graphs of p nodes on `device`: "numba", "triton" or "torch"."""
    if kernel == "auto":
        if device.type == "cuda" and p <= LARGEST_P[problem]:
            return "triton" if available_or_warning("triton") else "torch"
        return "numba" if device.type == "cpu" and available_or_warning("numba") else "torch"
    if kernel == "torch":
        return kernel
    if device.type != DEVICES[kernel]:
        raise InvalidParameterError(
            f"kernel='{kernel}' works on {DEVICES[kernel]}, and the input is on {device}. Use kernel='auto' or 'torch'."
        )
    if _import_error(kernel) is not None:
        raise InvalidParameterError(f"kernel='{kernel}' cannot be used: {_import_error(kernel)}. Available: 'torch'.")
    if kernel == "triton" and p > LARGEST_P[problem]:
        raise InvalidParameterError(
            f"kernel='triton' takes up to {LARGEST_P[problem]} nodes, and the input has {p}. Use kernel='auto' or 'torch'."
        )
    return kernel


def order_projection(kernel: str, W: Tensor) -> Callable[[Tensor, float, int], Tensor]:
    """Function that keeps the heaviest acyclic subgraph, see `order_torch.project`."""
    chosen = choose(kernel, W.device, W.shape[-1], "order")
    if chosen == "numba":
        from contextualdag.projection.kernels import order_numba

        return order_numba.project
    if chosen == "triton":
        from contextualdag.projection.kernels import order_triton

        return order_triton.project
    return order_torch.project


def logdet_descent(kernel: str, W: Tensor) -> Callable[..., Tensor]:
    """Function that runs the log-det descent, see `logdet_torch.descend`."""
    chosen = choose(kernel, W.device, W.shape[-1], "logdet")
    if chosen == "numba":
        from contextualdag.projection.kernels import logdet_numba

        return logdet_numba.descend
    if chosen == "triton":
        from contextualdag.projection.kernels import logdet_triton

        return logdet_triton.descend
    return logdet_torch.descend


def l1_root(device: torch.device) -> Callable[[Tensor, Tensor], Tensor] | None:
    """Function that finds the threshold of the l1 step on the device, see `l1_triton.threshold`; None if there is none."""
    if device.type != "cuda" or not available_or_warning("triton"):
        return None
    from contextualdag.projection.kernels import l1_triton

    return l1_triton.threshold


def sum_and_count_above(device: torch.device) -> Callable[[Tensor, float], Tensor]:
    """Function that the root search of the l1 step calls in each step, see `l1_torch.sum_and_count_above`."""
    if device.type == "cpu" and available_or_warning("numba"):
        from contextualdag.projection.kernels import l1_numba

        return l1_numba.sum_and_count_above
    return l1_torch.sum_and_count_above


@functools.cache
def _import_error(library: str) -> str | None:
    """Why a library cannot be imported; None if it can."""
    try:
        importlib.import_module(library)
    except ImportError as error:
        return str(error)
    return None


@functools.cache
def available_or_warning(library: str) -> bool:
    """Whether a library can be imported; warns, once, if not."""
    why_not = _import_error(library)
    if why_not is not None:
        warnings.warn(
            f"{library} cannot be imported ({why_not}): projections on {DEVICES[library]} run in plain PyTorch, with the "
            f"same result but many times slower. Install {library} to speed them up.",
            RuntimeWarning,
            stacklevel=2,
        )
    return why_not is None
