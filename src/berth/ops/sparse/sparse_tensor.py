"""`tf.SparseTensor`: the elements of a tensor that are there, and their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import as_dtype, int64
from berth.ops.arrays.placeholders import placeholder
from berth.ops.builder import CompositeInput, apply
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.opdef import Attrs, OpDef
from berth.ops.rules import shape_of_value
from berth.ops.shape import TensorShape
from berth.ops.sparse import cwise
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec
from berth.public import public, public_v1


@public_v1("SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """Value of a `SparseTensor` in a session: NumPy arrays."""

    indices: Any
    values: Any
    dense_shape: Any


def _tensor(value: Any, dtype: Any, name: str) -> Any:
    return value if is_tensor(value) else convert(value, dtype, name)


@public("SparseTensor", "sparse.SparseTensor")
class SparseTensor(CompositeTensor):
    """Sparse tensor: the `values` at `indices` of a tensor of zeros of `dense_shape`.

    >>> print(SparseTensor([[0, 1]], [5], [1, 2]).values.numpy())
    [5]
    """

    is_tensor = True

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with scope("SparseTensor"):
            self._indices = _tensor(indices, int64, "indices")
            self._values = _tensor(values, None, "values")
            self._dense_shape = _tensor(dense_shape, int64, "dense_shape")
        self._static = TensorShape(None)
        self._check()

    def _check(self) -> None:
        """Raise ValueError for components whose shapes do not fit each other."""
        indices, shape = self._indices.dims, self._dense_shape.dims
        for dims, rank in ((indices, 2), (self._values.dims, 1), (shape, 1)):
            if dims is not None and len(dims) != rank:
                raise ValueError(f"Shape {TensorShape(dims)} must have rank {rank}")
        pairs = []
        if indices is not None:
            values = self._values.dims
            pairs.append((indices[0], None if values is None else values[0]))
            pairs.append((indices[1], None if shape is None else shape[0]))
        for a, b in pairs:
            if None not in (a, b) and a != b:
                raise ValueError(f"Dimensions {a} and {b} are not compatible")

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Make a sparse tensor of a `SparseTensorValue`."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        return cls(*sparse_tensor_value)

    # --- what it is -----------------------------------------------------------------------

    @property
    def indices(self) -> Any:
        """The indices of the values: a row of them for each."""
        return self._indices

    @property
    def values(self) -> Any:
        """The values that are there."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The shape, as a tensor."""
        return self._dense_shape

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._static.merge_with(TensorShape(shape_of_value(self._dense_shape)))

    def get_shape(self) -> TensorShape:
        """Return the shape, as far as it is known."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Note what is known of the shape."""
        self._static = self.shape.merge_with(TensorShape(shape))

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def graph(self) -> Any:
        return self._values.graph

    @property
    def name(self) -> Any:
        return self._values.name

    def consumers(self) -> Any:
        """List the operations that take the values."""
        return self._values.consumers()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value in a session."""
        indices, values, shape = (
            part.eval(feed_dict, session)
            for part in (self._indices, self._values, self._dense_shape)
        )
        return SparseTensorValue(indices, values, shape)

    def with_values(self, new_values: Any) -> SparseTensor:
        """Return a sparse tensor with other values at the same indices."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )

    # --- as a composite -------------------------------------------------------------------

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype.base_dtype)

    def _map_values(self, function: Callable[[Any], Any]) -> Any:
        return self.with_values(function(self._values))

    def _gradient_component(self) -> Any:
        return self._values

    def _with_gradient(self, grad: Any) -> SparseTensor:
        return self.with_values(grad)

    def _apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Apply an element-wise operation of one operand to the values."""
        if op.elementwise is None or len(inputs) != 1:
            raise CompositeInput(self)
        return self.with_values(apply(op, (self._values,), attrs, name))

    def __mul__(self, other: Any) -> Any:
        return cwise.multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return cwise.divide(self, other)


@public("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """The type of a sparse tensor.

    >>> SparseTensorSpec([None, 3])
    SparseTensorSpec(TensorShape([None, 3]), tf.float32)
    """

    def __init__(self, shape: Any = None, dtype: Any = "float32") -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Return the type of a sparse tensor."""
        if isinstance(value, SparseTensorValue):
            return cls(np.asarray(value.dense_shape).tolist(), np.asarray(value.values).dtype)
        return value._type_spec

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def value_type(self) -> Any:
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> Any:
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], int64),
        ]

    def _to_components(self, value: SparseTensor) -> Any:
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: Any) -> SparseTensor:
        made = SparseTensor(*components)
        made._static = self._shape
        return made

    def _from_arrays(self, arrays: Sequence[Any]) -> SparseTensorValue:
        return SparseTensorValue(*arrays)

    def _with_shape(self, shape: TensorShape) -> SparseTensorSpec:
        return SparseTensorSpec(shape, self._dtype)


@public_v1("sparse_placeholder", "sparse.placeholder")
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Placeholder for a sparse tensor; fed with a `SparseTensorValue` or a tuple of arrays.

    >>> from berth.compat import v1
    >>> with v1.Graph().as_default():
    ...     sparse_placeholder("float32", name="x").values
    <tf.Tensor 'x/values:0' shape=(None,) dtype=float32>
    """
    prefix = "" if name is None else f"{name}/"
    known = None if shape is None else TensorShape(shape)
    rank = None if known is None else known.rank
    values = placeholder(dtype, [None], f"{prefix}values" if name else None)
    indices = placeholder(int64, [None, rank], f"{prefix}indices" if name else None)
    if known is not None and known.is_fully_defined():
        sizes: Any = convert(np.array(known.as_list(), np.int64))
    else:
        sizes = placeholder(int64, [rank], f"{prefix}shape" if name else None)
    made = SparseTensor(indices, values, sizes)
    if known is not None:
        made._static = known
    return made


@public_v1("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Convert to a tensor, or to a sparse tensor if the value is one.

    >>> convert_to_tensor_or_sparse_tensor([5]).numpy().tolist()
    [5]
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and as_dtype(dtype) is not value.dtype:
            raise RuntimeError(
                "Sparse dtype mismatch. Requested: "
                f"{as_dtype(dtype).name}, Actual: {value.dtype.name}"
            )
        return value
    return convert(value, None if dtype is None else as_dtype(dtype), name)
