"""Shape rules and kernels that many operations share.

A shape rule raises ValueError with the message that TensorFlow has while a graph is built.
Where TensorFlow has another one at run time, the error is a `ShapeMismatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from berth.backends.kinds import DEVICE_TYPES, HOST_TYPE
from berth.dtypes import (
    ALL,
    COMPLEX,
    FLOATING,
    NUMBERS,
    DType,
    bool_,
    int8,
    int16,
    int32,
    int64,
)
from berth.errors import InvalidArgumentError
from berth.ops.convert import dtype_of
from berth.ops.evaluate import HostValue
from berth.ops.opdef import (
    Attrs,
    Bind,
    Call,
    Infer,
    Kernel,
    Launch,
    OpDef,
    OutputType,
    ScratchShapes,
    Typed,
)
from berth.ops.shape import Dims, bracketed, broadcast

Function = Callable[[Any, Attrs], Callable[..., Any]]

SIGNED = (int8, int16, int32, int64)
INEXACT = FLOATING + COMPLEX
INDEX = (int32, int64)
"""The types of shapes, axes and positions."""
ON_DEVICES = (*NUMBERS, bool_)
"""The types of elements that a GPU can hold: all but strings and handles."""


class ShapeMismatch(ValueError):
    """Incompatible shapes, as graphs word it; `at_run` has the message of a run."""

    def __init__(self, message: str, at_run: str) -> None:
        super().__init__(message)
        self.at_run = at_run


# --- shapes -------------------------------------------------------------------------------


def common_dims(a: Dims, b: Dims) -> Dims:
    """Broadcast two shapes; if they are incompatible, TensorFlow's error."""
    if a == b:
        return a
    try:
        return broadcast(a, b)
    except ValueError as error:
        x, y = _first_difference(a or (), b or ())
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {x} and {y}", str(error)
        ) from None


