"""Files and folders that are written all or not at all, also when a process is killed.

`write_file` replaces one file. `replace_folder` replaces a folder, and `read_folder` reads one as a single save left it.

The new folder is written next to the old one under a hidden name, and then the two change places in
one system call (``renameat2`` with ``RENAME_EXCHANGE``). Some file systems cannot do that; there the old folder is
first renamed to a backup, and a load puts the backup in place again if the process died before the new folder arrived.
"""

import contextlib
import ctypes
import errno
import fcntl
import logging
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from contextualdag.errors import PersistenceError

# Another process may save at the same moment. Whoever finds the folder changed under it tries again, this often.
_ATTEMPTS = 20
_PAUSE_SECONDS = 0.002
# Where the file system knows no locks, only its age tells that nobody works on a hidden folder any more.
_ABANDONED_SECONDS = 3600

_logger = logging.getLogger(__name__)


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


def look(folder: Path, wanted: tuple[str, ...]) -> tuple[set[str], dict[str, bytes]] | None:
    """List a folder and read files of it, all from the same save; None if it is missing."""
    # The files are opened relative to the opened folder, not by path, so they cannot come from two saves. A save may
    # delete the folder meanwhile, but then another one stands at the path, and it is read instead.
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE_SECONDS if attempt else 0)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise PersistenceError(f"{folder} is a file where a folder was expected; give the path of a folder.") from None
        try:
            names = set(os.listdir(descriptor))  # noqa: PTH208 - a Path cannot name an open folder
            files = {}
            for name in wanted:
                with contextlib.suppress(FileNotFoundError):
                    files[name] = _read_in(descriptor, name)
            if len(files) == len(wanted) or _is_still_at(descriptor, folder):
                return names, files
        finally:
            os.close(descriptor)
    raise PersistenceError(f"{folder} was replaced again and again while it was read; try again when fewer processes save.")


def read_folder(path: str | os.PathLike[str], wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Read those of the wanted files that exist, and put the backup in place first if a killed save left nothing else."""
    target = Path(path).resolve()
    for attempt in range(_ATTEMPTS):
        found = look(target, wanted)
        if found is not None:
            return found[1]
        # The first rounds only wait: a save that lives is about to put its folder there.
        time.sleep(_PAUSE_SECONDS)
        backups = _siblings(target, "backup")
        if backups and attempt > 1:
            # Fails if the folder is back by now, which is just as well.
            with contextlib.suppress(OSError):
                backups[-1].rename(target)
                _logger.warning("A save of %s was interrupted; the content before it was put in place again.", target)
    if backups:
        raise PersistenceError(
            f"A save of {path} was interrupted; rename {backups[-1]} to {target} to restore what was there."
        )
    raise PersistenceError(f"There is no folder at {path}; check the path or save there first.")


def replace_folder(
    path: str | os.PathLike[str],
    files: Mapping[str, bytes],
    refuse_to_destroy: Callable[[Path], None],
    is_saved: Callable[[Path], bool],
) -> None:
    """Replace a folder by one of these files; `refuse_to_destroy` raises to prevent it, `is_saved` recognises a save."""
    # Through a symbolic link, the folder it points to is replaced, and the link stays.
    target = Path(path).resolve()
    refuse_to_destroy(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target, is_saved)
    with _new_folder_beside(target) as new:
        for name, data in files.items():
            _write(new / name, data)
        flush_folder(new)
        _put_in_place(new, target, refuse_to_destroy)
        flush_folder(target.parent)
    _remove_leftovers(target, is_saved)


def _read_in(descriptor: int, name: str) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=descriptor), "rb") as stream:
        return stream.read()


def _is_still_at(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False


def _sibling(target: Path, role: str) -> Path:
    return target.with_name(f".{target.name}.contextualdag-{role}-{secrets.token_hex(8)}")


def _siblings(target: Path, role: str) -> list[Path]:
    """Find the hidden folders of one role beside `target`, the oldest first."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.contextualdag-{role}-[0-9a-f]{{16}}")
    found = []
    # The parent may be missing, and a folder may vanish while its age is asked.
    with contextlib.suppress(OSError):
        for folder in target.parent.iterdir():
            if pattern.fullmatch(folder.name):
                with contextlib.suppress(FileNotFoundError):
                    found.append((folder.stat().st_mtime_ns, folder))
    return [folder for _, folder in sorted(found)]


def _lock(descriptor: int) -> bool | None:
    """Try to lock a folder until it is closed or this process dies. None if the file system knows no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextlib.contextmanager
def _new_folder_beside(target: Path) -> Iterator[Path]:
    """Make a hidden folder that others can see to be in use, and remove what it holds in the end."""
    while True:
        folder = _sibling(target, "saving")
        folder.mkdir()
        # Until it is locked, another process may take the folder for a leftover and remove it.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            if _lock(descriptor) is not False and _is_still_at(descriptor, folder):
                break
            os.close(descriptor)
    try:
        yield folder
    finally:
        # After an exchange it is the old content that lies here.
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _remove_leftovers(target: Path, is_saved: Callable[[Path], bool]) -> None:
    """Remove what killed saves left beside `target`. A failure to do so harms nothing, so it is not raised."""
    for folder in _siblings(target, "saving"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                free = _lock(descriptor)
                if free is None:
                    free = time.time() - os.fstat(descriptor).st_mtime > _ABANDONED_SECONDS
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
    # The list comes before the check: a backup of the list is then older than the save that is seen in place.
    backups = _siblings(target, "backup")
    if backups:
        with contextlib.suppress(OSError):
            if is_saved(target):
                for backup in backups:
                    _discard(backup, target)


def _discard(backup: Path, target: Path) -> None:
    """Delete a backup under another name, so that whatever has the name of a backup is complete."""
    trash = _sibling(target, "saving")
    with contextlib.suppress(FileNotFoundError):
        backup.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)


def _write(file: Path, data: bytes) -> None:
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False if that is not possible here."""
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except AttributeError:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _put_in_place(new: Path, target: Path, refuse_to_destroy: Callable[[Path], None]) -> None:
    for _ in range(_ATTEMPTS):
        refuse_to_destroy(target)
        try:
            # Succeeds where there is nothing, or an empty folder.
            new.rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if _exchange(new, target):
            return
        # The next round renames, into the place that is free now.
        with contextlib.suppress(FileNotFoundError):
            target.rename(_sibling(target, "backup"))
    raise PersistenceError(
        f"{target} was replaced again and again by other processes; let one process save there at a time."
    )


@contextlib.contextmanager
def exclusive_lock(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold a lock on a file, created if missing; raise BlockingIOError if another process holds it and `wait` is False."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass  # not every file system knows locks
        yield
    finally:
        os.close(descriptor)
