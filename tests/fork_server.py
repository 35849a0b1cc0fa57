"""A fork server: programs in a process of their own, without the start of an interpreter.

A process that has imported NumPy and berth, and opened nothing, forks for each program. The child
gets the program's words, environment, folder and standard streams, and ends as an interpreter
does: its exit code, its traceback and what it does at exit are Python's. What it does not show is
how an interpreter starts: a test of importing, of ``PYTHON…`` variables or of the command line
that others see starts a real one.

`Program` is like `subprocess.Popen`. A folder of `commands()` on the PATH has `python` and `berth`,
for lines of shell (`fork_client` passes them on).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from tests.fork_client import connect, receive

ROOT = Path(__file__).parents[1]
SERVE = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.fork_server import serve; serve()"
PATIENCE = 60.0


# --- the server -------------------------------------------------------------------------------


class Request(NamedTuple):
    """What a program is given."""

    words: list[str]
    environ: dict[str, str]
    folder: str


def serve() -> None:
    """Fork a program for each connection until standard input ends; return in the programs."""
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        _import()
        request, streams = _fork_for_each(listener)
    _run(request, streams)


def _fork_for_each(listener: socket.socket) -> tuple[Request, list[int]]:
    """Fork for each connection; return what it asks for, in the child."""
    running: dict[int, tuple[int, socket.socket]] = {}
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fd == 0:
                os._exit(0)
            if key.fd in running:
                selector.unregister(key.fd)
                _report(key.fd, *running.pop(key.fd))
                continue
            connection, _ = listener.accept()
            request, streams = _read(connection)
            pid = os.fork()
            if not pid:
                selector.close()
                for end, (_, other) in running.items():
                    os.close(end)
                    other.close()
                connection.close()
                return request, streams
            connection.sendall(b"%d\n" % pid)
            for stream in streams:
                os.close(stream)
            end = os.pidfd_open(pid)
            running[end] = pid, connection
            selector.register(end, selectors.EVENT_READ)


def _import() -> None:
    """Import what programs import, and leave no trace of having done so."""
    for module in ("berth", "berth.compat.v1", "berth.tools.cli", "berth.tools.run.command"):
        importlib.import_module(module)
    # The program's own import of TensorFlow 1 decides that it is one.
    del sys.modules["berth.compat.v1"]
    del sys.modules["berth.compat"].v1
    del sys.modules["berth"].compat
    importlib.import_module("berth.eager.mode").set_eager(True)
    gc.collect()
    gc.freeze()


def _report(end: int, pid: int, connection: socket.socket) -> None:
    """Tell the client of a program that ended how it did."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(end)
    with connection, suppress(OSError):  # its client may wait no longer
        connection.sendall(b"%d\n" % code)


def _read(connection: socket.socket) -> tuple[Request, list[int]]:
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    body = receive(connection, int.from_bytes(size, "big"))
    return Request(*json.loads(body)), streams


def _run(request: Request, streams: Sequence[int]) -> None:
    """Run a program in this process, as `python` with its words would."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request.environ)
    os.chdir(request.folder)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    words = request.words
    if words[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *words[2:]], ""
        code = compile(words[1], "<string>", "exec")
    else:
        main.__file__ = words[0]
        sys.argv, sys.path[0] = words, str(Path(words[0]).resolve().parent)
        code = compile(Path(words[0]).read_text(), words[0], "exec")
    try:
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _show_without_this_module(error)
        raise


def _show_without_this_module(error: BaseException) -> None:
    """Let Python print an error that ends a program as if the program had been the outermost."""
    hook = sys.excepthook
    inner = error.__traceback__ and error.__traceback__.tb_next

    def show(kind: type[BaseException], value: BaseException, _: object) -> None:
        hook(kind, value.with_traceback(inner), inner)

    sys.excepthook = show


# --- its clients ------------------------------------------------------------------------------


class Program:
    """A program in a process of its own: what `subprocess.Popen` is, for ``python`` and its words."""

    def __init__(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        folder: Path | str | None = None,
        stderr: int = subprocess.PIPE,
    ) -> None:
        others = [
            name for name in environ if name.startswith("PYTHON") and name not in os.environ
        ]
        assert not others, f"{others} need an interpreter of their own"
        self.args = [sys.executable, *words]
        self.returncode: int | None = None
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        ours_err, theirs_err = os.pipe() if stderr == subprocess.PIPE else (None, theirs_out)
        self.stdin: IO[str] = os.fdopen(ours_in, "w")
        self.stdout: IO[str] = os.fdopen(ours_out)
        self.stderr: IO[str] | None = None if ours_err is None else os.fdopen(ours_err)
        streams = [theirs_in, theirs_out, theirs_err]
        request = [list(words), dict(environ), str(folder or Path.cwd())]
        self._connection = connect(_server().address, json.dumps(request), streams)
        for stream in {*streams}:
            os.close(stream)
        self._answers = self._connection.makefile()
        self.pid = int(self._answers.readline())

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        try:
            return self.wait(0.001)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when it has ended."""
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode

    def communicate(self, text: str = "", timeout: float = PATIENCE) -> tuple[str, str]:
        """Give it a text to read; return what it printed, on both streams, until its end."""
        read: dict[IO[str], str] = {}
        outs = [stream for stream in (self.stdout, self.stderr) if stream is not None]

        def read_all(stream: IO[str]) -> None:
            read[stream] = stream.read()

        readers = [threading.Thread(target=read_all, args=(s,), daemon=True) for s in outs]
        for reader in readers:
            reader.start()
        with suppress(BrokenPipeError):  # it may end without reading
            self.stdin.write(text)
            self.stdin.close()
        for reader in readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(timeout)
        for stream in outs:
            stream.close()
        return read[self.stdout], read.get(self.stderr, "") if self.stderr else ""

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Ended(NamedTuple):
    """What a program left behind."""

    out: str
    err: str
    code: int


def run(
    words: Sequence[str],
    environ: Mapping[str, str],
    folder: Path | str | None = None,
    stdin: str = "",
    patience: float = PATIENCE,
) -> Ended:
    """Run a program to its end."""
    program = Program(words, environ, folder)
    try:
        out, err = program.communicate(stdin, patience)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    return Ended(out, err, program.wait())


def commands() -> str:
    """Return a folder with the commands `python` and `berth`, to put on a PATH."""
    return str(_server().folder)


class _Server(NamedTuple):
    address: str
    folder: Path


@cache
def _server() -> _Server:
    """Start the server of this process."""
    folder = Path(tempfile.mkdtemp(prefix="berth-fork-"))
    address = str(folder / "socket")
    scripts = Path(sysconfig.get_path("scripts"))
    for name, words in {"python": "", "berth": f"'{scripts / 'berth'}' "}.items():
        client = f"'{sys.executable}' -IS '{ROOT / 'tests' / 'fork_client.py'}' '{address}'"
        (folder / name).write_text(f'#!/bin/sh\nexec {client} {words}"$@"\n')
        (folder / name).chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(listener.fileno())],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # no threads: they do not fork
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    atexit.register(_end, process, folder)
    return _Server(address, folder)


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    process.communicate()  # the end of its standard input
    shutil.rmtree(folder, ignore_errors=True)
