"""`berth run` is `python` to a program: the same words run by both end the same way.

Each row of the table is a program that tells what it sees. Standard output, standard error and
the exit code must be the same, to the byte.
"""

from __future__ import annotations

import re
import shlex
import signal
import sys
import time
import zipfile
from io import BytesIO

import pytest

from berth.tools.cli import main
from berth.tools.run.command import _ON_PATH as ON_PATH
from tests.fork_server import Ended
from tests.tools.run_programs import BERTH, end, python, start, write

# What a program can know of how it was started.
FACTS = """\
import os, signal, sys, threading
import __main__
main = vars(sys.modules["__main__"])
print(sys.argv, sys.path)
print({name: main[name] for name in sorted(main) if name not in ("__builtins__", "__loader__", "__spec__", "main")
       and type(main[name]) is not type(os)})
print(type(main["__loader__"]).__name__, main["__builtins__"], main is globals())
spec = main["__spec__"]
print(spec and (spec.name, spec.origin, spec.parent, spec.has_location, spec.submodule_search_locations))
print(__name__, __main__ is sys.modules[__name__], hasattr(sys, "last_type"))
print(threading.active_count(), threading.current_thread() is threading.main_thread())
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE))
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace())
print(sys.stdin.name, sys.stdout.encoding, sys.stderr.errors, sys.flags.dont_write_bytecode)
print("rich" in sys.modules, "_pytest" in sys.modules)
print(sys.getrecursionlimit(), os.getcwd(), sys.stdin.read())
"""

RAISES = """\
import helper

def inner():
    helper.fail({"a": 1})

try:
    inner()
except KeyError as error:
    raise ValueError("of two\\nlines") from error
"""
DURING = """\
def f():
    try:
        1 / 0
    except ZeroDivisionError:
        undefined_name
f()
"""
POOLS = """\
import multiprocessing, pickle, sys

class Task:
    def __call__(self, x):
        return x * x, __name__, sys.argv[1:]

def square(x):
    return x * x

if __name__ == "__main__":
    data = pickle.dumps((Task(), square))
    task, function = pickle.loads(data)
    print(type(task) is Task, function is square, b"__main__" in data, Task.__module__)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        sys.stdout.flush()
        with context.Pool(1) as pool:
            print(method, pool.map(Task(), [2, 3]))
        sys.stdout.flush()
        child = context.Process(target=sys.exit, args=(7,))
        child.start()
        child.join()
        print(method, child.exitcode)
"""
CHILDREN = """\
import os, subprocess, sys
code = "import sys, __main__; print(sys.argv, sys.path[0] == '', hasattr(__main__, '__file__'), sorted(sys.modules)[:3])"
print(sys.executable, flush=True)
print(subprocess.run([sys.executable, "-c", code, "x"], capture_output=True, text=True))
print(subprocess.run([sys.executable, "-S", "-E", "child.py"], capture_output=True, text=True))
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.exit('replaced')"])
"""
THREADS = """\
import threading, warnings, atexit, sys, logging

def work():
    raise LookupError("in a thread")

thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
warnings.warn("of a program")
warnings.warn("old", DeprecationWarning)
logging.warning("logged")
logging.info("unseen")
class Lost:
    def __del__(self):
        raise OSError("unraisable")
sys.unraisablehook = lambda lost: print("lost", lost.exc_value)
Lost()
atexit.register(print, "at exit")
@atexit.register
def _():
    print("last words", __name__)
    sys.stdout.flush()
threading.Thread(target=lambda: (threading.main_thread().join(), print("after main"))).start()
print(sys.modules["__main__"] is not None)
class AtEnd:
    def __del__(self):
        print("deleted at the end", __name__)
kept = AtEnd()
"""
# A forked child ends as its parent would: through all that is below the program.
ENDINGS = """\
import atexit, os, signal, sys

def interrupted():
    os.kill(os.getpid(), signal.SIGINT)

def handling():
    try:
        1 / 0
    except ZeroDivisionError:
        raise SystemExit(4)

for end in (
    lambda: sys.exit(), lambda: sys.exit(None), lambda: sys.exit(0), lambda: sys.exit(3), lambda: sys.exit(300),
    lambda: sys.exit(-1), lambda: sys.exit(True), lambda: sys.exit(""), lambda: sys.exit([1, 2]), lambda: exit(6),
    lambda: os._exit(9), lambda: os.abort(), lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: {}[1],
    interrupted, handling,
):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        atexit.register(print, "at exit", flush=True)
        end()
        print("went on")
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
EXCEPTHOOK = """\
import sys, traceback
def hook(kind, error, trace):
    print("hook", kind.__name__, error, [frame.name for frame in traceback.extract_tb(trace)], error.__traceback__ is trace)
    print(sys.last_value if hasattr(sys, "last_value") else None)
