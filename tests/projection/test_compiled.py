import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from contextualdag.projection import LogDet, Order
from contextualdag.projection.kernels.compiled import over_samples


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 20, 1000, 1003])
def test_every_sample_once(n):
    seen = torch.zeros(n, dtype=torch.int64)

    def kernel(start, stop):
        seen[start:stop] += 1

    over_samples(kernel, n, 10)
    assert bool((seen == 1).all())


@pytest.mark.usefixtures("four_threads")
def test_threads_only_where_they_are_worth_it():
    used = set()
    together = threading.Barrier(4)

    def meet_once(start, stop):
        if threading.get_ident() not in used:
            used.add(threading.get_ident())
            together.wait(timeout=30)

    over_samples(meet_once, 40, 10)
    assert len(used) == 4
    used.clear()
    over_samples(lambda start, stop: used.add(threading.get_ident()), 19, 10)
    assert used == {threading.get_ident()}


@pytest.mark.usefixtures("four_threads")
def test_an_error_in_any_thread_comes_out():
    def kernel(start, stop):
        if stop == 100:
            raise ZeroDivisionError("the last slice")

    with pytest.raises(ZeroDivisionError, match="the last slice"):
        over_samples(kernel, 100, 10)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("acyclicity", [Order(), LogDet()])
def test_several_callers_at_once(gaussian, acyclicity):
    W = gaussian(1500, 8)
    expected = acyclicity(W)
    with ThreadPoolExecutor(4) as pool:
        assert all(torch.equal(answer, expected) for answer in pool.map(acyclicity, [W] * 12))


# PyTorch's own parallel operations hang in such a child; ours must not.
FORKED = """
import os, signal, torch
from contextualdag.projection.kernels.compiled import over_samples
torch.set_num_threads(2)
torch.randn(2000, 200).exp().sum()  # starts the threads of PyTorch, which the child will not have
child = os.fork()
if child == 0:
    signal.alarm(20)
    done = []
    over_samples(lambda start, stop: done.append(stop - start), 100, 10)
    os._exit(0 if sum(done) == 100 else 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_hang():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "0"
