"""How far a long command is: a bar with the time left on a terminal, a line now and then anywhere else."""

import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BETWEEN_LINES = 30.0


class RunProgress:
    """What is done of a run, and how long the rest will take. Use it as a context.

    A bar is there between `start` and `finish` only, since fits draw bars of their own.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._what, self._total = "", 0
        self._begun: tuple[float, int] | None = None
        self._last_line = 0.0

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.finish()

    def say(self, text: str) -> None:
        """One line for the user."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start(self, what: str, total: int) -> None:
        """Begin to count to `total`."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.finish()
        self._what, self._total, self._begun, self._last_line = what, total, None, time.monotonic()
        if self._console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, TextColumn("{task.fields[left]}"), console=self._console, transient=True)
            self._bar.add_task(what, total=total, left="")
            self._bar.start()

    def step(self, done: int, what: str = "") -> None:
        """So much is done, and `what` comes next.

        The time left is judged by what happens after the first call: that one also counts what earlier runs finished.
        """
        now = time.monotonic()
        self._begun = self._begun or (now, done)
        begun, before = self._begun
        left = f"{_clock((now - begun) * (self._total - done) / (done - before))} left" if done > before else ""
        text = f"{self._what}: {what}" if what else self._what
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=text, completed=done, left=left)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self.say(", ".join(part for part in (text, f"{done} of {self._total}", left) if part))

    def finish(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
