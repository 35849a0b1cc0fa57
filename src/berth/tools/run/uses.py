"""Which of TensorFlow's names a program uses: read from its text, without running it.

Imports bind names to modules of TensorFlow (``import tensorflow as tf``, ``from tensorflow
import nn``, ``tf1 = tf.compat.v1``); chains of attributes from such a name on are uses. What
the program imports from its own folder is read too. A name that is put together while the
program runs cannot be seen here; the run itself will tell.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from berth.tools.run import attributes
from berth.tools.run.names import API, ROOT, find, is_own_to_v1

Position = tuple[int, int]
"""A line, and a column in it."""


class Use(NamedTuple):
    """One place where a program uses one of TensorFlow's names."""

    name: str
    """The path from the module `tensorflow` on: ``nn.relu``."""
    file: str
    line: int

    @property
    def place(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


class Problem(NamedTuple):
    """One line of a program that would fail: what it asks for, and what there is instead."""

    what: str
    file: str
    line: int
    hint: str


class Source(NamedTuple):
    """The text of a program, and the folder that it imports from."""

    text: str | bytes
    file: str
    folder: Path
    more_files: Sequence[Path] = ()
    """What it will import besides: the files of tests."""


class Reading(NamedTuple):
    """What was found in a program, file by file."""

    uses: list[Use]
    unread: list[str]
    """Files of its own that are no Python of this version, and what is wrong with them."""
    not_installed: Sequence[Use] = ()
    """Imports of other packages that are not installed."""
    problems: Sequence[Problem] = ()
    """What would fail, though the names are there."""


def read_uses(source: Source, *, is_check: bool = False) -> Reading:
    """List all uses of TensorFlow in a program. SyntaxError or ValueError if it is none.

    For a check, packages and attributes are looked up too, which takes longer.
    """
    reader = _Reader(ast.parse(source.text, source.file))
    found, unread = reader.listed(source.file), list[str]()
    absent, problems = list[Use](), list[Problem]()
    if is_check:
        absent += _not_installed(reader, source.folder, source.file)
        problems += reader.problems(source.file)
    waiting = _own_modules(reader.imported, source.folder, source.file)
    waiting += source.more_files
    seen = {os.path.realpath(source.file)}
    while waiting:
        path = waiting.pop(0)
        if (real := os.path.realpath(path)) in seen:
            continue
        seen.add(real)
        try:
            reader = _Reader(ast.parse(path.read_bytes(), str(path)))
        except (OSError, SyntaxError, ValueError) as error:  # it may never be imported
            unread.append(f"{path.name}: {what_is_wrong(error)}")
            continue
        found += reader.listed(str(path))
        # The modules of a test file are beside it.
        folder = path.parent if path in source.more_files else source.folder
        if is_check:
            absent += _not_installed(reader, folder, str(path))
            problems += reader.problems(str(path))
        waiting += _own_modules(reader.imported, folder, str(path))
    return Reading(found, unread, absent, problems)


def what_is_wrong(error: Exception) -> str:
    """Say why a file is no Python, and at which line if that is known."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{error.msg} (line {error.lineno})"
    return str(getattr(error, "strerror", None) or error)


def choose_api(uses: Sequence[Use]) -> tuple[API, Use | None]:
    """Decide which TensorFlow a program is written for, and by which name one sees it.

    A program of TensorFlow 2 may use names below ``tf.compat.v1``. One that uses no others, and
    does not say in which mode it wants to be, is of TensorFlow 1 if its names are.
    """
    names = {use.name for use in uses}
    is_all_old = all(name.startswith(_V1_OR_BOTH) for name in names)
    says_mode = any(name.rpartition(".")[2] in _MODES for name in names)
    prefix = "compat.v1." if is_all_old and not says_mode else ""
    for use in uses:
        if is_own_to_v1(use.name.removeprefix(prefix)):
            return "v1", use
    return "v2", None


_V1_OR_BOTH = ("compat.v1", "python.", "core.")
_MODES = (
    "disable_eager_execution",
    "disable_v2_behavior",
    "enable_eager_execution",
    "enable_v2_behavior",
)


def _not_installed(reader: _Reader, folder: Path, file: str) -> list[Use]:
    """List the imports that will fail, for want of a package. Those in ``try`` are optional."""
    own = (
        {path.stem for path in folder.glob("*.py")}
        | {path.name for path in folder.iterdir() if path.is_dir()}
        if folder.is_dir()
        else set()
    )
    return [
        Use(name, file, line)
        for name, (line, _) in reader.needed
        if (top := name.partition(".")[0]) not in own and not _is_installed(top)
    ]


@cache
def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # ValueError: a module without a spec, like __main__
        return package in sys.modules


def _own_modules(imported: list[tuple[int, str]], folder: Path, file: str) -> list[Path]:
    """Find the files of modules that lie in a program's own folder, with their packages'."""
    found = []
    for level, name in imported:
        base = Path(file).absolute().parents[level - 1] if level else folder
        for part in name.split(".") if name else ():
            base /= part
            found += [base.with_name(f"{part}.py"), base / "__init__.py"]
    return [path for path in found if path.is_file()]


def _position(node: ast.expr | ast.alias) -> Position:
    return node.lineno, node.col_offset


class _Reader:
    """Reads one module's uses of TensorFlow."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._bound: dict[str, str] = {}
        """What names of the module stand for: paths from `tensorflow` on."""
        self.imported: list[tuple[int, str]] = []
        """Other modules, which may be the program's own: dots before the name, and the name."""
        self.needed: list[tuple[str, Position]] = []
        """Imports of other packages that are not in a ``try``."""
        self._guarded = {
            id(inner)
            for node in self._nodes
            if isinstance(node, ast.Try)
            for statement in node.body
            for inner in ast.walk(statement)
        }
        self._starred: list[str] = []
        """Modules whose names all become the program's."""
        self._imports: list[tuple[str, Position]] = []
        for node in self._nodes:
            if isinstance(node, ast.Import):
                self._read_import(node)
            elif isinstance(node, ast.ImportFrom):
                self._read_import_from(node)
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                self._read_assignment(node)

    def listed(self, file: str) -> list[Use]:
        """List the uses in the order in which they stand in their file."""
        return [Use(name, file, line) for name, (line, _) in self._uses()]

    def _uses(self) -> list[tuple[str, Position]]:
        inner = {id(n.value) for n in self._nodes if isinstance(n, ast.Attribute)}
        chains = [
            (path, _position(node))
            for node in self._nodes
            if isinstance(node, ast.Attribute) and id(node) not in inner
            if (path := self._path(node))
        ]
        found = {*self._imports, *chains, *self._asked_by_text(), *self._asked_by_star()}
        return sorted(found, key=lambda use: (use[1], use[0]))

    def _read_import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = _below_root(alias.name)
            if path is None:
                self.imported.append((0, alias.name))
                self._need(alias.name, node)
                continue
            if path:
                self._imports.append((path, _position(alias)))
            # Without `as`, what is bound is the module that comes first.
            self._bound[alias.asname or ROOT] = path if alias.asname else ""

    def _read_import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        path = _below_root(module) if not node.level else None
        if path is None and not node.level:
            self._need(module, node)
        for alias in node.names:
            if path is None:
                self.imported.append((node.level, f"{module}.{alias.name}".lstrip(".")))
            elif alias.name == "*":
                self._starred.append(path)
            else:
                full = f"{path}.{alias.name}".lstrip(".")
                self._imports.append((full, _position(alias)))
                self._bound[alias.asname or alias.name] = full

    def _need(self, module: str, node: ast.Import | ast.ImportFrom) -> None:
        if id(node) not in self._guarded:
            self.needed.append((module, (node.lineno, node.col_offset)))

    def problems(self, file: str) -> Iterator[Problem]:
        """List what would fail in the uses of TensorFlow's objects."""
        for line, what, hint in attributes.check(self._nodes, self._path):
            yield Problem(what, file, line, hint)

    def _read_assignment(self, node: ast.Assign) -> None:
        """Follow ``nn = tf.nn``."""
        path = self._path(node.value) if isinstance(node.value, ast.Attribute) else None
        if path:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._bound.setdefault(target.id, path)

    def _path(self, node: ast.expr) -> str | None:
        """Return where a chain of attributes leads, if it begins at TensorFlow."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._bound:
            return None
        return ".".join([*filter(None, [self._bound[node.id]]), *reversed(parts)])

    def _asked_by_star(self) -> Iterator[tuple[str, Position]]:
        """Find names that ``from tensorflow import *`` has brought."""
        for node in self._nodes if self._starred else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                for module in self._starred:
                    path = f"{module}.{node.id}".lstrip(".")
                    if find("v1", path).is_there or find("v2", path).is_there:
                        yield path, _position(node)

    def _asked_by_text(self) -> Iterator[tuple[str, Position]]:
        """Find ``getattr(tf, "name")``."""
        for node in self._nodes:
            match node:
                case ast.Call(
                    func=ast.Name(id="getattr"),
                    args=[
                        ast.Name() | ast.Attribute() as owner,
                        ast.Constant(value=str(name)),
                        *_,
                    ],
                ):
                    path = self._bound.get(owner.id) if isinstance(owner, ast.Name) else None
                    path = self._path(owner) if path is None else path
                    if path is not None:
                        yield f"{path}.{name}".lstrip("."), _position(node)


def _below_root(module: str) -> str | None:
    """Return a module's path from `tensorflow` on; None if it is another's.

    >>> _below_root("tensorflow.compat.v1"), _below_root("tensorflow"), _below_root("os")
    ('compat.v1', '', None)
    """
    root, _, path = module.partition(".")
    return path if root == ROOT else None
