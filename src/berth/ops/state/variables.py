"""Operations of variables: state, reads and assignments.

TensorFlow has two kinds. A *reference* variable (VariableV2) is an output that others may
write through; a *resource* variable (VarHandleOp) is a handle, with operations to read and
write what it stands for. Their memory is alike: it belongs to a session, on the device of
the variable, and operations that read or write it run there.

In a plan the first input of a reading or writing operation is the variable's own array.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.backends.kinds import DEVICE_TYPES, HOST_TYPE
from berth.dtypes import (
    ALL,
    COMPLEX,
    FLOATING,
    NUMBERS,
    DType,
    bool_,
    int32,
    int64,
    resource,
    uint32,
)
from berth.errors import OutOfRangeError
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Access,
    Attrs,
    Bind,
    Call,
    Kernel,
    Launch,
    OpDef,
    OutputType,
    Source,
    Typed,
    all_devices,
    host_only,
    variable_of,
)
from berth.ops.rules import INDEX, ON_DEVICES, all_devices_but_strings, bind_nothing, merge_dims
from berth.ops.shape import Dims, bracketed


def _reference_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["dtype"].ref, attrs["shape"].dims_or_none),)


def _handle_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((resource, ()),)


HANDLES_ON_DEVICES = tuple(dtype for dtype in ON_DEVICES if dtype is not int32)
REFERENCES_ON_DEVICES = (*FLOATING, *COMPLEX, bool_, uint32, int64)
"""The types for which TensorFlow has variables on GPUs. It keeps int32 on the host."""


def _kernels(on_devices: Sequence[DType]) -> list[Kernel]:
    types = {kind: ALL if kind == HOST_TYPE else tuple(on_devices) for kind in DEVICE_TYPES}
    return [Kernel(kind, bind_nothing, dtypes) for kind, dtypes in types.items()]


VARIABLE = OpDef(
    "VariableV2",
    "",
    _reference_type,
    kernels=_kernels(REFERENCES_ON_DEVICES),
    is_stateful=True,
    source=Source.VARIABLE,
    gradient=NOT_DIFFERENTIABLE,
    samples=("dtype=float32, shape=TensorShape([3, 2])",),
)
HANDLE = OpDef(
    "VarHandleOp",
    "",
    _handle_type,
    kernels=_kernels(HANDLES_ON_DEVICES),
    is_stateful=True,
    source=Source.VARIABLE,
    gradient=NOT_DIFFERENTIABLE,
    samples=("dtype=float32, shape=TensorShape([3, 2])",),
)


REFERENCE, RESOURCE = "ref:T", "resource:resource"
"""The argument that stands for a variable, of either kind."""


def sample_of(variable: str, value: str = "f(3, 2)") -> str:
    """Return the sample of a variable of either kind, for `OpDef.samples`."""
    return f"{variable.partition(':')[0]}({value})"


# --- reading --------------------------------------------------------------------------


def _value_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    variable = variable_of(inputs[0])
    return ((variable.attrs["dtype"], variable.attrs["shape"].dims_or_none),)


READ = OpDef(
    "ReadVariableOp",
    "resource:resource",
    _value_type,
    kernels=all_devices(bind_nothing),
    is_stateful=True,
    access=Access.READ,
    samples=("resource(f(3, 2)), dtype=float32",),
)


@gradient(READ)
def _read_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad


def _truth(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((bool_, ()),)


def _bind_is_initialized(launch: Launch) -> Call:
    return _write_is_initialized, (launch.state, launch.outputs[0])


def _write_is_initialized(variable: Any, out: Any) -> None:
    out[...] = variable.is_initialized


HANDLE_IS_INITIALIZED = OpDef(
    "VarIsInitializedOp",
    "resource:resource",
    _truth,
    kernels=all_devices(_bind_is_initialized),
    is_stateful=True,
    access=Access.QUERY,
    gradient=NOT_DIFFERENTIABLE,
    samples=("resource(f(3, 2))",),
)
REFERENCE_IS_INITIALIZED = OpDef(
    "IsVariableInitialized",
    "ref:T",
    _truth,
    types={"T": ALL},
    kernels=all_devices(_bind_is_initialized),
    is_stateful=True,
    access=Access.QUERY,
    gradient=NOT_DIFFERENTIABLE,
    samples=("ref(f(3, 2))",),
)

# --- the value, or the initial value --------------------------------------------------


def _value_or_initial_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[1].dtype.base_dtype, merge_dims(dims_behind(inputs[0]), inputs[1].dims)),)


def _bind_value_or_initial(launch: Launch) -> Call:
    variable, initial = launch.inputs
    return _choose, (launch.state, launch.xp.copyto, launch.outputs[0], variable, initial)


def _choose(slot: Any, copyto: Any, out: Any, variable: Any, initial: Any) -> None:
    copyto(out, variable if slot.is_initialized else initial)


def _value_or_initial(name: str, variable: str) -> OpDef:
    return OpDef(
        name,
        f"{variable} initial_value:T",
        _value_or_initial_type,
        types={"T": ALL},
        kernels=all_devices_but_strings(_bind_value_or_initial),
        is_stateful=True,
        access=Access.QUERY,
        gradient=NOT_DIFFERENTIABLE,
        samples=(f"{sample_of(variable)}, f(3, 2) * 2",),
    )


INITIALIZED_REFERENCE = _value_or_initial("InitializedValue", REFERENCE)
INITIALIZED_HANDLE = _value_or_initial("ResourceInitializedValue", RESOURCE)
"""The value of a variable, or its initial one while it has none: where TensorFlow asks
whether it is initialized, and makes a condition."""

# --- writing --------------------------------------------------------------------------


class Write(NamedTuple):
    """One way to update a variable, for reference and resource variables."""

    by_reference: OpDef
    by_handle: OpDef


def dims_behind(tensor: Any) -> Dims:
    """Return the shape of the variable of a reference or handle."""
    variable = variable_of(tensor)
    is_handle = variable.definition is HANDLE
    dims: Dims = variable.attrs["shape"].dims_or_none if is_handle else tensor.dims
    return dims


def check_type_of_update(variable: Any, value: Typed) -> None:
    """Raise ValueError unless a value has the type of a handle's variable."""
    held, given = variable_of(variable).attrs["dtype"], value.dtype.base_dtype
    if held is not given:  # which a reference notices by itself
        raise ValueError(f"Trying to assign a {given.name} to a variable of type {held.name}")


