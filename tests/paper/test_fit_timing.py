"""Times of whole fits, each in processes of its own."""

import os
from dataclasses import replace

import pytest
import torch

from contextualdag.errors import SweepError
from contextualdag.paper import fit_timing
from contextualdag.paper.fit_timing import Timed, Work, time_fits, work_on
from contextualdag.paper.timing_figures import write_results

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")
SMALL = Work("a small fit", n=40, p=6, networks=1, data_sets=(0, 1))


@pytest.mark.long
def test_fits_at_once_beside_busy_programs():
    begun = []
    work = replace(SMALL, copies=2, busy=1, cores=1 if hasattr(os, "sched_setaffinity") else None)
    (timed,) = time_fits(CPU, [work], begun.append)
    assert begun == ["a small fit"]
    assert timed.work == work
    assert len(timed.every) == 2
    assert min(timed.every) <= timed.seconds <= max(timed.every)
    assert 0 <= timed.f1 <= 1
    assert timed.megabytes is None or timed.megabytes > 100


@pytest.mark.long
def test_the_first_fit_of_a_process_counts_from_its_start():
    (timed,) = time_fits(CPU, [replace(SMALL, data_sets=(0,), warm=False)], lambda what: None)
    assert timed.seconds > 0.5  # PyTorch alone takes that long to import


@pytest.mark.long
def test_a_fit_that_fails_is_named():
    with pytest.raises(SweepError, match=r"A timed fit ended with status 1: .*n_members"):
        list(time_fits(CPU, [replace(SMALL, networks=-1)], lambda what: None))


def test_what_is_timed_depends_on_the_device():
    assert fit_timing.DEFAULT in work_on(CPU)
    assert all(work.cores is None and work.busy == 0 for work in work_on(torch.device("cuda")))


def test_the_page_tells_all_times(tmp_path):
    timed = Timed(SMALL, 2.0, (1.5, 2.5), 0.75, 301.2)
    (page,) = write_results(tmp_path, "Some Machine", [], [], [timed])
    assert page.name == "timing-some-machine.md"
    assert "| a small fit | 40 | 6 | 2.00 | 1.50, 2.50 | 0.750 | 301 |" in page.read_text(encoding="utf-8")
