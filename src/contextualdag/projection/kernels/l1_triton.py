"""The root search of the l1 step on a GPU, without a sort and without synchronising with the host.

Newton steps as in `contextualdag.projection.l1`, one launch each. A launch first reads the partial sums of the previous
one, which every program adds up in the same order, and updates the threshold; then it sums what is above it. Once the
root is found, the remaining launches do nothing.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST_STEPS = 24  # from zero; eight to fourteen are usual
PROGRAMS = 256
BLOCK = 1024
STATE = 3  # passed from step to step: the threshold, the number of entries above the previous one (-1: none), whether done


def threshold(entries: Tensor, target: Tensor) -> Tensor:
    """The roots of sum max(|w| - kappa, 0) = target, one for each row of `entries` (g, N) and each target (g,), float64.

    Zero where the sum is below.
    """
    g, n = entries.shape
    programs = min(PROGRAMS, triton.cdiv(n, BLOCK))
    padded = triton.next_power_of_2(programs)
    state = torch.zeros(g, MOST_STEPS + 2, STATE, dtype=torch.float64, device=entries.device)
    state[:, 0, 1].fill_(-1.0)
    sums = torch.empty(g, MOST_STEPS + 1, 2, programs, dtype=torch.float64, device=entries.device)
    for step in range(MOST_STEPS + 1):
        _step[(programs, g)](entries, n, target, state, sums, step, MOST_STEPS, programs, padded, BLOCK, num_warps=4)
    return state[:, MOST_STEPS + 1, 0]


@triton.jit
def _step(entries, n, target, state, sums, step, most_steps, programs, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    entries += row * n
    target += row
    state += row * (most_steps + 2) * 3
    sums += row * (most_steps + 1) * 2 * programs
    kappa = tl.load(state + step * 3)
    n_above = tl.load(state + step * 3 + 1)
    done = tl.load(state + step * 3 + 2)
    if (step > 0) & (done == 0.0):
        number = tl.arange(0, PROGRAMS)
        before = sums + (step - 1) * 2 * programs + number
        over = tl.sum(tl.load(before, mask=number < programs, other=0.0), 0)
        count = tl.sum(tl.load(before + programs, mask=number < programs, other=0.0), 0)
        excess = over - tl.load(target)
        left_of_root = (n_above >= 0) | (kappa == 0)
        if (count == n_above) | (left_of_root & (excess <= 0)):
            done = done + 1.0
        else:
            n_above = count
            kappa = tl.where(count > 0, tl.maximum(kappa + excess / tl.maximum(count, 1.0), 0.0), 0.0)
            kappa = kappa.to(entries.dtype.element_ty).to(tl.float64)  # as the entries will be compared with it
    program = tl.program_id(0)
    if program == 0:
        tl.store(state + (step + 1) * 3, kappa)
        tl.store(state + (step + 1) * 3 + 1, n_above)
        tl.store(state + (step + 1) * 3 + 2, done)
    if done == 0.0:
        over = tl.zeros([BLOCK], tl.float64)
        count = tl.zeros([BLOCK], tl.float64)
        entry = program.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        cut = kappa.to(entries.dtype.element_ty)
        for _ in range(tl.cdiv(n, programs * BLOCK)):
            above = tl.abs(tl.load(entries + entry, mask=entry < n, other=0.0)) - cut
            over += tl.maximum(above, 0.0).to(tl.float64)
            count += (above > 0).to(tl.float64)
            entry += programs * BLOCK
        tl.store(sums + step * 2 * programs + program, tl.sum(over, 0))
        tl.store(sums + step * 2 * programs + programs + program, tl.sum(count, 0))
