"""Input producers of TensorFlow 1: queues that give file names, numbers or rows, by epochs."""

from __future__ import annotations

from typing import Any

from berth.data.queues import FIFOQueue
from berth.dtypes import float32, int64, string
from berth.eager.mode import executing_eagerly
from berth.front.graph_scope import control_dependencies, convert_to_tensor, name_scope
from berth.graph.keys import GraphKeys
from berth.ops.arrays.array import constant, identity
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.metadata import shape, size
from berth.ops.compose import is_tensor
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater
from berth.ops.flow.control import Assert
from berth.ops.random.sampling import shuffle as random_shuffle
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor
from berth.public import public_v1
from berth.summary.summary_ops import scalar
from berth.train.queue_runner import QueueRunner, add_queue_runner
from berth.variables.variable import Variable

_NO_INPUT = "string_input_producer requires a non-null input tensor"


def refuse_eager() -> None:
    """Raise RuntimeError in an eager program: queues are filled by a session's threads."""
    if executing_eagerly():
        raise RuntimeError(
            "Input pipelines based on Queues are not supported when eager execution is "
            "enabled. Please use tf.data to ingest data into your model instead."
        )


@public_v1("train.limit_epochs")
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return a tensor so many times, then raise OutOfRangeError. A local variable counts."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


@public_v1("train.input_producer")
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Make a queue of the rows of a tensor, and a queue runner that fills it."""
    refuse_eager()
    with name_scope(name, "input_producer", [input_tensor]) as scope:
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        if rows.shape.rank == 0:
            raise ValueError(f"Shape {rows.shape} must have rank at least 1")
        row = TensorShape(element_shape)
        if rows.shape.rank is not None:
            row = rows.shape[1:].merge_with(row)
        if not row.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must "
                "be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        types = [rows.dtype.base_dtype]
        queue = FIFOQueue(capacity, types, [row], shared_name=shared_name, name=scope)
        runner = QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op)
        add_queue_runner(runner)
        if summary_name is not None:
            scalar(summary_name, cast(queue.size(), float32) * (1.0 / capacity))
        return queue


@public_v1("train.string_input_producer")
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Make a queue of strings (file names, usually), and a queue runner that fills it."""
    refuse_eager()
    is_given = is_tensor(string_tensor) or hasattr(string_tensor, "as_tensor")
    if not is_given and not string_tensor:
        raise ValueError(_NO_INPUT)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings: Any = convert_to_tensor(string_tensor, dtype=string)
        with control_dependencies([Assert(greater(size(strings), 0), [_NO_INPUT])]):
            strings = identity(strings)
        return input_producer(
            strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            summary_name=f"fraction_of_{capacity}_full",
            name=scope,
            cancel_op=cancel_op,
        )


@public_v1("train.range_input_producer")
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Make a queue of the numbers from 0 to limit - 1, and a queue runner that fills it."""
    refuse_eager()
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_of(limit),
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            summary_name=f"fraction_of_{capacity}_full",
            name=scope,
        )


@public_v1("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Give the rows of several tensors together, a row of each in a run."""
    refuse_eager()
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        n_rows = shape(tensors[0])[0]
        queue = range_input_producer(
            n_rows,
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
