"""String operations and `py_func`, which run on the CPU only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from berth.dtypes import NUMBERS, DType, as_dtype, bool_, string
from berth.errors import InvalidArgumentError, OpError, UnknownError
from berth.ops.builder import apply
from berth.ops.compose import convert, convert_like, is_eager, is_tensor, type_of
from berth.ops.convert import to_array
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.rules import broadcast_all, merge_dims
from berth.ops.shape import Dims, bracketed
from berth.ops.types import Tensor, TensorLike, TensorList
from berth.public import public, public_v1

# --- strings --------------------------------------------------------------------------------


def _text_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, inputs[0].dims),)


def _bind_as_string(launch: Launch) -> Call:
    array, attrs = launch.inputs[0], launch.attrs
    if len(attrs["fill"]) > 1:
        message = "Fill string must be one or fewer characters"
        raise InvalidArgumentError(None, None, message)
    takes_all = array.dtype.kind in "fcO"
    for option in ("precision", "scientific", "shortest"):
        if attrs[option] not in (-1, False) and not takes_all:
            name = as_dtype(array.dtype).name
            raise InvalidArgumentError(
                None, None, f"{option} not supported for datatype {name}"
            )
    return _write_each, (array, _writer(array.dtype, attrs), launch.outputs[0])


def _write_each(array: Any, write: Callable[[Any], bytes], out: Any) -> None:
    target = out.reshape(-1)
    for position, item in enumerate(array.reshape(-1).tolist()):
        target[position] = write(item)


def _writer(dtype: Any, attrs: Attrs) -> Callable[[Any], bytes]:
    """Return the function that formats one element, as C's ``printf`` would."""
    if dtype.kind == "b":
        return lambda item: b"true" if item else b"false"
    width = "" if attrs["width"] < 0 else str(attrs["width"])
    flag = f"{attrs['fill']}{width}"
    if dtype.kind in "iuO":
        whole = f"%{flag}{'s' if dtype.kind == 'O' else 'd'}".encode()
        return lambda item: whole % item
    precision = "" if attrs["precision"] < 0 else f".{attrs['precision']}"
    letter = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    form = f"%{flag}{precision}{letter}".encode()
    if dtype.kind == "c":
        return lambda item: b"(%b,%b)" % (form % item.real, form % item.imag)
    # C does not fill up what is no number with zeros.
    plain = f"%{flag.removeprefix('0')}{letter}".encode()
    return lambda item: (form if np.isfinite(item) else plain) % item


_WRITABLE = (*NUMBERS, bool_, string)
AS_STRING = OpDef(
    "AsString",
    "input:T",
    _text_type,
    types={"T": _WRITABLE},
    kernels=host_only(_bind_as_string, _WRITABLE),
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2), precision=-1, scientific=False, shortest=False, width=-1, fill=''",),
)


@public("as_string", "strings.as_string")
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Convert each element to a string.

    >>> as_string([1, 2]).numpy().tolist()
    [b'1', b'2']
    """
    attrs = {
        "fill": fill,
        "precision": precision,
        "scientific": scientific,
        "shortest": shortest,
        "width": width,
    }
    return apply(AS_STRING, (input,), attrs, name)


def _bind_add(launch: Launch) -> Call:
    return np.add, (*launch.inputs, *launch.outputs)


ADD = OpDef(
    "Add",
    "x:T y:T",
    broadcast_all,
    types={"T": (string,)},
    kernels=host_only(_bind_add, (string,)),
    gradient=NOT_DIFFERENTIABLE,
    samples=("text('a', 'b'), text('c')",),
)


def add_fallback(op: OpDef, x: Any, y: Any, name: str, error: Exception) -> Tensor:
    """Addition that `op` cannot do: of strings, or of a plain `y` of another type than `x`.

    The second is an error, too; but one that speaks of both types.
    """
    is_text = [type_of(value) is string or isinstance(value, str | bytes) for value in (x, y)]
    if not is_text[0] and is_tensor(x) and is_tensor(y):
        raise error
    try:
        if not all(is_text):
            x = convert(x)
            y = convert_like(y, x.dtype.base_dtype)
        return apply(ADD if is_text[0] else op, (x, y), {}, name)
    except (TypeError, InvalidArgumentError) as better:
        raise better from None


def _joined_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Shape of the inputs that are not scalars: scalars are joined to each element."""
    if any(tensor.dims is None for tensor in inputs):
        return ((string, None),)
    dims: Dims = ()
    for tensor in inputs:
        if tensor.dims:
            dims = merge_dims(dims, tensor.dims) if dims else tensor.dims
    return ((string, dims),)


def _bind_join(launch: Launch) -> Call:
    out = launch.outputs[0]
    columns = [np.broadcast_to(array, out.shape).reshape(-1) for array in launch.inputs]
    return _join_each, (launch.attrs["separator"].encode(), columns, out.reshape(-1))


def _join_each(separator: bytes, columns: Sequence[Any], out: Any) -> None:
    for position in range(out.size):
        out[position] = separator.join(column[position] for column in columns)