def written_type(variable: Any, dims: Dims) -> Sequence[OutputType]:
    """Return the output types of a write: a reference again; through a handle, none."""
    is_handle = variable_of(variable).definition is HANDLE
    return () if is_handle else ((variable.dtype, dims),)


def _written(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    variable, value = inputs
    check_type_of_update(variable, value)
    held = dims_behind(variable)
    at_run = (
        "Assign requires shapes of both tensors to match. lhs shape= "
        f"{bracketed(held)} rhs shape= {bracketed(value.dims)}"
    )
    return written_type(variable, merge_dims(held, value.dims, at_run))


def _copy(launch: Launch) -> Call:
    return launch.xp.copyto, (launch.inputs[0], launch.inputs[1])


def _update(function: str) -> Bind:
    def bind(launch: Launch) -> Call:
        variable, value = launch.inputs
        return getattr(launch.xp, function), (variable, value, variable)

    return bind


def _writer(name: str, variable: str, bind: Bind, dtypes: Any) -> OpDef:
    return OpDef(
        name,
        f"{variable} value:T",
        _written,
        types={"T": dtypes},
        kernels=all_devices(bind, dtypes),
        is_stateful=True,
        access=Access.ASSIGN if bind is _copy else Access.UPDATE,
        gradient=NOT_DIFFERENTIABLE,
        samples=(f"{sample_of(variable)}, f(3, 2)",),
    )


def _write(name: str, bind: Bind, dtypes: Any) -> Write:
    return Write(
        _writer(name, REFERENCE, bind, dtypes),
        _writer(f"{name}VariableOp", RESOURCE, bind, dtypes),
    )


ASSIGNMENTS = {
    "assign": _write("Assign", _copy, ALL),
    "assign_add": _write("AssignAdd", _update("add"), NUMBERS),
    "assign_sub": _write("AssignSub", _update("subtract"), NUMBERS),
}
ASSIGN, ASSIGN_HANDLE = ASSIGNMENTS["assign"]
ASSIGN_ADD, ASSIGN_ADD_HANDLE = ASSIGNMENTS["assign_add"]
ASSIGN_SUB, ASSIGN_SUB_HANDLE = ASSIGNMENTS["assign_sub"]

# --- counting -------------------------------------------------------------------------


def _count_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    merge_dims((), dims_behind(inputs[0]))
    return ((attrs["T"], ()),)


def _bind_count(launch: Launch) -> Call:
    lock = launch.state.setdefault("lock", threading.Lock())
    return _count, (lock, launch.xp, launch.inputs[0], launch.attrs["limit"], launch.outputs[0])


def _count(lock: threading.Lock, xp: Any, variable: Any, limit: int, out: Any) -> None:
    with lock:  # threads that count at once get a number each
        if int(variable) >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        xp.copyto(out, variable)
        xp.add(variable, 1, variable)


def _counter(name: str, variable: str) -> OpDef:
    return OpDef(
        name,
        variable,
        _count_type,
        types={"T": INDEX},
        kernels=host_only(_bind_count),
        is_stateful=True,
        access=Access.UPDATE,
        gradient=NOT_DIFFERENTIABLE,
        samples=(f"{sample_of(variable, 'at(3)')}, limit=9, T=int32",),
    )


COUNT_UP_TO = Write(_counter("CountUpTo", REFERENCE), _counter("ResourceCountUpTo", RESOURCE))
