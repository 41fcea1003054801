import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contextualdag.errors import InvalidInputError, InvalidParameterError
from contextualdag.projection.kernels import l1_numba, l1_torch
from contextualdag.projection.kernels.l1_torch import ENTRIES_AT_ONCE
from contextualdag.projection.l1 import SAMPLE_STRIDE, SMALLEST_SAMPLE, l1_threshold, project_l1
from tests.lockstep import run_in_lockstep


def threshold_by_sorting(W, l1_budget):
    """Duchi et al. (2008): sort, and find how many entries stay above the threshold."""
    values = W.abs().flatten().sort(descending=True).values
    target = len(W) * l1_budget
    if float(values.sum()) <= target:
        return 0.0
    excess = values.cumsum(0) - target
    count = torch.arange(1, len(values) + 1, dtype=W.dtype)
    last = int((values * count > excess).nonzero().max())
    return float(excess[last] / count[last])


@given(
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.integers(2, 8),
    st.floats(1e-6, 1.2),
    st.sampled_from(["gaussian", "ties", "heavy", "sparse"]),
)
def test_equals_sorting(seed, n, p, share, kind):
    generator = torch.Generator().manual_seed(seed)
    W = torch.randn(n, p, p, dtype=torch.float64, generator=generator)
    if kind == "ties":
        W = W.round()
    elif kind == "heavy":
        W = W**7
    elif kind == "sparse":
        W = W * (torch.rand(n, p, p, generator=generator) < 0.1)
    budget = share * float(W.abs().sum()) / n
    if budget == 0:
        return
    W_star, kappa = project_l1(W, budget)
    expected = threshold_by_sorting(W, budget)
    scale = float(W.abs().max())
    assert float(kappa) == pytest.approx(expected, abs=1e-12 * scale)
    torch.testing.assert_close(W_star, W.sign() * (W.abs() - expected).clamp_min(0), rtol=0, atol=1e-12 * scale)
    if expected > 0:
        assert float(W_star.abs().sum()) == pytest.approx(n * budget, abs=1e-12 * scale * W.numel())


def test_equals_sorting_on_several_pieces_and_from_a_sample(gaussian):
    W = gaussian(100, 60)
    assert W.numel() > max(ENTRIES_AT_ONCE, SAMPLE_STRIDE * SMALLEST_SAMPLE)
    for share in (0.9, 0.3, 1e-3):
        budget = share * float(W.abs().sum()) / 100
        assert float(l1_threshold(W, budget)) == pytest.approx(threshold_by_sorting(W, budget), abs=1e-12)


@pytest.mark.parametrize("factor", [0.0, 1e-3, 1e3])
def test_a_misleading_sample_does_no_harm(gaussian, factor):
    W = gaussian(100, 60)
    W.view(-1)[::SAMPLE_STRIDE] *= factor
    for share in (1.5, 1.0 + 1e-9, 0.9, 0.3, 1e-3, 1e-9):
        budget = share * float(W.abs().sum()) / 100
        expected = threshold_by_sorting(W, budget)
        assert float(l1_threshold(W, budget)) == pytest.approx(expected, abs=1e-12 * float(W.abs().max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernel_agrees_with_twin(gaussian, dtype):
    entries = gaussian(3000, 20, dtype).flatten()
    for kappa in (0.0, 0.5, 3.0, 100.0):
        fast, plain = (module.sum_and_count_above(entries, kappa) for module in (l1_numba, l1_torch))
        assert fast[1] == plain[1]
        assert float(fast[0]) == pytest.approx(float(plain[0]), rel=1e-12)


def test_entries_too_large_to_add_up():
    huge = torch.full((2, 2, 2), 1e308, dtype=torch.float64)
    for W, budget in ((huge[:1], 1e307), (huge, 1.7e308)):
        with pytest.raises(InvalidInputError, match="add up to more than float64 holds"):
            project_l1(W, budget)


def test_no_gradient_is_recorded(gaussian):
    W = gaussian(3, 4).requires_grad_()
    assert not project_l1(W, 0.5)[0].requires_grad


def test_an_all_reduce_that_returns_nothing(gaussian):
    with pytest.raises(InvalidParameterError, match=r"all_reduce must return the sum .* Got NoneType instead"):
        project_l1(gaussian(3, 4), 0.5, all_reduce=lambda x: None)


def test_float32_sums_in_float64(gaussian):
    W = gaussian(2000, 30, torch.float32)
    budget = 0.01 * float(W.double().abs().sum()) / 2000
    W_star, kappa = project_l1(W, budget)
    assert kappa.dtype == torch.float64
    assert float(kappa) == pytest.approx(threshold_by_sorting(W.double(), budget), rel=1e-6)
    assert float(W_star.double().abs().sum()) == pytest.approx(2000 * budget, rel=1e-5)


def test_the_ends_of_the_range(gaussian):
    W = gaussian(3, 4)
    assert project_l1(W, 0.0)[1] == math.inf
    assert torch.equal(project_l1(W, 0.0)[0], torch.zeros_like(W))
    whole = W.round()
    for budget in (math.inf, float(whole.abs().sum()) / 3, 1e9):
        W_star, kappa = project_l1(whole, budget)
        assert kappa == 0
        assert torch.equal(W_star, whole)
    for tiny in (1e-300, 5e-324):
        assert bool(torch.isfinite(project_l1(W, tiny)[0]).all())
    for nothing in (torch.zeros(0, 4, 4), torch.zeros(3, 4, 4), torch.zeros(3, 0, 0)):
        assert torch.equal(project_l1(nothing, 1.0)[0], nothing)


def test_input_stays_as_it_was(gaussian):
    W = gaussian(3, 4)
    before = W.clone()
    project_l1(W, 0.5)
    assert torch.equal(W, before)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 2.0, math.inf])
def test_several_processes_find_the_same_threshold(gaussian, share):
    W = gaussian(31, 7)
    budget = share * float(W.abs().sum()) / 31
    parts = [W[:3], W[3:3], W[3:20], W[20:]]
    together = torch.cat([w for w, _ in run_in_lockstep(parts, lambda part, add: project_l1(part, budget, add))])
    torch.testing.assert_close(together, project_l1(W, budget)[0], rtol=0, atol=1e-14)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc, which is Linux")
def test_memory_of_a_large_batch():
    # 10 000 graphs of p = 50 in float32: 95 MiB. The peak is read in a process of its own.
    program = """
import re, torch
from pathlib import Path
from contextualdag.projection.l1 import project_l1

def memory(kind):
    return 1024 * int(re.search(kind + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

project_l1(torch.randn(10, 50, 50), 1.0)
W = torch.randn(10_000, 50, 50)
budget = float(W[:100].abs().sum()) / 100 / 3
before = memory("VmRSS")
W_star, kappa = project_l1(W, budget)
assert kappa > 0
print((memory("VmHWM") - before) / (W.numel() * 4))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    copies = float(done.stdout)
    assert 0.9 < copies <= 2.0
