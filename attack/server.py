"""An explorer of its own process, to be attacked."""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START = 120  # seconds


@dataclass
class Explorer:
    """A running explorer."""

    port: int
    process: "subprocess.Popen[str]"
    log: Path

    @property
    def megabytes(self) -> float:
        """Memory that the process takes."""
        return self._status("VmRSS") / 1024

    @property
    def n_threads(self) -> int:
        """Threads of the process."""
        return self._status("Threads")

    def _status(self, what: str) -> int:
        found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found[1]) if found else 0

    def complaints(self) -> str:
        """What is wrong with the process: that it has ended, or written a traceback."""
        if self.process.poll() is not None:
            return f"The explorer ended with exit code {self.process.returncode}: {self.log.read_text()[-500:]}"
        said = self.log.read_text()
        return f"The explorer printed a traceback: {said[-1000:]}" if "Traceback" in said else ""


@contextlib.contextmanager
def explorer(model: Path, scratch: Path) -> Iterator[Explorer]:
    """`contextualdag explore` of a model on a free port."""
    log = scratch / "explorer.log"
    command = [sys.executable, "-u", "-m", "contextualdag", "explore", str(model), "--port", "0", "--no-open"]
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file, text=True) as process:
        try:
            end = time.monotonic() + START
            while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/", log.read_text())):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"The explorer did not start: {log.read_text()[-500:]}")
                time.sleep(0.1)
            yield Explorer(int(found[1]), process, log)
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
