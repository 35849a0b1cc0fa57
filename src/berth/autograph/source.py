"""Source code of functions: the syntax tree of a function object, with its true lines.

A file is indexed once (where its functions begin and end); a function is parsed from its
own lines. Lambdas on one line are told apart by their columns where Python records them,
else by their parameters, names and constants.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FunctionType
from typing import NamedTuple

from berth.autograph.errors import SourceNotFound
from berth.autograph.scopes import FUNCTIONS, FunctionNode, parameters
from berth.lru import LRUCache

MAX_FILES = 64


class Place(NamedTuple):
    """Where a function is in its file."""

    first_line: int
    name: str
    start: int
    """The first line of the statement that contains it."""
    end: int
    class_name: str | None
    """The class whose method it is, or is within: its private names are mangled."""


class _Index(NamedTuple):
    lines: list[str]
    places: dict[tuple[int, str], list[Place]]


_indexes: LRUCache[str, _Index] = LRUCache("indexed sources", MAX_FILES)


class Source(NamedTuple):
    """The syntax of a function, alone."""

    node: FunctionNode
    class_name: str | None


def source_of(function: FunctionType) -> Source:
    """Return the syntax tree of a function; raise SourceNotFound if there is none."""
    code = function.__code__
    index = _index_of(function, code.co_filename)
    places = index.places.get((code.co_firstlineno, code.co_name), [])
    found = []
    for place in dict.fromkeys(places):
        for node in _functions_at(index.lines, place):
            if _is_like(node, code):
                found.append(Source(node, place.class_name))
    if code.co_name == "<lambda>" and len(found) > 1:
        found = _told_apart(found, code)
    if not found:
        raise SourceNotFound(
            f"Unable to locate the source code of {function!r}. Note that functions defined in "
            "certain environments, like the interactive Python shell, do not expose their "
            "source code. If that is the case, you should define them in a .py source file. If "
            "you are certain the code is graph-compatible, wrap the call using "
            "@tf.autograph.experimental.do_not_convert. Original error: could not get source "
            "code"
        )
    if len(found) > 1:
        shown = "".join(
            f"Match {number}:\n{ast.unparse(source.node)}\n\n"
            for number, source in enumerate(found)
        )
        raise SourceNotFound(
            f"could not parse the source code of {function!r}: found multiple definitions with "
            "identical signatures at the location. This error may be avoided by defining each "
            "lambda on a single line and with unique argument names. The matching definitions "
            f"were:\n{shown.rstrip()}\n"
        )
    return found[0]


def _index_of(function: FunctionType, file: str) -> _Index:
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    known = _indexes.get(file)
    if known is not None and known.lines == lines:
        return known
    places: dict[tuple[int, str], list[Place]] = {}
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:  # a notebook's cell with magics, a file that has changed
        tree = ast.Module([], [])
    for place in _places(tree):
        places.setdefault((place.first_line, place.name), []).append(place)
    made = _indexes[file] = _Index(lines, places)
    return made


def _places(tree: ast.Module) -> list[Place]:
    """List the functions of a file."""
    found = []
    pending: list[tuple[ast.AST, tuple[int, int], str | None]] = [(tree, (1, 1), None)]
    while pending:
        node, around, class_name = pending.pop()
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(d.lineno for d in decorators)])
            around = (first, node.end_lineno or first)
        if isinstance(node, FUNCTIONS):
            name = getattr(node, "name", "<lambda>")
            first = around[0] if isinstance(node, ast.stmt) else node.lineno
            found.append(Place(first, name, *around, class_name))
        if isinstance(node, ast.ClassDef):
            class_name = node.name
        pending += [(part, around, class_name) for part in ast.iter_child_nodes(node)]
    return found


def _functions_at(lines: list[str], place: Place) -> list[FunctionNode]:
    """Parse the statement that contains a function; return those that begin there."""
    text = "".join(lines[place.start - 1 : place.end])
    is_indented = text[:1].isspace()
    try:
        tree = ast.parse(f"if 1:\n{text}" if is_indented else text)
        ast.increment_lineno(tree, place.start - 1 - is_indented)
    except SyntaxError:  # it begins in the middle of a line: ``else: f = lambda: 1``
        tree = ast.parse("".join(lines))
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, FUNCTIONS) or getattr(node, "name", "<lambda>") != place.name:
            continue
        decorators = getattr(node, "decorator_list", [])
        if min([node.lineno, *(d.lineno for d in decorators)]) == place.first_line:
            found.append(node)
    return found


def _is_like(node: FunctionNode, code: CodeType) -> bool:
    """Tell whether a function has the parameters of a code object."""
    n_given = code.co_argcount + code.co_kwonlyargcount
    flags = code.co_flags
    n_given += bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    given = code.co_varnames[:n_given]
    # Parameters with two underscores are mangled in a class.
    return [p.rpartition("__")[2] for p in sorted(parameters(node))] == [
        p.rpartition("__")[2] for p in sorted(given)
    ]


def _told_apart(found: list[Source], code: CodeType) -> list[Source]:
    """Choose among lambdas with the same parameters on one line."""
    positions = getattr(code, "co_positions", None)
    if positions is not None:
        columns = {
            (line, column)
            for line, _, column, _ in positions()
            if column is not None and (line, column) != (code.co_firstlineno, 0)
        }
        exact = [source for source in found if _begins_at(source.node) in columns]
        if len(exact) == 1:
            return exact
    alike = [source for source in found if _has_names_of(source.node, code)]
    return alike or found


def _begins_at(node: FunctionNode) -> tuple[int, int]:
    """Return where the code of a lambda begins: at its innermost first expression."""
    body = node.body
    assert isinstance(body, ast.expr)
    return body.lineno, body.col_offset


def _has_names_of(node: FunctionNode, code: CodeType) -> bool:
    assert isinstance(node.body, ast.expr)
    names, constants = set(), set()
    for part in ast.walk(node.body):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.Constant):
            constants.add(repr(part.value))
    has = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    # Small integers of conditions, and folded expressions, are not all among the constants.
    return names <= has and {repr(value) for value in code.co_consts} - {"None"} <= constants
