"""Assignment to a slice of a variable: ``variable[1:].assign(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL, int16
from berth.ops.arrays.indexing import Numbers
from berth.ops.arrays.slicing import part_of
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.opdef import NOT_DIFFERENTIABLE, Access, Attrs, Call, Launch, OpDef, OutputType
from berth.ops.rules import INDEX, all_devices_but_strings
from berth.ops.shape import bracketed
from berth.ops.state.variables import check_type_of_update


def _nothing(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    check_type_of_update(inputs[0], inputs[-1])
    return ()


def _bind(launch: Launch) -> Call:
    variable, *numbers, value = launch.inputs
    part = part_of(variable, numbers, launch.attrs)
    try:
        launch.xp.broadcast_to(value, part.shape)
    except ValueError:
        raise ValueError(
            f"Cannot broadcast input shape {bracketed(value.shape)} into final shape "
            f"{bracketed(part.shape)}"
        ) from None
    return launch.xp.copyto, (part, value)


ASSIGN_SLICE = OpDef(
    "ResourceStridedSliceAssign",
    "ref:resource begin:Index end:Index strides:Index value:T",
    _nothing,
    types={"T": ALL, "Index": (int16, *INDEX)},
    kernels=all_devices_but_strings(_bind),
    host_inputs=(1, 2, 3),
    is_stateful=True,
    access=Access.UPDATE,
    gradient=NOT_DIFFERENTIABLE,
    samples=("resource(f(3, 2)), i(1), i(0), i(1), f(2, 2), **masks(end=1)",),
)


def assign_slice(variable: Any, key: Any, value: Any, name: str | None = None) -> None:
    """Assign to a slice of a variable."""
    numbers = Numbers(key)
    value = convert(value, variable.dtype)
    apply(ASSIGN_SLICE, (variable.handle, *numbers.tensors(), value), numbers.masks, name)
