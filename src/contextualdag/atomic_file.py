"""Writing a file, all of it or nothing."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file in one step: a reader never meets half of it, and a failure leaves what was there.

    Parameters
    ----------
    path : Path
        The file. Its folder must exist.
    content : bytes
        What to write.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as stream:
        temporary = Path(stream.name)
        try:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, against power failures. Not every file system can do this."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
