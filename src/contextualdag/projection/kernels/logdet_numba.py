"""Log-det descent as compiled loops on the CPU. `logdet_torch.descend` explains the steps and defines the result.

Everything that the loops call is in this file: numba's cache does not notice changes elsewhere. Scalars are passed in the
dtype of the matrices, since numba would otherwise compute in float64.
"""

import numpy as np
import torch
from torch import Tensor

from contextualdag.projection.kernels.compiled import compiled, over_samples
from contextualdag.projection.kernels.logdet_torch import MAX_HALVINGS


def descend(
    W_tilde: Tensor, *, s: float, mu_path: list[float], tolerance: float, max_iterations: int, step_size: float, cut: float
) -> Tensor:
    """Same result as `logdet_torch.descend`, for tensors on the CPU."""
    W = torch.empty(W_tilde.shape, dtype=W_tilde.dtype)
    target = W_tilde.detach().contiguous().numpy()
    real = target.dtype.type
    mus = np.array(mu_path, dtype=real)
    numbers = (real(s), mus, real(tolerance), max_iterations, real(step_size), real(0.5), MAX_HALVINGS, real(cut))
    worth_a_thread = 4_000 // W.shape[1] ** 2 + 1  # an entry costs some 200 ns and more
    over_samples(_descend_samples, len(W), worth_a_thread, target, *numbers, W.numpy())
    return W


@compiled
def _descend_samples(start, stop, W_tilde, s, mus, tolerance, max_iterations, step_size, half, max_halvings, cut, result):
    """Write the final iterate of every sample from start to stop into `result`, dropped edges at zero."""
    p = W_tilde.shape[1]
    target, trial = np.empty((p, p), W_tilde.dtype), np.empty((p, p), W_tilde.dtype)
    inverse, trial_inverse = np.empty((p, p), W_tilde.dtype), np.empty((p, p), W_tilde.dtype)
    row = np.empty(p, W_tilde.dtype)
    for i in range(start, stop):
        W = result[i]
        scale = _scale(W_tilde[i], target)
        W[:] = 0
        _inverse_transposed(W, s, inverse, row)
        for mu in mus:
            for _ in range(max_iterations):
                steepest = _direction(W, target, inverse, mu)
                step = step_size
                for _ in range(max_halvings):
                    _subtract(W, step, inverse, trial)
                    if _inverse_transposed(trial, s, trial_inverse, row):
                        W[:] = trial
                        inverse, trial_inverse = trial_inverse, inverse
                        break
                    step *= half
                else:
                    _inverse_transposed(W, s, inverse, row)
                if steepest <= tolerance:
                    break
        _drop_weak(W, W_tilde[i], inverse, scale, cut)
        _break_cycles(W, trial)


@compiled
def _scale(W_tilde, target):
    """Divide by the largest absolute entry, and return it."""
    p = W_tilde.shape[0]
    largest = abs(W_tilde[0, 0])
    for j in range(p):
        for k in range(p):
            largest = max(largest, abs(W_tilde[j, k]))
    if largest == 0:
        largest += 1
    for j in range(p):
        for k in range(p):
            target[j, k] = W_tilde[j, k] / largest
    return largest


@compiled
def _direction(W, target, inverse, mu):
    """Overwrite the inverse by the preconditioned gradient. Return the largest entry of the gradient itself."""
    p = W.shape[0]
    steepest = abs(W[0, 0])
    for j in range(p):
        for k in range(p):
            twice = inverse[j, k] + inverse[j, k]
            gradient = twice * W[j, k] + mu * (W[j, k] - target[j, k])
            steepest = max(steepest, abs(gradient))
            inverse[j, k] = gradient / (mu + twice)
    return steepest


@compiled
def _subtract(W, step, direction, trial):
    for j in range(W.shape[0]):
        for k in range(W.shape[0]):
            trial[j, k] = W[j, k] - step * direction[j, k]


@compiled
def _inverse_transposed(W, s, A, row):
    """Write (s I - W o W)^-T into A, by elimination without pivoting. False as soon as a pivot is not positive."""
    p = W.shape[0]
    for j in range(p):
        for k in range(p):
            A[k, j] = -(W[j, k] * W[j, k])
        A[j, j] += s
    for k in range(p):
        pivot = A[k, k]
        if not pivot > 0:
            return False
        A[k, k] = 1
        for j in range(p):
            row[j] = A[k, j] / pivot
        for i in range(p):
            factor = A[i, k]
            A[i, k] = 0
            target = A[i]
            for j in range(p):
                target[j] -= factor * row[j]
        A[k, :] = row
    return True


@compiled
def _drop_weak(W, W_tilde, inverse, scale, cut):
    """Restore the scale, set edges on no cycle to their original value and entries of at most `cut` to zero."""
    for j in range(W.shape[0]):
        for k in range(W.shape[0]):
            w = W_tilde[j, k] if inverse[j, k] == 0 else W[j, k] * scale
            W[j, k] = w if abs(w) > cut else 0


@compiled
def _break_cycles(W, width):
    """Drop the smallest entries until no cycle is left: see `graphs.acyclic_threshold` for the widest cycle."""
    p = W.shape[0]
    for j in range(p):
        for k in range(p):
            width[j, k] = abs(W[j, k])
    for v in range(p):
        through = width[v]
        for j in range(p):
            if j != v:
                to_v = width[j, v]
                row = width[j]
                for k in range(p):
                    row[k] = max(row[k], min(to_v, through[k]))
    threshold = width[0, 0]
    for v in range(p):
        threshold = max(threshold, width[v, v])
    for j in range(p):
        for k in range(p):
            if abs(W[j, k]) <= threshold:
                W[j, k] = 0