def _first_difference(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[Any, Any]:
    rank = min(len(a), len(b))
    aligned = zip(a[len(a) - rank :], b[len(b) - rank :], strict=True)
    return next((x, y) for x, y in aligned if x != y and not {x, y} & {1, None})


def merge_dims(a: Dims, b: Dims, at_run: str | None = None) -> Dims:
    """Combine what two shapes of one tensor say; if they differ, TensorFlow's error.

    >>> merge_dims((2, None), (None, 3))
    (2, 3)
    """
    if a == b or b is None:
        return a
    if a is None:
        return b
    if len(a) != len(b):
        message = f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
        raise ShapeMismatch(message, at_run or message)
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y and None not in (x, y):
            message = (
                f"Dimension {axis} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {bracketed(a)} and {bracketed(b)}."
            )
            raise ShapeMismatch(message, at_run or message)
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def merge_all(inputs: Sequence[Typed], at_run: Callable[[int], str]) -> Dims:
    """Combine the shapes of inputs that must agree; `at_run` is the message of a run."""
    last = len(inputs) - 1
    dims = inputs[last].dims
    for position in range(last - 1, -1, -1):
        try:
            dims = merge_dims(inputs[position].dims, dims)
        except ValueError as error:
            message = f"{error}\n\tFrom merging shape {position} with other shapes."
            first = inputs[0].dims
            other = next(k for k, tensor in enumerate(inputs) if tensor.dims != first)
            raise ShapeMismatch(message, at_run(other)) from None
    return dims


def check_rank(dims: Dims, rank: int, what: str = "Shape") -> None:
    """Raise ValueError if a shape is known to have another rank."""
    if dims is not None and len(dims) != rank:
        raise ValueError(f"{what} must be rank {rank} but is rank {len(dims)}")


def as_dims(value: Any) -> tuple[int | None, ...]:
    """Read the value of a tensor that holds a shape, in which -1 is an unknown size."""
    sizes = value.reshape(-1).tolist()
    for size in sizes:
        if size < -1:
            raise ShapeMismatch(
                f"Invalid value in tensor used for shape: {size}",
                f"Dimension {size} must be >= 0",
            )
    return tuple(None if size == -1 else size for size in sizes)


def shape_of_value(shape: Typed) -> Dims:
    """Return what is known of the shape that a tensor holds."""
    check_rank(shape.dims, 1)
    if shape.value is not None:
        return as_dims(shape.value)
    n_dims = shape.dims[0] if shape.dims else None
    return None if n_dims is None else _known_parts(shape) or (None,) * n_dims


def _known_parts(shape: Any) -> Dims:
    """Return the parts of a shape tensor: numbers, or sizes of another tensor."""
    op = getattr(shape, "op", None)
    if op is None or op.type not in ("Pack", "Shape"):
        return None
    if op.type == "Shape":
        dims: Dims = op.inputs[0].dims
        return dims
    sizes = [None if size.value is None else int(size.value) for size in op.inputs]
    return tuple(None if size == -1 else size for size in sizes)


def known_value(tensor: Any) -> Any:
    """Return the value of a tensor if it is known: itself, or how it is made of others."""
    op = getattr(tensor, "op", None)
    if tensor.value is not None or op is None or op.type not in ("Cast", "Fill"):
        return tensor.value
    parts = [source.value for source in op.inputs]
    if any(part is None for part in parts):
        return None
    if op.type == "Cast":
        return parts[0].astype(tensor.dtype.np_dtype)
    return np.full(parts[0], parts[1])


# --- types and shapes of outputs ----------------------------------------------------------


def like_first(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type and shape of the first input."""
    first = inputs[0]
    return ((first.dtype.base_dtype, first.dims),)


def like_both(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type of the first input, and the shape that both inputs have."""
    first, second = inputs
    return ((first.dtype.base_dtype, merge_dims(first.dims, second.dims)),)


def truth_like_first(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Booleans in the shape of the first input."""
    return ((bool_, inputs[0].dims),)


def broadcast_all(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type of the first input, and the shape that both inputs broadcast to."""
    x, y = inputs
    return ((x.dtype.base_dtype, x.dims if x.dims == y.dims else common_dims(x.dims, y.dims)),)


def broadcast_to_bool(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Booleans in the shape that both inputs broadcast to."""
    x, y = inputs
    return ((bool_, x.dims if x.dims == y.dims else common_dims(x.dims, y.dims)),)


def no_outputs(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """No outputs."""
    return ()


# --- kernels ------------------------------------------------------------------------------


def bind_nothing(launch: Launch) -> None:
    """Bind no call: the output has its value already."""


def check_again(infer: Infer, launch: Launch) -> None:
    """Apply a shape rule now that values are known: a graph skips it if it has the shape.

    Kernels call it whose operation can know its shape without its values.
    """
    if launch.is_checked:
        return
    known = [HostValue(dtype_of(array), array.shape, array) for array in launch.inputs]
    try:
        infer(known, launch.attrs)
    except ValueError as error:
        message = getattr(error, "at_run", str(error))
        raise InvalidArgumentError(None, None, message) from None


def from_host(out: Any, array: np.ndarray[Any, Any]) -> Call:
    """Bind the copy of a host array to an output, on whatever device that is."""
    if isinstance(out, np.ndarray):
        return np.copyto, (out, array)
    return out.set, (array,)


def copy_each(copy: Callable[[Any, Any], Any], pairs: Sequence[tuple[Any, Any]]) -> None:
    """Copy the second of each pair into the first."""
    for target, source in pairs:
        copy(target, source)


def all_devices_but_strings(
    bind: Bind, scratch: ScratchShapes | None = None
) -> tuple[Kernel, ...]:
    """Make the kernels of an operation that takes any type: strings stay on the CPU."""
    return tuple(
        Kernel(kind, bind, ALL if kind == HOST_TYPE else ON_DEVICES, scratch)
        for kind in DEVICE_TYPES
    )


def of_array_module(name: str) -> Function:
    """Make an elementwise function of one that NumPy and CuPy have under this name."""

    def find(xp: Any, attrs: Attrs) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(xp, name)
        return function

    return find


def elementwise(
    name: str,
    arguments: str,
    function: str | Function,
    dtypes: Sequence[DType],
    infer: Callable[[Sequence[Any], Attrs], Sequence[OutputType]] | None = None,
    *,
    extra_types: Mapping[str, Sequence[DType]] | None = None,
    gradient: Any = None,
    samples: Sequence[str] = (),
    large_samples: Sequence[str] = (),
) -> OpDef:
    """Define an operation that computes each element by itself, on every device.

    Strings, where they are among the types, stay on the CPU.
    """
    find = of_array_module(function) if isinstance(function, str) else function

    def bind(launch: Launch) -> Call:
        return find(launch.xp, launch.attrs), (*launch.inputs, *launch.outputs)

    on_device = tuple(dtype for dtype in dtypes if dtype in ON_DEVICES)
    kernels = [
        Kernel(kind, bind, tuple(dtypes) if kind == HOST_TYPE else on_device)
        for kind in DEVICE_TYPES
    ]
    return OpDef(
        name,
        arguments,
        infer or (broadcast_all if len(arguments.split()) > 1 else like_first),
        types={"T": dtypes, **(extra_types or {})},
        kernels=kernels,
        elementwise=find,
        gradient=gradient,
        samples=samples,
        large_samples=large_samples,
    )