STRING_JOIN = OpDef(
    "StringJoin",
    "inputs:string*",
    _joined_type,
    kernels=host_only(_bind_join),
    gradient=NOT_DIFFERENTIABLE,
    samples=("text('a', 'b'), text('c').reshape(()), text('d', 'e'), separator=''",),
)


@public("strings.join")
@public_v1("string_join")
def string_join(inputs: TensorList, separator: str = "", name: str | None = None) -> Tensor:
    """Join strings, element by element.

    >>> string_join(["a", "b"], separator="-").numpy()
    b'a-b'
    """
    return apply(STRING_JOIN, tuple(inputs), {"separator": separator}, name)


# --- py_func --------------------------------------------------------------------------------

_numbers = count()


class _Token(str):
    """Token of a Python function in TensorFlow's graphs, and the function itself."""

    __slots__ = ("function",)

    function: Callable[..., Any]


def _returned_types(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return tuple((dtype, None) for dtype in attrs["Tout"])


def _bind_py_func(launch: Launch) -> Call:
    token, types = launch.attrs["token"], launch.attrs["Tout"]
    return _call, (token, tuple(launch.inputs), types, tuple(launch.outputs))


def _call(
    token: _Token, inputs: Sequence[Any], types: Sequence[DType], outputs: Sequence[Any]
) -> None:
    """Call the function for outputs whose shapes are known."""
    returned = _returned(token, inputs, types)
    for position, (array, out) in enumerate(zip(returned, outputs, strict=True)):
        if array.shape != out.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"{position}-th value returned by {token} has shape {bracketed(array.shape)}, "
                f"and not {bracketed(out.shape)}",
            )
        out[...] = array


def _perform(inputs: Sequence[Any], attrs: Attrs) -> list[Any]:
    """Call the function for whatever it returns."""
    return _returned(attrs["token"], inputs, attrs["Tout"])


def _returned(token: _Token, inputs: Sequence[Any], types: Sequence[DType]) -> list[Any]:
    """Call the function with copies, which it may keep, and check what it returns."""
    try:
        returned = token.function(*(array.copy() for array in inputs))
    except OpError:
        raise
    except Exception as error:
        is_refusal = isinstance(error, TypeError | ValueError)
        kind = InvalidArgumentError if is_refusal else UnknownError
        raise kind(None, None, f"{type(error).__name__}: {error}") from error
    if not isinstance(returned, list | tuple):
        returned = () if returned is None and not types else (returned,)
    if len(returned) != len(types):
        raise InvalidArgumentError(
            None,
            None,
            f"{token} returns {len(returned)} values, but expects to see {len(types)} values.",
        )
    return [
        _checked(value, dtype, f"{position}-th value returned by {token}")
        for position, (value, dtype) in enumerate(zip(returned, types, strict=True))
    ]


def _checked(value: Any, dtype: DType, what: str) -> Any:
    array = to_array(value, string) if dtype is string else np.asarray(value)
    found = as_dtype(array.dtype)
    if found is not dtype:
        message = f"{what} is {found.type_string}, but expects {dtype.type_string}"
        raise InvalidArgumentError(None, None, message)
    return array


PY_FUNC = OpDef(
    "PyFunc",
    "input:Any*",
    _returned_types,
    kernels=host_only(_bind_py_func),
    is_stateful=True,
    perform=_perform,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2), Tout=[float32], token=''",),
)
PY_FUNC_STATELESS = OpDef(
    "PyFuncStateless",
    "input:Any*",
    _returned_types,
    kernels=host_only(_bind_py_func),
    perform=_perform,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2), Tout=[float32], token=''",),
)


@public_v1("py_func")
def py_func(
    func: Callable[..., Any],
    inp: Any,
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor | list[Tensor]:
    """Call a Python function on arrays, as an operation.

    What it returns may have any shape; ``set_shape`` says what is known of it.

    >>> py_func(lambda x: x + 1, [[1, 2]], "int32").numpy().tolist()
    [2, 3]
    """
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )
    if is_eager():
        called: Tensor | list[Tensor] = _call_now(func, inp)
        return called
    is_list = isinstance(Tout, list | tuple)
    types = [as_dtype(dtype) for dtype in (Tout if is_list else [Tout])]
    token = _Token(f"pyfunc_{next(_numbers)}")
    token.function = func
    op = PY_FUNC if stateful else PY_FUNC_STATELESS
    outputs = apply(op, tuple(inp), {"Tout": types, "token": token}, name)
    return [outputs] if is_list and len(types) == 1 else outputs


def _call_now(func: Callable[..., Any], inp: Any) -> Any:
    """Call a function in eager mode; its exceptions are the program's own."""
    returned = func(*(np.array(convert(value).value) for value in inp))
    values = returned if isinstance(returned, list | tuple) else [returned]
    tensors = [None if value is None else convert(value) for value in values]
    return tensors[0] if len(tensors) == 1 else tensors


@public("numpy_function")
def numpy_function(
    func: Callable[..., Any],
    inp: Any,
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor | list[Tensor]:
    """Call a Python function on NumPy arrays, as an operation.

    >>> import berth as tf
    >>> numpy_function(lambda x: x + 1, [tf.constant([1, 2])], tf.int32).numpy().tolist()
    [2, 3]
    """
    return py_func(func, inp, Tout, stateful, name)
