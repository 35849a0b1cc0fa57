"""``tf.data.experimental``: transformations for `Dataset.apply`, and functions of datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from berth.data.dataset import Dataset
from berth.data.parallel import AUTOTUNE, Prefetch
from berth.data.pipeline import INFINITE, Node, Pipeline
from berth.data.structure import Element, as_input
from berth.data.transformations import AssertCardinality, Stage
from berth.dtypes import as_dtype, int64
from berth.eager.tensor import EagerTensor
from berth.front.context import context
from berth.front.device_scope import EagerDevice
from berth.graph.nest import flatten
from berth.ops.arrays.array import identity
from berth.ops.type_spec import TensorSpec
from berth.public import public

Transformation = Callable[[Any], Any]


class CopyToDevice(Stage):
    """The same elements, as tensors on a device."""

    kind = "CopyToDeviceDataset"

    def __init__(self, parent: Pipeline, *, device: str, dtypes: Any) -> None:
        super().__init__(parent)
        self._device = device
        self._dtypes = dtypes

    def iterate(self) -> Iterator[Element]:
        return map(self._copied, self._parent.iterate())

    def _copied(self, element: Element) -> Element:
        host = context().opened()[0]
        with EagerDevice(self._device):
            return tuple(
                identity(EagerTensor(np.asarray(leaf), host, dtype))
                for leaf, dtype in zip(element, self._dtypes, strict=True)
            )


@public("data.experimental.copy_to_device")
def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Copy elements to a device."""

    def apply(dataset: Any) -> Any:
        dtypes = [leaf.dtype for leaf in flatten(dataset.element_spec)]
        return dataset._derived(CopyToDevice, device=target_device, dtypes=dtypes)

    return apply


@public("data.experimental.prefetch_to_device")
def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """Copy elements to a device, ahead of their use; the last transformation of a dataset."""

    def apply(dataset: Any) -> Any:
        copied = copy_to_device(device)(dataset)
        size = as_input(AUTOTUNE if buffer_size is None else buffer_size, int64)
        return copied._derived(Prefetch, size)

    return apply


@public("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(
    buffer_size: Any, count: Any = None, seed: int | None = None
) -> Transformation:
    """Shuffle, in another order each time, and repeat."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@public("data.experimental.map_and_batch")
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Map, and make batches of the results."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and "
            "`num_parallel_calls` to be set, but both were set."
        )
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = num_parallel_batches * batch_size
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


@public("data.experimental.ignore_errors")
def ignore_errors(log_warning: bool = False) -> Transformation:
    """Leave out elements that raise an error."""
    return lambda dataset: dataset.ignore_errors(log_warning)


@public("data.experimental.unbatch")
def unbatch() -> Transformation:
    """Make elements of the rows of each."""
    return lambda dataset: dataset.unbatch()


@public("data.experimental.unique")
def unique() -> Transformation:
    """Leave out elements that were there before."""
    return lambda dataset: dataset.unique()


@public("data.experimental.enumerate_dataset")
def enumerate_dataset(start: Any = 0) -> Transformation:
    """Number the elements."""
    return lambda dataset: dataset.enumerate(start)


@public("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Take elements up to the first for which a function is False."""
    return lambda dataset: dataset.take_while(predicate)


@public("data.experimental.scan")
def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Map with a state."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


@public("data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Read several datasets at a time, in turn."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


@public("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Make batches of elements of about the same length."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


@public("data.experimental.group_by_window")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Combine elements of the same key."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


@public("data.experimental.cardinality")
def cardinality(dataset: Any) -> Any:
    """Return the number of elements as a tensor; -1 if infinite, -2 if unknown."""
    return dataset.cardinality()


@public("data.experimental.assert_cardinality")
def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """Raise an error unless there are so many elements."""
    return lambda dataset: dataset._derived(
        AssertCardinality, as_input(expected_cardinality, int64)
    )


@public("data.experimental.get_single_element")
def get_single_element(dataset: Any) -> Any:
    """Return the only element."""
    return dataset.get_single_element()


@public("data.experimental.get_next_as_optional")
def get_next_as_optional(iterator: Any) -> Any:
    """Return the next element of an iterator, or the end, as an optional."""
    return iterator.get_next_as_optional()


@public("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the specs of the elements of a dataset or an iterator."""
    return dataset_or_iterator.element_spec


@public("data.experimental.Counter")
def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Any:
    """Make a dataset of numbers without end."""
    spec = TensorSpec([], dtype)
    inputs = [as_input(start, int64), as_input(step, int64)]
    return Dataset(Node(_Counter, spec, inputs=inputs, dtype=as_dtype(dtype).np_dtype))


class _Counter(Pipeline):
    """Numbers without end."""

    kind = "CounterDataset"

    def __init__(self, start: Any, step: Any, *, dtype: Any) -> None:
        self._start, self._step = int(start), int(step)
        self._type = np.dtype(dtype).type

    def iterate(self) -> Iterator[Element]:
        number = self._start
        while True:
            yield (self._type(number),)
            number += self._step

    def cardinality(self) -> int:
        return INFINITE
