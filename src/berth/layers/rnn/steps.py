"""What loops over time have in common: batch sizes, and steps past the end of a sequence."""

from __future__ import annotations

from typing import Any

from berth.graph.nest import assert_same_structure, flatten, map_structure
from berth.layers.rnn.cells import zeros_of
from berth.ops.arrays.gathering import where
from berth.ops.arrays.metadata import axis_size


def initial_state_of(cell: Any, given: Any, batch_size: Any, dtype: Any) -> Any:
    """Return the first state: what was given, or zeros."""
    if given is not None:
        return given
    if not dtype:
        raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def batch_size_of(inputs: Any, axis: int) -> Any:
    """Return the size of the batch, which some input may have known: a number or a tensor."""
    for tensor in inputs:
        dims = tensor.dims
        if dims is not None and len(dims) > axis and dims[axis] is not None:
            return dims[axis]
    return axis_size(inputs[0], axis)


def zero_output_of(cell: Any, batch_size: Any, state: Any, dtype: Any) -> Any:
    """Return what a cell gives past the end of a sequence."""
    kinds = [leaf.dtype.base_dtype for leaf in flatten(state)]
    if dtype is None and any(kind is not kinds[0] for kind in kinds):
        raise ValueError(
            f"Argument state={state} has tensors of different inferred dtypes. Unable to infer "
            f"a single representative dtype. Dtypes received: {kinds}"
        )
    kind = kinds[0] if dtype is None else dtype
    return map_structure(lambda size: zeros_of(batch_size, size, kind), cell.output_size)


def step_within(
    cell: Any, inputs: Any, state: Any, is_over: Any, zero_output: Any
) -> tuple[Any, Any]:
    """Call a cell; where a sequence is over, give zeros and keep the state."""
    output, new_state = cell(inputs, state)
    assert_same_structure(state, new_state)
    if is_over is None:
        return output, new_state
    assert_same_structure(zero_output, output)

    def chosen(old: Any, new: Any) -> Any:
        if old.shape.rank == 0:
            return new
        result: Any = where(is_over, old, new)
        result.set_shape(old.shape)
        return result

    return map_structure(chosen, zero_output, output), map_structure(chosen, state, new_state)
