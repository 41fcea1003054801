"""Files and folders that are written completely or not at all, even if the process is killed.

`write_file` replaces one file. `replace_folder` replaces a folder, and `read_folder` reads one as a single save left it, if
its files are regular ones of a size that fits. `exclusive_lock` keeps other processes out, `in_use` those that would write
to the same folder.

The new folder is written next to the old one under a hidden name, and then the two are exchanged in one system call
(``renameat2`` with ``RENAME_EXCHANGE``). Where that is not available, the old folder is first renamed to a backup with the
same number in its name. If the process died before the new folder was in place, the next load or save restores the backup,
which is deleted only once its new folder has taken the place.

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
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    # Not by `tempfile`, whose files are for their owner alone: the mode is that of any new file.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
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


@contextlib.contextmanager
def in_use(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep a folder that is going to be written for this thread: another `in_use` of it raises `PersistenceError`.

    The lock is a hidden file next to the folder, which is removed in the end.
    """
    target = _resolved(path)
    lock = target.with_name(f".{target.name}.contextualdag-lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
            locked = _lock(descriptor)
            # Who held it before may have removed the file meanwhile.
            if locked is not True or _is_still_at(descriptor, lock):
                break
            os.close(descriptor)
    except OSError as error:
        raise PersistenceError(
            f"{path} cannot be written ({error}); check the permissions or use another folder."
        ) from error
    try:
        if locked is False:
            raise PersistenceError(
                f"Another process or thread is writing to {path}; wait until it is done, or use another folder."
            )
        yield
    finally:
        if locked:
            lock.unlink(missing_ok=True)
        os.close(descriptor)
        if locked is None:  # an open file cannot be removed on Windows
            with contextlib.suppress(OSError):
                lock.unlink(missing_ok=True)


# How many bytes a file may have, given its name and the files read before; None if it is not to be read.
Most = Callable[[str, Mapping[str, bytes]], int | None]


def look(
    folder: Path, wanted: tuple[str, ...] = (), most: Most = lambda name, files: 0
) -> tuple[set[str], dict[str, bytes]] | None:
    """List a folder and read files of it, all from the same save; None if it is missing."""
    look_once = _look_once if _CAN_OPEN_FOLDERS else _look_once_by_path
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE_SECONDS if attempt else 0)
        try:
            found = look_once(folder, wanted, most)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise PersistenceError(f"{folder} is a file where a folder was expected; give the path of a folder.") from None
        except PersistenceError:
            raise
        except OSError as error:
            raise PersistenceError(f"{folder} could not be read ({error}); check the permissions.") from error
        if found is not None:
            return found
    raise PersistenceError(f"{folder} was replaced repeatedly while it was read; try again when fewer processes save.")


def read_folder(path: str | os.PathLike[str], wanted: tuple[str, ...], most: Most) -> dict[str, bytes]:
    """Read those of the wanted files that exist, and restore the backup first if a killed save left nothing else."""
    target = _resolved(path)
    for attempt in range(_ATTEMPTS):
        found = look(target, wanted, most)
        if found is not None:
            return found[1]
        # The first rounds only wait: a running save is about to put its folder there.
        time.sleep(_PAUSE_SECONDS)
        if attempt > 1:
            restore(target)
    backups = _siblings(target, "backup")
    if backups:
        raise PersistenceError(
            f"A save of {path} was interrupted; rename {backups[-1]} to {target} to restore what was there."
        )
    raise PersistenceError(f"There is no folder at {path}; check the path or save there first.")


def is_begun(path: str | os.PathLike[str]) -> bool:
    """Whether there is something at a path other than an empty folder."""
    place = Path(path)
    return os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir()))


