"""What the tests share: one thread per process, batches to try things on."""

import os
import signal

# Processes that run tests side by side would otherwise compete for the cores with all their threads. Set before PyTorch is
# imported, and inherited by the programs that tests start.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before any kernel is defined

# One fixed run of examples: a test that fails once fails always.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _same_random_numbers():
    torch.manual_seed(0)


@pytest.fixture
def gaussian():
    """Make Gaussian matrices with a zero diagonal."""

    def make(n, p, dtype=torch.float64, density=1.0, seed=0):
        generator = torch.Generator().manual_seed(seed)
        W = torch.randn(n, p, p, dtype=dtype, generator=generator)
        W = W * (torch.rand(n, p, p, generator=generator) < density)
        W.diagonal(dim1=1, dim2=2).zero_()
        return W

    return make


@pytest.fixture
def interruptions():
    """Ctrl-C raises `KeyboardInterrupt`, also if the tests were started in the background, where shells ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
