"""Sums of lists of tensors: add_n and accumulate_n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import NUMBERS, as_dtype, variant
from berth.ops.arrays.array import identity
from berth.ops.builder import apply
from berth.ops.compose import convert_like, is_tensor, type_of
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.lists.list_value import sum_lists
from berth.ops.opdef import (
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
    host_only,
)
from berth.ops.rules import merge_all
from berth.ops.shape import bracketed, merge, read_dims
from berth.ops.types import ShapeLike, Tensor, TensorList
from berth.public import public, public_v1


def _sum_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    def at_run(k: int) -> str:
        return (
            "Inputs to operation AddN of type AddN must have the same size and shape.  "
            f"Input 0: {bracketed(inputs[0].dims)} != input {k}: {bracketed(inputs[k].dims)}"
        )

    return ((inputs[0].dtype.base_dtype, merge_all(inputs, at_run)),)


def _bind_add_n(launch: Launch) -> Call:
    if launch.outputs[0].dtype == object:
        return sum_lists, (tuple(launch.inputs), launch.outputs[0])
    if len(launch.inputs) == 1:
        return launch.xp.copyto, (launch.outputs[0], launch.inputs[0])
    if len(launch.inputs) == 2:
        return launch.xp.add, (*launch.inputs, launch.outputs[0])
    return _add_n, (launch.xp.add, tuple(launch.inputs), launch.outputs[0])


def _add_n(add_to: Callable[..., Any], inputs: Sequence[Any], out: Any) -> None:
    add_to(inputs[0], inputs[1], out)
    for array in inputs[2:]:
        add_to(out, array, out)


ADD_N = OpDef(
    "AddN",
    "inputs:T*",
    _sum_type,
    types={"T": (*NUMBERS, variant)},
    kernels=(*all_devices(_bind_add_n, NUMBERS), *host_only(_bind_add_n, (variant,))),
    samples=("f(2, 3), f(2, 3)",),
    large_samples=("large, large, large",),
)


@public("add_n", "math.add_n")
def add_n(inputs: TensorList, name: str | None = None) -> Tensor:
    """Element-wise sum of a list of tensors of one shape.

    >>> add_n([[1, 2], [3, 4], [5, 6]]).numpy().tolist()
    [9, 12]
    """
    inputs = list(inputs) if is_tensor(inputs) else inputs
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same "
            "dtype and shape."
        )
    known = next((t for t in map(type_of, inputs) if t is not None), None)
    tensors = tuple(convert_like(value, known) for value in inputs)
    if len(tensors) == 1:
        return identity(tensors[0], name) if name else tensors[0]
    return apply(ADD_N, tensors, {}, name)


@gradient(ADD_N)
def _add_n_gradient(op: RecordedOp, grad: Any) -> Any:
    return [grad] * len(op.inputs)


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
