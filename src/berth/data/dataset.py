"""tf.data.Dataset: a pipeline of input, described step by step and read by iterating."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from berth.data.graph_iteration import computed
from berth.data.graph_iterator import GraphIterator
from berth.data.iterator_ops import CARDINALITY, REDUCE
from berth.data.iterators import NumpyIterator, OwnedIterator, Surface
from berth.data.options import Options
from berth.data.padding import PaddedBatches
from berth.data.pipeline import INFINITE, UNKNOWN, Node, Pipeline
from berth.data.structure import DatasetSpec, as_input, map_leaves, spec_of
from berth.dtypes import int64
from berth.errors import InvalidArgumentError
from berth.graph.nest import flatten
from berth.ops.arrays.array import constant
from berth.ops.compose import convert, is_eager
from berth.ops.elementwise.compare import logical_and, logical_or
from berth.ops.type_spec import TensorSpec
from berth.public import public_v2
from berth.tensorflow_types import DatasetV2


@public_v2("data.Dataset")
class Dataset(PaddedBatches, DatasetV2):
    """A sequence of elements: tensors, or structures of them, read one by one.

    >>> import berth as tf
    >>> dataset = tf.data.Dataset.range(5).map(lambda x: x * x).batch(3)
    >>> for batch in dataset:
    ...     print(batch.numpy())
    [0 1 4]
    [ 9 16]
    """

    _is_dataset_class = True
    _options: Options | None = None

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        if is_eager() and node.has_one_pipeline:
            node.pipeline()  # what is wrong with its inputs is an error now

    # --- what it is -----------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """The types and shapes of an element: a structure of `tf.TensorSpec`."""
        return self._node.spec

    @property
    def _spec(self) -> DatasetSpec:
        return DatasetSpec(self._node.spec)

    def cardinality(self, name: str | None = None) -> Any:
        """Return the number of elements as a tensor; -1 if infinite, -2 if unknown."""
        node = self._node
        if not node.symbols:
            return constant(np.int64(self._pipeline().cardinality()))
        spec = TensorSpec([], int64)
        return computed(CARDINALITY, node, node.symbols, spec, _cardinality_of(node))

    def __len__(self) -> int:
        if not is_eager():
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use "
                "`tf.data.Dataset.cardinality()` instead."
            )
        length = self._pipeline().cardinality()
        if length == INFINITE:
            raise TypeError("The dataset is infinite.")
        if length == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return length

    def __bool__(self) -> bool:
        return True

    __nonzero__ = __bool__

    def options(self) -> Options:
        """Return the options that were set for it and what it is made of."""
        return self._options or Options()

    def with_options(self, options: Options, name: str | None = None) -> Any:
        """Return the same dataset with options."""
        made = self._like(self._node)
        made._options = self.options().merge(options)
        return made

    def _derived(self, make: Any, *inputs: Any, **options: Any) -> Any:
        made = super()._derived(make, *inputs, **options)
        made._options = self._options
        return made

    def __repr__(self) -> str:
        return f"<_{self._node.kind} element_spec={self.element_spec}>"

    # --- reading it -----------------------------------------------------------------------

    @cached_property
    def _surface(self) -> Surface:
        return Surface(self._node.spec, self._class)

    def _pipeline(self) -> Pipeline:
        return self._node.pipeline() if self._node.has_one_pipeline else self._node.bind(())

    def __iter__(self) -> Any:
        if not is_eager():
            raise RuntimeError(
                "`tf.data.Dataset` only supports Python-style iteration in eager mode or "
                "within tf.function."
            )
        return OwnedIterator(self._pipeline(), self._surface)

    def _graph_iterator(self) -> GraphIterator:
        """Return an iterator of the function that is traced."""
        node = self._node

        def iterate(values: Sequence[Any]) -> OwnedIterator:
            pipeline = node.bind(values) if node.symbols else self._pipeline()
            return OwnedIterator(pipeline, self._surface)

        return GraphIterator.over(node, iterate)

    def _autograph_for(self, loop: Any, body: Any, more: Any) -> None:
        self._graph_iterator()._autograph_for(loop, body, more)

    def _autograph_builtin(self, name: str) -> Any:
        """Return what a function of Python does with datasets in converted code."""
        found = {
            "iter": lambda dataset: dataset._graph_iterator(),
            "enumerate": lambda dataset, start=0: dataset.enumerate(start),
            "zip": lambda *datasets: self._class.zip(datasets),
            "map": lambda function, *datasets: _joined(self._class, datasets).map(function),
            "filter": lambda function, dataset: dataset.filter(function),
            "len": lambda dataset: dataset.cardinality(),
            "any": lambda dataset: dataset.reduce(constant(False), logical_or),
            "all": lambda dataset: dataset.reduce(constant(True), logical_and),
        }
        return found.get(name)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator over the elements as NumPy's arrays and scalars."""
        if not is_eager():
            raise RuntimeError(
                "`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode."
            )
        for leaf in flatten(self.element_spec):
            if not isinstance(leaf, TensorSpec | DatasetSpec):
                raise TypeError(
                    f"`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that "
                    f"produce values of type {type(leaf).__name__}"
                )
        return NumpyIterator(self._pipeline(), self._surface)

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element; InvalidArgumentError if there are more, or none."""
        elements = self._pipeline().iterate()
        element = next(elements, None)
        if element is None:
            raise InvalidArgumentError(None, None, "Dataset was empty.")
        if next(elements, None) is not None:
            raise InvalidArgumentError(None, None, "Dataset had more than one element.")
        return self._surface.tensors(element)

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """Combine all elements: a function makes a state of the one before and an element."""
        state = map_leaves(as_input, initial_state)
        spec = map_leaves(spec_of, state)
        function = self._function(reduce_func, "reduce", (spec, self._node.spec))
        for new, old in zip(flatten(function.spec), flatten(spec), strict=True):
            if new.dtype is not old.dtype:
                raise TypeError(
                    "The element types for the new state must match the initial state. "
                    f"Expected {old.dtype} but got {new.dtype}."
                )
        node, given = self._node, [*flatten(state), *function.captured]
        n_symbols, n_state = len(node.symbols), len(flatten(state))

        def compute(values: Sequence[Any]) -> Sequence[Any]:
            found = tuple(values[n_symbols : n_symbols + n_state])
            bound = function.bind(values[n_symbols + n_state :])
            bound.label = "ReduceDataset"
            pipeline = self._pipeline() if not n_symbols else node.bind(values[:n_symbols])
            for element in pipeline.iterate():
                found = bound((*found, *element))
            return found

        if not is_eager():
            inputs = [*node.symbols, *map(convert, given)]
            return computed(REDUCE, node, inputs, function.spec, compute)
        arrays = [leaf if isinstance(leaf, np.ndarray) else leaf.value for leaf in given]
        return Surface(function.spec, self._class).tensors(tuple(compute(arrays)))


def _joined(kind: Any, datasets: Sequence[Any]) -> Any:
    return datasets[0] if len(datasets) == 1 else kind.zip(datasets)


def _cardinality_of(node: Node) -> Callable[[Any], list[Any]]:
    return lambda values: [np.int64(node.bind(values).cardinality())]
