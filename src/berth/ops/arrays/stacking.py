"""Stacking of tensors along a new axis: the operation behind `stack` and nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL
from berth.ops import arrays
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, GraphOps, Launch, OpDef, OutputType, Typed
from berth.ops.rules import all_devices_but_strings, merge_all
from berth.ops.shape import bracketed
from berth.ops.types import Tensor


def _packed(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    def at_run(k: int) -> str:
        return (
            f"Shapes of all inputs must match: values[0].shape = {bracketed(inputs[0].dims)} "
            f"!= values[{k}].shape = {bracketed(inputs[k].dims)}"
        )

    dims = merge_all(inputs, at_run)
    if dims is None:
        return ((inputs[0].dtype.base_dtype, None),)
    axis = attrs["axis"] % (len(dims) + 1)
    return ((inputs[0].dtype.base_dtype, (*dims[:axis], len(inputs), *dims[axis:])),)


def _bind_pack(launch: Launch) -> Call:
    out = launch.outputs[0]
    axis = launch.attrs["axis"] % out.ndim
    wide = tuple(launch.xp.expand_dims(array, axis) for array in launch.inputs)
    return launch.xp.concatenate, (wide, axis, out)


PACK = OpDef(
    "Pack",
    "values:T*",
    _packed,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_pack),
    samples=("f(2, 3), f(2, 3), axis=-1",),
    large_samples=("large, large, axis=1",),
)


def pack(values: Any, axis: int = 0, name: str | None = None) -> Tensor:
    """Stack tensors of one shape along a new axis; other values are converted.

    >>> pack([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    known = next((t for t in map(type_of, values) if t is not None), None)
    with scope("stack", name) as inner:
        tensors = tuple(
            convert(value, None if type_of(value) else known, str(position))
            for position, value in enumerate(values)
        )
        return apply(PACK, tensors, {"axis": axis}, inner)


GraphOps.pack = pack


@gradient(PACK)
def _pack_gradient(op: RecordedOp, grad: Any) -> Any:
    return arrays.joining.unstack(grad, len(op.inputs), op.attrs["axis"])
