"""``contextualdag reproduce``: what it makes, what it refuses, and what is left of it when it is killed."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

from contextualdag.cli import app
from contextualdag.paper import reproduction
from contextualdag.paper.recovery import cell_version
from contextualdag.sweeps.store import cell_key

pytestmark = pytest.mark.slow

psutil = pytest.importorskip("psutil", reason="it comes with distributed, which sweeps need")

CELL = {"design": "varying", "graph": "erdos-renyi", "n": 316, "p": 10, "m": 2, "data_set": 0, "method": "fixed"}


def invoke(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def words(result):
    """What typer shows in a box, without the box."""
    return " ".join(result.stderr.replace("│", " ").split())


def test_an_unknown_name_gets_the_nearest_and_a_list():
    result = invoke("timing-p")
    assert result.exit_code == 2
    assert "Did you mean 'timings-p'?" in words(result)
    assert f"There are: {', '.join(reproduction.REPRODUCTIONS)}, all." in words(result)
    assert "Did you mean" not in invoke("zzzz").stderr


def test_help_names_all_there_is():
    from contextualdag.cli.reproduce import NAMES

    assert f"{', '.join(reproduction.REPRODUCTIONS)}, or all of them." == NAMES


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["timings-n", "--methods", "fixed"], "--methods has no effect on 'timings-n'."),
        (["all", "--methods", "fixed,best"], "There is no method ['best']."),
        (["er-n", "--data", "drug.csv"], "--data has no effect on 'er-n'. It is for: drug."),
        (["er-n", "--methods", "fixed,best"], "There is no method ['best']."),
        (["er-n", "--scheduler", "tcp://x:1", "--workers", "2"], "give only one of them"),
        (["er-n", "--data-sets", "1"], "--data-sets"),
    ],
)
def test_options_that_would_do_nothing_are_refused(arguments, sentence):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert sentence in words(result)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (json.dumps({"version": 2, "cell": CELL, "rows": [], "seconds": 0.5}), "has version 2 and the sweep has version"),
        ('{"version": 1, "ce', "cannot be read"),
    ],
    ids=["another version", "truncated"],
)
def test_damaged_results_are_named_in_one_line(content, sentence, tmp_path):
    (tmp_path / "cells").mkdir()
    file = tmp_path / "cells" / f"{cell_key(CELL)}.json"
    file.write_text(content)
    result = invoke("er-p", "--quick", "--methods", "fixed", "--out", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"Error: {file} ")
    assert sentence in result.stderr


def test_results_of_other_settings_are_refused(tmp_path):
    (tmp_path / "cells").mkdir()
    content = {"cell": CELL, "rows": [], "seconds": 0.5}
    file = tmp_path / "cells" / f"{cell_key(CELL)}.json"
    file.write_text(json.dumps(content | {"version": cell_version(CELL)[:-1]}))
    result = invoke("er-p", "--quick", "--methods", "fixed", "--out", tmp_path)
    assert result.exit_code == 1
    assert "the method or its settings have changed since" in result.stderr


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("contextualdag.cluster._CONNECT_SECONDS", 0.5)
    result = invoke("er-p", "--quick", "--scheduler", "tcp://127.0.0.1:1", "--out", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith("Error: No dask scheduler answered at tcp://127.0.0.1:1 within 0.5 seconds")


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    result = invoke("er-p", "--quick", "--out", tmp_path / "taken")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert str(tmp_path / "taken") in result.stderr


def test_all_goes_on_after_a_failure_and_ends_with_a_list(tmp_path, monkeypatch):
    ran = []

    def good(name, folder, settings, progress):
        ran.append((name, settings))
        return reproduction.Made((folder / f"{name}.png",))

    def bad(name, folder, settings, progress):
        raise reproduction.InvalidParameterError("no such\ndata")

    def half(name, folder, settings, progress):
        return reproduction.Made((), ("2 of 9 cells failed.",))

    experiments = {
        "one": reproduction.Reproduction("the first", ("quick",), bad),
        "two": reproduction.Reproduction("the second", ("quick", "device"), good),
        "three": reproduction.Reproduction("the third", (), half),
    }
    monkeypatch.setattr(reproduction, "REPRODUCTIONS", experiments)
    result = invoke("all", "--quick", "--device", "cpu", "--out", tmp_path)
    assert result.exit_code == 1
    assert ran == [("two-quick", reproduction.Settings(quick=True, device="cpu"))]
    assert result.stdout == f"{tmp_path / 'two-quick.png'}\n"
    assert result.stderr.splitlines() == [
        "one: the first",
        "two: the second",
        "three: the third",
        "Failed: one: no such data",
        "Failed: three: 2 of 9 cells failed.",
    ]


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch):
    def stop(name, folder, settings, progress):
        raise KeyboardInterrupt

    monkeypatch.setitem(reproduction.REPRODUCTIONS, "er-n", reproduction.Reproduction("", (), stop))
    result = invoke("er-n", "--out", tmp_path)
    assert result.exit_code == 130
    assert result.stderr == "Stopped. Finished work is kept; run the same command again to resume.\n"


KINDS = ("csv", "png", "svg")
# Ten cells of half a second or more, so that there is time to kill in their midst.
TINY = ["reproduce", "er-p", "--quick", "--methods", "clustered", "--data-sets", "5"]


def start(out, workers):
    command = [sys.executable, "-m", "contextualdag", *TINY, "--workers", str(workers), "--out", str(out)]
    # A session of its own, so that its processes can be killed as one group.
    return subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_until(condition, command, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert command.poll() is None, command.communicate()[1]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.mark.long
def test_killed_workers_and_commands_lose_nothing(tmp_path):
    disturbed, undisturbed = tmp_path / "disturbed", tmp_path / "undisturbed"

    def finished():
        return {file.name: file.read_bytes() for file in (disturbed / "cells").glob("*.json")}

    command = start(disturbed, 2)
    try:
        wait_until(lambda: len(finished()) >= 1, command)
        before = finished()
        children = psutil.Process(command.pid).children()
        workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        assert len(workers) == 2
        workers[0].kill()
        wait_until(lambda: len(finished()) >= len(before) + 2, command)
    finally:
        os.killpg(command.pid, signal.SIGKILL)
        command.communicate()
    kept = finished()
    assert before.items() <= kept.items()
    assert len(kept) < 10, "the command was done before it could be killed"

    again, other = start(disturbed, 1), start(undisturbed, 1)
    try:
        for one in (again, other):
            stdout, stderr = one.communicate(timeout=120)
            assert one.returncode == 0, stderr
            assert [path.rsplit("/", 1)[1] for path in stdout.split()] == [f"er-p-quick.{kind}" for kind in KINDS]
    finally:
        for one in (again, other):
            one.kill()
    # Finished cells were not run again: a second run would have taken other seconds.
    assert len(finished()) == 10
    assert kept.items() <= finished().items()
    tables = [pd.read_csv(folder / "er-p-quick.csv") for folder in (disturbed, undisturbed)]
    first, second = (table.drop(columns=["fit_seconds", "fit_seconds_se"]) for table in tables)
    assert len(first) == 4
    assert (first["data_sets"] == 5).all()
    pd.testing.assert_frame_equal(first, second)
