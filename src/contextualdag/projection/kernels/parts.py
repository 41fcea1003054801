"""Large batches a part at a time, so that what is needed in between stays small."""

from collections.abc import Iterator

import torch
from torch import Tensor

ENTRIES_AT_ONCE = 1 << 18  # one megabyte in float32


def in_parts(W: Tensor) -> Iterator[Tensor]:
    """Views of `W` along its first dimension; on an accelerator, where memory is reused and launches cost, `W` itself.

    PyTorch returns large tensors on the CPU to the system, and the first touch of new memory costs more than the arithmetic:
    several milliseconds for ten megabytes. Intermediate results of a part are small enough to be reused.
    """
    if W.device.type != "cpu" or W.numel() == 0:
        yield W
        return
    yield from torch.split(W, max(1, ENTRIES_AT_ONCE * len(W) // W.numel()))
