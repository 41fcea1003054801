"""One pass of the l1 root search in plain PyTorch."""

import torch
from torch import Tensor

from contextualdag.projection.kernels.parts import in_parts


def sum_and_count_above(entries: Tensor, kappa: float) -> Tensor:
    """Sum of max(|w| - kappa, 0), and how many |w| are above kappa, as two float64 numbers on the device of `entries`.

    Differences are taken in the dtype of the entries, sums in float64.
    """
    sums = torch.zeros(2, dtype=torch.float64, device=entries.device)
    for part in in_parts(entries):
        over = part.abs().sub_(kappa).clamp_min_(0)
        sums += torch.stack([over.double().sum(), over.sign_().sum(dtype=torch.float64)])  # count_nonzero is slow
    return sums
