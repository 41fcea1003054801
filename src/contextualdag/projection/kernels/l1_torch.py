"""The l1 step in plain PyTorch. Large batches are processed in parts, so that temporary tensors stay small."""

from collections.abc import Iterator

import torch
from torch import Tensor

ENTRIES_AT_ONCE = 1 << 18  # one megabyte in float32


def in_parts(W: Tensor) -> Iterator[Tensor]:
    """Views of `W` along its first dimension; `W` itself on an accelerator, where memory is reused and launches cost.

    PyTorch returns large tensors on the CPU to the system, and the first touch of new memory costs more than the arithmetic:
    several milliseconds for ten megabytes. Temporary tensors of a part are small enough to be reused.
    """
    if W.device.type != "cpu" or W.numel() == 0:
        yield W
        return
    yield from torch.split(W, max(1, ENTRIES_AT_ONCE * len(W) // W.numel()))


def soft_threshold_(W: Tensor, kappa: Tensor) -> Tensor:
    """Replace every entry by sign(w) max(abs(w) - kappa, 0), in place. An infinite `kappa` gives zeros.

    Several thresholds (g,) belong to g equal parts of the batch.
    """
    kappa = kappa.to(W.dtype)
    if kappa.ndim == 1:
        several = W.view(len(kappa), -1)
        several.sub_(several.clamp(-kappa[:, None], kappa[:, None]))
        return W
    for part in in_parts(W):
        part.sub_(part.clamp(-kappa, kappa))
    return W


def sum_and_count_above(entries: Tensor, kappa: float) -> Tensor:
    """Sum of max(|w| - kappa, 0) and number of |w| above kappa, as two float64 numbers on the device of `entries`.

    The root search for the threshold calls it in each step. Differences are taken in the dtype of the entries, sums in
    float64.
    """
    sums = torch.zeros(2, dtype=torch.float64, device=entries.device)
    for part in in_parts(entries):
        over = part.abs().sub_(kappa).clamp_min_(0)
        sums += torch.stack([over.double().sum(), over.sign_().sum(dtype=torch.float64)])  # count_nonzero is slow
    return sums
