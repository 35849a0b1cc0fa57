"""accumulate_n, scalar_mul and polyval."""

from __future__ import annotations

from typing import Any

from berth.dtypes import as_dtype
from berth.ops.arrays.filling import zeros_like
from berth.ops.compose import convert, is_tensor, scope, type_of
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import add, multiply
from berth.ops.shape import merge, read_dims
from berth.ops.types import ShapeLike, Tensor, TensorLike, TensorList
from berth.public import public, public_v1


@public("math.accumulate_n")
@public_v1("accumulate_n")
def accumulate_n(
    inputs: TensorList,
    shape: ShapeLike | None = None,
    tensor_dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Element-wise sum of a list of tensors, whose shape and type may be given.

    >>> accumulate_n([[1, 2], [3, 4]]).numpy().tolist()
    [4, 6]
    """
    dims = read_dims(shape)
    tensors: list[Any] = [tensor for tensor in inputs if is_tensor(tensor)]
    for tensor in tensors:
        dims = merge(dims, tensor.dims)
    total = add_n(inputs, name)
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not total.dtype.base_dtype:
        raise TypeError(
            f"tensor_dtype is {tensor_dtype}, but input is of type {total.dtype.base_dtype}"
        )
    return total


@public("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: Any, x: TensorLike, name: str | None = None) -> Tensor:
    """Multiply a tensor by a scalar.

    >>> scalar_mul(2, [1, 2]).numpy().tolist()
    [2, 4]
    """
    factor = convert(scalar, type_of(x), "scalar")
    if factor.dims not in ((), None):
        raise ValueError(
            "The input scalar must be a 0-D value. "
            f"Received: scalar={scalar} with shape {factor.shape}."
        )
    return multiply(factor, x, name)


@public("math.polyval")
def polyval(coeffs: Any, x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluate a polynomial at x; the coefficient of the highest power comes first.

    >>> polyval([1, 2, 3], 10).numpy().tolist()
    123
    """
    if not isinstance(coeffs, list | tuple):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with scope("polyval", name):
        x = convert(x, None, "x")
        dtype = x.dtype.base_dtype
        if not coeffs:
            return zeros_like(x)
        total = convert(coeffs[0], dtype)
        for coefficient in coeffs[1:]:
            total = add(convert(coefficient, dtype), multiply(total, x))
        return total
