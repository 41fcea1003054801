"""Saves that replace a folder in one step: what kills at any moment, full disks and other savers leave behind."""

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from attack.folders import impostors
from contextualdag import files
from contextualdag.errors import PersistenceError
from contextualdag.folder import load_folder, save_folder

OLD = {"name": "old"}, {"W": torch.arange(6.0).reshape(2, 3)}
NEW = {"name": "new"}, {"W": torch.ones(4)}


@pytest.fixture
def model(tmp_path):
    """A folder with the old content."""
    save_folder(tmp_path / "model", "example", *OLD)
    return tmp_path / "model"


@pytest.fixture(params=["exchange", "backup"])
def way(request, monkeypatch):
    """Both ways to put a folder in place."""
    if request.param == "backup":
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    return request.param


@pytest.fixture
def _as_on_windows(monkeypatch):
    """Without descriptors of folders, without locks and without the exchange of folders."""
    monkeypatch.setattr(files, "_CAN_OPEN_FOLDERS", False)
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    monkeypatch.setitem(sys.modules, "fcntl", None)


def assert_holds(path, expected, kind="example"):
    metadata, tensors = load_folder(path, kind)
    assert metadata == expected[0]
    assert tensors.keys() == expected[1].keys()
    for name, tensor in expected[1].items():
        torch.testing.assert_close(tensors[name], tensor, rtol=0, atol=0)


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_overwrite(model, way):
    save_folder(str(model), "checkpoint", *NEW)
    assert_holds(model, NEW, "checkpoint")
    assert names_in(model.parent) == ["model"]


