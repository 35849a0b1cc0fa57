"""Which of TensorFlow's names a program uses: read from its text, without running it.

Imports bind names to modules of TensorFlow (``import tensorflow as tf``, ``from tensorflow
import nn``, ``tf1 = tf.compat.v1``); chains of attributes from such a name on are uses. What
the program imports from its own folder is read too. A name that is put together while the
program runs cannot be seen here; the run itself will tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from berth.tools.run.names import API, is_own_to_v1
from berth.tools.run.stand_in import ROOT

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


class Source(NamedTuple):
    """The text of a program, and the folder that it imports from."""

    text: str | bytes
    file: str
    folder: Path


def uses_of(source: Source) -> list[Use]:
    """List all uses of TensorFlow in a program, file by file. SyntaxError if it is none."""
    found: list[Use] = []
    waiting, seen = [source], {source.file}
    while waiting:
        here = waiting.pop(0)
        reader = _Reader(ast.parse(here.text, here.file))
        found += [Use(name, here.file, line) for name, (line, _) in reader.uses()]
        for path in _own_modules(reader.imported, source.folder):
            if str(path) not in seen:
                seen.add(str(path))
                waiting.append(Source(path.read_bytes(), str(path), source.folder))
    return found


def choose_api(uses: list[Use]) -> tuple[API, Use | None]:
    """Decide which TensorFlow a program is written for, and by which name one sees it."""
    for use in uses:
        if is_own_to_v1(use.name):
            return "v1", use
    return "v2", None


def _own_modules(imported: list[str], folder: Path) -> Iterator[Path]:
    """Find the files of modules that lie in a program's own folder."""
    for name in imported:
        base = folder.joinpath(*name.split("."))
        for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if path.is_file():
                yield path


def _position(node: ast.stmt | ast.expr) -> Position:
    return node.lineno, node.col_offset


class _Reader:
    """Reads one module's uses of TensorFlow."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._bound: dict[str, str] = {}
        """What names of the module stand for: paths from `tensorflow` on."""
        self.imported: list[str] = []
        """Other modules, which may be the program's own."""
        self._imports: list[tuple[str, Position]] = []
        for node in self._nodes:
            if isinstance(node, ast.Import):
                self._read_import(node)
            elif isinstance(node, ast.ImportFrom):
                self._read_import_from(node)
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                self._read_assignment(node)

    def uses(self) -> list[tuple[str, Position]]:
        """List names and where they stand, in that order."""
        inner = {id(n.value) for n in self._nodes if isinstance(n, ast.Attribute)}
        chains = [
            (path, _position(node))
            for node in self._nodes
            if isinstance(node, ast.Attribute) and id(node) not in inner
            if (path := self._path(node))
        ]
        return sorted({*self._imports, *chains, *self._asked_by_text()}, key=lambda use: use[1])

    def _read_import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = _below_root(alias.name)
            if path is None:
                self.imported.append(alias.name)
                continue
            if path:
                self._imports.append((path, _position(node)))
            # Without `as`, what is bound is the module that comes first.
            self._bound[alias.asname or ROOT] = path if alias.asname else ""

    def _read_import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        path = _below_root(module) if not node.level else None
        for alias in node.names:
            if path is None:
                self.imported += [module, f"{module}.{alias.name}".lstrip(".")]
            elif alias.name != "*":
                full = f"{path}.{alias.name}".lstrip(".")
                self._imports.append((full, _position(node)))
                self._bound[alias.asname or alias.name] = full

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

    def _asked_by_text(self) -> Iterator[tuple[str, Position]]:
        """Find ``getattr(tf, "name")``."""
        for node in self._nodes:
            match node:
                case ast.Call(
                    func=ast.Name(id="getattr"),
                    args=[ast.Name() | ast.Attribute() as owner, ast.Constant(value=str(name))],
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
