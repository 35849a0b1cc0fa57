"""Running the user's program in this process, as ``python program.py`` would.

The program is ``__main__``: what it sees of itself (its arguments, its path, its module), what
it leaves behind (its exit code, its tracebacks) and what it starts (other processes) are the
same as under ``python``. Its tracebacks have its own lines: what is above them, and berth's
below, is left out.
"""

from __future__ import annotations

import builtins
import linecache
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Literal, NamedTuple

_OURS = (__file__, runpy.__file__, "<frozen runpy>")
_TEST_RUNNERS = ("pytest", "unittest", "nose2")
_NO_TESTS = ("build", "dist", "node_modules", "venv", "__pycache__")
_MAX_TEST_FILES = 200
"""So many tell which TensorFlow a suite is for; to read thousands would take long."""
_BERTH = str(Path(__file__).parents[2]) + os.sep
Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]
"""`sys.excepthook`, or what a program has put in its place."""


class Program(NamedTuple):
    """What to run: a script, a module (``-m``) or a text (``-c``), and its arguments."""

    kind: Literal["script", "module", "code"]
    target: str
    arguments: Sequence[str] = ()

    @property
    def folder(self) -> str:
        """What comes first on its path: where its own modules are."""
        if self.kind == "code" or self.target == "-":
            return ""
        if self.kind == "module":
            return os.getcwd()
        if self.has_main_inside:
            return _absolute(self.target)
        return os.path.dirname(os.path.realpath(self.target))

    @property
    def has_main_inside(self) -> bool:
        """Whether it is a folder or an archive with a ``__main__.py``."""
        if self.kind != "script" or self.target == "-":
            return False
        if self.target.endswith(".py"):
            return False
        return os.path.isdir(self.target) or _is_archive(self.target)

    def read(self) -> tuple[str | bytes, str]:
        """Return its text and the name of the file; OSError or LookupError if there is none.

        LookupError may only mean that no file has it: Python will tell.
        """
        if self.kind == "code":
            return self.target, "<string>"
        if self.target == "-":
            return sys.stdin.buffer.read() if sys.stdin else b"", "<stdin>"  # none: closed
        path = self.target
        if self.kind == "module":
            path = self._find_module()
        elif self.has_main_inside:
            importer: Any = pkgutil.get_importer(path)
            spec = importer.find_spec("__main__")
            if spec is None:
                raise LookupError(f"can't find '__main__' module in {path!r}")
            return spec.loader.get_source("__main__") or "", os.path.join(path, "__main__.py")
        with open(path, "rb") as file:  # a Path would take an empty name for a folder
            return file.read(), path

    @property
    def is_test_runner(self) -> bool:
        """Whether it is a module that runs the tests of others: ``-m pytest``."""
        return self.kind == "module" and self.target.partition(".")[0] in _TEST_RUNNERS

    def test_files(self) -> list[Path]:
        """List the files that a test runner will import: those named, or all in a folder."""
        if not self.is_test_runner:
            return []
        words = [word.partition("::")[0] for word in self.arguments if not word.startswith("-")]
        named = [Path(word) for word in words if word]
        paths = [path for path in named if path.exists()]
        paths += [path for word in words if (path := _module_file(word)).is_file()]
        found: list[Path] = []
        for path in paths or [Path()]:
            found += [path] if path.is_file() else _tests_below(path)
        return found[:_MAX_TEST_FILES]

    def _find_module(self) -> str:
        """Find the file of a module, in the program's own folder or on the path."""
        for place in [os.getcwd(), *sys.path[1:]]:  # what is first now is the command's own
            base = Path(place).joinpath(*self.target.split("."))
            for path in (base.with_name(f"{base.name}.py"), base / "__main__.py"):
                if path.is_file():
                    return str(path)
        raise LookupError(f"No module named {self.target}")


def _module_file(name: str) -> Path:
    """Return where a module of the current folder would be: ``tests.test_a``."""
    return Path(*name.split(".")).with_suffix(".py") if name else Path()


def _tests_below(folder: Path) -> list[Path]:
    """List the tests in a folder, as test runners look for them."""
    found: list[Path] = []
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _NO_TESTS)
        tests = [f for f in sorted(files) if f.endswith(".py") and _is_test(f[:-3])]
        found += [Path(where, file) for file in tests]
        if len(found) >= _MAX_TEST_FILES:
            break
    return found