def restore(path: str | os.PathLike[str]) -> None:
    """Put back what a killed save left as a backup, where there is nothing at its path."""
    target = _resolved(path)
    backups = [] if os.path.lexists(target) else _siblings(target, "backup")
    if backups:
        # Fails if the folder is back by now, which is just as well.
        with contextlib.suppress(OSError):
            backups[-1].rename(target)
            _logger.warning("A save of %s was interrupted; the previous content was restored.", target)


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
        Whether a complete save is at the given path, so that the backups of finished saves can be deleted.
    """
    target = _resolved(path)
    restore(target)
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


def _resolved(path: str | os.PathLike[str]) -> Path:
    """The folder that a path leads to."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a loop, a zero byte
        raise PersistenceError(f"{os.fspath(path)!r} leads nowhere ({error}); check the path.") from error


def _look_once(folder: Path, wanted: tuple[str, ...], most: Most) -> tuple[set[str], dict[str, bytes]] | None:
    """One attempt of `look`; None if the folder was replaced meanwhile."""
    # The files are opened relative to the opened folder, so they cannot come from two saves. If a save deletes the folder
    # meanwhile, there is another one at the path, and the next attempt reads it.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        names = set(os.listdir(descriptor))  # noqa: PTH208 - a Path cannot name an open folder
        files: dict[str, bytes] = {}
        missing = False
        for name in wanted:
            limit = most(name, files)
            if limit is None:
                continue
            try:
                # Opening a FIFO would wait for someone who writes to it.
                opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=descriptor)
            except FileNotFoundError:
                missing = True
                continue
            with os.fdopen(opened, "rb") as stream:
                size = _checked_size(os.fstat(opened), folder / name, limit)
                files[name] = stream.read(size)
        return None if missing and not _is_still_at(descriptor, folder) else (names, files)
    finally:
        os.close(descriptor)


def _look_once_by_path(folder: Path, wanted: tuple[str, ...], most: Most) -> tuple[set[str], dict[str, bytes]] | None:
    """Same as `_look_once`, where folders cannot be opened."""
    before = folder.stat()
    if not stat.S_ISDIR(before.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    with contextlib.suppress(FileNotFoundError):
        names = {entry.name for entry in folder.iterdir()}
        files: dict[str, bytes] = {}
        for name in wanted:
            limit = most(name, files)
            if name in names and limit is not None:
                _checked_size((folder / name).stat(), folder / name, limit)
                files[name] = (folder / name).read_bytes()
        after = folder.stat()
        # Numbers of deleted folders are used again, so the time is compared as well.
        if os.path.samestat(before, after) and before.st_mtime_ns == after.st_mtime_ns:
            return names, files
    return None


def _checked_size(found: os.stat_result, file: Path, most: int) -> int:
    """The size of a file that is to be read; raises unless it is a regular one of at most so many bytes."""
    if not stat.S_ISREG(found.st_mode):
        raise PersistenceError(
            f"{file.name} of {file.parent} is no regular file; restore the folder from a copy or save it again."
        )
    if found.st_size > most:
        raise PersistenceError(
            f"{file.name} of {file.parent} has {found.st_size} bytes and must have {most} at most; restore the folder from "
            "a copy or save it again."
        )
    return found.st_size


def _is_still_at(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False


def _sibling(target: Path, role: str, number: str | None = None) -> Path:
    return target.with_name(f".{target.name}.contextualdag-{role}-{number or secrets.token_hex(8)}")


def _other_role(folder: Path, role: str) -> Path:
    """The hidden folder of the same save with another role."""
    return folder.with_name(re.sub(r"-(saving|backup)-(?=[0-9a-f]{16}$)", f"-{role}-", folder.name))


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
    """Remove what killed saves left next to `target`. Failing to do so is harmless, so no error is raised.

    A backup whose new folder never took the place stays, together with that folder: its content was not replaced.
    """
    for folder in _siblings(target, "saving"):
        with contextlib.suppress(OSError):
            if not _other_role(folder, "backup").exists():
                _remove_if_abandoned(folder)
    # The list comes before the check: its backups are then older than the save that the check finds.
    backups = [backup for backup in _siblings(target, "backup") if not _other_role(backup, "saving").exists()]
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
        backup = _other_role(new, "backup")
        with contextlib.suppress(FileNotFoundError):
            target.rename(_sibling(target, "backup") if backup.exists() else backup)
    raise PersistenceError(f"{target} was replaced repeatedly by other processes; let one process save there at a time.")
