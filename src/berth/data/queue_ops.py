"""Operations of queues: a handle for each kind, and what is done with one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from berth.data import queue_kinds
from berth.data.queue_objects import Close, Put, Queue, Take
from berth.dtypes import DType, bool_, int32, int64, resource
from berth.errors import InvalidArgumentError
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Launch,
    OpDef,
    OutputType,
    Source,
    Typed,
    all_devices,
    host_only,
)
from berth.run.host_calls import HostObjects, Pending

Inputs = Sequence[Any]
Waits = Generator[Pending, Any, Any]


def _no_binding(launch: Launch) -> None:
    raise AssertionError("an operation on an object of the session is a host call")


# --- handles --------------------------------------------------------------------------------


def handle_op(name: str, make: Callable[[Attrs, str], Any], *, on_gpu: bool = False) -> OpDef:
    """Define an operation that gives a handle of an object of the session."""
    return OpDef(
        name,
        "",
        _handle_type,
        source=Source.HANDLE,
        is_stateful=True,
        host_call=make,
        kernels=(all_devices if on_gpu else host_only)(_no_binding),
        gradient=NOT_DIFFERENTIABLE,
    )


def _handle_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((resource, ()),)


def _shapes(attrs: Attrs) -> list[Any]:
    return [shape.dims_or_none for shape in attrs["shapes"]]


def _make_fifo(attrs: Attrs, name: str) -> Queue:
    return Queue(name, attrs["capacity"], attrs["component_types"], _shapes(attrs))


def _make_random_shuffle(attrs: Attrs, name: str) -> Queue:
    capacity, keeps = attrs["capacity"], attrs["min_after_dequeue"]
    if keeps < 0:
        message = f"min_after_dequeue {keeps} must be >= 0"
        raise InvalidArgumentError(None, None, message)
    if 0 <= capacity <= keeps:
        message = f"min_after_dequeue {keeps} must be < capacity {capacity}"
        raise InvalidArgumentError(None, None, message)
    seeds = attrs["seed"], attrs["seed2"]
    types = attrs["component_types"]
    return queue_kinds.RandomShuffleQueue(name, capacity, types, _shapes(attrs), keeps, seeds)


def _make_padding(attrs: Attrs, name: str) -> Queue:
    capacity, types = attrs["capacity"], attrs["component_types"]
    return queue_kinds.PaddingFIFOQueue(name, capacity, types, _shapes(attrs))


def _make_priority(attrs: Attrs, name: str) -> Queue:
    types = (int64, *attrs["component_types"])
    return queue_kinds.PriorityQueue(name, attrs["capacity"], types, [(), *_shapes(attrs)])


FIFO_QUEUE = handle_op("FIFOQueueV2", _make_fifo, on_gpu=True)
RANDOM_SHUFFLE_QUEUE = handle_op("RandomShuffleQueueV2", _make_random_shuffle)
PADDING_FIFO_QUEUE = handle_op("PaddingFIFOQueueV2", _make_padding)
PRIORITY_QUEUE = handle_op("PriorityQueueV2", _make_priority)


# --- what is done with them -----------------------------------------------------------------


def host_call_op(
    name: str,
    arguments: str,
    call: Callable[[Inputs, Attrs, HostObjects], Any],
    infer: Callable[[Sequence[Typed], Attrs], Sequence[OutputType]],
    *,
    on_gpu: bool = False,
    types: Mapping[str, Sequence[DType]] | None = None,
) -> OpDef:
    """Define an operation on objects of the session."""
    return OpDef(
        name,
        arguments,
        infer,
        types=types,
        is_stateful=True,
        host_call=call,
        kernels=(all_devices if on_gpu else host_only)(_no_binding),
        gradient=NOT_DIFFERENTIABLE,
    )


def nothing(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Infer the outputs of an operation that has none."""
    return ()


def _components(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return tuple((dtype, None) for dtype in attrs["component_types"])


def _enqueue(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    queue: Queue = objects.of(inputs[0])
    components = inputs[1:]
    queue.check(components, is_batch=False)
    element = tuple(_kept(array) for array in components)
    return (yield Put(queue, [element]))


def _enqueue_many(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    queue: Queue = objects.of(inputs[0])
    components = inputs[1:]
    queue.check(components, is_batch=True)
    columns = [_rows(_kept(array)) for array in components]
    return (yield Put(queue, list(zip(*columns, strict=True))))


def _kept(array: Any) -> Any:
    """Copy what the caller of a run may change, or what the next run writes over."""
    return np.array(array)


def _rows(array: Any) -> list[Any]:
    """Return the rows of an array as arrays, those of a list of scalars too."""
    return [array[position, ...] for position in range(len(array))]


def _dequeue(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    [element] = yield Take(objects.of(inputs[0]), 1)
    return [np.asarray(component) for component in element]


def _dequeue_many(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    return (yield from _dequeue_batch(inputs, objects, "DequeueManyOp", takes_less=False))


def _dequeue_up_to(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    return (yield from _dequeue_batch(inputs, objects, "DequeueUpToOp", takes_less=True))


def _dequeue_batch(
    inputs: Inputs, objects: HostObjects, which: str, *, takes_less: bool
) -> Waits:
    queue: Queue = objects.of(inputs[0])
    n = int(inputs[1])
    if n < 0:
        message = f"{which} requested {n} < 0 elements"
        raise InvalidArgumentError(None, None, message)
    queue.check_shapes_known()
    taken = yield Take(queue, n, takes_less=takes_less)
    return queue.batch(taken)


def _close(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    queue: Queue = objects.of(inputs[0])
    if attrs["cancel_pending_enqueues"]:
        queue.cancel_puts()
        return ()
    return (yield Close(queue))


def _size(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [np.array(objects.of(inputs[0]).size, np.int32)]


def _is_closed(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [np.array(objects.of(inputs[0]).is_closed)]


def _one_size(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int32, ()),)


def _one_truth(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((bool_, ()),)


def _select(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    index, *handles = inputs
    position = int(index)
    if not 0 <= position < len(handles):
        message = f"indices = {position} is not in [0, {len(handles)})"
        raise InvalidArgumentError(None, None, message)
    return [handles[position]]


_HANDLE = "handle:resource"
ENQUEUE = host_call_op(
    "QueueEnqueueV2", f"{_HANDLE} components:Any*", _enqueue, nothing, on_gpu=True
)
ENQUEUE_MANY = host_call_op(
    "QueueEnqueueManyV2", f"{_HANDLE} components:Any*", _enqueue_many, nothing
)
DEQUEUE = host_call_op("QueueDequeueV2", _HANDLE, _dequeue, _components, on_gpu=True)
DEQUEUE_MANY = host_call_op(
    "QueueDequeueManyV2", f"{_HANDLE} n:int32", _dequeue_many, _components
)
DEQUEUE_UP_TO = host_call_op(
    "QueueDequeueUpToV2", f"{_HANDLE} n:int32", _dequeue_up_to, _components
)
CLOSE = host_call_op("QueueCloseV2", _HANDLE, _close, nothing, on_gpu=True)
SIZE = host_call_op("QueueSizeV2", _HANDLE, _size, _one_size, on_gpu=True)
IS_CLOSED = host_call_op("QueueIsClosedV2", _HANDLE, _is_closed, _one_truth)
SELECT = host_call_op("RefSelect", "index:int32 inputs:resource*", _select, _handle_type)
