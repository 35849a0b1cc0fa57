"""Slots: variables that belong to another variable, on its device and under its name.

An optimizer keeps a momentum or an average for each variable that it trains. The slots of
``w`` are ``w/Adam`` and ``w/Adam_1``; they are saved, but not trained.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from berth.blocks import FunctionBlock, Use
from berth.dtypes import resource
from berth.eager.mode import executing_eagerly, leave_functions
from berth.eager.variable import Variable as EagerVariable
from berth.graph.graph import Graph
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.builder import current
from berth.ops.shape import TensorShape
from berth.variables.initializers_v1 import Zeros
from berth.variables.scope import get_variable, variable_scope
from berth.variables.variable import Variable


def key_of(variable: Any) -> Any:
    """Return what identifies a variable, also after a write or inside of a function."""
    handle = getattr(variable, "handle", variable)
    return handle.op


def is_graph_variable(variable: Any) -> bool:
    """Tell whether a variable or tensor belongs to a graph that sessions run."""
    return isinstance(getattr(variable, "handle", variable), SymbolicTensor)


def is_reference(variable: Any) -> bool:
    """Tell whether a variable is a reference variable."""
    return isinstance(variable, Variable) and variable.handle.dtype is not resource


def colocated_with(variable: Any) -> AbstractContextManager[Any]:
    """Place the operations of a block with a variable; eager ones follow it by themselves."""
    if is_graph_variable(variable):
        graph: Graph = variable.graph.here()
        return graph.colocate_with(variable.op)
    return nullcontext()


def lifted() -> FunctionBlock[None]:
    """Lift a block, which makes variables, out of functions and control dependencies."""
    return FunctionBlock(_lift)


def _lift(use: Use) -> None:
    leave_functions(use)
    builder = current()
    if isinstance(builder, Graph):
        use.enter(builder.control_dependencies(None))


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """Create a slot of a variable or tensor, which starts with a value."""
    return _create(primary, val, None, None, name, colocate_with_primary)


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: TensorShape,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """Create a slot of a variable, which starts with what an initializer makes."""
    return _create(primary, initializer, shape, dtype.base_dtype, name, colocate_with_primary)


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> Any:
    """Create a slot of a variable or tensor, of zeros in its shape."""
    dtype = (dtype or primary.dtype).base_dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, Zeros(), shape, dtype, name, colocate_with_primary
        )
    first = primary.initialized_value() if isinstance(primary, Variable) else primary
    return create_slot(primary, zeros(shape_of(first), dtype), name, colocate_with_primary)


def _create(
    primary: Any, initial: Any, shape: Any, dtype: Any, name: str, colocate: bool
) -> Any:
    if executing_eagerly():
        return _create_eagerly(primary, initial, shape, dtype, name)
    is_variable = isinstance(primary, Variable)
    prefix = primary.handle.op.name if is_variable else primary.op.name
    known = initial.get_shape() if shape is None else shape
    place = colocated_with(primary) if colocate else nullcontext()
    with variable_scope(None, f"{prefix}/{name}") as scope, place:
        scope.set_partitioner(None)  # a part's slot is one variable
        slot = get_variable(
            "",
            shape=shape,
            dtype=dtype,
            initializer=initial,
            trainable=False,
            use_resource=not is_reference(primary) if is_variable else None,
            validate_shape=known.is_fully_defined(),
        )
    if is_variable and primary._save_slice_info is not None:
        info = primary._save_slice_info
        own_name = slot.op.name.removeprefix(f"{prefix}/")
        slot._set_save_slice_info(info._replace(full_name=f"{info.full_name}/{own_name}"))
    return slot


def _create_eagerly(primary: Any, initial: Any, shape: Any, dtype: Any, name: str) -> Any:
    builder: Any = current()
    if callable(initial):
        initial = initial(shape.as_list(), dtype=dtype)
    with builder.device(primary.device):
        return EagerVariable(
            initial, trainable=False, name=f"{primary.name.removesuffix(':0')}/{name}"
        )
