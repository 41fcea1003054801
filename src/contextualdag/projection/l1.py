"""Projection of a whole batch onto one l1 ball."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.projection.kernels import dispatch
from contextualdag.projection.kernels.l1_torch import soft_threshold_
from contextualdag.projection.validation import check_number, check_weights

AllReduce = Callable[[Tensor], Tensor]
SAMPLE_STRIDE = 61  # prime, so that the sample covers all positions in the matrices
SMALLEST_SAMPLE = 1000


def l1_threshold(W: Tensor, l1_budget: float, all_reduce: AllReduce | None = None) -> Tensor:
    r"""Find the threshold of `project_l1`, float64 and zero-dimensional, on the device of `W`.

    Zero if the batch lies in the ball, infinity if the budget is zero, else the root of
    :math:`\sum \max(|w| - \kappa, 0) = n \lambda`.

    Notes
    -----
    The left side is convex, decreasing and piecewise linear in :math:`\kappa`. A Newton step from anywhere leads to a point
    at or left of the root. From there the steps increase, and they have reached the root exactly when the same entries are
    above the threshold twice in a row. This needs no sort, and one sum over processes per step. A large batch starts from
    the root for a sample of its entries, which leaves two or three steps on all of them.
    """
    if all_reduce is None and W.numel() > 0 and (on_device := l1_threshold_on_device(W)) is not None:
        return on_device(torch.tensor(l1_budget, dtype=torch.float64, device=W.device))
    kappa = _l1_threshold(W.detach().reshape(-1), len(W), l1_budget, _checked_all_reduce(all_reduce))
    return torch.tensor(kappa, dtype=torch.float64, device=W.device)


def l1_threshold_on_device(W: Tensor) -> Callable[[Tensor], Tensor] | None:
    """The threshold as a function of the budget, both tensors, without synchronising with the host; float32 on CUDA only.

    Several budgets (g,) give as many thresholds, for g equal parts of the batch. None on other devices and dtypes.
    """
    root = dispatch.l1_root(W.device) if W.dtype == torch.float32 else None
    if root is None:
        return None

    def threshold(l1_budget: Tensor) -> Tensor:
        samples = len(W) // l1_budget.numel()
        kappa = root(W.detach().reshape(l1_budget.numel(), -1), l1_budget.reshape(-1) * samples).view_as(l1_budget)
        return torch.where(l1_budget == 0, math.inf, kappa)

    return threshold


def _checked_all_reduce(all_reduce: AllReduce | None) -> AllReduce:
    """The sum over processes, with a check that it is returned as a value; the identity for one process."""

    def add_up(x: Tensor) -> Tensor:
        total = x if all_reduce is None else all_reduce(x)
        if not isinstance(total, Tensor) or total.shape != x.shape:
            raise InvalidParameterError(
                f"all_reduce must return the sum over processes as a tensor of shape {tuple(x.shape)}. Got "
                f"{type(total).__name__} instead; torch.distributed.all_reduce works in place, so return its argument."
            )
        return total

    return add_up


def _l1_threshold(entries: Tensor, n_samples: int, l1_budget: float, add_up: AllReduce) -> float:
    if l1_budget == 0:
        return math.inf
    if l1_budget == math.inf:
        return 0.0
    sample = entries[::SAMPLE_STRIDE].contiguous()
    counts = torch.tensor([n_samples, len(entries), len(sample)], dtype=torch.float64, device=entries.device)
    n_samples, n_entries, n_sampled = add_up(counts).tolist()
    target = n_samples * l1_budget
    kappa = 0.0
    if n_sampled >= SMALLEST_SAMPLE:
        kappa = _root(sample, target * n_sampled / n_entries, kappa, add_up)
    return _root(entries, target, kappa, add_up)


def _root(entries: Tensor, target: float, kappa: float, add_up: AllReduce) -> float:
    """Newton steps from `kappa` to the root of sum max(|w| - kappa, 0) = target, or to zero if the sum is below."""
    sum_and_count_above = dispatch.sum_and_count_above(entries.device)
    n_above = None
    while True:
        kappa = torch.tensor(kappa, dtype=entries.dtype).item()  # as the entries will be compared with it
        over, count = add_up(sum_and_count_above(entries, kappa)).tolist()
        if not math.isfinite(over + target):
            raise InvalidInputError("The absolute entries of W add up to more than float64 holds. Divide W by a constant.")
        excess = over - target
        left_of_root = n_above is not None or kappa == 0
        if count == n_above or (left_of_root and excess <= 0):
            return kappa
        n_above = count
        kappa = max(kappa + excess / count, 0.0) if count > 0 else 0.0


def project_l1(W: Tensor, l1_budget: float, all_reduce: AllReduce | None = None) -> tuple[Tensor, Tensor]:
    r"""Project a batch onto the ball :math:`\frac1n \sum_i \|W_i\|_1 \le \lambda`.

    .. math:: W^\star = \arg\min_W \tfrac12 \sum_i \|\hat W_i - W_i\|_F^2
              \quad\text{s.t.}\quad \tfrac1n \sum_i \|W_i\|_1 \le \lambda

    Parameters
    ----------
    W : Tensor of shape (n, p, p), float32 or float64
        The batch, or this process's part of it.
    l1_budget : float
        :math:`\lambda`, from 0 (all zeros) to infinity (no change).
    all_reduce : callable, optional
        Function that returns the sum of a float64 tensor over all processes, for batches distributed over processes, which
        must all call `project_l1` at the same time.

    Returns
    -------
    W_star : Tensor of shape (n, p, p)
        A new tensor, without gradient; use `DAGProjection` for gradients.
    kappa : Tensor, float64, zero-dimensional
        The threshold, for use on other samples.

    Examples
    --------
    >>> import torch
    >>> from contextualdag.projection import project_l1
    >>> project_l1(torch.tensor([[[0.0, 3.0], [-1.0, 0.0]]]), l1_budget=2.0)
    (tensor([[[0., 2.],
             [0., 0.]]]), tensor(1., dtype=torch.float64))
    """
    check_weights(W)
    check_number(l1_budget, "l1_budget", "project_l1")
    kappa = l1_threshold(W, l1_budget, all_reduce)
    return soft_threshold_(W.detach().clone(), kappa), kappa
