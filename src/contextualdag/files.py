"""Files and folders that are written completely or not at all, even if the process is killed.

`write_file` replaces one file. `replace_folder` replaces a folder, and `read_folder` reads one as a single save left it.
`exclusive_lock` keeps other processes out.

The new folder is written next to the old one under a hidden name, and then the two are exchanged in one system call
(``renameat2`` with ``RENAME_EXCHANGE``). Where that is not available, the old folder is first renamed to a backup, and a
load restores the backup if the process died before the new folder was in place.

Windows can neither open folders nor lock with ``flock``. There folders are read by path and checked for a change
meanwhile, locks do nothing, and hidden folders of killed saves are removed when they are old.
"""

import contextlib
import ctypes
import errno
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from contextualdag.errors import PersistenceError

_CAN_OPEN_FOLDERS = hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd and os.listdir in os.supports_fd
# Another process may save at the same time. If the folder changes while it is used, we try again, at most this often.
_ATTEMPTS = 20
_PAUSE_SECONDS = 0.002
# Without locks, a hidden folder of this age is taken for abandoned.
_ABANDONED_SECONDS = 3600

_logger = logging.getLogger(__name__)


def write_file(path: Path, content: bytes) -> None:
    """Write a file in one step: readers never see a part of it, and a failure leaves the old content.

    Parameters
    ----------
    path : Path
        The file. Its folder must exist.
    content : bytes
        What to write.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
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
    """Write the entries of a folder to the disk, against power failures, where the system can do so."""
    if not _CAN_OPEN_FOLDERS:
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def exclusive_lock(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold a lock file, so that only one process at a time runs the body.

    The system releases the lock when the process dies, however it dies. The file stays. On Windows and on file systems
    without locks nothing is locked.

    Parameters
    ----------
    path : Path
        The lock file, which is created if it is missing. Its folder must exist.
    wait : bool, default=False
        Whether to wait while another process holds the lock.

    Raises
    ------
    BlockingIOError
        If another process holds the lock and `wait` is False.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from contextualdag.files import exclusive_lock
    >>> with tempfile.TemporaryDirectory() as folder, exclusive_lock(Path(folder) / ".lock"):
    ...     print("alone")
    alone
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if _lock(descriptor, wait) is False:
            raise BlockingIOError(errno.EAGAIN, "Another process holds the lock", str(path))
        yield
    finally:
        os.close(descriptor)


def look(folder: Path, wanted: tuple[str, ...]) -> tuple[set[str], dict[str, bytes]] | None:
    """List a folder and read files of it, all from the same save; None if it is missing."""
    look_once = _look_once if _CAN_OPEN_FOLDERS else _look_once_by_path
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE_SECONDS if attempt else 0)
        try:
            found = look_once(folder, wanted)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise PersistenceError(f"{folder} is a file where a folder was expected; give the path of a folder.") from None
        if found is not None:
            return found
    raise PersistenceError(f"{folder} was replaced repeatedly while it was read; try again when fewer processes save.")


def read_folder(path: str | os.PathLike[str], wanted: tuple[str, ...]) -> dict[str, bytes]:
    """Read those of the wanted files that exist, and restore the backup first if a killed save left nothing else."""
    target = Path(path).resolve()
    for attempt in range(_ATTEMPTS):
        found = look(target, wanted)
        if found is not None:
            return found[1]
        # The first rounds only wait: a running save is about to put its folder there.
        time.sleep(_PAUSE_SECONDS)
        backups = _siblings(target, "backup")
        if backups and attempt > 1:
            # Fails if the folder is back by now, which is just as well.
            with contextlib.suppress(OSError):
                backups[-1].rename(target)
                _logger.warning("A save of %s was interrupted; the previous content was restored.", target)
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
    """Replace a folder by one with these files, in one step.

    Parameters
    ----------
    path : path
        The folder. If it is a symbolic link, the folder it points to is replaced, and the link stays.
    files : mapping of str to bytes
        Names and contents.
    refuse_to_destroy : callable
        Raises if the folder at the given path must not be replaced.
    is_saved : callable
        Whether a complete save is at the given path, so that its backups can be deleted.
    """
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


def _look_once(folder: Path, wanted: tuple[str, ...]) -> tuple[set[str], dict[str, bytes]] | None:
    """One attempt of `look`; None if the folder was replaced meanwhile."""
    # The files are opened relative to the opened folder, so they cannot come from two saves. If a save deletes the folder
    # meanwhile, there is another one at the path, and the next attempt reads it.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        names = set(os.listdir(descriptor))  # noqa: PTH208 - a Path cannot name an open folder
        files = {}
        for name in wanted:
            with (
                contextlib.suppress(FileNotFoundError),
                os.fdopen(os.open(name, os.O_RDONLY, dir_fd=descriptor), "rb") as stream,
            ):
                files[name] = stream.read()
        return (names, files) if len(files) == len(wanted) or _is_still_at(descriptor, folder) else None
    finally:
        os.close(descriptor)


def _look_once_by_path(folder: Path, wanted: tuple[str, ...]) -> tuple[set[str], dict[str, bytes]] | None:
    """Same as `_look_once`, where folders cannot be opened."""
    before = folder.stat()
    if not stat.S_ISDIR(before.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    with contextlib.suppress(FileNotFoundError):
        names = {entry.name for entry in folder.iterdir()}
        files = {name: (folder / name).read_bytes() for name in wanted if name in names}
        after = folder.stat()
        # Numbers of deleted folders are used again, so the time is compared as well.
        if os.path.samestat(before, after) and before.st_mtime_ns == after.st_mtime_ns:
            return names, files
    return None


def _is_still_at(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False


def _sibling(target: Path, role: str) -> Path:
    return target.with_name(f".{target.name}.contextualdag-{role}-{secrets.token_hex(8)}")


def _siblings(target: Path, role: str) -> list[Path]:
    """Hidden folders of one role next to `target`, the oldest first."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.contextualdag-{role}-[0-9a-f]{{16}}")
    found = []
    # The parent may be missing, and a folder may be deleted before its age is read.
    with contextlib.suppress(OSError):
        for folder in target.parent.iterdir():
            if pattern.fullmatch(folder.name):
                with contextlib.suppress(FileNotFoundError):
                    found.append((folder.stat().st_mtime_ns, folder))
    return [folder for _, folder in sorted(found)]


