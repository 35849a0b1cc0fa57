"""Variables: state that outlives a run.

TensorFlow has two kinds. A *reference* variable (VariableV2) is an output that others may
write through; a *resource* variable (VarHandleOp) is a handle, with operations to read and
write what it stands for. Their memory is alike: it belongs to a session, on the device of
the variable, and operations that read or write it run there.

In a plan the first input of a reading or writing operation is the variable's own array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL, NUMBERS, bool_, resource
from berth.ops.opdef import (
    Access,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    everywhere,
)
from berth.ops.rules import bind_nothing
from berth.ops.shape import merge


def _reference_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["dtype"].ref, attrs["shape"].dims_or_none),)


def _handle_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((resource, ()),)


VARIABLE = OpDef(
    "VariableV2",
    "",
    _reference_type,
    kernels=everywhere(bind_nothing),
    is_stateful=True,
    is_source=True,
)
HANDLE = OpDef(
    "VarHandleOp",
    "",
    _handle_type,
    kernels=everywhere(bind_nothing),
    is_stateful=True,
    is_source=True,
)


def variable_of(tensor: Any) -> Any:
    """Return the operation that made the variable a reference or handle stands for."""
    op = tensor.op
    while op.definition is not VARIABLE and op.definition is not HANDLE:
        op = op.inputs[0].op
    return op


# --- reading --------------------------------------------------------------------------


def _value_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    variable = variable_of(inputs[0])
    return ((variable.attrs["dtype"], variable.attrs["shape"].dims_or_none),)


READ = OpDef(
    "ReadVariableOp",
    "resource:resource",
    _value_type,
    kernels=everywhere(bind_nothing),
    is_stateful=True,
    access=Access.READ,
)


def _truth(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((bool_, ()),)


def _bind_is_initialized(launch: Launch) -> Call:
    return _tell, (launch.state, launch.outputs[0])


def _tell(variable: Any, out: Any) -> None:
    out[...] = variable.is_initialized


HANDLE_IS_INITIALIZED = OpDef(
    "VarIsInitializedOp",
    "resource:resource",
    _truth,
    kernels=everywhere(_bind_is_initialized),
    is_stateful=True,
    access=Access.QUERY,
)
REFERENCE_IS_INITIALIZED = OpDef(
    "IsVariableInitialized",
    "ref:T",
    _truth,
    types={"T": ALL},
    kernels=everywhere(_bind_is_initialized),
    is_stateful=True,
    access=Access.QUERY,
)

# --- writing --------------------------------------------------------------------------


def _copy(launch: Launch) -> Call:
    return launch.xp.copyto, (launch.inputs[0], launch.inputs[1])


def _update(function: str) -> Bind:
    def bind(launch: Launch) -> Call:
        variable, value = launch.inputs
        return getattr(launch.xp, function), (variable, value, variable)

    return bind


def _written_reference(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    variable, value = inputs
    return ((variable.dtype, merge(variable.dims, value.dims)),)


def _written_handle(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    variable = variable_of(inputs[0])
    merge(variable.attrs["shape"].dims_or_none, inputs[1].dims)
    if inputs[1].dtype.base_dtype is not variable.attrs["dtype"]:
        raise ValueError(
            f"Trying to assign a {inputs[1].dtype.name} to a variable of type "
            f"{variable.attrs['dtype'].name}"
        )
    return ()


def _writer(name: str, arguments: str, bind: Bind, dtypes: Any) -> OpDef:
    by_handle = "resource" in arguments
    return OpDef(
        name,
        arguments,
        _written_handle if by_handle else _written_reference,
        types={"T": dtypes},
        kernels=everywhere(bind, dtypes),
        is_stateful=True,
        access=Access.ASSIGN if bind is _copy else Access.UPDATE,
    )


ASSIGN = _writer("Assign", "ref:T value:T", _copy, ALL)
ASSIGN_ADD = _writer("AssignAdd", "ref:T value:T", _update("add"), NUMBERS)
ASSIGN_SUB = _writer("AssignSub", "ref:T value:T", _update("subtract"), NUMBERS)
ASSIGN_HANDLE = _writer("AssignVariableOp", "resource:resource value:T", _copy, ALL)
ASSIGN_ADD_HANDLE = _writer(
    "AssignAddVariableOp", "resource:resource value:T", _update("add"), NUMBERS
)
ASSIGN_SUB_HANDLE = _writer(
    "AssignSubVariableOp", "resource:resource value:T", _update("subtract"), NUMBERS
)
