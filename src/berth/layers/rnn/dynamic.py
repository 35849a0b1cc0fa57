"""``tf.nn.dynamic_rnn``: a cell in a loop over time, of whatever length.

The loop is one operation, whose body has the operations of one step.
"""

from __future__ import annotations

from typing import Any

from berth.control_flow.map_fn import EachElement
from berth.dtypes import int32
from berth.front.graph_scope import control_dependencies
from berth.graph.nest import flatten, map_structure, pack_sequence_as
from berth.layers.rnn.stacked import check_like_cell
from berth.layers.rnn.steps import (
    batch_size_of,
    initial_state_of,
    step_within,
    zero_output_of,
)
from berth.ops.arrays.array import identity
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.rearranging import reverse, reverse_sequence_v1
from berth.ops.arrays.transpose import transpose
from berth.ops.compose import convert, is_eager
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.flow.control import Assert
from berth.ops.reductions.reduction import reduce_all
from berth.public import public_v1
from berth.variables.scope import variable_scope


@public_v1("nn.dynamic_rnn")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Recurrent network over time: all outputs, and the last state.

    Inputs have the shape [batch, time, ...], or [time, batch, ...] if `time_major`. Past the
    end of a sequence outputs are 0 and the state stays.
    """
    check_like_cell("cell", cell)
    with variable_scope(scope or "rnn"):
        tensors = [convert(tensor) for tensor in flatten(inputs)]
        if not time_major:
            tensors = [_exchanged(tensor) for tensor in tensors]
        batch_size = batch_size_of(tensors, 1)
        if sequence_length is not None:
            sequence_length = _lengths(sequence_length)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        if sequence_length is not None and not is_eager():
            sequence_length = _checked_lengths(sequence_length, batch_size)
        _check_inputs(tensors)
        outputs, state = _loop(cell, inputs, tensors, state, sequence_length, batch_size, dtype)
        if not time_major:
            outputs = map_structure(_exchanged, outputs)
        return outputs, state


def _exchanged(tensor: Any) -> Any:
    """Exchange the axes of batch and time."""
    rank = tensor.shape.rank
    if rank is not None and rank < 2:
        return tensor
    order: Any = [1, 0, *range(2, rank)] if rank else None
    if order is None:
        order = concat([[1, 0], range_of(2, rank_of(tensor))], 0)
    return transpose(tensor, order)


def _lengths(sequence_length: Any) -> Any:
    lengths = cast(sequence_length, int32)
    if lengths.shape.rank not in (None, 1):
        raise ValueError(
            "Argument sequence_length must be a vector of length batch_size. Received "
            f"sequence_length={lengths} of shape: {lengths.shape}"
        )
    return identity(lengths, name="sequence_length")


def _checked_lengths(lengths: Any, batch_size: Any) -> Any:
    shape = shape_of(lengths)
    expected = convert([batch_size])
    text = f"Expected shape for Tensor {lengths.name} is "
    check = Assert(
        reduce_all(equal(shape, expected)), [text, expected, " but saw shape: ", shape]
    )
    with control_dependencies([check]):
        return identity(lengths, name="CheckSeqLen")


def _check_inputs(tensors: list[Any]) -> None:
    shapes = [tensor.shape.as_list() for tensor in tensors if tensor.shape.rank is not None]
    for tensor in tensors:
        if tensor.shape.rank is not None and tensor.shape.rank < 3:
            raise ValueError(f"Shape {tensor.shape} must have rank at least 3")
        if tensor.shape.rank is None or None in tensor.shape.as_list()[2:]:
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw "
                f"value None for input={tensor}."
            )
    for tensor, shape in zip(tensors, shapes, strict=True):
        if shape[0] != shapes[0][0]:
            raise ValueError(
                "Time steps is not the same for all the elements in the input in a batch. "
                f"Received time steps={shape[0]} for input={tensor}."
            )
        if shape[1] != shapes[0][1]:
            raise ValueError(
                "Batch_size is not the same for all the elements in the input. Received batch "
                f"size={shape[1]} for input={tensor}."
            )


def _loop(
    cell: Any,
    structure: Any,
    tensors: list[Any],
    state: Any,
    lengths: Any,
    batch_size: Any,
    dtype: Any,
) -> tuple[Any, Any]:
    state = map_structure(convert, state)
    zero_output = zero_output_of(cell, batch_size, state, dtype)
    elements = list(tensors)
    if lengths is not None:
        elements.append(range_of(axis_size(tensors[0], 0)))

    def step(variables: list[Any], values: list[Any]) -> tuple[list[Any], list[Any]]:
        is_over = None if lengths is None else values[-1] >= lengths
        given = pack_sequence_as(structure, values[: len(tensors)])
        before = pack_sequence_as(state, variables)
        output, after = step_within(cell, given, before, is_over, zero_output)
        return flatten(after), flatten(output)

    loop = EachElement(elements, reverse=False, name="rnn")
    ends, rows = loop.run(step, flatten(state))
    if not rows:  # an eager loop without steps
        rows = [convert(zero[None][:0]) for zero in flatten(zero_output)]
    return pack_sequence_as(zero_output, rows), pack_sequence_as(state, ends)


@public_v1("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Two recurrent networks, forwards and backwards: pairs of outputs, and of last states."""
    check_like_cell("cell_fw", cell_fw)
    check_like_cell("cell_bw", cell_bw)
    time, batch = (0, 1) if time_major else (1, 0)

    def reversed_in_time(tensor: Any) -> Any:
        if sequence_length is None:
            return reverse(tensor, [time])
        return reverse_sequence_v1(tensor, sequence_length, seq_axis=time, batch_axis=batch)

    def run(cell: Any, given: Any, state: Any, inner: Any) -> tuple[Any, Any]:
        return dynamic_rnn(
            cell,
            given,
            sequence_length,
            state,
            dtype,
            time_major=time_major,
            scope=inner,
        )

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as inner:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, inner)
        with variable_scope("bw") as inner:
            backwards = map_structure(reversed_in_time, inputs)
            output_bw, state_bw = run(cell_bw, backwards, initial_state_bw, inner)
    output_bw = map_structure(reversed_in_time, output_bw)
    return (output_fw, output_bw), (state_fw, state_bw)
