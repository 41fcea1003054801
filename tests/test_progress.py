import pytest

from contextualdag import progress
from contextualdag.progress import ProgressDisplay, RunProgress, clock, time_left


@pytest.fixture
def time(monkeypatch):
    """A time that a test sets."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def _terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


def test_lines_where_there_is_no_terminal(time, capsys):
    with RunProgress() as run:
        run.start("er-n", 20)
        for seconds, done in ((110, 11), (131, 12), (140, 13), (5591, 14)):
            time[0] = seconds
            run.step(done)
    # Ten of the twenty needed no time now, so that speed is judged from the first call on.
    assert capsys.readouterr().err.splitlines() == ["er-n: 12 of 20, 2:48 left", "er-n: 14 of 20, 3:02:42 left"]


@pytest.mark.slow
@pytest.mark.usefixtures("_terminal")
def test_a_bar_on_a_terminal(time, capsys):
    with RunProgress() as run:
        run.start("timings", 4)
        run.step(0, "n = 1000")
        time[0] += 30
        run.step(1, "n = 3250")
        run.say("a line [in between]")
        run.finish()
        run.start("fits", 2)
    shown = capsys.readouterr().err
    assert "1 of 4, n = 3250" in shown
    assert "1:30 left" in shown
    assert "a line [in between]" in shown


def test_a_line_has_the_description_the_numbers_and_the_time_left(time, capsys):
    with ProgressDisplay() as display:
        display.start("starting")
        time[0] += 30
        display.update("budget 2", completed=1, total=3)
        display.report("loss 0.934")
        display.update(left="0:10 left")
        display.report("too early for another line")
        time[0] += 30
        display.report("loss 0.912")
    assert capsys.readouterr().err.splitlines() == ["budget 2: loss 0.934", "budget 2: loss 0.912, 0:10 left"]


@pytest.mark.usefixtures("_terminal")
def test_nothing_at_all(time, capsys):
    with ProgressDisplay(show=False) as display:
        display.start("starting", 3)
        time[0] += 60
        display.update(completed=1)
        display.report("loss 0.934")
        display.say("a line")
    assert capsys.readouterr().err == ""


def test_durations():
    assert [clock(seconds) for seconds in (0, 59.6, 3599, 3600)] == ["0:00", "1:00", "59:59", "1:00:00"]
    assert time_left(10, 0, 5) == ""
    assert time_left(10, 2, 5) == "0:15 left"