sys.excepthook = hook
def f():
    raise KeyError("x")
f()
"""
GROUP = """\
def f():
    raise ValueError(1)
errors = []
for _ in range(2):
    try:
        f()
    except ValueError as error:
        errors.append(error)
errors[0].add_note("a note") if hasattr(errors[0], "add_note") else None
if "ExceptionGroup" in dir(__builtins__):
    raise ExceptionGroup("two", errors)
raise errors[0]
"""
ENCODED = "# -*- coding: latin-1 -*-\nprint('caf\xe9', __doc__)\nraise ValueError('\xe9')\n"
BOM = (
    b"\xef\xbb\xbf" + '"""Doc."""\nx: int = 1\nprint(__doc__, __annotations__, "é")\n'.encode()
)


def zipped(**files: str) -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name + ".py", text)
    return data.getvalue()


SHOWN = "import helper\nprint(helper.__name__, helper.__file__)\n" + FACTS
HELPER = "def fail(row):\n    return row['b']\n"
FILES: dict[str, str | bytes] = {
    "facts.py": FACTS,
    "raises.py": RAISES,
    "helper.py": HELPER,
    "during.py": DURING,
    "pools.py": POOLS,
    "children.py": CHILDREN,
    "child.py": "import sys\nprint(sys.argv, sys.path[0], __file__)\n",
    "threads.py": THREADS,
    "endings.py": ENDINGS,
    "excepthook.py": EXCEPTHOOK,
    "group.py": GROUP,
    "latin.py": ENCODED.encode("latin-1"),
    "bom.py": BOM,
    "syntax.py": "x = 1\nif x\n    print(x)\n",
    "imports_bad.py": "import syntax\n",
    "imports_none.py": "import no_such_module_here\n",
    "calendar.py": "print('a module that shadows another')\n",
    "no suffix": "import calendar, sys\nprint(__file__, sys.argv, calendar.__file__)\n",
    "sub/facts.py": SHOWN,
    "sub/helper.py": HELPER,
    "package/__init__.py": "print('init', __name__)\n",
    "package/__main__.py": "from . import part\n" + FACTS,
    "package/part.py": "print('part', __name__)\n"
    + "if __name__ == '__main__':\n    raise ValueError\n",
    "plain/__init__.py": "",
    "folder/__main__.py": SHOWN,
    "folder/helper.py": HELPER,
    "empty.zip": zipped(helper=HELPER),
    "archive.zip": zipped(__main__=SHOWN, helper=HELPER),
}

# The words after `python` or after `berth run`.
WORDS: dict[str, list[str]] = {
    "script": ["facts.py", "a", "--sim", "4xT4", "--", "-v", "", "é", "--help"],
    "absolute path": ["{folder}/sub/facts.py", "-"],
    "symlink": ["links/../links/./facts.py", "x"],
    "no suffix, shadowing module": ["no suffix", "x"],
    "module": ["-m", "facts", "a", "--sim", "--"],
    "package": ["-m", "package", "-m", "x"],
    "module in a package": ["-m", "package.part"],
    "package without main": ["-m", "plain"],
    "no such module in a package": ["-m", "package.nothing"],
    "code": ["-c", FACTS, "a", "-c", "b"],
    "code with an error": ["-c", "x ="],
    "standard input": ["-", "a", "--sim"],
    "folder": ["folder/", "x"],
    "folder without main": ["plain"],
    "archive": ["archive.zip", "x"],
    "archive without main": ["empty.zip"],
    "raises": ["raises.py"],
    "raises by a module": ["-m", "raises"],
    "raises while handling": ["during.py"],
    "raises a group": ["group.py"],
    "hook for errors": ["excepthook.py"],
    "multiprocessing": ["pools.py", "x"],
    "multiprocessing in a module": ["-m", "pools", "y"],
    "child processes": ["children.py"],
    "threads and exits": ["threads.py"],
    "coding cookie": ["latin.py"],
    "byte order mark": ["bom.py"],
    "syntax error": ["syntax.py"],
    "syntax error in an import": ["imports_bad.py"],
    "nothing to import": ["imports_none.py"],
    "ways to end": ["endings.py"],
    "interrupt": ["-c", "import atexit; atexit.register(print, 'x'); raise KeyboardInterrupt"],
    "exit with a text": ["-c", "import sys; sys.exit('a reason')"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs")
    write(path, FILES)
    (path / "links").mkdir()
    (path / "links/facts.py").symlink_to(path / "sub/facts.py")
    return path


def without_runpy(ended: Ended) -> Ended:
    """Leave out what Python tells of itself when it runs a module: it is no line of the user's."""
    return ended._replace(
        err=re.sub(r'  File "<frozen runpy>".*\n|  File ".*/runpy\.py".*\n.*\n', "", ended.err)
    )


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_runs_as_python_does(folder, words):
    words = [word.replace("{folder}", str(folder)) for word in words]
    # Both at once: what they write beside the programs is no part of what is compared.
    environ = {"PYTHONDONTWRITEBYTECODE": "1"}
    with_berth = start([*BERTH, "run", *words], folder, environ)
    with_python = start(python(*words), folder, {**environ, "PYTHONPATH": ON_PATH})
    assert end(with_berth, FACTS) == without_runpy(end(with_python, FACTS))


