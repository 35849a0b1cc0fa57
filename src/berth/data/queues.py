"""Queues of TensorFlow 1: elements that one thread puts into and another takes out of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from berth.data import queue_ops as ops
from berth.dtypes import DType, as_dtype, int64
from berth.front.device_scope import device_v1
from berth.front.graph_scope import convert_to_tensor, name_scope
from berth.ops.builder import apply, apply_list, apply_op
from berth.ops.opdef import OpDef
from berth.ops.random.seeded import get_seed
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor
from berth.public import public_v1


@public_v1("QueueBase")
class QueueBase:
    """What all queues have in common."""

    def __init__(
        self, dtypes: Sequence[DType], shapes: Any, names: Sequence[str] | None, queue_ref: Any
    ) -> None:
        self._dtypes = list(dtypes)
        if shapes is not None:
            if len(shapes) != len(dtypes):
                raise ValueError(
                    "Queue shapes must have the same length as dtypes, received "
                    f"len(shapes)={len(shapes)}, len(dtypes)={len(dtypes)}"
                )
            self._shapes = [TensorShape(shape) for shape in shapes]
        else:
            self._shapes = [TensorShape(None) for _ in dtypes]
        if names is not None and len(names) != len(dtypes):
            raise ValueError(
                "List of names must have the same length as the list of dtypes, received "
                f"len(names)={len(names)},len(dtypes)={len(dtypes)}"
            )
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref
        self._name: str = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: Any) -> QueueBase:
        """Make a queue that stands for one of several: the one that `index` says in a run."""
        if not queues or not isinstance(queues, list) or not all(map(_is_queue, queues)):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == queue.dtypes for queue in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == queue.names for queue in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [
            _common_shape(column) for column in zip(*(q.shapes for q in queues), strict=True)
        ]
        handles = [queue.queue_ref for queue in queues]
        selected = apply(ops.SELECT, (index, *handles), {}, "GatherV2")
        return QueueBase(first.dtypes, shapes, first.names, selected)

    # --- what it is -------------------------------------------------------------------------

    @property
    def queue_ref(self) -> Any:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes the handle."""
        return self._queue_ref.op.name  # type: ignore[no-any-return]

    @property
    def dtypes(self) -> list[DType]:
        """The types of the components of an element."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components of an element."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components of an element, if they have names."""
        return self._names

    # --- putting ----------------------------------------------------------------------------

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Put one element into the queue, waiting while it is full."""
        with name_scope(name, f"{self._name}_enqueue", self._scope_vals(vals)) as scope:
            tensors = self._components(vals)
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                tensor.get_shape().assert_is_compatible_with(shape)
            inputs = (self._queue_ref, *tensors)
            return apply_op(ops.ENQUEUE, inputs, {"timeout_ms": -1}, scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Put elements into the queue, one for each row of the components."""
        with name_scope(name, f"{self._name}_EnqueueMany", self._scope_vals(vals)) as scope:
            tensors = self._components(vals)
            n_rows = None
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                n_rows = _check_rows(tensor.get_shape(), shape, n_rows)
            inputs = (self._queue_ref, *tensors)
            return apply_op(ops.ENQUEUE_MANY, inputs, {"timeout_ms": -1}, scope)

    def _scope_vals(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            return list(vals.values())
        return list(vals) if isinstance(vals, list | tuple) else [vals]

    def _components(self, vals: Any) -> list[Any]:
        """Return the components of elements as tensors."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[key] for key in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(vals, list | tuple):
                vals = [vals]
        return [
            convert_to_tensor(value, dtype=dtype, name=f"component_{position}")
            for position, (value, dtype) in enumerate(zip(vals, self._dtypes, strict=False))
        ]

    # --- taking -----------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Take one element, waiting while there is none."""
        return self._taken(ops.DEQUEUE, (), name or f"{self._name}_Dequeue", ())

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Take so many elements as a batch, waiting until they are there."""
        name = name or f"{self._name}_DequeueMany"
        return self._taken(ops.DEQUEUE_MANY, (n,), name, None)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Take so many elements as a batch; fewer when the queue is closed and has no more."""
        name = name or f"{self._name}_DequeueUpTo"
        return self._taken(ops.DEQUEUE_UP_TO, (n,), name, (None,))

    def _taken(self, op: OpDef, more: tuple[Any, ...], name: str, front: Any) -> Any:
        attrs = {"component_types": self._dtypes, "timeout_ms": -1}
        made = apply_list(op, (self._queue_ref, *more), attrs, name)
        outputs: list[Any] = list(made) if isinstance(made, list | tuple) else [made]
        if front is None:
            n = outputs[0].op.inputs[1].value
            front = (None if n is None else int(n),)
        for output, shape in zip(outputs, self._shapes, strict=True):
            output.set_shape(TensorShape(front).concatenate(shape))
        if self._names:
            return dict(zip(self._names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    # --- the rest ---------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Close the queue: nothing can be put any more, and what is there can be taken."""
        attrs = {"cancel_pending_enqueues": cancel_pending_enqueues}
        return apply_op(ops.CLOSE, (self._queue_ref,), attrs, name or f"{self._name}_Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Tell whether the queue is closed."""
        name = name or f"{self._name}_Is_Closed"
        return apply(ops.IS_CLOSED, (self._queue_ref,), {}, name)

    def size(self, name: str | None = None) -> Tensor:
        """Count the elements."""
        return apply(ops.SIZE, (self._queue_ref,), {}, name or f"{self._name}_Size")


def _is_queue(value: Any) -> bool:
    return isinstance(value, QueueBase)


def _check_rows(found: TensorShape, shape: TensorShape, n_rows: int | None) -> int | None:
    """Check the rows of a component; return how many there are, as far as it is known."""
    if found.rank == 0:
        raise ValueError(f"Shape {found} must have rank at least 1")
    if found.rank is None:
        return n_rows
    found[1:].assert_is_compatible_with(shape)
    if n_rows is not None and found[0] is not None and found[0] != n_rows:
        raise ValueError(f"Dimensions {n_rows} and {found[0]} are not compatible")
    return found[0] if n_rows is None else n_rows


def _common_shape(shapes: Sequence[TensorShape]) -> TensorShape:
    """Return a shape that all have: sizes in which they differ are unknown."""
    first, *others = [shape.dims_or_none for shape in shapes]
    if first is None or any(dims is None or len(dims) != len(first) for dims in others):
        return TensorShape(None)
    columns = zip(first, *others, strict=True)
    return TensorShape([c[0] if all(size == c[0] for size in c) else None for c in columns])


def _handle(
    op: OpDef, dtypes: Any, shapes: Any, name: str, shared_name: Any, **more: Any
) -> Any:
    attrs = {
        "component_types": list(dtypes),
        "shapes": [TensorShape(shape) for shape in shapes or ()],
        "container": "",
        "shared_name": shared_name or "",
        **more,
    }
    with device_v1("CPU"):
        return apply(op, (), attrs, name)


def as_type_list(dtypes: Any) -> list[DType]:
    """Return one type or several as a list."""
    dtypes = dtypes if isinstance(dtypes, list | tuple) else [dtypes]
    return [as_dtype(dtype) for dtype in dtypes]


def _as_shape_list(
    shapes: Any, dtypes: Sequence[DType], *, unknown_dim_allowed: bool = False
) -> list[TensorShape] | None:
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, list | tuple):
        raise TypeError(
            "shapes must be a TensorShape or a list or tuple of TensorShapes, got "
            f"{type(shapes)} instead."
        )
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]  # one shape
    found = [TensorShape(shape) for shape in shapes]
    if not unknown_dim_allowed and any(not shape.is_fully_defined() for shape in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    return found


def _as_name_list(names: Any, dtypes: Sequence[DType]) -> list[str] | None:
    if names is None:
        return None
    names = names if isinstance(names, list | tuple) else [names]
    if len(names) != len(dtypes):
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(names)},len(dtypes)={len(dtypes)}"
        )
    return list(names)


@public_v1("FIFOQueue")
class FIFOQueue(QueueBase):
    """Queue from which elements are taken in the order in which they were put."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        dtypes = as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes)
        names = _as_name_list(names, dtypes)
        _check_shapes(shapes, dtypes)
        ref = _handle(ops.FIFO_QUEUE, dtypes, shapes, name, shared_name, capacity=capacity)
        super().__init__(dtypes, shapes, names, ref)


def _check_shapes(shapes: Any, dtypes: Sequence[DType]) -> None:
    if shapes is not None and len(shapes) != len(dtypes):
        raise ValueError(
            "Queue shapes must have the same length as dtypes, received "
            f"len(shapes)={len(shapes)}, len(dtypes)={len(dtypes)}"
        )


@public_v1("RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """Queue from which elements are taken in random order."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        dtypes = as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes)
        names = _as_name_list(names, dtypes)
        _check_shapes(shapes, dtypes)
        seed1, seed2 = get_seed(seed)
        if seed is None and shared_name is not None and (seed1, seed2) != (0, 0):
            # Queues that share a name share their seed, whichever is made first.
            digest = hashlib.md5(f"{seed1}{shared_name}".encode(), usedforsecurity=False)
            seed2 = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
        ref = _handle(
            ops.RANDOM_SHUFFLE_QUEUE,
            dtypes,
            shapes,
            name,
            shared_name,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1,
            seed2=seed2,
        )
        super().__init__(dtypes, shapes, names, ref)


@public_v1("PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """FIFO queue of elements that may differ in size; batches are padded with zeros."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        dtypes = as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes, unknown_dim_allowed=True)
        names = _as_name_list(names, dtypes)
        if shapes is None:
            raise ValueError(
                "When providing partial shapes, a list of shapes must be provided."
            )
        if len(dtypes) != len(shapes):
            raise ValueError(
                "Shapes must be provided for all components, but received "
                f"{len(dtypes)} dtypes and {len(shapes)} shapes."
            )
        ref = _handle(
            ops.PADDING_FIFO_QUEUE, dtypes, shapes, name, shared_name, capacity=capacity
        )
        super().__init__(dtypes, shapes, names, ref)


@public_v1("PriorityQueue")
class PriorityQueue(QueueBase):
    """Queue whose elements begin with a number; the least comes out first."""

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        types = as_type_list(types)
        shapes = _as_shape_list(shapes, types)
        ref = _handle(ops.PRIORITY_QUEUE, types, shapes, name, shared_name, capacity=capacity)
        priority = TensorShape([])
        known = [priority, *(shapes or [TensorShape(None)] * len(types))]
        super().__init__([int64, *types], known, names, ref)
