"""The fork server of the tests: its programs end as those of an interpreter do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests import fork_server
from tests.fork_server import Ended, Program

ENDS = {
    "nothing": "",
    "code": "import sys; sys.exit(7)",
    "message": "import sys; sys.exit('of two\\nlines')",
    "error": "def f():\n  1 / 0\nf()",
    "interrupt": "raise KeyboardInterrupt",
    "signal": "import os, signal; print(1, flush=True); os.kill(os.getpid(), signal.SIGTERM)",
    "thread": "import threading, time; threading.Timer(0.05, print, ['late']).start(); print('main')",
    "exit": "import atexit; atexit.register(print, 'bye')\nclass A:\n  def __del__(self): print('gone')\na = A()",
    "hook": "import sys; sys.excepthook = lambda *a: print(a[1], a[2].tb_lineno, a[2].tb_next)\nraise ValueError(3)",
    "words": "import sys; print(sys.argv, sys.path[0], __name__, sys.stdin.read())",
    "main": "import sys; print(vars(sys.modules['__main__']) is globals(), '__file__' in globals())",
    "place": "import os; print(os.getcwd(), os.environ['OF_THIS_TEST'], os.environ.get('BERTH_SIM'))",
    "modes": "import signal; print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE))",
    "graphs": "import berth.compat.v1 as tf; print(tf.executing_eagerly(), tf.constant(1).shape)",
}


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS)
def test_programs_end_as_with_python(tmp_path, program):
    words = ["-c", program, "a word"]
    environ = {**os.environ, "OF_THIS_TEST": "1"}
    forked = fork_server.run(words, environ, tmp_path, "read")
    done = subprocess.run(
        [sys.executable, *words],
        input="read",
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert forked == Ended(done.stdout, done.stderr, done.returncode)


def test_programs_run_at_the_same_time():
    first, second = (
        Program(["-c", "print(input(), flush=True)"], os.environ) for _ in range(2)
    )
    assert first.poll() is None
    assert second.communicate("second\n") == ("second\n", "")
    assert first.communicate("first\n") == ("first\n", "")
    assert (first.wait(), second.wait()) == (0, 0)


def test_killed_program_says_so():
    with Program(["-c", "print(flush=True); input()"], os.environ) as program:
        program.stdout.readline()
        program.kill()
        assert program.wait() == -signal.SIGKILL
        program.kill()


def test_shell_finds_the_commands(tmp_path):
    (tmp_path / "p.py").write_text("import sys; print(sys.argv); sys.exit(3)")
    done = subprocess.run(
        ["sh", "-c", "python p.py x; echo $?; berth run p.py y; echo $?"],
        env={**os.environ, "PATH": f"{fork_server.commands()}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "['p.py', 'x']\n3\n['p.py', 'y']\n3\n"