WAITS = """\
import signal, sys, time
def stop(number, frame):
    print("stopped by", number)
    sys.exit(8)
if len(sys.argv) > 1:
    signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [(signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGTERM, ["handled"])],
    ids=["SIGINT", "SIGTERM", "SIGTERM handled"],
)
def test_signals_are_the_programs(tmp_path, sent, arguments):
    write(tmp_path, {"waits.py": WAITS})
    ended = []
    for command in (python("waits.py"), [*BERTH, "run", "waits.py"]):
        process = start([*command, *arguments], tmp_path)
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)  # it has said so, and has yet to go to sleep
        process.send_signal(sent)
        ended.append(end(process))
    assert ended[0] == ended[1]
    assert ended[0].code == (8 if arguments else -sent)


def test_module_form_is_the_command(folder):
    """`python -m berth run` is `berth run`."""
    with_module = end(start(python("-m", "berth", "run", "facts.py", "x"), folder))
    assert with_module == end(start([*BERTH, "run", "facts.py", "x"], folder))


def test_output_can_be_cut_short(folder):
    """Python's own complaint about a closed pipe, and nothing of berth's."""
    line = "-c 'for k in range(100000): print(k)' | head -1"
    shown = [
        end(start(["sh", "-c", f"{command} {line}"], folder))
        for command in (f"{shlex.join(BERTH)} run", f"'{python()[0]}'")
    ]
    assert shown[0] == shown[1]
    assert shown[0].out == "0\n"


FAILS = """\
import tensorflow as tf
try:
    tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
except tf.errors.OpError as error:
    wrong = error
"""
FAILURES = {
    "itself": "raise wrong",
    "cause": "raise ValueError('x') from wrong",
    "context": "try:\n    raise wrong\nfinally:\n    1 / 0",
    "one of a group": "raise ExceptionGroup('x', [wrong])",
    "no such group": "wrong.exceptions = 'x'\nraise wrong",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_tracebacks_have_the_programs_lines(tmp_path, failure):
    if failure == "one of a group" and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no groups of exceptions")
    write(tmp_path, {"fails.py": FAILS + FAILURES[failure]})
    shown, all_shown = (
        re.findall(
            r'File "(.*)", line', end(start([*BERTH, "run", *words, "fails.py"], tmp_path)).err
        )
        for words in ([], ["-v"])
    )
    assert set(shown) == {str(tmp_path / "fails.py")}
    assert any("linalg" in file for file in all_shown)


# --- what is wrong with the command ---------------------------------------------------------

USAGE = "usage: berth run [options] (program.py | -m module | -c code) [arguments ...]\n"
WRONG = {
    "no program": (
        [],
        USAGE
        + "berth run: error: which program? Name a script, -m and a module, or -c and code.\n",
    ),
    "-m alone": (["-v", "-m"], USAGE + "berth run: error: -m wants a module after it.\n"),
    "-c alone": (["-c"], USAGE + "berth run: error: -c wants code after it.\n"),
    "unknown option": (
        ["--gpu", "1", "x.py"],
        USAGE
        + "berth run: error: --gpu is no option of this command: `berth run --help` lists them. Did you mean '--gpus'?\n",
    ),
    "unknown option beside -m": (
        ["-x", "-m", "x"],
        USAGE
        + "berth run: error: -x is no option of this command: `berth run --help` lists them.\n",
    ),
    "value forgotten": (
        ["--sim"],
        USAGE + "berth run: error: argument --sim: expected one argument\n",
    ),
    "no such script": (
        ["nothing.py"],
        "berth run: can't open file 'nothing.py': No such file or directory\n",
    ),
    "no name": ([""], "berth run: can't open file '': No such file or directory\n"),
    "no such api": (
        ["--api", "v3", "x.py"],
        USAGE
        + "berth run: error: argument --api: invalid choice: 'v3' (choose from 'v1', 'v2')\n",
    ),
}


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG)
def test_wrong_command_is_refused(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["run", *words])
    except SystemExit as stop:
        code = stop.code
    assert (code, *capsys.readouterr()) == (2, "", told)
