"""``tf.nn.static_rnn``: a cell called once for each input of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import int32
from berth.front.graph_scope import control_dependencies
from berth.graph.nest import flatten, is_nested, map_structure, pack_sequence_as
from berth.layers.rnn.stacked import check_like_cell
from berth.layers.rnn.steps import (
    batch_size_of,
    initial_state_of,
    step_within,
    zero_output_of,
)
from berth.ops.arrays.array import identity
from berth.ops.arrays.joining import concat, stack, unstack
from berth.ops.arrays.rearranging import reverse_sequence_v1
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.public import public_v1
from berth.variables.scope import variable_scope


@public_v1("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Recurrent network of a fixed length: the outputs of all steps, and the last state."""
    check_like_cell("cell", cell)
    _check_sequence(inputs)
    outputs = []
    with variable_scope(scope or "rnn") as inner:
        flat = [convert(tensor) for tensor in flatten(inputs)]
        inputs = pack_sequence_as(list(inputs), flat)
        _check_sizes(flat)
        batch_size = batch_size_of(flat, 0)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        zero_output, lengths = None, None
        if sequence_length is not None:
            lengths = convert(sequence_length, name="sequence_length")
            if lengths.shape.rank not in (None, 1):
                raise ValueError(
                    f"Argument `sequence_length` must be a vector of length {batch_size}. "
                    f"Received sequence_length={lengths}."
                )
            zero_output = zero_output_of(cell, batch_size, state, dtype)
            lengths = cast(lengths, int32)
        for time, given in enumerate(inputs):
            if time > 0:
                inner.reuse_variables()
            is_over = None if lengths is None else time >= lengths
            output, state = step_within(cell, given, state, is_over, zero_output)
            outputs.append(output)
        return outputs, state


def _check_sequence(inputs: Any) -> None:
    if not is_nested(inputs):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")


def _check_sizes(tensors: Sequence[Any]) -> None:
    if tensors[0].shape.rank == 1:
        return
    for tensor in tensors:
        for number, size in enumerate(tensor.shape.as_list()[1:]):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {number} of input {tensor}) must be accessible via "
                    "shape inference, but saw value None."
                )


@public_v1("nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Recurrent network of a fixed length, whose state is kept from one run to the next."""
    sizes = cell.state_size
    if is_nested(sizes) != is_nested(state_name):
        raise ValueError(
            "Argument `state_name` should be the same type as `cell.state_size`. Received: "
            f"state_name={state_name!s}, cell.state_size={sizes!s}."
        )
    names = flatten(state_name)
    if len(names) != len(flatten(sizes)):
        raise ValueError(
            "Number of elements in argument `state_name` and `cell.state_size` are mismatched. "
            f"Received state_name={state_name} with {len(names)} elements and "
            f"cell.state_size={sizes} with {len(flatten(sizes))} elements."
        )
    first = pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=first, sequence_length=sequence_length, scope=scope
    )
    pairs = zip(names, flatten(state), strict=True)
    saved = [state_saver.save_state(name, part) for name, part in pairs]
    with control_dependencies(saved):
        outputs[-1] = map_structure(identity, outputs[-1])
        return outputs, map_structure(identity, state)


@public_v1("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Two recurrent networks, forwards and backwards, whose outputs are concatenated."""
    check_like_cell("cell_fw", cell_fw)
    check_like_cell("cell_bw", cell_bw)
    _check_sequence(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as inner:
            given = initial_state_fw, dtype, sequence_length, inner
            output_fw, state_fw = static_rnn(cell_fw, inputs, *given)
        with variable_scope("bw") as inner:
            given = initial_state_bw, dtype, sequence_length, inner
            backwards = _reversed(inputs, sequence_length)
            output_bw, state_bw = static_rnn(cell_bw, backwards, *given)
    pairs = zip(output_fw, _reversed(output_bw, sequence_length), strict=True)
    outputs = [map_structure(_joined, one, other) for one, other in pairs]
    return outputs, state_fw, state_bw


def _joined(one: Any, other: Any) -> Any:
    return concat([one, other], 1)


def _reversed(sequence: Any, lengths: Any) -> list[Any]:
    """Reverse a list of inputs, each example by its own length."""
    if lengths is None:
        return list(reversed(sequence))
    columns = []
    for column in zip(*(flatten(each) for each in sequence), strict=True):
        whole = reverse_sequence_v1(stack(column), lengths, seq_axis=0, batch_axis=1)
        columns.append(unstack(whole, num=len(sequence)))
    rows = zip(*columns, strict=True)
    return [pack_sequence_as(each, row) for each, row in zip(sequence, rows, strict=True)]
