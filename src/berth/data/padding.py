"""Batches of elements of several shapes: padded_batch, and buckets by length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.data.batching import PaddedBatch
from berth.data.structure import as_input
from berth.data.transforming import DatasetTransformations, first_dimension, np_dtypes
from berth.dtypes import bool_, int64, string
from berth.graph.nest import flatten, pack_sequence_as
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.joining import stack
from berth.ops.compose import convert, is_tensor
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater_equal
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.shape import TensorShape
from berth.ops.type_spec import TensorSpec


class PaddedBatches(DatasetTransformations):
    """The methods of `Dataset` that pad."""

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of batches of elements that are padded to one shape."""
        spec = self._node.spec
        size, drops = as_input(batch_size, int64), as_input(drop_remainder, bool_)
        first = first_dimension(size, drops)
        specs = flatten(spec)
        shapes = _shapes(spec, padded_shapes)
        values = _values(spec, padding_values)
        dims = [(first, *(None if n < 0 else n for n in _known(shape))) for shape in shapes]
        out = pack_sequence_as(
            spec,
            [
                TensorSpec(TensorShape(d), leaf.dtype)
                for d, leaf in zip(dims, specs, strict=True)
            ],
        )
        return self._derived(
            PaddedBatch, size, drops, *shapes, *values, spec=out, np_dtypes=np_dtypes(spec)
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of batches of elements whose lengths are in the same bucket."""
        boundaries, sizes = list(bucket_boundaries), list(bucket_batch_sizes)
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(sizes)}` and "
                f"`len(bucket_boundaries)={len(boundaries)}`."
            )
        limits = np.array([*boundaries, 2**31 - 1], np.int64)
        batch_sizes = np.array(sizes, np.int64)

        def bucket(*element: Any) -> Any:
            length = cast(convert(element_length_func(*element)), int64)
            return reduce_sum(cast(greater_equal(length, boundaries_array), int64))

        boundaries_array = np.array(boundaries, np.int64)

        def batched(bucket_id: Any, grouped: Any) -> Any:
            size = gather(batch_sizes, bucket_id)
            if no_padding:
                return grouped.batch(size, drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                longest = gather(limits, bucket_id) - 1
                shapes = _to_boundary(self._node.spec, shapes, longest)
            return grouped.padded_batch(size, shapes, padding_values, drop_remainder)

        return self.group_by_window(
            bucket, batched, window_size_func=lambda key: gather(batch_sizes, key)
        )


def _to_boundary(spec: Any, padded_shapes: Any, longest: Any) -> Any:
    """Return shapes in which what is not known is the length of the longest of a bucket."""
    shapes = _shapes(spec, padded_shapes)
    filled = [
        stack([longest if n < 0 else np.int64(n) for n in shape]) if len(shape) else shape
        for shape in shapes
    ]
    return pack_sequence_as(spec, filled)


def _known(shape: Any) -> Sequence[int]:
    array = shape.value if is_tensor(shape) else shape
    if array is None:  # a tensor of a graph
        return [-1] * shape.dims[0]
    return [int(n) for n in array]


def _shapes(spec: Any, padded_shapes: Any) -> list[Any]:
    """Return, for each component, the shape to pad to: -1 where the largest decides."""
    specs = flatten(spec)
    if padded_shapes is None:
        for leaf in specs:
            if leaf.dims is None:
                raise ValueError(
                    "You must provide `padded_shapes` argument because component "
                    f"{specs.index(leaf)} has unknown rank."
                )
        return [_as_shape(leaf.dims, leaf) for leaf in specs]
    found: list[Any] = []
    _flatten_shapes(spec, padded_shapes, found)
    return [_as_shape(shape, leaf) for shape, leaf in zip(found, specs, strict=True)]


def _flatten_shapes(spec: Any, shapes: Any, found: list[Any]) -> None:
    if isinstance(spec, dict):
        for key in sorted(spec):
            _flatten_shapes(spec[key], shapes[key], found)
    elif isinstance(spec, tuple):
        if len(spec) != len(shapes):
            raise ValueError(
                "The two structures don't have the same number of elements: "
                f"{len(spec)} components, {len(shapes)} padded shapes."
            )
        for part, shape in zip(spec, shapes, strict=True):
            _flatten_shapes(part, shape, found)
    else:
        found.append(shapes)


def _as_shape(shape: Any, leaf: TensorSpec) -> Any:
    if is_tensor(shape):
        return shape
    if isinstance(shape, np.ndarray | list | tuple):
        shape = [None if n is None or _is_open(n) else n for n in shape]
    padded = TensorShape(shape)
    dims = padded.as_list()
    if leaf.dims is not None and len(leaf.dims) != len(dims):
        raise ValueError(
            f"The padded shape {padded} is not compatible with the shape {leaf.shape} of the "
            "corresponding input component."
        )
    for axis, size in enumerate(dims):
        own = leaf.dims[axis] if leaf.dims is not None else None
        if size is not None and own is not None and own > size:
            raise ValueError(
                f"The padded shape {padded} is not compatible with the shape {leaf.shape} of "
                "the corresponding input component."
            )
    return np.array([-1 if n is None else n for n in dims], np.int64)


def _is_open(size: Any) -> bool:
    return getattr(size, "value", size) in (-1, None)


def _values(spec: Any, padding_values: Any) -> list[Any]:
    specs = flatten(spec)
    if padding_values is None:
        return [_default(leaf) for leaf in specs]
    if isinstance(spec, tuple | dict):
        given = flatten(padding_values) if isinstance(padding_values, tuple | dict) else None
        values = given if given is not None else [padding_values] * len(specs)
    else:
        values = [padding_values]
    if len(values) != len(specs):
        raise ValueError(
            f"There are {len(specs)} components, but {len(values)} padding values."
        )
    return [_value(v, leaf) for v, leaf in zip(values, specs, strict=True)]


def _default(leaf: TensorSpec) -> Any:
    if leaf.dtype is string:
        text = np.empty((), object)
        text[()] = b""
        return text
    return np.zeros((), leaf.dtype.np_dtype)


def _value(value: Any, leaf: TensorSpec) -> Any:
    if value is None:
        return _default(leaf)
    found = as_input(value, None if is_tensor(value) else leaf.dtype)
    has_dims = found.dims if is_tensor(found) else found.shape
    if has_dims:
        raise ValueError(f"Padding value should be a scalar, but is not: {value!r}.")
    dtype = found.dtype if is_tensor(found) else leaf.dtype
    if dtype.base_dtype is not leaf.dtype:
        raise TypeError(
            f"Padding value tensor with dtype {dtype} is not compatible with the expected "
            f"dtype {leaf.dtype}."
        )
    return found