def _is_test(name: str) -> bool:
    return name.startswith("test") or name.endswith("_test") or name == "conftest"


def _absolute(path: str) -> str:
    """Say a path in full, and otherwise as it was written: Python does not tidy it."""
    return os.path.join(os.getcwd(), path)


def _is_archive(path: str) -> bool:
    from zipfile import is_zipfile  # noqa: PLC0415 - few programs are one

    return is_zipfile(path)


def set_path(program: Program, extra: str) -> None:
    """Put the program's own folder first on the path, and another after it."""
    is_safe = getattr(sys.flags, "safe_path", False)
    if is_safe:  # the program's folder is not on the path then
        sys.path.insert(0, extra)
    else:
        sys.path[0:1] = [program.folder, extra]


def start(program: Program, text: str | bytes, file: str, *, shows_all: bool = False) -> int:
    """Run a program whose text was read to its end; return its exit code.

    Tracebacks show the program's lines; with `shows_all`, those of berth below them too.
    """
    show = _show if shows_all else _show_without_berth
    main = _new_main()
    sys.argv[:] = [program.target, *program.arguments]
    if program.kind == "module" or program.has_main_inside:
        is_module = program.kind == "module"
        name = program.target if is_module else "__main__"
        sys.argv[0] = "-m" if is_module else program.target
        run_as_main: Callable[..., Any] = runpy._run_module_as_main  # type: ignore[attr-defined]
        return _watched(lambda: run_as_main(name, alter_argv=is_module), show)
    if program.kind == "code":
        sys.argv[0] = "-c"
        if sys.version_info >= (3, 13):  # where tracebacks show the lines of such code
            lines = program.target.splitlines(keepends=True)
            linecache.cache[file] = len(program.target), None, lines, file
    elif program.target == "-":
        main.__dict__.update(__file__=file, __cached__=None)
    else:
        file = _absolute(file)
        loader = SourceFileLoader("__main__", file)
        main.__dict__.update(__file__=file, __cached__=None, __loader__=loader)
    code = partial(compile, text, file, "exec", dont_inherit=True)
    return _watched(lambda: exec(code(), vars(main)), show)


def _new_main() -> ModuleType:
    """Make the module that is the program's own."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={}, __loader__=BuiltinImporter)
    sys.modules["__main__"] = main
    return main


def _watched(run: Callable[[], Any], show: Callable[[Hook, BaseException], None]) -> int:
    """Run, and let Python show what it raises from the program's first line on."""
    try:
        run()
    except SystemExit:
        raise
    except BaseException as error:
        inside, hook = _without_launcher(error.__traceback__), sys.excepthook

        def show_inside(kind: type[BaseException], error: BaseException, _: Any) -> None:
            sys.excepthook = hook  # this one would keep the program's values alive
            show(hook, error.with_traceback(inside))

        sys.excepthook = show_inside
        raise
    return 0


def _show(hook: Hook, error: BaseException) -> None:
    hook(type(error), error, error.__traceback__)


def _show_without_berth(hook: Hook, error: BaseException) -> None:
    """Show an error, and all that belong to it, by the lines of the program alone."""
    waiting, seen = [error], {id(error)}
    while waiting:
        each = waiting.pop()
        each.__traceback__ = _without_berth(each.__traceback__)
        inside = getattr(each, "exceptions", ())  # a group has them, from Python 3.11 on
        members = inside if isinstance(inside, tuple) else ()
        for other in (each.__cause__, each.__context__, *members):
            if isinstance(other, BaseException) and id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
    _show(hook, error)


def _without_launcher(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _OURS:
        traceback = traceback.tb_next
    return traceback


def _without_berth(traceback: TracebackType | None) -> TracebackType | None:
    """Leave berth's own lines out, unless there are no others."""
    kept: list[TracebackType] = []
    step = traceback
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_BERTH):
            kept.append(step)
        step = step.tb_next
    shorter = None
    for step in reversed(kept):
        shorter = TracebackType(shorter, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return shorter or traceback
