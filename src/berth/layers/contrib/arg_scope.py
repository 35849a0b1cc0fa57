"""``slim.arg_scope``: default arguments of functions, for a block."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from berth.blocks import Block, Stack, Use
from berth.public import public_v1

F = TypeVar("F", bound=Callable[..., Any])
Defaults = dict[str, dict[str, Any]]
"""From the key of a function to its default arguments."""

_SCOPES: Stack[Defaults] = Stack()
_ARGUMENTS: dict[str, tuple[str, ...]] = {}
"""The arguments with defaults of each decorated function."""


@public_v1("contrib.framework.current_arg_scope", "contrib.slim.current_arg_scope")
def current_arg_scope() -> Defaults:
    """Return the default arguments that hold now, by function."""
    return _SCOPES.innermost if _SCOPES else {}


@public_v1("contrib.framework.arg_scope_func_key", "contrib.slim.arg_scope_func_key")
def arg_scope_func_key(op: Any) -> str:
    """Return the key of a function in a scope."""
    return str(getattr(op, "_key_op", str(op)))


@public_v1("contrib.framework.has_arg_scope", "contrib.slim.has_arg_scope")
def has_arg_scope(func: Any) -> bool:
    """Tell whether a function takes arguments from scopes."""
    return arg_scope_func_key(func) in _ARGUMENTS


@public_v1("contrib.framework.arg_scoped_arguments", "contrib.slim.arg_scoped_arguments")
def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the names of the arguments that a scope may set."""
    assert has_arg_scope(func)
    return _ARGUMENTS[arg_scope_func_key(func)]


@public_v1("contrib.framework.arg_scope", "contrib.slim.arg_scope")
class arg_scope(Block[Defaults]):
    """Set default arguments of functions for a block, or use those of another block again."""

    def __init__(self, list_ops_or_scope: Any, **kwargs: Any) -> None:
        if isinstance(list_ops_or_scope, dict):
            if kwargs:
                raise ValueError(
                    "When attempting to re-use a scope by suppling adictionary, kwargs must be "
                    "empty."
                )
        elif not isinstance(list_ops_or_scope, list | tuple):
            raise TypeError(
                "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)"
            )
        self._given = list_ops_or_scope
        self._arguments = kwargs

    def _begin(self, use: Use) -> Defaults:
        if isinstance(self._given, dict):
            scope: Defaults = dict(self._given)
        else:
            scope = dict(current_arg_scope())
            for function in self._given:
                if not has_arg_scope(function):
                    name = (function.__module__, function.__name__)
                    raise ValueError("%s is not decorated with @add_arg_scope", name)
                key = arg_scope_func_key(function)
                scope[key] = {**scope.get(key, {}), **self._arguments}
        use.set(_SCOPES, scope)
        return scope


@public_v1("contrib.framework.add_arg_scope", "contrib.slim.add_arg_scope")
def add_arg_scope(func: F) -> F:
    """Decorate a function so that it takes default arguments from scopes."""
    key = arg_scope_func_key(func)

    @wraps(func)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    parameters = inspect.signature(func).parameters.values()
    _ARGUMENTS[key] = tuple(p.name for p in parameters if p.default is not p.empty)
    decorated: Any = with_defaults
    decorated._key_op = key
    result: F = decorated
    return result
