"""Kills, full disks and other processes: the last checkpoint is always whole."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import berth
from berth import errors
from berth.train.checkpoints import unfinished
from berth.train.checkpoints.bundle_reader import BundleReader
from berth.train.checkpoints.bundle_writer import SavedTensor, merge_bundles, write_bundle
from berth.train.checkpoints.checkpoint_state import (
    get_checkpoint_state,
    update_checkpoint_state,
)
from tests.memory.interrupts import Interrupter

BERTH = Path(berth.__file__).parent
_EVENTS = {"open", "os.rename", "os.link", "os.remove", "os.scandir", "fcntl.flock"}
_KILLED = 9


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch):
    """A killed process leaves what it has written, be it on the disk or not."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def save(prefix: str, step: int) -> None:
    """Save two tensors that have to agree, and to be of the size of the step."""
    array = np.full(step, step, np.int64)
    write_bundle(prefix, [SavedTensor("a", array), SavedTensor("b", -array)])


def saved_step(prefix: str) -> int:
    with BundleReader(prefix) as reader:
        a, b = reader.read("a"), reader.read("b")
    assert (a == len(a)).all()
    assert (b == -len(a)).all()
    return len(a)


def in_child(work) -> int:
    """Do something in a process of its own; return how that ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{error!r}\n")
        os._exit(1)


def killed_before_step(n_steps: int, work) -> int:
    """Do something in a process that ends, without a word, before a step of file work."""

    def until_killed() -> None:
        n_left = [n_steps]

        def count(event: str, arguments: object) -> None:
            if event in _EVENTS:
                n_left[0] -= 1
                if n_left[0] < 0:
                    os._exit(_KILLED)

        sys.addaudithook(count)
        work()

    return in_child(until_killed)


def each_kill(work):
    """Yield after each kill, one step later each time, until nothing is left to kill."""
    for n_steps in range(100):
        result = killed_before_step(n_steps, work)
        assert result in (0, _KILLED)
        yield n_steps
        if result == 0:
            assert n_steps > 8, "the steps were not counted"
            return
    raise AssertionError("it never ended")


# --- kills -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "replaced"])
def test_kill_at_any_step_leaves_a_checkpoint(tmp_path, is_first):
    prefix, steps = str(tmp_path / "m"), set()
    if not is_first:
        save(prefix, 3)
    for _ in each_kill(lambda: save(prefix, 5)):
        if not is_first or os.path.exists(f"{prefix}.index"):
            steps.add(saved_step(prefix))
            save(prefix, 3)  # from any state that a kill may leave
        elif not is_first:
            raise AssertionError("the checkpoint is gone")
        assert is_first or saved_step(prefix) == 3
        if is_first:
            for name in os.listdir(tmp_path):
                if "unfinished" not in name:
                    os.unlink(tmp_path / name)
    assert steps == ({5} if is_first else {3, 5})
    save(prefix, 4)
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]


def test_kill_while_merging_leaves_a_checkpoint(tmp_path):
    prefix, parts, steps = str(tmp_path / "m"), [str(tmp_path / f"p{n}") for n in (0, 1)], set()

    def save_parts(step: int) -> None:
        array = np.full(step, step)
        write_bundle(parts[0], [SavedTensor("a", array)])
        write_bundle(parts[1], [SavedTensor("b", -array)])

    def prepare() -> None:
        save_parts(3)
        merge_bundles(parts, prefix)
        save_parts(5)

    prepare()
    for _ in each_kill(lambda: merge_bundles(parts, prefix)):
        steps.add(saved_step(prefix))
        prepare()
        assert saved_step(prefix) == 3
    assert steps == {3, 5}
    merge_bundles(parts, prefix)
    data = [f"m.data-0000{n}-of-00002" for n in (0, 1)]
    assert sorted(os.listdir(tmp_path)) == [*data, "m.index"]


def test_kill_leaves_the_state_file(tmp_path):
    def update() -> None:
        for _ in range(3):
            update_checkpoint_state(tmp_path, "m-5")

    latest = set()
    update_checkpoint_state(tmp_path, "m-3")
    for _ in each_kill(update):
        latest.add(os.path.basename(get_checkpoint_state(tmp_path).model_checkpoint_path))
        update_checkpoint_state(tmp_path, "m-3")
    assert latest == {"m-3", "m-5"}


def test_files_without_links_keep_other_names(tmp_path, monkeypatch):
    def refuse(*arguments: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    prefix = str(tmp_path / "m")
    save(prefix, 3)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        save(prefix, 4)
        assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00002", "m.index"]
        assert saved_step(prefix) == 4
        save(prefix, 5)
    assert saved_step(prefix) == 5
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]


# --- full disks, and folders that cannot be written ----------------------------------------------


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_full_disk_leaves_the_checkpoint(tmp_path, monkeypatch, step):
    prefix = str(tmp_path / "m")
    save(prefix, 3)
    for n_good in range(3):
        with monkeypatch.context() as patch:
            failing(patch, step, n_good)
            with pytest.raises(errors.ResourceExhaustedError, match="No space left on device"):
                save(prefix, 5)
        assert saved_step(prefix) == 3 or n_good == 2  # which fails when all is in place
        assert "unfinished" not in " ".join(os.listdir(tmp_path))
    save(prefix, 4)
    assert saved_step(prefix) == 4


def failing(patch, step: str, n_good: int) -> None:
    """Let the disk be full, for all but the first steps."""
    calls = [0]
    name = {"write": "write", "fsync": "finish"}[step]
    method = getattr(unfinished.UnfinishedFile, name)

    def full(self, *arguments):
        calls[0] += 1
        if calls[0] > n_good:
            with unfinished.naming(self.path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return method(self, *arguments)

    patch.setattr(unfinished.UnfinishedFile, name, full)


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(errors.NotFoundError, match="nope; No such file or directory"):
        save(str(tmp_path / "nope" / "m"), 1)


# --- other processes ---------------------------------------------------------------------------


def test_two_processes_write_one_checkpoint(tmp_path):
    prefix = str(tmp_path / "m")
    save(prefix, 1)
    children = []
    for number in range(2):
        child = os.fork()
        if not child:
            try:
                for step in range(10, 30):
                    save(prefix, step * 2 + number)
                os._exit(0)
            except BaseException as error:
                sys.stderr.write(f"{error!r}\n")
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert saved_step(prefix) in (58, 59)
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]


def test_files_in_work_are_not_abandoned(tmp_path):
    with unfinished.UnfinishedFile(str(tmp_path / "slow")) as slow:
        save(str(tmp_path / "m"), 3)
        slow.write(b"done")
        slow.finish()
        slow.place()
    assert (tmp_path / "slow").read_bytes() == b"done"


def test_waiting_for_another_process_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "MAX_WAIT_SECONDS", 0.01)
    with (
        unfinished.folder_locked(str(tmp_path)),
        pytest.raises(errors.DeadlineExceededError, match="another process has not finished"),
    ):
        save(str(tmp_path / "m"), 3)
    save(str(tmp_path / "m"), 3)


def test_interrupt_leaves_no_folder_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "MAX_WAIT_SECONDS", 0.0)
    interrupter, n, is_reached, kept = Interrupter(BERTH), 0, True, []

    def lock():
        try:
            with unfinished.folder_locked(str(tmp_path)):
                pass
        except KeyboardInterrupt as error:
            kept.append(error)  # as an interactive shell does, with the frames in its traceback
            raise

    while is_reached:
        n += 1
        is_reached, _ = interrupter.run(lock, n)
        lock()
    assert len(kept) > 10
