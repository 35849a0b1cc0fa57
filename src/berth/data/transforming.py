"""How datasets are transformed: the methods of `Dataset` that return another."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from berth.data.batching import Batch
from berth.data.caching import Cache
from berth.data.creation import DatasetCreation
from berth.data.element_function import ElementFunction
from berth.data.grouping import DirectedInterleave, GroupByWindow, Unique
from berth.data.mapping import FlatMap, Interleave, Map, Scan, TakeWhile
from berth.data.parallel import AUTOTUNE, ParallelMap, Prefetch
from berth.data.pipeline import Node
from berth.data.shuffling import Shuffle
from berth.data.sources import Range
from berth.data.structure import (
    DatasetSpec,
    as_input,
    common_spec,
    is_unpacked,
    map_leaves,
    spec_of,
    with_dims,
)
from berth.data.transformations import (
    Concatenate,
    Filter,
    IgnoreErrors,
    Repeat,
    Shard,
    Skip,
    Take,
    Unbatch,
    Zip,
)
from berth.data.windows import Window
from berth.dtypes import bool_, int64, string
from berth.graph.nest import flatten, is_nested
from berth.ops.compose import convert
from berth.ops.random.seeded import get_seed
from berth.ops.shape import Dims
from berth.ops.type_spec import TensorSpec

_numbers = count(1)


class DatasetTransformations(DatasetCreation):
    """The methods of `Dataset` that return another dataset."""

    _node: Node

    def _derived(
        self, make: Any, *inputs: Any, spec: Any = None, others: Any = (), **options: Any
    ) -> Any:
        """Return a dataset with one more stage."""
        functions: Any = {k: v for k, v in options.items() if isinstance(v, ElementFunction)}
        rest = {k: v for k, v in options.items() if k not in functions}
        if functions:
            stage = make.kind.removesuffix("Dataset")
            rest["label"] = (
                f"{make.kind}:{next(_numbers)} transformation with iterator: "
                f"Iterator::Root::{stage}"
            )
        parents = [self._node, *(other._node for other in others)]
        spec = self._node.spec if spec is None else spec
        return self._like(Node(make, spec, parents, inputs, functions, **rest))

    def _like(self, node: Node) -> Any:
        """Return a dataset of the same class."""
        return self._class(node)

    @property
    def _class(self) -> Any:
        return next(kind for kind in type(self).__mro__ if "_is_dataset_class" in vars(kind))

    def _function(self, function: Any, name: str, spec: Any = None) -> ElementFunction:
        given = self._node.spec if spec is None else spec
        return ElementFunction(function, given, f"Dataset.{name}()", self._class)

    # --- choosing -------------------------------------------------------------------------

    def take(self, count: Any, name: str | None = None) -> Any:
        """Return a dataset of the first `count` elements; of all for -1."""
        return self._derived(Take, as_input(count, int64))

    def skip(self, count: Any, name: str | None = None) -> Any:
        """Return a dataset without the first `count` elements."""
        return self._derived(Skip, as_input(count, int64))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Any:
        """Return a dataset of every `num_shards`-th element, beginning with number `index`."""
        return self._derived(Shard, as_input(num_shards, int64), as_input(index, int64))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Return a dataset of the elements for which a function returns True."""
        function = self._function(predicate, "filter")
        _check_predicate(function.spec)
        return self._derived(Filter, predicate=function)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Return a dataset of the elements up to the first for which a function is False."""
        function = self._function(predicate, "take_while")
        _check_predicate(function.spec)
        return self._derived(TakeWhile, predicate=function)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Any:
        """Return a dataset of the elements that are computed without an error."""
        return self._derived(IgnoreErrors, log_warning=log_warning)

    # --- order ----------------------------------------------------------------------------

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Return a dataset in random order, as far as a buffer of elements reaches."""
        seeds = get_seed(seed)
        reshuffles = reshuffle_each_iteration is None or reshuffle_each_iteration
        inputs = [as_input(value, int64) for value in (buffer_size, *seeds)]
        return self._derived(Shuffle, *inputs, reshuffles=bool(reshuffles))

    def repeat(self, count: Any = None, name: str | None = None) -> Any:
        """Return a dataset that begins again at its end, `count` times or for ever."""
        return self._derived(Repeat, as_input(-1 if count is None else count, int64))

    def concatenate(self, dataset: Any, name: str | None = None) -> Any:
        """Return a dataset of these elements, and then of another's."""
        spec = common_spec(self._node.spec, dataset._node.spec)
        return self._derived(Concatenate, spec=spec, others=[dataset])

    def enumerate(self, start: Any = 0, name: str | None = None) -> Any:
        """Return a dataset of pairs: the number of an element, and the element."""
        inputs = [as_input(value, int64) for value in (start, 2**63 - 1, 1)]
        spec = TensorSpec([], int64)
        numbers = self._like(Node(Range, spec, inputs=inputs, dtype=int64.np_dtype))
        return self.zip((numbers, self))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of the elements of several datasets at a time, in turn."""
        function = self._dataset_function(map_func, "interleave")
        is_given = num_parallel_calls is not None and num_parallel_calls != AUTOTUNE
        if cycle_length is None or cycle_length == AUTOTUNE:
            cycle_length = num_parallel_calls if is_given else os.cpu_count() or 1
        lengths = (cycle_length, 1 if block_length is None else block_length)
        inputs = [as_input(value, int64) for value in lengths]
        spec = function.spec.element_spec
        return self._derived(Interleave, *inputs, spec=spec, function=function)

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Any:
        """Return a dataset of the elements of several datasets, side by side."""
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        leaves = flatten(given)
        for leaf in leaves:
            if not hasattr(leaf, "_node"):
                raise TypeError(_not_datasets(leaf))
        if isinstance(given, list):
            given = tuple(given)
        spec = map_leaves(lambda dataset: dataset._node.spec, given)
        return cls(Node(Zip, spec, [leaf._node for leaf in leaves]))

    # --- functions ------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of what a function makes of each element."""
        function = self._function(map_func, "map")
        if num_parallel_calls is None:
            return self._derived(Map, spec=function.spec, function=function)
        n_calls = as_input(num_parallel_calls, int64)
        return self._derived(ParallelMap, n_calls, spec=function.spec, function=function)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Any:
        """Return a dataset of the elements of the datasets that a function returns."""
        function = self._dataset_function(map_func, "flat_map")
        return self._derived(FlatMap, spec=function.spec.element_spec, function=function)

    def _dataset_function(self, map_func: Callable[..., Any], name: str) -> ElementFunction:
        function = self._function(map_func, name)
        if not function.returns_dataset():
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got "
                f"{type(function.spec)!r}."
            )
        return function

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """Return a dataset of what a function makes of a state and each element."""
        state = map_leaves(as_input, initial_state)
        state_spec = map_leaves(spec_of, state)
        function = self._function(scan_func, "scan", (state_spec, self._node.spec))
        if not is_unpacked(function.spec) or len(function.spec) != 2:
            raise TypeError(
                "Invalid `scan_func`. `scan_func` should return a pair consisting of new state "
                f"and the output value but its return type is {function.spec}."
            )
        return self._derived(Scan, *flatten(state), spec=function.spec[1], function=function)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of what a function makes of elements of the same key."""
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be "
                "specified, but not both."
            )
        key_spec = TensorSpec([], int64)
        size = window_size_func or (lambda key: convert(window_size, int64))
        named = "group_by_window"
        reduce = self._function(reduce_func, named, (key_spec, DatasetSpec(self._node.spec)))
        return self._derived(
            GroupByWindow,
            spec=reduce.spec.element_spec,
            key=self._function(key_func, named),
            size=self._function(size, named, key_spec),
            reduce=reduce,
        )

    def unique(self, name: str | None = None) -> Any:
        """Return a dataset of the elements without those that were there before."""
        if not isinstance(self._node.spec, TensorSpec):
            raise TypeError(f"Multiple components are not supported: {self._node.spec}.")
        return self._derived(Unique)

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Any:
        """Return a dataset of elements of several, as another dataset of numbers chooses."""
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if choice_dataset.element_spec != TensorSpec([], int64):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar "
                f"`tf.int64` tensors but are {choice_dataset.element_spec}."
            )
        spec = datasets[0]._node.spec
        for other in datasets[1:]:
            spec = common_spec(spec, other._node.spec)
        nodes = [choice_dataset._node, *(dataset._node for dataset in datasets)]
        return cls(Node(DirectedInterleave, spec, nodes, stops=stop_on_empty_dataset))

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        """Return what a function makes of this dataset: a dataset."""
        made = transformation_func(self)
        if not isinstance(made, DatasetCreation):
            raise TypeError(
                "`transformation_func` must return a `tf.data.Dataset` object. Got "
                f"{type(made)}."
            )
        return made

    # --- batches --------------------------------------------------------------------------

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of batches: `batch_size` elements below each other."""
        size, drops = as_input(batch_size, int64), as_input(drop_remainder, bool_)
        first = first_dimension(size, drops)
        spec = with_dims(self._node.spec, lambda dims: _with_first(first, dims))
        return self._derived(Batch, size, drops, spec=spec, np_dtypes=np_dtypes(spec))

    def unbatch(self, name: str | None = None) -> Any:
        """Return a dataset of the rows of each element."""
        dims = [leaf.dims for leaf in flatten(self._node.spec)]
        if any(d == () for d in dims):
            raise ValueError("Cannot unbatch an input with scalar components.")
        spec = with_dims(self._node.spec, lambda dims: None if dims is None else dims[1:])
        n_rows = next((d[0] for d in dims if d is not None and d[0] is not None), None)
        return self._derived(Unbatch, spec=spec, n_rows=n_rows)

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of windows: datasets of `size` consecutive elements each."""
        steps = (size, size if shift is None else shift, stride)
        inputs = [as_input(value, int64) for value in steps]
        spec = map_leaves(DatasetSpec, self._node.spec)
        return self._derived(Window, *inputs, spec=spec, drop_remainder=bool(drop_remainder))

    # --- speed ----------------------------------------------------------------------------

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Any:
        """Return a dataset whose elements are computed ahead, in a thread."""
        return self._derived(Prefetch, as_input(buffer_size, int64))

    def cache(self, filename: Any = "", name: str | None = None) -> Any:
        """Return a dataset that computes its elements once, and keeps them."""
        path = as_input(
            os.fspath(filename) if hasattr(filename, "__fspath__") else filename, string
        )
        return self._derived(Cache, path, n_leaves=len(flatten(self._node.spec)))


def _check_predicate(spec: Any) -> None:
    is_single = isinstance(spec, TensorSpec) and spec.dtype is bool_
    if not is_single or (spec.dims is not None and spec.dims != ()):
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
            f"return type is {spec}."
        )


def _not_datasets(found: Any) -> str:
    advice = (
        "Nested structures of `Dataset`s are tuples and dicts. " if is_nested(found) else ""
    )
    return (
        "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
        f"`tf.data.Dataset` objects but encountered object of type {type(found)}. {advice}"
    ).rstrip()


def first_dimension(size: Any, drops: Any) -> int | None:
    """Return the first dimension of batches, if all of them have the same."""
    if hasattr(size, "graph") or hasattr(drops, "graph"):
        return None
    values = [each.value if hasattr(each, "value") else each for each in (size, drops)]
    return int(values[0]) if bool(values[1]) else None


def _with_first(first: int | None, dims: Dims) -> Dims:
    return None if dims is None else (first, *dims)


def np_dtypes(spec: Any) -> Sequence[Any]:
    """List the NumPy types of the leaves of a spec."""
    for leaf in flatten(spec):
        if not isinstance(leaf, TensorSpec):
            raise TypeError(f"Batching of elements that contain {leaf} is not supported.")
    return [leaf.dtype.np_dtype for leaf in flatten(spec)]
