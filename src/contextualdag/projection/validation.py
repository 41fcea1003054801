"""Checks of inputs and parameters of the projections."""

import math

import torch
from torch import Tensor

from contextualdag.checks import is_flag, is_integer, is_number, is_one_of, require
from contextualdag.errors import InvalidInputError
from contextualdag.graphs import check_batch
from contextualdag.projection.kernels.dispatch import KERNELS


def check_weights(W: Tensor, name: str = "W") -> None:
    """Raise unless `W` is a batch (n, p, p) of finite float32 or float64 numbers."""
    check_batch(W, name)
    if W.dtype not in (torch.float32, torch.float64):
        raise InvalidInputError(f"{name} must be float32 or float64. Got {W.dtype} instead; convert it with {name}.float().")
    if W.numel() == 0 or is_captured(W):
        return
    low, high = torch.aminmax(W)  # one pass, and NaN propagates
    if not bool(torch.isfinite(low) & torch.isfinite(high)):
        bad = ~torch.isfinite(W).flatten(1).all(1)
        count = int((~torch.isfinite(W)).sum())
        raise InvalidInputError(
            f"{name} must be finite. {count} of its entries are NaN or infinite, the first in sample "
            f"{int(bad.int().argmax())}. If it comes from a network, its training has diverged: try a smaller learning rate."
        )


def is_captured(W: Tensor) -> bool:
    """Whether a CUDA graph is being captured: then values cannot be read, and the caller must have checked them."""
    return W.device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def check_mask(mask: Tensor, W: Tensor) -> None:
    """Raise unless `mask` is boolean (or zeros and ones), of shape (p, p) or that of `W`, and on the same device."""
    if not isinstance(mask, Tensor):
        raise InvalidInputError(f"mask must be a torch.Tensor. Got {type(mask).__name__} instead.")
    if mask.shape not in (W.shape, W.shape[1:]):
        raise InvalidInputError(
            f"mask must have shape (p, p) = {tuple(W.shape[1:])} or (n, p, p) = {tuple(W.shape)}. "
            f"Got {tuple(mask.shape)} instead."
        )
    if mask.layout != torch.strided:
        raise InvalidInputError(f"mask must be a dense tensor. Got layout {mask.layout} instead.")
    if mask.device != W.device:
        raise InvalidInputError(f"mask is on {mask.device} and W on {W.device}; they must be on the same device.")
    if mask.dtype != torch.bool and not is_captured(W) and not bool(((mask == 0) | (mask == 1)).all()):
        raise InvalidInputError("mask must be boolean, or hold only zeros and ones (one: the edge is allowed).")


def check_number(
    value: object,
    name: str,
    owner: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> None:
    """Raise unless the parameter `name` of `owner` is a number in the interval from `low` to `high`."""
    interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
    holds = is_number(value, low, high, low_open=low_open, high_open=high_open)
    require(holds, name, owner, f"a number in {interval}", value)


def check_count(value: int, name: str, owner: str, *, high: int | None = None) -> None:
    """Raise unless the parameter `name` of `owner` is an integer from 1 to `high`."""
    holds = is_integer(value) and value >= 1 and (high is None or value <= high)
    require(holds, name, owner, f"an integer {'of at least 1' if high is None else f'from 1 to {high}'}", value)


def check_flag(value: object, name: str, owner: str) -> None:
    """Raise unless the parameter `name` of `owner` is True or False."""
    require(is_flag(value), name, owner, "True or False", value)


def check_kernel(value: object, owner: str) -> None:
    """Raise unless `value` names a kernel."""
    require(is_one_of(value, KERNELS), "kernel", owner, f"one of {', '.join(map(repr, KERNELS))}", value, KERNELS)
