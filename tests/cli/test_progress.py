import pytest

from contextualdag.cli import progress
from contextualdag.cli.progress import RunProgress


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_where_there_is_no_terminal(clock, capsys):
    with RunProgress() as run:
        run.start("er-n", 20)
        for seconds, done in ((110, 11), (131, 12), (140, 13), (5591, 14)):
            clock[0] = seconds
            run.step(done)
    # Ten of the twenty needed no time now, so that speed is judged from the first call on.
    assert capsys.readouterr().err.splitlines() == ["er-n, 12 of 20, 2:48 left", "er-n, 14 of 20, 3:02:42 left"]


def test_a_bar_on_a_terminal(clock, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with RunProgress() as run:
        run.start("timings", 4)
        run.step(0, "n = 1000")
        clock[0] += 30
        run.step(1, "n = 3250")
        run.say("a line [in between]")
    shown = capsys.readouterr().err
    assert "timings: n = 3250" in shown
    assert "1:30 left" in shown
    assert "a line [in between]" in shown
