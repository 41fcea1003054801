"""One step of the l1 root search as a compiled loop on the CPU. `l1_torch` defines the result, up to rounding of the sum."""

import numpy as np
import torch
from torch import Tensor

from contextualdag.projection.kernels.compiled import compiled_sum


def sum_and_count_above(entries: Tensor, kappa: float) -> Tensor:
    """Same as `l1_torch.sum_and_count_above`, for tensors on the CPU."""
    numbers = entries.numpy()
    return torch.tensor(_sum_and_count(numbers, numbers.dtype.type(kappa)), dtype=torch.float64)


@compiled_sum
def _sum_and_count(entries, kappa):
    """Sum and count in one pass; sums may be reordered, so that the loop can be vectorised."""
    total, count = 0.0, 0
    for i in range(len(entries)):
        over = abs(entries[i]) - kappa
        total += np.float64(over) if over > 0 else 0.0
        count += over > 0
    return total, count
