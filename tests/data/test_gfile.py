"""tf.io.gfile and tf.gfile: files with TensorFlow's errors."""

from __future__ import annotations

import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
)

gfile = tf2.io.gfile


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "x.txt").write_text("line1\nline2\n")
    (tmp_path / "y.txt").write_text("")
    return tmp_path


def test_folders_are_listed(folder):
    assert (
        gfile.listdir(folder) == tf.gfile.ListDirectory(str(folder)) == ["a", "x.txt", "y.txt"]
    )
    texts = [str(folder / name) for name in ("x.txt", "y.txt")]
    assert gfile.glob(f"{folder}/*.txt") == texts
    assert gfile.glob([f"{folder}/x*", f"{folder}/y*"]) == texts
    assert sorted(gfile.walk(folder)) == [
        (str(folder), ["a"], ["x.txt", "y.txt"]),
        (str(folder / "a"), ["b"], []),
        (str(folder / "a" / "b"), [], []),
    ]
    assert gfile.stat(folder / "x.txt").length == 12
    assert gfile.stat(folder).is_directory
    assert gfile.isdir(folder)
    assert not gfile.exists(folder / "none")


def test_files_are_moved_copied_and_removed(folder):
    gfile.makedirs(folder / "c" / "d")
    gfile.mkdir(folder / "c")  # which is there already
    gfile.copy(folder / "x.txt", folder / "c" / "x.txt")
    gfile.rename(folder / "c" / "x.txt", folder / "y.txt", overwrite=True)
    gfile.remove(folder / "x.txt")
    gfile.rmtree(folder / "a")
    assert gfile.listdir(folder) == ["c", "y.txt"]
    assert (folder / "y.txt").read_text() == "line1\nline2\n"


def test_files_are_read_and_written(folder):
    with gfile.GFile(folder / "new", "w") as file:
        file.write("hello\nthère\n")
        file.flush()
        assert file.size() == 13
    file = tf.gfile.GFile(str(folder / "new"))
    assert (file.read(3), file.readline(), list(file)) == ("hel", "lo\n", ["thère\n"])
    file.seek(0)
    assert file.tell() == 0
    assert file.readlines() == ["hello\n", "thère\n"]
    file.close()
    assert tf.gfile.FastGFile(str(folder / "new"), "rb").read() == "hello\nthère\n".encode()
    with gfile.GFile(folder / "new", "a") as file:
        file.write("more")
    assert (folder / "new").read_text().endswith("more")


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (
            lambda f: gfile.remove(f / "none"),
            NotFoundError,
            "{f}/none; No such file or directory",
        ),
        (lambda f: gfile.remove(f / "a"), FailedPreconditionError, "{f}/a; Is a directory"),
        (
            lambda f: gfile.copy(f / "x.txt", f / "y.txt"),
            AlreadyExistsError,
            "file already exists",
        ),
        (
            lambda f: gfile.rename(f / "x.txt", f / "y.txt"),
            AlreadyExistsError,
            "file already exists",
        ),
        (
            lambda f: gfile.listdir(f / "none"),
            NotFoundError,
            "Could not find directory {f}/none",
        ),
        (lambda f: gfile.rmtree(f / "none"), NotFoundError, "{f}/none not found"),
        (
            lambda f: gfile.stat(f / "none"),
            NotFoundError,
            "{f}/none; No such file or directory",
        ),
        (
            lambda f: gfile.GFile(f / "none").read(),
            NotFoundError,
            "{f}/none; No such file or directory",
        ),
        (
            lambda f: gfile.GFile(f / "a").read(),
            FailedPreconditionError,
            "{f}/a; Is a directory",
        ),
        (
            lambda f: gfile.GFile(f / "x.txt", "w").read(),
            PermissionDeniedError,
            "File isn't open for reading",
        ),
        (
            lambda f: gfile.GFile(f / "x.txt").write("a"),
            PermissionDeniedError,
            "File isn't open for writing",
        ),
        (
            lambda f: gfile.GFile(f / "x.txt", "q"),
            InvalidArgumentError,
            "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'",
        ),
        (
            lambda f: gfile.exists("gs://bucket/x"),
            UnimplementedError,
            "File system scheme 'gs' not implemented (file: 'gs://bucket/x')",
        ),
    ],
)
def test_errors_are_tensorflow_s(folder, use, error, message):
    before = sorted(str(path) for path in folder.rglob("*"))
    with pytest.raises(error) as raised:
        use(folder)
    assert str(raised.value) == message.replace("{f}", str(folder))
    assert sorted(str(path) for path in folder.rglob("*")) == before