def test_exchange_works_here(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not files._exchange(tmp_path / "one", tmp_path / "two"):
        pytest.skip("this file system cannot exchange folders")
    assert names_in(tmp_path / "one") == ["two"]
    assert names_in(tmp_path / "two") == ["one"]


def test_through_a_link(model, way):
    link = model.parent / "latest"
    link.symlink_to("model")
    save_folder(link, "example", *NEW)
    assert link.is_symlink()
    assert_holds(link, NEW)
    assert_holds(model, NEW)


def test_names_with_special_characters(tmp_path, way):
    path = tmp_path / "[a-z]* (θ).+"
    for content in (OLD, NEW):
        save_folder(path, "example", *content)
        assert_holds(path, content)
    assert names_in(tmp_path) == [path.name]


def test_full_disk_keeps_the_old_content(model, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(PersistenceError, match=r"could not be saved .*No space left on device.*; check the permissions"):
            save_folder(model, "example", *NEW)
    assert_holds(model, OLD)
    assert names_in(model.parent) == ["model"]


def test_leftovers_are_removed_and_work_in_progress_is_not(model):
    dead = files._sibling(model, "saving")
    dead.mkdir()
    (dead / "tensors.safetensors").write_bytes(b"half")
    of_another = files._sibling(model.with_name("model2"), "saving")
    of_another.mkdir()
    with files._new_folder_beside(model) as living:
        save_folder(model, "example", *NEW)
        assert living.is_dir()
    assert names_in(model.parent) == sorted(["model", of_another.name])


def test_leftovers_without_locks_are_removed_when_old(model, monkeypatch):
    def no_locks(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    fresh, old = files._sibling(model, "saving"), files._sibling(model, "saving")
    fresh.mkdir()
    old.mkdir()
    os.utime(old, (0, 0))
    save_folder(model, "example", *NEW)
    assert_holds(model, NEW)
    assert names_in(model.parent) == sorted(["model", fresh.name])


@pytest.mark.usefixtures("_as_on_windows")
def test_without_open_folders_and_locks(model, tmp_path):
    old, fresh = files._sibling(model, "saving"), files._sibling(model, "saving")
    old.mkdir()
    fresh.mkdir()
    os.utime(old, (0, 0))
    assert_holds(model, OLD)
    save_folder(model, "example", *NEW)
    assert_holds(model, NEW)
    assert names_in(model.parent) == sorted(["model", fresh.name])
    with pytest.raises(PersistenceError, match="There is no folder"):
        load_folder(tmp_path / "missing", "example")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(PersistenceError, match="is a file where a folder was expected"):
        save_folder(tmp_path / "file", "example", *NEW)
    model.rename(files._sibling(model, "backup"))
    assert_holds(model, NEW)


@pytest.mark.usefixtures("_as_on_windows")
@pytest.mark.parametrize("same_number", [True, False])
def test_a_folder_replaced_while_it_is_read_by_path(model, monkeypatch, same_number):
    save_folder(model.with_name("other"), "example", *NEW)
    read, replaced = Path.read_bytes, []

    def replace_meanwhile(file):
        content = read(file)
        if not replaced:  # once, after the first file
            replaced.append(file)
            model.rename(model.with_name("gone"))
            model.with_name("other").rename(model)
        return content

    monkeypatch.setattr(Path, "read_bytes", replace_meanwhile)
    if same_number:  # a new folder may get the number of a deleted one; it still differs in its time
        os.utime(model, (0, 0))
        monkeypatch.setattr(os.path, "samestat", lambda one, other: True)
    assert_holds(model, NEW)
    assert replaced


WITHOUT = """
import ctypes, os, sys
import torch
from pathlib import Path

sys.modules["fcntl"] = None
del os.O_DIRECTORY, os.O_NOFOLLOW
os.supports_dir_fd, os.supports_fd = set(), set()


def refuse(name):
    raise TypeError("argument of type 'NoneType' is not iterable")


ctypes.CDLL = refuse
from contextualdag import files
from contextualdag.folder import load_folder, save_folder

parent = Path(sys.argv[1])
for number in range(2):
    save_folder(parent / "model", "example", {"number": number}, {"W": torch.full((3,), number)})
    metadata, tensors = load_folder(parent / "model", "example")
    print(metadata["number"], tensors["W"].tolist())
files.write_file(parent / "file", b"content")
with files.in_use(parent / "model"), files.in_use(parent / "model"):
    save_folder(parent / "model", "example", {"number": 1}, {})
with files.exclusive_lock(parent / "lock"), files.exclusive_lock(parent / "lock"):
    print(sorted(os.listdir(parent)))
"""


def test_in_a_process_that_lacks_what_windows_lacks(tmp_path):
    command = [sys.executable, "-c", WITHOUT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 [0, 0, 0]", "1 [1, 1, 1]", "['file', 'lock', 'model']"]


def test_a_lock_belongs_to_one(tmp_path):
    lock = tmp_path / "lock"
    held = pytest.raises(BlockingIOError, match="Another process holds the lock")
    with files.exclusive_lock(lock), held, files.exclusive_lock(lock):
        pytest.fail("held twice")
    with files.exclusive_lock(lock):  # free again
        pass


def test_a_lock_can_be_waited_for(tmp_path):
    lock, order = tmp_path / "lock", []

    def take():
        with files.exclusive_lock(lock, wait=True):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with files.exclusive_lock(lock):
            waiting = pool.submit(take)
            time.sleep(0.05)
            order.append("first")
        waiting.result(timeout=10)
    assert order == ["first", "second"]


HOLDER = """
import sys
from pathlib import Path
from contextualdag.files import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_ends_with_its_process(tmp_path):
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:  # noqa: S603
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), files.exclusive_lock(lock):
            pytest.fail("held twice")
        holder.kill()
        with files.exclusive_lock(lock, wait=True):
            assert lock.exists()


def test_a_folder_that_is_written_is_for_one(model):
    busy = pytest.raises(PersistenceError, match=f"Another process or thread is writing to {model}; wait until it is done")
    with files.in_use(model):
        with busy, files.in_use(model.parent / "." / "model"):
            pytest.fail("in use twice")
        save_folder(model, "example", *NEW)  # whoever holds it may save
        assert_holds(model, NEW)
    with files.in_use(model):  # free again
        pass
    assert names_in(model.parent) == ["model"]


def test_many_that_want_one_folder_have_it_one_at_a_time(tmp_path):
    inside, most, had = [], [], []

    def take(number):
        for _ in range(40):
            try:
                with files.in_use(tmp_path / "model"):
                    inside.append(number)
                    most.append(len(inside))
                    time.sleep(0.0005)
                    inside.remove(number)
                had.append(number)
            except PersistenceError:
                time.sleep(0.0005)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(take, number) for number in range(4)]:
            done.result()
    assert max(most) == 1
    assert had
    assert names_in(tmp_path) == []


@pytest.mark.usefixtures("_as_on_windows")
def test_folders_in_use_without_locks(model):
    with files.in_use(model), files.in_use(model):
        save_folder(model, "example", *NEW)
    assert_holds(model, NEW)
    assert names_in(model.parent) == ["model"]


def test_a_lock_needs_a_folder_that_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PersistenceError, match="cannot be written"), files.in_use(tmp_path / "file" / "model"):
        pytest.fail("no lock")


@pytest.mark.parametrize("as_on_windows", [False, True])
def test_what_is_no_regular_file_is_not_read(model, tmp_path, request, as_on_windows):
    if as_on_windows:
        request.getfixturevalue("_as_on_windows")
    (tmp_path / "scratch").mkdir()
    for one in impostors(model, tmp_path / "scratch"):
        with pytest.raises(PersistenceError):
            load_folder(one.folder, "example")
        with pytest.raises(PersistenceError):
            save_folder(one.folder, "example", {"name": object()}, {})


def test_a_file_larger_than_the_metadata_promise_is_not_read(model):
    os.truncate(model / "tensors.safetensors", 50 << 30)
    with pytest.raises(PersistenceError, match=r"has 53687091200 bytes and must have \d+ at most"):
        load_folder(model, "example")


def test_load_restores_the_backup(model, caplog):
    model.rename(files._sibling(model, "backup"))
    assert_holds(model, OLD)
    assert names_in(model.parent) == ["model"]
    assert "was interrupted" in caplog.text


def test_a_save_restores_the_backup_before_it_looks_at_what_it_would_replace(model, caplog):
    """As if a killed save had left nothing else: what was there is not replaced unasked."""
    model.rename(files._sibling(model, "backup"))

    def refuse(target):
        if target.exists():
            raise PersistenceError("there is a model")

    with pytest.raises(PersistenceError, match="there is a model"):
        files.replace_folder(model, {"file": b""}, refuse, lambda target: True)
    assert_holds(model, OLD)
    assert "was interrupted" in caplog.text


def test_a_backup_whose_content_was_never_replaced_is_kept(model, tmp_path):
    """A save was killed between the backup and its new folder, and then someone else put a folder in its place."""
    number = "0123456789abcdef"
    backup, unfinished = files._sibling(model, "backup", number), files._sibling(model, "saving", number)
    shutil.copytree(model, backup)
    unfinished.mkdir()
    save_folder(model, "example", *NEW)
    assert names_in(tmp_path) == sorted([backup.name, unfinished.name, "model"])
    assert_holds(backup, OLD)
    shutil.rmtree(unfinished)  # as if that save had put its folder in place
    save_folder(model, "example", *NEW)
    assert names_in(tmp_path) == ["model"]


def test_save_after_a_lost_save(model):
    model.rename(files._sibling(model, "backup"))
    with pytest.raises(PersistenceError):
        save_folder(model, "example", {"name": object()}, {})
    assert_holds(model, OLD)
    model.rename(files._sibling(model, "backup"))
    save_folder(model, "example", *NEW)
    assert_holds(model, NEW)
    assert names_in(model.parent) == ["model"]


def test_backups_are_not_deleted_under_their_name(model, monkeypatch):
    # Otherwise a load could take for a backup what is half deleted.
    backup = files._sibling(model, "backup")
    shutil.copytree(model, backup)
    deleted = []
    monkeypatch.setattr(shutil, "rmtree", lambda folder, **_: deleted.append(folder))
    save_folder(model, "example", *NEW)
    assert not backup.exists()
    assert deleted
    assert all("-saving-" in folder.name for folder in deleted)


def test_backup_that_cannot_be_renamed_is_named(model, monkeypatch):
    backup = files._sibling(model, "backup")
    model.rename(backup)

    def read_only(self, target):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "rename", read_only)
    message = f"A save of {model} was interrupted; rename {backup} to {model} to restore what was there."
    with pytest.raises(PersistenceError, match=f"^{re.escape(message)}$"):
        load_folder(model, "example")


# Kills. One process imports torch and then forks the writers, so that a kill costs no import.

WRITERS = """
import os, sys
import torch
from contextualdag import files
from contextualdag.folder import save_folder

torch.set_num_threads(1)


def content(number):
    return {"number": number}, {"W": torch.full((500_000 + 250_000 * number,), float(number)), "b": torch.full((3,), number)}


for line in sys.stdin:
    way, path = line.rstrip("\\n").split(" ", 1)
    writer = os.fork()
    if not writer:
        if way == "backup":
            files._exchange = lambda one, other: False
        number = 0
        while True:
            number = 1 - number
            save_folder(path, "example", *content(number))
    print(writer, flush=True)
    os.waitpid(writer, 0)
    print("dead", flush=True)
"""


def number_in(path):
    """Check that the folder holds one of the two contents completely, and say which."""
    metadata, tensors = load_folder(path, "example")
    number = metadata["number"]
    assert tensors.keys() == {"W", "b"}
    assert tensors["W"].shape == (500_000 + 250_000 * number,)
    assert all(bool((tensor == number).all()) for tensor in tensors.values())
    return number


@pytest.fixture(scope="module")
def forker():
    command = [sys.executable, "-c", WRITERS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        yield process
        process.stdin.close()


@pytest.fixture
def start_writer(tmp_path, way, forker):
    """Start a process that saves two contents in turn for ever; what is returned kills it and waits for its death."""
    save_folder(tmp_path / "model", "example", {"number": 0}, {"W": torch.zeros(500_000), "b": torch.zeros(3)})

    def start():
        forker.stdin.write(f"{way} {tmp_path / 'model'}\n")
        forker.stdin.flush()
        writer = int(forker.stdout.readline())

        def kill():
            os.kill(writer, signal.SIGKILL)
            assert forker.stdout.readline() == "dead\n"

        return kill

    return start


@pytest.mark.slow
def test_kill_at_many_moments(tmp_path, start_writer, way):
    for moment in range(15):
        kill = start_writer()
        time.sleep(0.005 + 0.0137 * moment)
        kill()
        assert number_in(tmp_path / "model") in (0, 1)
        # At most the folder in work, and what a save was about to delete.
        assert len(names_in(tmp_path)) <= 3
    save_folder(tmp_path / "model", "example", *NEW)
    assert_holds(tmp_path / "model", NEW)
    assert names_in(tmp_path) == ["model"]


@pytest.mark.slow
def test_readers_see_whole_contents_only(tmp_path, start_writer, way):
    kill = start_writer()
    try:
        seen = [number_in(tmp_path / "model") for _ in range(60)]
        # The writer alternates, so the other content comes; the limit is for a writer that died.
        end = time.monotonic() + 30
        while len(set(seen)) < 2 and time.monotonic() < end:
            seen.append(number_in(tmp_path / "model"))
    finally:
        kill()
    assert set(seen) == {0, 1}


# A save is a series of steps that change the disk. This one dies just before the step of the given number.
DYING_SAVE = """
import os, pathlib, shutil, signal, sys
import torch
from contextualdag import files
from contextualdag.errors import PersistenceError
from contextualdag.folder import load_folder, save_folder

torch.set_num_threads(1)
parent = pathlib.Path(sys.argv[1])


def die_before(step):
    left = [step]

    def counted(function):
        def wrapper(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return wrapper

    for module, name in [
        (os, "open"), (os, "fsync"), (os, "unlink"), (os, "rmdir"), (os, "close"), (files, "_exchange"),
        (pathlib.Path, "rename"), (pathlib.Path, "mkdir"), (pathlib.Path, "open"), (shutil, "rmtree"),
    ]:
        setattr(module, name, counted(getattr(module, name)))


def look(path):
    try:
        metadata, tensors = load_folder(path, "example")
    except PersistenceError as error:
        assert "There is no folder" in str(error), error
        return "nothing"
    assert tensors["W"].tolist() == [len(metadata["name"])], (metadata, tensors)
    return metadata["name"]


def save(path, name):
    save_folder(path, "example", {"name": name}, {"W": torch.tensor([len(name)])})


for way in ("exchange", "backup"):
    if way == "backup":
        files._exchange = lambda one, other: False
    for before in ("nothing", "first", "backup"):
        outcomes = []
        for step in range(1000):
            path = parent / f"{way}-{before}-{step}" / "model"
            path.parent.mkdir()
            if before != "nothing":
                save(path, before)
            if before == "backup":
                path.rename(files._sibling(path, "backup"))
            child = os.fork()
            if not child:
                die_before(step)
                save(path, "second")
                os._exit(0)
            _, status = os.waitpid(child, 0)
            outcomes.append(look(path))
            save(path, "the third")
            assert look(path) == "the third"
            assert os.listdir(path.parent) == ["model"], os.listdir(path.parent)
            if not os.WIFSIGNALED(status):
                assert os.waitstatus_to_exitcode(status) == 0
                break
        # All of the old until some step, all of the new from then on.
        turn = outcomes.index("second")
        assert outcomes == [before] * turn + ["second"] * (len(outcomes) - turn), outcomes
        print(way, before, turn, len(outcomes))
"""


@pytest.mark.slow
def test_kill_before_every_step(tmp_path):
    command = [sys.executable, "-c", DYING_SAVE, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines] == ["exchange"] * 3 + ["backup"] * 3
    assert [line[1] for line in lines] == ["nothing", "first", "backup"] * 2
    # Each save had steps before the change and after it.
    assert all(0 < int(turn) < int(steps) - 1 for _, _, turn, steps in lines)


def test_savers_at_the_same_time(tmp_path, way):
    """Several threads save to one path; each lock is of one thread, so they behave as processes do."""

    def save_often(number):
        for _ in range(15):
            save_folder(tmp_path / "model", "example", {"number": number}, {"W": torch.full((100,), number)})

    with ThreadPoolExecutor(3) as pool:
        saves = [pool.submit(save_often, number) for number in range(3)]
        while not all(save.done() for save in saves):
            if (tmp_path / "model").exists():
                metadata, tensors = load_folder(tmp_path / "model", "example")
                assert (tensors["W"] == metadata["number"]).all()
        for save in saves:
            save.result()
    save_folder(tmp_path / "model", "example", *NEW)
    assert_holds(tmp_path / "model", NEW)
    assert names_in(tmp_path) == ["model"]


def test_a_file_is_written_and_replaced(tmp_path):
    for content in (b"first", b"second"):
        files.write_file(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_modes_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        files.write_file(tmp_path / "file", b"content")
        save_folder(tmp_path / "model", "example", *NEW)
    finally:
        os.umask(before)
    for file in (tmp_path / "file", tmp_path / "model" / "metadata.json", tmp_path / "model" / "tensors.safetensors"):
        assert file.stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch):
    files.write_file(tmp_path / "file", b"first")

    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        files.write_file(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
