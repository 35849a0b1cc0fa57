"""Functions of Python on tensors and datasets: `len`, `range`, `int`, `float`, `sorted`, ...

Each calls Python's own for values of Python. What else they can be called with in a graph (a
dataset) has a method ``_autograph_builtin(name)``, which returns the function, or None.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from berth.autograph.values import is_staged
from berth.control_flow.cond import building
from berth.dtypes import float32, int32, string
from berth.ops.arrays.filling import range as tensor_range
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.sorting import sort
from berth.ops.elementwise.casting import cast
from berth.ops.flow.printing import print as tensor_print


def _found(name: str, arguments: Any) -> Callable[..., Any] | None:
    """Return what an argument has in the place of a function of Python."""
    if building() is None:
        return None
    for argument in arguments:
        find = getattr(argument, "_autograph_builtin", None)
        found = None if find is None else find(name)
        if found is not None:
            return found  # type: ignore[no-any-return]
    return None


def _overloaded(name: str) -> Callable[..., Any]:
    """Return a function of Python that does something else for registered classes."""
    plain = getattr(builtins, name)

    def overloaded(*arguments: Any, **options: Any) -> Any:
        return (_found(name, arguments) or plain)(*arguments, **options)

    return overloaded


def _cast(plain: type, dtype: Any) -> Callable[..., Any]:
    def converted(*arguments: Any, **options: Any) -> Any:
        if not arguments or not is_staged(arguments[0]):
            return plain(*arguments, **options)
        if arguments[0].dtype.base_dtype is string:
            return to_number(arguments[0], dtype)
        return cast(arguments[0], dtype)

    return converted


def to_number(text: Any, dtype: Any) -> Any:
    """Convert texts to numbers."""
    raise TypeError(
        f"Cannot convert a string tensor to {dtype.name}; use tf.strings.to_number."
    )


def _len(value: Any) -> Any:
    """Return a length: of a tensor as a number of Python if it is known."""
    found = _found("len", [value])
    if found is not None:
        return found(value)
    if not is_staged(value) or not hasattr(value, "dims"):
        return len(value)
    if value.dims is not None and not value.dims:
        raise ValueError("len requires a tensor of rank 1 or higher: it is of rank 0")
    size = value.dims[0] if value.dims else None
    return shape(value)[0] if size is None else size


def _range(*arguments: Any) -> Any:
    is_tensor = any(map(is_staged, arguments))
    return tensor_range(*arguments) if is_tensor else range(*arguments)


def _sorted(iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
    if not is_staged(iterable) or key is not None:
        return sorted(iterable, key=key, reverse=reverse)
    return sort(iterable, direction="DESCENDING" if reverse else "ASCENDING")


def _print(
    *values: Any, sep: Any = None, end: Any = None, file: Any = None, **more: Any
) -> Any:
    if not any(map(is_staged, values)):
        return print(*values, sep=sep, end=end, file=file, **more)
    options = {} if sep is None else {"sep": sep}
    options |= {} if end is None else {"end": end}
    return tensor_print(*values, output_stream=file or sys.stdout, **options)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    len: _len,
    range: _range,
    int: _cast(int, int32),
    float: _cast(float, float32),
    sorted: _sorted,
    **{getattr(builtins, name): _overloaded(name) for name in ("enumerate", "zip", "filter")},
    **{getattr(builtins, name): _overloaded(name) for name in ("map", "any", "all")},
    **{getattr(builtins, name): _overloaded(name) for name in ("iter", "next")},
}
"""Functions of Python that are other ones in converted code."""
PRINT = {print: _print}
