"""Sweeps on real processes: what kills, restarts, failures and damaged files leave of the results."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextualdag.errors import InvalidParameterError, PersistenceError, SweepError
from contextualdag.sweeps import cluster
from contextualdag.sweeps.cluster import run_sweep
from contextualdag.sweeps.store import cell_key, load_results

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")

# Workers are fresh processes that import the function of a cell. They cannot import a test module under pytest's importlib
# mode, but they get the sys.path of the process that starts them: so the functions are written to a folder on it. The
# functions find files of theirs in the folder that the environment names.
CELLS_MODULE = """
import os
import pathlib
import signal
import time

import numpy as np

HERE = pathlib.Path(os.environ["SWEEP_TEST_FOLDER"])


def square(cell):
    return [{"square": cell["x"] ** 2, "word": "a"}, {"square": np.int64(-1), "ratio": np.float32(0.5)}]


def refuse_three(cell):
    if cell["x"] == 3:
        raise ValueError("three is refused")
    return square(cell)


def return_nonsense(cell):
    return {"list": [{"y": [1]}], "clash": [{"x": 1}], "seconds": [{"seconds": 1.0}], "none": None}[cell["x"]]


def exit_worker(cell):
    raise SystemExit(3)


def die(cell):
    if cell["x"] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(cell)


def wait_to_be_killed_twice(cell):
    if cell["x"] == 0:
        for attempt in ("first", "second"):
            if not (HERE / attempt).exists():
                (HERE / "new").write_text(str(os.getpid()))
                (HERE / "new").rename(HERE / attempt)
                time.sleep(600)
    return square(cell)


def wait_from_four_on(cell):
    while cell["x"] >= 4 and not (HERE / "go").exists():
        (HERE / str(os.getpid())).touch()
        time.sleep(0.05)
    return square(cell)
"""
CLIENT = """
import sys
from contextualdag.sweeps.cluster import run_sweep
from cells_of_test_sweep import wait_from_four_on

if __name__ == "__main__":
    run_sweep([{"x": x} for x in range(6)], wait_from_four_on, sys.argv[1], n_workers=2)
"""
CELLS = [{"x": x} for x in range(6)]


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder on the path with the functions and a program that runs a sweep."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "cells_of_test_sweep.py").write_text(CELLS_MODULE)
    (folder / "client.py").write_text(CLIENT)
    return folder


@pytest.fixture
def cells(modules, tmp_path, monkeypatch):
    """The module of the functions, as the workers import it too."""
    monkeypatch.setenv("SWEEP_TEST_FOLDER", str(tmp_path))
    monkeypatch.syspath_prepend(modules)
    import cells_of_test_sweep

    return cells_of_test_sweep


def with_modules(folder):
    """The environment of a program that imports the functions."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def is_alive(pid):
    # A process that ended and waits to be collected is not alive.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def write_result(folder, x=1, **changes):
    folder.mkdir(exist_ok=True)
    file = folder / f"{cell_key({'x': x})}.json"
    file.write_text(json.dumps({"version": 1, "cell": {"x": x}, "rows": [{"y": 2}], "seconds": 0.5} | changes))
    return file


def never(cell):
    raise AssertionError("nothing was left to run")


@pytest.mark.parametrize("cell", [[1], {1: 2}, {"x": [1]}, {"x": float("nan")}, {"x": float("inf")}, {"seconds": 1}])
def test_cells_that_cannot_be_named_are_refused(cell, tmp_path):
    with pytest.raises(InvalidParameterError):
        run_sweep([cell], never, tmp_path)


def test_a_cell_given_twice_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="must differ"):
        run_sweep([{"x": 1, "y": 2}, {"y": 2, "x": 1}], never, tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_workers": 0},
        {"threads_per_worker": 1.0},
        {"version": True},
        {"scheduler": "tcp://x:1", "n_workers": 2},
        {"scheduler": "tcp://x:1", "threads_per_worker": 2},
    ],
)
def test_bad_settings_are_refused(settings, tmp_path):
    with pytest.raises(InvalidParameterError):
        run_sweep(CELLS, never, tmp_path, **settings)


