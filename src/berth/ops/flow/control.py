"""`no_op`, `group`, `tuple` and `Assert`: operations without results of their own."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import identity
from berth.ops.builder import apply, current
from berth.ops.compose import Composer, convert, is_eager, scope
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
    host_only,
)
from berth.ops.rules import bind_nothing, check_rank, no_outputs
from berth.ops.type_spec import CompositeTensor, map_components
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- control dependencies -----------------------------------------------------------------

NO_OP = OpDef(
    "NoOp",
    "",
    no_outputs,
    kernels=all_devices(bind_nothing),
    gradient=NOT_DIFFERENTIABLE,
    samples=("",),
)


@public("no_op")
def no_op(name: str | None = None) -> Tensor:
    """No operation: it computes nothing, and serves as a control dependency.

    >>> no_op()
    """
    return apply(NO_OP, (), {}, name)


@public("group")
def group(*inputs: Any, name: str | None = None) -> Any:
    """Group operations: an operation that finishes after all of its inputs.

    Inputs on several devices are gathered on each, so that devices wait for one another once.

    >>> group()
    """
    by_device: dict[str, list[Any]] = {}
    for item in _flat(inputs):
        if not hasattr(item, "device"):
            raise TypeError(
                "'inputs' should be zero or more (nested) Tensors. "
                f"Received '{item}' with type '{type(item)}'."
            )
        by_device.setdefault(item.device, []).append(item)
    with scope("group_deps", name) as inner:
        if len(by_device) == 1:
            [(device, items)] = by_device.items()
            return _wait_for(items, device, inner)
        return _wait_for(
            [_wait_for(by_device[device], device) for device in sorted(by_device)], "", inner
        )


def _flat(items: Any) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list | builtins.tuple):
            yield from _flat(item)
        elif isinstance(item, dict):
            yield from _flat(item[key] for key in sorted(item))
        elif item is not None:
            yield item


def _wait_for(items: Sequence[Any], device: str, name: str | None = None) -> Tensor:
    builder = cast(Composer, current())
    with builder.control_dependencies(items):
        if not device:
            return no_op(name)
        with builder.device(device):
            return no_op(name)


@public_v2("tuple")
def tuple(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """Group tensors: none is available before all have been computed.

    >>> import berth as tf
    >>> [int(tensor) for tensor in tuple([tf.constant(1), tf.constant(2)])]
    [1, 2]
    """
    with scope("tuple", name):
        waits = [tensor for tensor in tensors if tensor is not None]
        if not waits:
            raise ValueError(f"Must have at least one Tensor. Received: {tensors}")
        if is_eager():
            return list(tensors)
        gate = group(*waits, *(control_inputs or ()))
        with cast(Composer, current()).control_dependencies([gate]):
            return [None if tensor is None else _passed_on(tensor) for tensor in tensors]


def _passed_on(tensor: Any) -> Any:
    """Return a tensor again, or the slices of a sparse gradient."""
    if isinstance(tensor, CompositeTensor):
        return map_components(_passed_on, tensor)
    return identity(tensor, name="control_dependency")


@public_v1("tuple")
def tuple_v1(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Group tensors, with TensorFlow 1's argument names.

    >>> tuple_v1([1, 2])
    [1, 2]
    """
    return tuple(tensors, control_inputs, name)


# --- Assert -------------------------------------------------------------------------------


def _bind_assert(launch: Launch) -> Call:
    condition, *data = launch.inputs
    return _assert, (condition, data, launch.attrs["summarize"])


def _assert(condition: Any, data: Sequence[Any], n_shown: int) -> None:
    if not condition:
        shown = " ".join(f"[{summary(array, n_shown)}]" for array in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {shown}")


def summary(array: np.ndarray[Any, Any], n_shown: int) -> str:
    """Format the first elements of an array as TensorFlow's runtime does.

    >>> summary(np.array([[1, 2], [3, 4]]), 3), summary(np.array([0.5, 1, 2, 3]), 3)
    ('[1 2][3...]...', '0.5 1 2...')
    """
    n_shown = array.size if n_shown < 0 else n_shown
    left = iter(array.reshape(-1)[:n_shown])
    return _nested(array.shape or (1,), left, 0) + ("..." if array.size > n_shown else "")


def _nested(shape: Sequence[int], left: Iterator[Any], depth: int) -> str:
    if len(shape) > 1:
        parts = (_nested(shape[1:], left, depth + 1) for _ in range(shape[0]))
        return "".join(f"[{part}]" for part in parts if part)
    items: list[str] = []
    for _ in range(shape[0]):
        item = next(left, None)
        if item is None:
            return " ".join(items) + ("..." if depth and items else "")
        items.append(element_text(item))
    return " ".join(items)


def element_text(item: Any) -> str:
    """Format one element as TensorFlow's runtime does."""
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    if isinstance(item, np.bool_):
        return str(int(item))
    if isinstance(item, np.floating):
        # As few digits as usually do, or as many as tell all numbers apart.
        wide = item.dtype == np.float64
        text = f"{item:.{15 if wide else 6}g}"
        same = (np.float64 if wide else np.float32)(text) == item
        return text if same or np.isnan(item) else f"{item:.{17 if wide else 9}g}"
    return str(item)


def _of_one_condition(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    check_rank(inputs[0].dims, 0)
    return ()


ASSERT = OpDef(
    "Assert",
    "condition:bool data:Any*",
    _of_one_condition,
    kernels=host_only(_bind_assert),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("np.array(True), f(2), summarize=3",),
)


@public("Assert", "debugging.Assert")
def Assert(
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Assert that a condition is true; if not, fail and show some data.

    >>> import berth as tf
    >>> Assert(tf.constant(1) < 2, ["no"])
    """
    if not isinstance(data, list | builtins.tuple):
        raise TypeError("values must be a sequence.")
    n_shown = 3 if summarize is None else summarize
    if is_eager():
        if not condition:
            shown = "\n".join(_listed(convert(value).value, n_shown) for value in data)
            message = f"Expected '{condition!s}' to be true. Summarized data: {shown}"
            raise InvalidArgumentError(None, None, message)
        return None
    with scope("Assert", name):
        return apply(ASSERT, (condition, *data), {"summarize": n_shown}, "Assert")


def _listed(array: np.ndarray[Any, Any], n_shown: int) -> str:
    items = list(array.reshape(-1))
    shown = items if n_shown < 0 else items[:n_shown]
    return ", ".join([*map(str, shown), *(["..."] if len(items) > len(shown) else [])])
