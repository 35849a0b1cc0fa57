"""Assertions that compare tensors: at run time, or at once where the values are known.

Each has TensorFlow 2's version, and TensorFlow 1's, which can show other data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.compose import convert, is_eager, scope
from berth.ops.elementwise import compare
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.flow.control import Assert
from berth.ops.reductions.reduction import reduce_all
from berth.ops.types import TensorLike
from berth.public import public, public_v1, public_v2

Holds = Callable[[Any, Any], Any]

# --- comparisons ----------------------------------------------------------------------------


def _name_of(tensor: Any) -> str:
    if is_eager():
        return f"shape={tensor.shape} dtype={tensor.dtype.name}"
    return str(tensor.name)


def _asserts(holds: Any, data: Sequence[Any], summarize: int | None) -> Any:
    return Assert(reduce_all(holds), data, summarize)


def _comparison(name: str, symbol: str, holds: Holds) -> tuple[Any, Any]:
    """Make the TensorFlow 2 and 1 versions of an assertion that compares two tensors."""

    def check(
        x: Any, y: Any, data: Any, summarize: int | None, message: str | None, scope_name: Any
    ) -> Any:
        with scope(name, scope_name):
            x = convert(x, None, "x")
            y = convert(y, x.dtype if not hasattr(y, "dtype") else None, "y")
            if is_eager():
                return _compare_now(x, y, symbol, holds, summarize, message)
            if x.value is not None and y.value is not None:
                _compare_known(x, y, symbol, message)
            shown = [f"Condition x {symbol} y did not hold element-wise:"]
            shown += [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            messages = [] if message is None else [message]
            return _asserts(
                holds(x, y), [*messages, *(shown if data is None else data)], summarize
            )

    def assertion(
        x: Any,
        y: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> Any:
        return check(x, y, None, summarize, message, name)

    def assertion_v1(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        return check(x, y, data, summarize, message, name)

    return _named((assertion, assertion_v1), name, f"x {symbol} y", f"{_EXAMPLES[symbol]}, [0]")


_EXAMPLES = {"==": "[0]", "!=": "[1]", "<": "[-1]", "<=": "[0]", ">": "[1]", ">=": "[0]"}
"""What compares so with 0."""


def _named(versions: tuple[Any, Any], name: str, what: str, example: str) -> tuple[Any, Any]:
    """Name, document and publish the TensorFlow 2 and 1 versions of an assertion."""
    for function, suffix in zip(versions, ("", "_v1"), strict=True):
        function.__name__ = function.__qualname__ = f"{name}{suffix}"
        function.__doc__ = (
            f"Fail unless {what}, element by element.\n\n>>> {name}{suffix}({example})\n"
        )
    v2, v1 = versions
    public(f"debugging.{name}")(v2)
    public_v1(name)(v1)
    return versions


def _compare_now(
    x: Any, y: Any, symbol: str, holds: Holds, summarize: int | None, message: str | None
) -> None:
    held = holds(x, y)
    if bool(reduce_all(held)):
        return
    n_shown = 3 if summarize is None else summarize
    lines = [] if message is None else [message]
    lines.append(f"Condition x {symbol} y did not hold.")
    if x.dims == y.dims and x.dims:
        wrong = ~held.value
        where = np.argwhere(wrong)[:n_shown] if n_shown >= 0 else np.argwhere(wrong)
        lines += [f"Indices of first {len(where)} different values:", str(where)]
        for name, tensor in (("x", x), ("y", y)):
            lines += [f"Corresponding {name} values:", str(tensor.value[wrong][: len(where)])]
    for name, tensor in (("x", x), ("y", y)):
        flat = tensor.value.reshape(-1)
        flat = flat if n_shown < 0 else flat[:n_shown]
        lines += [f"First {len(flat)} elements of {name}:", str(flat)]
    raise InvalidArgumentError(None, None, "\n".join(lines))


_NUMPY = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _compare_known(x: Any, y: Any, symbol: str, message: str | None) -> None:
    """Raise an error while a graph is built, if two constants do not compare."""
    if not _NUMPY[symbol](x.value, y.value).all():
        prefix = "" if message is None else f"{message}\n"
        raise InvalidArgumentError(
            None,
            None,
            f"{prefix}Condition x {symbol} y did not hold element-wise:\nx ({x.name}) = \n"
            f"{x.value}\ny ({y.name}) = \n{y.value}",
        )


assert_equal, assert_equal_v1 = _comparison("assert_equal", "==", compare.equal)
assert_none_equal, assert_none_equal_v1 = _comparison(
    "assert_none_equal", "!=", compare.not_equal
)
assert_less, assert_less_v1 = _comparison("assert_less", "<", compare.less)
assert_less_equal, assert_less_equal_v1 = _comparison(
    "assert_less_equal", "<=", compare.less_equal
)
assert_greater, assert_greater_v1 = _comparison("assert_greater", ">", compare.greater)
assert_greater_equal, assert_greater_equal_v1 = _comparison(
    "assert_greater_equal", ">=", compare.greater_equal
)

for _assertion in (assert_equal, assert_less, assert_greater):
    public_v2(_assertion.__name__)(_assertion)

# --- signs ----------------------------------------------------------------------------------


def _sign(name: str, symbol: str, holds: Holds) -> tuple[Any, Any]:
    """Make the TensorFlow 2 and 1 versions of an assertion on the sign of all elements."""

    def check(
        x: Any, data: Any, summarize: int | None, message: str | None, scope_name: Any
    ) -> Any:
        with scope(name, scope_name):
            x = convert(x, None, "x")
            prefix = f"{message}.  " if message else ""
            condition = f"Condition x {symbol} 0 did not hold element-wise:"
            held = holds(x, 0)
            if is_eager():
                if not bool(reduce_all(held)):
                    items = [str(item) for item in x.value.reshape(-1)]
                    raise InvalidArgumentError(
                        None, None, f"{prefix}\n{condition}\nx ({_name_of(x)}) = \n{items}"
                    )
                return None
            shown = [prefix, condition, f"x ({x.name}) = ", x]
            return _asserts(held, shown if data is None else data, summarize)

    def assertion(
        x: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> Any:
        return check(x, None, summarize, message, name)

    def assertion_v1(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        return check(x, data, summarize, message, name)

    return _named((assertion, assertion_v1), name, f"x {symbol} 0", _EXAMPLES[symbol])


assert_positive, assert_positive_v1 = _sign("assert_positive", ">", compare.greater)
assert_negative, assert_negative_v1 = _sign("assert_negative", "<", compare.less)
assert_non_negative, assert_non_negative_v1 = _sign(
    "assert_non_negative", ">=", compare.greater_equal
)
assert_non_positive, assert_non_positive_v1 = _sign(
    "assert_non_positive", "<=", compare.less_equal
)

# --- nearly equal ---------------------------------------------------------------------------


@public("debugging.assert_near")
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Assert that two tensors are close: differences of at most ``atol + rtol * abs(y)``.

    >>> assert_near([1.0], [1.0])
    """
    return assert_near_v1(x, y, rtol, atol, None, summarize, message, name)


@public_v1("assert_near")
def assert_near_v1(
    x: TensorLike,
    y: TensorLike,
    rtol: Any = None,
    atol: Any = None,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Assert that two tensors are close, with TensorFlow 1's argument names.

    >>> assert_near_v1([1.0], [1.0])
    """
    with scope("assert_near", name):
        x = convert(x, None, "x")
        y = convert(y, x.dtype if not hasattr(y, "dtype") else None, "y")
        least = 10 * np.finfo(x.dtype.as_numpy_dtype).eps
        rtol = convert(least if rtol is None else rtol, x.dtype, "rtol")
        atol = convert(least if atol is None else atol, x.dtype, "atol")
        if data is None:
            condition = f"x and y not equal to tolerance rtol = {rtol!s}, atol = {atol!s}"
            data = [
                message or "",
                condition,
                f"x ({_name_of(x)}) = ",
                x,
                f"y ({_name_of(y)}) = ",
                y,
            ]
        held = compare.less_equal(absolute(x - y), atol + rtol * absolute(y))
        return _asserts(held, data, summarize)
