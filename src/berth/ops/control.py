"""Operations that compute nothing: they wait, or they object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.builder import apply, current
from berth.ops.compose import Composer, scope
from berth.ops.opdef import Call, Launch, OpDef, everywhere, host_only
from berth.ops.rules import bind_nothing, no_outputs

# --- waiting ------------------------------------------------------------------------------

NO_OP = OpDef("NoOp", "", no_outputs, kernels=everywhere(bind_nothing))


def no_op(name: str | None = None) -> Any:
    """Make an operation that does nothing, to wait for others or to be waited for."""
    return apply(NO_OP, (), {}, name)


def group(*inputs: Any, name: str | None = None) -> Any:
    """Make an operation that is done when all the inputs are.

    Inputs on several devices are gathered on each, so that devices wait for one another once.
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
        if isinstance(item, list | tuple):
            yield from _flat(item)
        elif isinstance(item, dict):
            yield from _flat(item[key] for key in sorted(item))
        elif item is not None:
            yield item


def _wait_for(items: Sequence[Any], device: str, name: str | None = None) -> Any:
    builder = cast(Composer, current())
    with builder.control_dependencies(items):
        if not device:
            return no_op(name)
        with builder.device(device):
            return no_op(name)


# --- objecting ----------------------------------------------------------------------------


def _bind_assert(launch: Launch) -> Call:
    condition, *data = launch.inputs
    return _assert, (condition, tuple(data), launch.attrs["summarize"])


def _assert(condition: Any, data: Sequence[Any], n_shown: int) -> None:
    if not condition:
        shown = " ".join(f"[{summary(array, n_shown)}]" for array in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {shown}")


def summary(array: np.ndarray[Any, Any], n_shown: int) -> str:
    """Write the first elements of an array as TensorFlow's runtime does.

    >>> summary(np.array([[1, 2], [3, 4]]), 3), summary(np.array([0.5, 1, 2, 3]), 3)
    ('[1 2][3...]...', '0.5 1 2...')
    """
    n_shown = array.size if n_shown < 0 else n_shown
    left = iter(array.reshape(-1)[:n_shown])
    return _nested(array.shape or (1,), left, 0) + ("..." if array.size > n_shown else "")


def _nested(shape: tuple[int, ...], left: Iterator[Any], depth: int) -> str:
    if len(shape) > 1:
        parts = (_nested(shape[1:], left, depth + 1) for _ in range(shape[0]))
        return "".join(f"[{part}]" for part in parts if part)
    items: list[str] = []
    for _ in range(shape[0]):
        item = next(left, None)
        if item is None:
            return " ".join(items) + ("..." if depth and items else "")
        items.append(_element(item))
    return " ".join(items)


def _element(item: Any) -> str:
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


ASSERT = OpDef(
    "Assert",
    "condition:bool data:Any*",
    no_outputs,
    kernels=host_only(_bind_assert),
    is_stateful=True,
)


def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """Stop a run, and show some data, unless a condition holds."""
    attrs = {"summarize": 3 if summarize is None else summarize}
    with scope("Assert", name):
        return apply(ASSERT, (condition, *data), attrs, "Assert")
