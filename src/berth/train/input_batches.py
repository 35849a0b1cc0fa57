"""Batches of TensorFlow 1: queues between the threads that read and the step that trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from berth.control_flow.cond import cond
from berth.data.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from berth.dtypes import bool_, float32
from berth.front.graph_scope import convert_to_tensor, name_scope
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.flow.control import no_op
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.summary.summary_ops import scalar
from berth.train.input_producers import refuse_eager
from berth.train.queue_runner import QueueRunner, add_queue_runner


class _Way:
    """How elements are batched: what the eight functions differ in."""

    def __init__(
        self, queue: Callable[..., QueueBase], default_name: str, **options: Any
    ) -> None:
        self.make_queue = queue
        self.default_name = default_name
        self.batch_size = options["batch_size"]
        self.capacity: int = options["capacity"]
        self.enqueue_many: bool = options["enqueue_many"]
        self.shapes = options["shapes"]
        self.takes_less: bool = options["allow_smaller_final_batch"]
        self.shared_name = options["shared_name"]
        self.name = options["name"]
        self.keep_input = options.get("keep_input", True)
        self.keeps_back: int = options.get("min_after_dequeue", 0)


def _batched(way: _Way, givens: Sequence[Any], n_threads: int = 1) -> Any:
    """Make the queue, its queue runner, and the operation that takes a batch."""
    refuse_eager()
    first = givens[0]
    lists = [_as_list(given) for given in givens]
    flat = [tensor for tensors in lists for tensor in tensors]
    with name_scope(way.name, way.default_name, [*flat, way.keep_input]) as scope:
        lists = [_tensors(tensors, way.default_name) for tensors in lists]
        keep = _checked_keep(convert_to_tensor(way.keep_input), way)
        types = _common_types(lists)
        shapes = _common_shapes(lists, way)
        queue = way.make_queue(types, shapes, way.shared_name)
        ops = []
        for tensors in lists:
            ops += [_enqueue(queue, tensors, keep, way)] * n_threads
        add_queue_runner(QueueRunner(queue, ops))
        _summarize(queue, way)
        take = queue.dequeue_up_to if way.takes_less else queue.dequeue_many
        dequeued = take(way.batch_size, name=scope)
    if isinstance(first, Mapping):
        parts = dequeued if isinstance(dequeued, list) else [dequeued]
        return dict(zip(sorted(first), parts, strict=True))
    return dequeued


def _as_list(given: Any) -> list[Any]:
    return [given[key] for key in sorted(given)] if isinstance(given, Mapping) else list(given)


def _tensors(values: Sequence[Any], where: str) -> list[Any]:
    tensors = [convert_to_tensor(value) for value in values]
    if not tensors:
        raise ValueError(f"Expected at least one tensor in {where.partition('_join')[0]}().")
    return tensors


def _checked_keep(keep: Any, way: _Way) -> Any:
    rank = keep.shape.rank
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not way.enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _common_types(lists: Sequence[Sequence[Any]]) -> list[Any]:
    types = [tensor.dtype.base_dtype for tensor in lists[0]]
    for tensors in lists[1:]:
        others = [tensor.dtype.base_dtype for tensor in tensors]
        if others != types:
            raise TypeError(
                f"Expected types to be consistent: {', '.join(t.name for t in types)} vs. "
                f"{', '.join(t.name for t in others)}."
            )
    return types


def _common_shapes(lists: Sequence[Sequence[Any]], way: _Way) -> Any:
    """Return the shapes of an element: what all the lists have in common."""
    if way.shapes is not None:
        return way.shapes
    shapes = []
    for column in zip(*lists, strict=True):
        for tensor in column:
            if tensor.shape.rank is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
        found = [tensor.shape.dims_or_none[1 if way.enqueue_many else 0 :] for tensor in column]
        sizes = zip(*found, strict=True)
        shapes.append(TensorShape([s[0] if len(set(s)) == 1 else None for s in sizes]))
    return shapes


def _enqueue(queue: QueueBase, tensors: list[Any], keep: Any, way: _Way) -> Any:
    put = queue.enqueue_many if way.enqueue_many else queue.enqueue
    if keep.shape.rank == 1:
        return put([boolean_mask(tensor, keep) for tensor in tensors])
    if keep.value is not None:
        return put(tensors) if keep.value else no_op()
    return cond(cast(keep, bool_), lambda: put(tensors), no_op)


def _summarize(queue: QueueBase, way: _Way) -> None:
    """Summarize how full the queue is, not counting what it keeps back."""
    room, size = way.capacity, queue.size()
    label = f"fraction_of_{room}_full"
    if way.keeps_back:
        room -= way.keeps_back
        label = f"fraction_over_{way.keeps_back}_of_{room}_full"
        size = maximum(0, size - way.keeps_back)
    scalar(label, cast(size, float32) * (1.0 / room))


def _in_order(options: Mapping[str, Any]) -> Callable[..., QueueBase]:
    def make(types: Any, shapes: Any, shared_name: Any) -> QueueBase:
        kind: Any = PaddingFIFOQueue if options["dynamic_pad"] else FIFOQueue
        queue: QueueBase = kind(options["capacity"], types, shapes, shared_name=shared_name)
        return queue

    return make


def _shuffled(options: Mapping[str, Any]) -> Callable[..., QueueBase]:
    capacity, keeps_back = options["capacity"], options["min_after_dequeue"]
    if capacity <= keeps_back:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {keeps_back}."
        )

    def make(types: Any, shapes: Any, shared_name: Any) -> QueueBase:
        return RandomShuffleQueue(
            capacity,
            keeps_back,
            types,
            shapes,
            seed=options["seed"],
            shared_name=shared_name,
        )

    return make


def _plain_batch(default_name: str, givens: Any, n_threads: int = 1, **options: Any) -> Any:
    return _batched(_Way(_in_order(options), default_name, **options), givens, n_threads)


def _shuffle_batch(default_name: str, givens: Any, n_threads: int = 1, **options: Any) -> Any:
    return _batched(_Way(_shuffled(options), default_name, **options), givens, n_threads)


@public_v1("train.batch")
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of tensors that threads compute again and again."""
    options = dict(locals())
    del options["tensors"], options["num_threads"]
    return _plain_batch("batch", [tensors], num_threads, **options)


