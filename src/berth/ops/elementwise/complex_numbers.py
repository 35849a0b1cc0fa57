"""Complex numbers: real and imaginary part, angle, and construction from parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import COMPLEX, complex64, complex128, float32, float64
from berth.ops.arrays import broadcasting
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import where_v2
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise import unary
from berth.ops.elementwise.compare import less
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, OutputType, Typed
from berth.ops.rules import broadcast_all, elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


def _joined_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    [(dtype, dims)] = broadcast_all(inputs, attrs)
    return ((complex128 if dtype is float64 else complex64, dims),)


def _part_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[0].dtype.base_dtype.real_dtype, inputs[0].dims),)


def _join(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def join(real_part: Any, imaginary_part: Any, out: Any) -> None:
        xp.copyto(out.real, real_part)
        xp.copyto(out.imag, imaginary_part)

    return join


def _real(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    return lambda x, out: xp.copyto(out, x.real)


def _imaginary(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    return lambda x, out: xp.copyto(out, x.imag)


def _angle(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    return lambda x, out: xp.arctan2(x.imag, x.real, out)


JOIN = elementwise("Complex", "real:T imag:T", _join, (float32, float64), _joined_type)
REAL_PART = elementwise("Real", "input:T", _real, COMPLEX, _part_type)
IMAGINARY_PART = elementwise("Imag", "input:T", _imaginary, COMPLEX, _part_type)
ANGLE = elementwise("Angle", "input:T", _angle, COMPLEX, _part_type)


@public("complex")
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Convert real and imaginary parts to complex numbers.

    >>> complex([1.0, 2.0], [0.0, -1.0]).numpy().tolist()
    [(1+0j), (2-1j)]
    """
    with scope("Complex", name) as inner:
        real = convert(real, type_of(real) or type_of(imag), "real")
        imag = convert(imag, type_of(imag) or type_of(real), "imag")
        types = real.dtype.base_dtype, imag.dtype.base_dtype
        if types not in ((float32, float32), (float64, float64)):
            raise TypeError(
                f"The `real` and `imag` components have incorrect types: {types[0].name} "
                f"{types[1].name}. They must be consistent, and one of "
                "[tf.float32, tf.float64]"
            )
        return apply(JOIN, (real, imag), {}, inner)


@gradient(JOIN)
def _join_gradient(op: RecordedOp, grad: Any) -> Any:
    return broadcasting.sum_like(real(grad), op.inputs[0]), broadcasting.sum_like(
        imag(grad), op.inputs[1]
    )


@public("math.real")
@public_v1("real")
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the real part of a tensor; real tensors are returned as they are.

    >>> real([1 + 2j, 3]).numpy().tolist()
    [1.0, 3.0]
    """
    with scope("Real", name) as inner:
        input = convert(input, None, "input")
        is_complex = input.dtype.base_dtype in COMPLEX
        return apply(REAL_PART, (input,), {}, inner) if is_complex else input


@gradient(REAL_PART)
def _real_part_gradient(op: RecordedOp, grad: Any) -> Any:
    return complex(grad, zeros_like(grad))


@public("math.imag")
@public_v1("imag")
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the imaginary part of a tensor, 0 for real ones.

    >>> imag([1 + 2j, 3]).numpy().tolist()
    [2.0, 0.0]
    """
    with scope("Imag", name) as inner:
        input = convert(input, None, "input")
        is_complex = input.dtype.base_dtype in COMPLEX
        return apply(IMAGINARY_PART, (input,), {}, inner) if is_complex else zeros_like(input)


@gradient(IMAGINARY_PART)
def _imaginary_part_gradient(op: RecordedOp, grad: Any) -> Any:
    return complex(zeros_like(grad), grad)


@public("math.angle")
@public_v1("angle")
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the argument (angle) of complex numbers, in radians; 0 or π for real ones.

    >>> angle([1.0, -1.0]).numpy().tolist()
    [0.0, 3.1415927410125732]
    """
    with scope("Angle", name) as inner:
        input = convert(input, None, "input")
        dtype = input.dtype.base_dtype
        if dtype in COMPLEX:
            return apply(ANGLE, (input,), {}, inner)
        half_turn = np.array(np.pi).astype(dtype.np_dtype)
        return where_v2(less(input, convert(0, dtype)), half_turn, zeros_like(input))


@gradient(ANGLE)
def _angle_gradient(op: RecordedOp, grad: Any) -> Any:
    """Gradient of the angle by z: i z / |z|²."""
    x, y = real(op.inputs[0]), imag(op.inputs[0])
    slope = grad / (unary.square(x) + unary.square(y))
    return complex(-y * slope, x * slope)
