"""Log-det descent on a GPU, one graph per program, its matrices in registers. `logdet_torch.descend` defines the result.

Additions and products are rounded one by one and divisions to nearest, so that all kernels give the same result.
"""

import functools

import torch
import triton
import triton.language as tl
from torch import Tensor

from contextualdag.projection.kernels.logdet_torch import MAX_HALVINGS

NUM_WARPS = {64: 2, 128: 16}  # measured on an H200, except for 128; one for smaller graphs


def descend(
    W_tilde: Tensor, *, s: float, mu_path: list[float], tolerance: float, max_iterations: int, step_size: float, cut: float
) -> Tensor:
    """Same result as `logdet_torch.descend`, for tensors on a GPU with p up to 128."""
    n, p, _ = W_tilde.shape
    W = torch.empty(W_tilde.shape, dtype=W_tilde.dtype, device=W_tilde.device)
    P = max(triton.next_power_of_2(p), 2)
    numbers = _on_device((s, tolerance, step_size, cut, *mu_path), W.dtype, W.device)
    num_warps = NUM_WARPS.get(P, 1)
    _descend_sample[(n,)](
        W_tilde.detach().contiguous(), W, numbers, p, len(mu_path), max_iterations, P, MAX_HALVINGS,
        num_warps=num_warps, enable_fp_fusion=False,
    )  # fmt: skip
    return W


@functools.lru_cache(maxsize=16)
def _on_device(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Numbers as a tensor. They are copied once, since the host cannot be read while a CUDA graph is captured."""
    return torch.tensor(numbers, dtype=dtype, device=device)


@triton.jit
def _divide(a, b):
    """A / b rounded to nearest; Triton's own division of float32 is not."""
    if a.dtype == tl.float32:
        return tl.div_rn(a, b)
    return a / b


@triton.jit
def _inverse_transposed(W, s, p, row, column, P: tl.constexpr):
    """(s I - W o W)^-T by Gauss-Jordan elimination without pivoting, and whether all pivots were positive."""
    A = -tl.trans(W * W)
    A = tl.where(row == column, A + s, A)
    inside = s > 0
    k = 0
    while (k < p) & inside:
        in_row, in_column = row == k, column == k
        of_row = tl.sum(tl.where(in_row, A, 0.0), 0)
        pivot = tl.sum(tl.where(tl.arange(0, P) == k, of_row, 0.0), 0)
        inside = inside & (pivot > 0)
        of_row = _divide(tl.where(tl.arange(0, P) == k, 1.0, of_row), tl.zeros_like(of_row) + pivot)
        # A gather: a sum over the columns would be the larger part of the whole descent.
        factor = tl.gather(A, tl.zeros([P, 1], tl.int32) + k, 1)
        A = tl.where(in_column, 0.0, A) - factor * of_row[None, :]
        A = tl.where(in_row, of_row[None, :], A)
        k += 1
    return A, inside


@triton.jit
def _descend_sample(
    W_tilde_ptr, W_ptr, numbers, p, n_mu, max_iterations, P: tl.constexpr, MAX_HALVINGS: tl.constexpr
):  # fmt: skip
    sample = tl.program_id(0).to(tl.int64)
    s, tolerance, step_size, cut = tl.load(numbers), tl.load(numbers + 1), tl.load(numbers + 2), tl.load(numbers + 3)
    row, column = tl.arange(0, P)[:, None], tl.arange(0, P)[None, :]
    place = sample * p * p + row * p + column
    there = (row < p) & (column < p)
    W_tilde = tl.load(W_tilde_ptr + place, mask=there, other=0.0)
    scale = tl.max(tl.max(tl.abs(W_tilde), 1), 0)
    scale = tl.where(scale > 0, scale, 1.0)
    target = _divide(W_tilde, tl.zeros_like(W_tilde) + scale)
    W = tl.zeros_like(W_tilde)
    inverse, _ = _inverse_transposed(W, s, p, row, column, P)
    for m in range(n_mu):
        mu = tl.load(numbers + 4 + m)
        iteration = 0
        while iteration < max_iterations:
            twice = inverse + inverse
            gradient = twice * W + mu * (W - target)
            direction = _divide(gradient, mu + twice)
            step = step_size
            halvings = 0
            while halvings < MAX_HALVINGS:
                trial = W - step * direction
                trial_inverse, inside = _inverse_transposed(trial, s, p, row, column, P)
                if inside:
                    W = trial
                    inverse = trial_inverse
                    halvings = MAX_HALVINGS
                step = step * 0.5
                halvings += 1
            iteration += 1
            if tl.max(tl.max(tl.abs(gradient), 1), 0) <= tolerance:
                iteration = max_iterations
    W = tl.where(inverse == 0, W_tilde, W * scale)
    W = tl.where(tl.abs(W) > cut, W, 0.0)
    # Drop the smallest entries until no cycle is left: see `graphs.acyclic_threshold` for the widest cycle.
    width = tl.abs(W)
    for v in range(p):
        through = tl.sum(tl.where(row == v, width, 0.0), 0)
        to_v = tl.sum(tl.where(column == v, width, 0.0), 1)
        wider = tl.maximum(width, tl.minimum(to_v[:, None], through[None, :]))
        width = tl.where(row == v, width, wider)
    threshold = tl.max(tl.max(tl.where(row == column, width, 0.0), 1), 0)
    tl.store(W_ptr + place, tl.where(tl.abs(W) > threshold, W, 0.0), mask=there)