@public_v1("train.maybe_batch")
def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches as `batch` does, of those tensors alone for which `keep_input` is true."""
    options = dict(locals())
    del options["tensors"], options["num_threads"]
    return _plain_batch("batch", [tensors], num_threads, **options)


@public_v1("train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of several lists of tensors, a thread for each."""
    options = dict(locals())
    del options["tensors_list"]
    return _plain_batch("batch_join", list(tensors_list), **options)


@public_v1("train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches as `batch_join` does, of those for which `keep_input` is true."""
    options = dict(locals())
    del options["tensors_list"]
    return _plain_batch("batch_join", list(tensors_list), **options)


@public_v1("train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of tensors that threads compute again and again, in random order."""
    options = dict(locals())
    del options["tensors"], options["num_threads"]
    return _shuffle_batch("shuffle_batch", [tensors], num_threads, **options)


@public_v1("train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches as `shuffle_batch` does, of those for which `keep_input` is true."""
    options = dict(locals())
    del options["tensors"], options["num_threads"]
    return _shuffle_batch("shuffle_batch", [tensors], num_threads, **options)


@public_v1("train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches of several lists of tensors, a thread for each, in random order."""
    options = dict(locals())
    del options["tensors_list"]
    return _shuffle_batch("shuffle_batch_join", list(tensors_list), **options)


@public_v1("train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Make batches as `shuffle_batch_join` does, of those for which `keep_input` is true."""
    options = dict(locals())
    del options["tensors_list"]
    return _shuffle_batch("shuffle_batch_join", list(tensors_list), **options)
