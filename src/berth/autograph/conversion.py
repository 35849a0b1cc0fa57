"""Conversion: a function object becomes another, of code that was rewritten.

The new function has the globals, the defaults and the very closure cells of the first, its
file and its lines. Code is rewritten once and cached; a function object for it is made in
each call, from the cached code, since closures differ.
"""

from __future__ import annotations

import ast
import inspect
import threading
import weakref
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from berth.autograph.errors import SourceNotFound, Unsupported
from berth.autograph.mangling import mangle
from berth.autograph.rewriting import is_generator, rewrite_function
from berth.autograph.scopes import FUNCTIONS
from berth.autograph.source import source_of
from berth.autograph.syntax import OPERATORS, function, load, located
from berth.lru import LRUCache

MAX_CONVERSIONS = 1024
NAME = "ag__lambda"
_COMPILER_FLAGS = 0
for _name in __import__("__future__").all_feature_names:
    _COMPILER_FLAGS |= getattr(__import__("__future__"), _name).compiler_flag


class Converted(NamedTuple):
    """Code that was rewritten, or why it was not."""

    code: CodeType | None
    cause: Exception | None = None
    text: str = ""


_cache: LRUCache[Any, Converted] = LRUCache("AutoGraph conversions", MAX_CONVERSIONS)
_lock = threading.RLock()
_rewritten: weakref.WeakValueDictionary[int, CodeType] = weakref.WeakValueDictionary()
"""Code that is the result of a conversion, by its identity."""


def is_converted(code: CodeType) -> bool:
    """Tell whether code is the result of a conversion."""
    return _rewritten.get(id(code)) is code


def conversion_of(target: FunctionType, features: frozenset[str]) -> Converted:
    """Return the rewritten code of a function, from the cache if it was rewritten before."""
    code = target.__code__
    key = (code, code.co_filename, features)
    found = _cache.get(key)
    if found is None:
        with _lock:
            found = _cache.get(key)
            if found is None:
                found = _cache[key] = _convert(target, features)
    return found


def _convert(target: FunctionType, features: frozenset[str]) -> Converted:
    try:
        tree = rewritten_tree(target, features)
        return Converted(_compiled(tree, target), None)
    except (Unsupported, SourceNotFound) as cause:
        return Converted(None, cause)
    except (RecursionError, SyntaxError) as cause:
        return Converted(None, Unsupported(f"{type(cause).__name__}: {cause}"))


def rewritten_tree(target: FunctionType, features: frozenset[str]) -> ast.FunctionDef:
    """Return the syntax of a function, rewritten."""
    source = source_of(target)
    if is_generator(source.node):
        raise Unsupported("generators are not supported")
    node = _as_definition(source.node)
    node.decorator_list, node.returns = [], None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    if source.class_name is not None:
        mangle(node, source.class_name)
    return rewrite_function(node, features)


def _as_definition(node: Any) -> ast.FunctionDef:
    """Return a lambda as a function with a statement."""
    if not isinstance(node, ast.Lambda):
        return node  # type: ignore[no-any-return]
    made = function(NAME, [], [located(ast.Return(node.body), node.body)], node)
    made.args = node.args
    return made


def _compiled(node: ast.FunctionDef, target: FunctionType) -> CodeType:
    """Compile a function where its free variables, and the operators, are free variables."""
    code = target.__code__
    free = [*code.co_freevars, OPERATORS]
    outer = function("ag__factory", free, [node], node)
    outer.body.append(located(ast.Return(load(node.name)), node))
    module = ast.fix_missing_locations(ast.Module([outer], []))
    flags = code.co_flags & _COMPILER_FLAGS
    compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    made = _inner_code(_inner_code(compiled, "ag__factory"), node.name)
    return _named(made, code.co_name, getattr(code, "co_qualname", None))


def _inner_code(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _named(code: CodeType, name: str, qualified: str | None) -> CodeType:
    """Give code, and the blocks in it, the user's function's name; note it as rewritten.

    So tracebacks read ``in step``, and not in a function that the user did not write.
    """
    constants = []
    for value in code.co_consts:
        made: Any = value
        if isinstance(value, CodeType):
            is_block = value.co_name.startswith("ag__")
            inner = name if is_block else value.co_name
            made = _named(value, inner, qualified if is_block else None)
        constants.append(made)
    changes: dict[str, Any] = {"co_consts": tuple(constants), "co_name": name}
    if qualified is not None:
        changes["co_qualname"] = qualified
    named = code.replace(**changes)
    if named.co_flags & inspect.CO_OPTIMIZED:  # no class
        _rewritten[id(named)] = named
    return named


def make_function(code: CodeType, target: FunctionType, operators: Any) -> FunctionType:
    """Make a function of rewritten code with the closure, defaults and globals of another."""
    cells = dict(zip(target.__code__.co_freevars, target.__closure__ or (), strict=True))
    cells[OPERATORS] = CellType(operators)
    closure = tuple([cells[name] for name in code.co_freevars])
    made = FunctionType(code, target.__globals__, target.__name__, target.__defaults__, closure)
    made.__kwdefaults__ = target.__kwdefaults__
    made.__qualname__ = target.__qualname__
    made.__module__ = target.__module__
    made.__doc__ = target.__doc__
    made.__dict__.update(target.__dict__)
    return made


def needs_conversion(node: ast.AST) -> bool:
    """Tell whether a function has anything that is rewritten."""
    kinds = (
        ast.If,
        ast.For,
        ast.While,
        ast.Call,
        ast.BoolOp,
        ast.IfExp,
        ast.Assert,
        *FUNCTIONS,
    )
    return any(isinstance(part, kinds) for part in ast.walk(node))