def test_small_sweep_and_restart(cells, tmp_path):
    folder, before, calls = tmp_path / "new" / "results", dict(os.environ), []
    report = run_sweep(CELLS[:4], cells.square, folder, n_workers=2, progress=lambda *call: calls.append(call))
    assert (report.n_finished, report.n_skipped, report.failed) == (4, 0, ())
    assert [call[:2] for call in calls] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert sorted(call[2]["x"] for call in calls) == [0, 1, 2, 3]
    files = {file.name for file in folder.iterdir()} - {".lock"}
    assert files == {f"{cell_key(cell)}.json" for cell in CELLS[:4]}
    assert dict(os.environ) == before

    table = load_results(folder)
    assert list(table.columns) == ["x", "square", "word", "ratio", "seconds"]
    by_key = sorted(CELLS[:4], key=cell_key)
    assert table["x"].tolist() == [cell["x"] for cell in by_key for _ in range(2)]
    assert table["square"].tolist() == [square for cell in by_key for square in (cell["x"] ** 2, -1)]
    assert (table["seconds"] >= 0).all()

    calls.clear()
    report = run_sweep(CELLS[:5], cells.square, folder, n_workers=1, progress=lambda *call: calls.append(call))
    assert (report.n_finished, report.n_skipped) == (1, 4)
    assert calls == [(5, 5, {"x": 4})]
    # Nothing left: no cluster is started, the function is never called.
    report = run_sweep(CELLS[:5], never, folder)
    assert (report.n_finished, report.n_skipped, report.failed) == (0, 5, ())


def test_a_failing_cell_is_reported_and_the_rest_is_done(cells, tmp_path, caplog):
    with caplog.at_level(logging.ERROR, logger="contextualdag"):
        report = run_sweep(CELLS, cells.refuse_three, tmp_path / "results", n_workers=1)
    assert report.failed == (({"x": 3}, "ValueError: three is refused"),)
    assert report.n_finished == 5
    assert [record.getMessage() for record in caplog.records if record.name == cluster.__name__] == [
        'The cell {"x": 3} failed: ValueError: three is refused'
    ]
    assert set(load_results(tmp_path / "results")["x"]) == {0, 1, 2, 4, 5}


@pytest.mark.parametrize(
    ("x", "message"),
    [("list", "'y' of type list"), ("clash", "entry 'x'"), ("seconds", "entry 'seconds'"), ("none", "a list of dicts")],
)
def test_a_cell_that_returns_something_else_fails(x, message, cells):
    outcome = cluster._attempt(json.dumps({"x": x}), cells.return_nonsense)
    assert message in outcome.message


def test_a_cell_that_exits_fails(cells):
    assert cluster._attempt('{"x": 1}', cells.exit_worker).message == "SystemExit: 3"


@pytest.mark.long
def test_two_killed_workers_do_not_fail_a_cell(cells, tmp_path):
    def kill_twice():
        for attempt in ("first", "second"):
            wait_until((tmp_path / attempt).exists)
            os.kill(int((tmp_path / attempt).read_text()), signal.SIGKILL)

    with ThreadPoolExecutor(1) as thread:
        killer = thread.submit(kill_twice)
        report = run_sweep(CELLS, cells.wait_to_be_killed_twice, tmp_path / "results", n_workers=2)
        killer.result()
    assert (report.n_finished, report.failed) == (6, ())
    assert len(load_results(tmp_path / "results")) == 12


def test_a_cell_that_kills_every_worker_fails_alone(cells, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_ALLOWED_DEATHS", 0)
    report = run_sweep(CELLS, cells.die, tmp_path / "results", n_workers=1)
    assert [cell for cell, _ in report.failed] == [{"x": 0}]
    assert "KilledWorker" in report.failed[0][1]
    assert report.n_finished == 5


@pytest.mark.parametrize("stop", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_stopped_client_goes_on_where_it_was(stop, modules, cells, tmp_path):
    results = tmp_path / "results"
    client = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, modules / "client.py", results],
        env=with_modules(modules),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )

    def pids():
        return [int(file.name) for file in tmp_path.iterdir() if file.name.isdigit()]

    try:
        # Cells 0 to 3 are done, and both workers wait in cells 4 and 5.
        wait_until(lambda: results.exists() and len(list(results.glob("*.json"))) == 4 and len(pids()) == 2)
        if stop == signal.SIGINT:
            os.killpg(client.pid, stop)  # as a terminal does
        else:
            client.kill()
        begun = time.monotonic()
        output = client.communicate(timeout=60)[0]
        assert stop == signal.SIGKILL or time.monotonic() - begun < 4  # dask would wait five seconds for the cells
    finally:
        client.kill()
    if stop == signal.SIGINT:
        assert output.rstrip().endswith("KeyboardInterrupt"), output
    # Nobody is left to work for the dead.
    wait_until(lambda: not any(is_alive(pid) for pid in pids()))
    before = {file.name: file.read_bytes() for file in results.iterdir() if file.name != ".lock"}
    assert len(before) == 4

    (tmp_path / "go").touch()
    report = run_sweep(CELLS, cells.wait_from_four_on, results, n_workers=1)
    assert (report.n_finished, report.n_skipped, report.failed) == (2, 4, ())
    assert all((results / name).read_bytes() == content for name, content in before.items())
    run_sweep(CELLS, cells.wait_from_four_on, tmp_path / "undisturbed", n_workers=1)
    expected = load_results(tmp_path / "undisturbed").drop(columns="seconds")
    assert load_results(results).drop(columns="seconds").equals(expected)