def _lock(descriptor: int, wait: bool = False) -> bool | None:
    """Lock an open file or folder until it is closed or this process dies.

    False if another process holds the lock, None if the system or the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextlib.contextmanager
def _new_folder_beside(target: Path) -> Iterator[Path]:
    """Make a hidden folder, locked so that others see that it is in use, and remove it in the end."""
    if not _CAN_OPEN_FOLDERS:
        folder = _sibling(target, "saving")
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
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
        # After an exchange it holds the old content.
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _remove_leftovers(target: Path, is_saved: Callable[[Path], bool]) -> None:
    """Remove what killed saves left next to `target`. Failing to do so is harmless, so no error is raised."""
    for folder in _siblings(target, "saving"):
        with contextlib.suppress(OSError):
            _remove_if_abandoned(folder)
    # The list comes before the check: its backups are then older than the save that the check finds.
    backups = _siblings(target, "backup")
    if backups:
        with contextlib.suppress(OSError):
            if is_saved(target):
                for backup in backups:
                    _discard(backup, target)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a hidden folder unless a running save has it locked or, where there are no locks, it is recent."""
    if not _CAN_OPEN_FOLDERS:
        if time.time() - folder.stat().st_mtime > _ABANDONED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        free = _lock(descriptor)
        if free is None:
            free = time.time() - os.fstat(descriptor).st_mtime > _ABANDONED_SECONDS
        if free:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _discard(backup: Path, target: Path) -> None:
    """Delete a backup under another name, so that a folder with the name of a backup is always complete."""
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
    """Exchange two folders in one step; False if that is not possible here."""
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux; on Windows CDLL needs a name
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _put_in_place(new: Path, target: Path, refuse_to_destroy: Callable[[Path], None]) -> None:
    for _ in range(_ATTEMPTS):
        refuse_to_destroy(target)
        try:
            # Succeeds if there is nothing, or (not on Windows) an empty folder.
            new.rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if _exchange(new, target):
            return
        # The next round renames the new folder into the free place.
        with contextlib.suppress(FileNotFoundError):
            target.rename(_sibling(target, "backup"))
    raise PersistenceError(f"{target} was replaced repeatedly by other processes; let one process save there at a time.")
