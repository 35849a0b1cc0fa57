"""Creation of variables by `get_variable`: initializers and regularizers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from berth.dtypes import DType, as_dtype, bool_, string
from berth.graph.keys import GraphKeys
from berth.graph.tensor import SymbolicTensor
from berth.ops.shape import TensorShape
from berth.variables.initializers_v1 import GlorotUniform, Zeros
from berth.variables.variable import Variable


def make_variable(
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    options: dict[str, Any],
    partition_info: Any = None,
) -> Variable:
    """Create a variable, with its initializer or the default one of its type."""
    declared, wanted = TensorShape(shape), as_dtype(dtype).base_dtype
    if initializer is None:
        initializer = _default_initializer(name, declared, wanted)
    if callable(initializer) and not isinstance(initializer, SymbolicTensor | Variable):
        initial_value, typed = _first_value(initializer, declared, wanted, partition_info)
    else:
        if declared.is_fully_defined():
            raise ValueError("If initializer is a constant, do not specify shape.")
        initial_value, typed = initializer, False
    if declared.is_fully_defined():
        options = {**options, "shape": declared}
    return Variable(initial_value, name=name, dtype=wanted if typed else None, **options)


def _default_initializer(name: str, shape: TensorShape, dtype: DType) -> Any:
    if not shape:
        raise ValueError(
            f"Variable {name} did not get an initializer, so its `shape` argument must be "
            "specified."
        )
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype in (bool_, string):
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _first_value(
    initializer: Any, shape: TensorShape, dtype: DType, partition_info: Any
) -> tuple[Callable[[], Any], bool]:
    """Return the function of the initial value, and whether it was given the type."""
    if isinstance(initializer, type):
        initializer = initializer()
    if shape.is_fully_defined():
        options = {}
        if _takes_partition_info(initializer):
            options["partition_info"] = partition_info
        return partial(initializer, shape.as_list(), dtype=dtype, **options), True
    if _takes_nothing(initializer):
        return initializer, False
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and "
        "the shape should not be provided or an instance of `tf.keras.initializers.*' and "
        "`shape` should be fully defined."
    )


def _takes_partition_info(function: Any) -> bool:
    return "partition_info" in inspect.signature(function).parameters


def _takes_nothing(function: Any) -> bool:
    return all(
        parameter.default is not parameter.empty
        or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in inspect.signature(function).parameters.values()
    )


def regularize(variable: Variable, name: str, regularizer: Any) -> None:
    """Add the regularization loss of a variable, if it has one."""
    graph = variable.graph
    with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
