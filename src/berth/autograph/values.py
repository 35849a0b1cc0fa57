"""Values that pass through conditionals and loops on tensors: checks, and placeholders."""

from __future__ import annotations

from typing import Any

from berth.autograph.state import UNDEFINED
from berth.control_flow.cond import building
from berth.control_flow.subgraph import SubgraphFuncGraph
from berth.dtypes import bool_
from berth.graph.graph import Graph
from berth.graph.nest import (
    assert_same_structure,
    flatten,
    is_composite,
    map_structure,
    pack_sequence_as,
)
from berth.ops.arrays.filling import zeros
from berth.ops.builder import current
from berth.ops.compose import is_tensor
from berth.ops.shape import TensorShape


def is_staged(value: Any) -> bool:
    """Tell whether a value is a tensor, or variable, while a graph is built."""
    if isinstance(value, bool | int | str) or value is None:
        return False
    return (is_tensor(value) or hasattr(value, "as_tensor")) and building() is not None


def graph() -> Graph:
    """Return the graph that is built."""
    here = building()
    assert here is not None
    return here


def scratch_graph() -> SubgraphFuncGraph:
    """Return a graph to try something in that is then dropped."""
    return SubgraphFuncGraph("scratch", graph())


def check_condition(value: Any, what: str) -> None:
    """Raise ValueError unless a condition is one boolean."""
    dtype, dims = value.dtype.base_dtype, getattr(value, "dims", None)
    is_bool = dtype is bool_
    if is_bool and not dims:
        return
    hint = "" if is_bool else " to use as boolean Tensor, use `tf.cast`;"
    raise ValueError(
        f"condition of {what} expected to be `tf.bool` scalar, got {value};{hint} to check for "
        "None, use `is not None`"
    )


def as_tensors(value: Any, name: str, where: str) -> Any:
    """Convert the leaves of a structure to tensors; composite tensors stay as they are."""
    here: Any = current()

    def converted(leaf: Any) -> Any:
        if is_composite(leaf):
            return leaf
        try:
            return here.convert(leaf)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"'{name}' must be a Tensor, or a structure of them, {where}; found a value of "
                f"type {type(leaf).__name__}, which is not a Tensor: {leaf!r}"
            ) from error

    return map_structure(converted, value)


def same_structure(before: Any, after: Any) -> str:
    """Return what is different between two structures; an empty text if nothing is."""
    try:
        assert_same_structure(before, after)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def is_missing(value: Any) -> bool:
    """Tell whether a variable has no value yet, or None, which stands for that."""
    return value is UNDEFINED or value is None


def zeros_like_spec(value: Any) -> Any:
    """Return zeros like the tensors of another graph, with 1 for each unknown size."""

    def zero(leaf: Any) -> Any:
        dims = [1 if size is None else size for size in leaf.dims or ()]
        return zeros(dims, leaf.dtype.base_dtype)

    leaves = [zero(leaf) for leaf in flatten(value, True)]
    return pack_sequence_as(value, leaves, expand_composites=True)


def shape_text(value: Any) -> TensorShape:
    """Return the shape of a tensor."""
    return TensorShape(value.dims)
