"""Progress of long work, on stderr: a bar with the time left on a terminal, a line every 30 seconds elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BETWEEN_LINES = 30.0
REFRESHES_PER_SECOND = 10.0


class ProgressDisplay:
    """What is being done, a bar, numbers and the time left. Use it as a context.

    The bar exists between `start` and `finish`, which removes it.

    Parameters
    ----------
    show : bool, default=True
        Whether to show anything.
    bar_width : int, default=20
        Width of the bar in characters.
    elapsed : bool, default=False
        Whether the bar also shows the time since `start`.

    Examples
    --------
    >>> from contextualdag.progress import ProgressDisplay
    >>> with ProgressDisplay(show=False) as display:
    ...     display.start("fitting", total=3)
    ...     display.update(completed=1, left="0:10 left")
    ...     display.report("loss 0.93")
    """

    def __init__(self, show: bool = True, bar_width: int = 20, elapsed: bool = False) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._show, self._bar_width, self._elapsed = show, bar_width, elapsed
        self._bar: Progress | None = None
        self._what, self._left = "", ""
        self._last_line = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.finish()

    def say(self, text: str) -> None:
        """Print one line, above the bar if there is one."""
        if self._show:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start(self, what: str, total: float | None = None) -> None:
        """Show a new bar; without a total, one that only moves."""
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.finish()
        self._what, self._left, self._last_line = what, "", time.monotonic()
        if not self._show or not self._console.is_terminal:
            return
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(self._bar_width),
            TextColumn("{task.fields[numbers]}"),
            *([TimeElapsedColumn()] if self._elapsed else []),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
            refresh_per_second=REFRESHES_PER_SECOND,
        )
        self._bar.add_task(what, total=total, numbers="", left="")
        self._bar.start()

    def update(
        self,
        what: str | None = None,
        completed: float | None = None,
        total: float | None = None,
        left: str | None = None,
    ) -> None:
        """Change what the bar shows; what is None stays. `left` is a text such as that of `time_left`."""
        self._what = self._what if what is None else what
        self._left = self._left if left is None else left
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=self._what, completed=completed, total=total, left=self._left)

    def report(self, numbers: str) -> None:
        """Show the current numbers: in the bar or, where there is none, in a line if the last one is 30 seconds old."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], numbers=numbers)
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.say(", ".join(part for part in (f"{self._what}: {numbers}", self._left) if part))

    def finish(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class RunProgress(ProgressDisplay):
    """Progress of a run that counts to a total. Use it as a context.

    A bar is shown between `start` and `finish` only, since fits draw bars of their own.

    Parameters
    ----------
    show : bool, default=True
        Whether to show anything.
    """

    def __init__(self, show: bool = True) -> None:
        super().__init__(show, elapsed=True)
        self._total = 0.0
        self._begun: tuple[float, int] | None = None

    def start(self, what: str, total: float | None = None) -> None:
        """Begin to count to `total`."""
        super().start(what, total)
        self._total, self._begun = total or 0, None

    def step(self, done: int, what: str = "") -> None:
        """So much is done, and `what` comes next.

        The time left is estimated from the first call on, since `done` may count what earlier runs finished.
        """
        now = time.monotonic()
        self._begun = self._begun or (now, done)
        begun, before = self._begun
        self.update(completed=done, left=time_left(now - begun, done - before, self._total - before))
        self.report(", ".join(part for part in (f"{done} of {self._total:g}", what) if part))


def time_left(seconds: float, done: float, total: float) -> str:
    """How long the rest takes if `done` of `total` took so many seconds; empty as long as nothing is done.

    Examples
    --------
    >>> from contextualdag.progress import time_left
    >>> time_left(90.0, done=1, total=3)
    '3:00 left'
    """
    return f"{clock(seconds * (total - done) / done)} left" if done > 0 else ""


def clock(seconds: float) -> str:
    """A duration as minutes and seconds, with hours if there are any.

    Examples
    --------
    >>> from contextualdag.progress import clock
    >>> clock(3725)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