@pytest.mark.parametrize("reader", [load_results, lambda folder: run_sweep(CELLS, never, folder)], ids=["load", "run"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda file: write_result(file.parent, version=2), "has version 2 and the sweep has version 1"),
        (lambda file: file.write_text(file.read_text()[:40]), "cannot be read .* delete it"),
        (lambda file: file.write_bytes(b""), "cannot be read .* delete it"),
        (lambda file: file.write_bytes(b"\xff\xfe\x00"), "cannot be read .* delete it"),
        (lambda file: file.write_text("[1, 2]"), "not the result of a sweep"),
        (lambda file: write_result(file.parent, cell={"x": 2}), "not hold the cell"),
        (lambda file: write_result(file.parent, cell=[1]), "not hold the cell"),
        (lambda file: write_result(file.parent, rows=[{"y": [1]}]), "not hold the cell"),
    ],
)
def test_files_that_are_not_results_of_this_sweep_are_named(damage, message, reader, tmp_path):
    file = write_result(tmp_path)
    damage(file)
    with pytest.raises(PersistenceError, match=message) as caught:
        reader(tmp_path)
    assert str(file) in str(caught.value)


def test_folders_that_are_not(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PersistenceError, match="is a file"):
        run_sweep(CELLS, never, tmp_path / "file")
    with pytest.raises(PersistenceError, match="There is no folder"):
        load_results(tmp_path / "missing")


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("contextualdag.cluster._CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # kept, but nobody listens
        for end in (silent, closed):
            address = f"tcp://127.0.0.1:{end.getsockname()[1]}"
            with pytest.raises(
                SweepError, match=f"No dask scheduler answered at {address} within 1 seconds .*dask scheduler"
            ):
                run_sweep(CELLS, never, tmp_path, scheduler=address)
    with pytest.raises(SweepError, match="nonsense"):
        run_sweep(CELLS, never, tmp_path, scheduler="nonsense://x")


def test_a_scheduler_given_by_address(cells, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL) as local:
        address = local.scheduler_address
        report = run_sweep(CELLS, cells.square, tmp_path / "one", scheduler=address)
        assert (report.n_finished, report.failed) == (6, ())
        # The scheduler must not answer a second sweep from what it remembers of the first.
        report = run_sweep(CELLS, cells.refuse_three, tmp_path / "two", scheduler=address)
        assert [cell for cell, _ in report.failed] == [{"x": 3}]


def test_a_scheduler_that_goes_away(cells, tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr("contextualdag.cluster._CONNECT_SECONDS", 2)
    local = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)
    with pytest.raises(SweepError, match="went away"):
        run_sweep(
            CELLS,
            cells.wait_from_four_on,
            tmp_path / "results",
            scheduler=local.scheduler_address,
            progress=lambda done, total, cell: local.close() if done == 4 else None,
        )
    assert len(load_results(tmp_path / "results")) == 8


def test_a_script_without_the_guard_gets_an_explanation(modules, cells, tmp_path):
    (tmp_path / "script.py").write_text(CLIENT.replace('__name__ == "__main__"', "True"))
    done = subprocess.run(  # noqa: S603
        [sys.executable, tmp_path / "script.py", tmp_path / "results"],
        env=with_modules(modules),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert 'must call run_sweep under `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


def test_without_distributed_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "contextualdag\[sweeps\]"'):
        run_sweep(CELLS, never, tmp_path)


def test_importing_this_module_loads_nothing_heavy():
    code = "import sys, contextualdag.sweeps.cluster; print({'dask', 'distributed', 'pandas', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "set()"
