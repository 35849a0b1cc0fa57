"""`IndexedSlices`: sparse gradients, as slices and their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from berth.dtypes import as_dtype, int64
from berth.ops.arrays.joining import concat
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.casting import cast
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.ops.rules import shape_of_value
from berth.ops.shape import TensorShape
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec
from berth.public import public, public_v1


@public_v1("IndexedSlicesValue")
class IndexedSlicesValue(NamedTuple):
    """Value of `IndexedSlices` in a session: NumPy arrays."""

    values: Any
    indices: Any
    dense_shape: Any


@public("IndexedSlices")
class IndexedSlices(CompositeTensor):
    """Sparse gradient: some slices of a larger tensor (`values`), and their `indices` in it.

    A row may be there several times; it counts as the sum then. Where a tensor is wanted it
    becomes one, with zeros in all other rows.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the larger tensor, as far as it is known."""
        given = self.dense_shape
        is_plain = given is None or not hasattr(given, "dims")
        return TensorShape(given if is_plain else shape_of_value(given))

    @property
    def device(self) -> Any:
        return self.values.device

    @property
    def graph(self) -> Any:
        return self.values.graph

    @property
    def op(self) -> Any:
        return self.values.op

    @property
    def name(self) -> Any:
        return self.values.name

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        known = self.dense_shape
        return IndexedSlicesSpec(
            self.shape if known is not None else _rows_like(self.values),
            self.values.dtype.base_dtype,
            self.indices.dtype.base_dtype,
            None if known is None else known.dtype.base_dtype,
            TensorShape(self.indices.dims),
        )

    def _map_values(self, function: Callable[[Any], Any]) -> IndexedSlices:
        return IndexedSlices(function(self.values), self.indices, self.dense_shape)

    def _gradient_component(self) -> Any:
        return self.values

    def _with_gradient(self, grad: Any) -> Any:
        return grad

    def as_tensor(self) -> Any:
        """Convert to the dense tensor."""
        if self.dense_shape is None:
            raise ValueError(
                f"Tensor conversion requested for IndexedSlices without dense_shape: {self!r}"
            )
        n_rows = (self.shape.dims_or_none or (None,))[0]
        n_rows = self.dense_shape[0] if n_rows is None else n_rows
        return unsorted_segment_sum(self.values, self.indices, n_rows)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __repr__(self) -> str:
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!r}"
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r}{shape})"


def _rows_like(values: Any) -> TensorShape:
    """Return what is known of the larger tensor's shape by the slices."""
    return TensorShape(None if values.dims is None else (None, *values.dims[1:]))


@public("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """The type of `IndexedSlices`.

    >>> IndexedSlicesSpec([None, 2])._component_specs[0]
    TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)
    """

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = "float32",
        indices_dtype: Any = "int64",
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        shape_dtype = dense_shape_dtype
        self._dense_shape_dtype = None if shape_dtype is None else as_dtype(shape_dtype)
        self._indices_shape = TensorShape((None,) if indices_shape is None else indices_shape)

    @property
    def value_type(self) -> Any:
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self) -> Any:
        values = self._indices_shape.concatenate(self._shape[1:])
        specs = [
            TensorSpec(values, self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        ]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.rank], self._dense_shape_dtype))
        return specs

    def _to_components(self, value: IndexedSlices) -> Any:
        known = value.dense_shape
        return [value.values, value.indices, *([] if known is None else [known])]

    def _from_components(self, components: Any) -> IndexedSlices:
        return IndexedSlices(*components)

    def _from_arrays(self, arrays: Sequence[Any]) -> IndexedSlicesValue:
        return IndexedSlicesValue(*arrays, *[None] * (3 - len(arrays)))

    def _to_arrays(self, value: Any) -> Sequence[Any]:
        return [part for part in value if part is not None]


def total(parts: Sequence[Any]) -> Any:
    """Sum of the gradients of one tensor; None if there are none."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, IndexedSlices) for part in parts):
        return _joined(parts)
    return add_n([as_dense(part) for part in parts])


def _joined(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """Concatenate the slices of several; equal indices are not summed here."""
    numbers = [part.indices for part in parts]
    if len({number.dtype for number in numbers}) > 1:
        numbers = [cast(number, int64) for number in numbers]
    known = (part.dense_shape for part in parts if part.dense_shape is not None)
    values = concat([part.values for part in parts], 0)
    return IndexedSlices(values, concat(numbers, 0), next(known, None))


def as_dense(grad: Any) -> Any:
    """Convert a gradient to a dense tensor."""
    return grad.as_tensor() if isinstance(grad, IndexedSlices) else grad
