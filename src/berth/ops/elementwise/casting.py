"""Conversions between data types: ``tf.cast``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import PACKAGED, DType, as_dtype, float32, float64, int32, int64
from berth.errors import UnimplementedError
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, scope, type_of
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, OutputType, Typed
from berth.ops.rules import ON_DEVICES, elementwise
from berth.ops.type_spec import CompositeTensor
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public, public_v1


def _cast_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["DstT"], inputs[0].dims),)


def _assign(x: Any, out: Any) -> None:
    out[...] = x


def _assign_real(x: Any, out: Any) -> None:
    out[...] = x.real


def _converter(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    return _assign if attrs["DstT"].is_complex else _assign_real


CAST = elementwise(
    "Cast",
    "x:SrcT",
    _converter,
    ON_DEVICES,
    _cast_type,
    extra_types={"SrcT": ON_DEVICES},
    samples=("f(2, 3), DstT=int32",),
    large_samples=("large, DstT=int64",),
)


_CASTABLE = frozenset((*ON_DEVICES, *PACKAGED))


@public("cast")
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Cast a tensor to another data type; floats are truncated to integers.

    >>> cast([1.8, -1.8], "int32").numpy().tolist()
    [1, -1]
    """
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, CompositeTensor):
        composite: Any = x._map_values(lambda values: cast(values, wanted, name))
        return composite
    known = type_of(x)
    if known is wanted:
        return convert(x)
    if known is not None:
        return _cast(x, known, wanted, name)
    with scope("Cast", name) as inner:
        x = convert(x, None, "x")
        return x if x.dtype is wanted else _cast(x, x.dtype, wanted, inner)


def _cast(x: Any, known: DType, wanted: DType, name: str | None) -> Tensor:
    if not {wanted, known.base_dtype} <= _CASTABLE:
        types = f"{known.base_dtype.type_string} to {wanted.type_string}"
        where = " [Op:Cast] name: " if is_eager() else ""
        raise UnimplementedError(None, None, f"Cast {types} is not supported{where}")
    return apply(CAST, (x,), {"DstT": wanted, "Truncate": False}, name)


@gradient(CAST)
def _cast_gradient(op: RecordedOp, grad: Any) -> Any:
    given: DType = op.inputs[0].dtype.base_dtype
    return cast(grad, given) if given.is_inexact and grad.dtype.is_inexact else None


@public_v1("to_float")
def to_float(x: TensorLike, name: str = "ToFloat") -> Tensor:
    """Cast a tensor to float32.

    >>> to_float([1, 2]).dtype
    tf.float32
    """
    return cast(x, float32, name)


@public_v1("to_double")
def to_double(x: TensorLike, name: str = "ToDouble") -> Tensor:
    """Cast a tensor to float64.

    >>> to_double([1, 2]).dtype
    tf.float64
    """
    return cast(x, float64, name)


@public_v1("to_int32")
def to_int32(x: TensorLike, name: str = "ToInt32") -> Tensor:
    """Cast a tensor to int32.

    >>> to_int32([1.5]).numpy().tolist()
    [1]
    """
    return cast(x, int32, name)


@public_v1("to_int64")
def to_int64(x: TensorLike, name: str = "ToInt64") -> Tensor:
    """Cast a tensor to int64.

    >>> to_int64([1.5]).dtype
    tf.int64
    """
    return cast(x, int64, name)
