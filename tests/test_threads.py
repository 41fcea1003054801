"""Work on several threads, with PyTorch's own at rest."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from contextualdag.threads import in_turns, interruptibly, n_threads, one_thread_each, side_by_side

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_items():
    def slow_at_first(k):
        time.sleep(0.05 if k == 0 else 0)
        return k * k

    assert side_by_side(slow_at_first, range(7)) == [k * k for k in range(7)]
    assert side_by_side(slow_at_first, []) == []


def test_items_run_at_once_on_as_many_threads_as_pytorch_had():
    together = threading.Barrier(3, timeout=30)  # passes only if three wait at once
    with one_thread_each(CPU):
        assert torch.get_num_threads() == 1
        assert n_threads() == 3
        names = side_by_side(lambda k: (together.wait(), threading.current_thread().name)[1], range(3))
    assert len(set(names)) == 3


def test_pytorch_uses_one_thread_in_all_of_them_and_nothing_is_nested():
    with one_thread_each(CPU):
        inside = side_by_side(lambda k: (torch.get_num_threads(), n_threads(), side_by_side(str, [k])), range(3))
    assert inside == [(1, 1, [str(k)]) for k in range(3)]
    assert n_threads() == 3


def test_the_number_of_threads_comes_back_also_after_an_error_and_from_several_fits():
    with pytest.raises(KeyError), one_thread_each(CPU):
        raise KeyError
    assert torch.get_num_threads() == 3
    first_is_in, second_is_in = threading.Event(), threading.Event()

    def first():
        with one_thread_each(CPU):
            first_is_in.set()
            second_is_in.wait(30)

    def second():
        first_is_in.wait(30)
        with one_thread_each(CPU):
            second_is_in.set()
            other.join(30)
            assert n_threads() == 3

    other, one = threading.Thread(target=first), threading.Thread(target=second)
    other.start()
    one.start()
    one.join(30)
    assert second_is_in.is_set()
    assert torch.get_num_threads() == 3


def test_a_gpu_changes_nothing():
    with one_thread_each(torch.device("cuda")):
        assert torch.get_num_threads() == 3


def test_an_error_ends_the_others_and_is_raised():
    begun = []

    def fail_early(k):
        begun.append(k)
        time.sleep(0.01)
        if k == 1:
            raise ValueError("this one")
        return k

    with pytest.raises(ValueError, match="this one"):
        side_by_side(fail_early, range(1000))
    assert len(begun) < 1000
    assert n_threads() == 3


def test_an_interruption_stops_compiled_work_at_once(interruptions):
    stopped = threading.Event()

    def work():
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        assert stopped.wait(30)  # as a compiled loop would, which lets Python do nothing meanwhile

    with pytest.raises(KeyboardInterrupt):
        interruptibly(work, stopped.set)
    assert stopped.is_set()


def test_interruptible_work_elsewhere_stays_on_its_thread():
    threads = []

    def elsewhere():
        interruptibly(lambda: threads.append(threading.get_ident()), lambda: None)
        threads.append(threading.get_ident())

    with ThreadPoolExecutor(1) as pool:
        pool.submit(elsewhere).result()
    assert threads[0] == threads[1]


def counted(k, log):
    for _ in range(k):
        log.append(k)
        yield
    return k


def test_jobs_take_turns_step_by_step():
    torch.set_num_threads(1)  # with several threads the order depends on the machine
    log = []
    assert in_turns([counted(k, log) for k in (3, 1, 2)]) == [3, 1, 2]
    assert log == [3, 1, 2, 3, 2, 3]


def test_more_jobs_than_threads_all_come_to_their_end():
    log = []
    assert in_turns([counted(k, log) for k in range(20)]) == list(range(20))
    assert sorted(log) == [k for k in range(20) for _ in range(k)]
