"""`tf.RaggedTensor`: a tensor whose rows differ in length, as values and row splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import as_dtype, int64, string
from berth.ops.arrays.filling import fill
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import concat, stack
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.rearranging import repeat
from berth.ops.arrays.scattering import tensor_scatter_nd_update
from berth.ops.builder import CompositeInput, apply
from berth.ops.compose import convert, is_tensor
from berth.ops.elementwise.casting import cast
from berth.ops.opdef import Attrs, OpDef
from berth.ops.operators import Operators
from berth.ops.ragged import reductions
from berth.ops.ragged.rows import RowConstructors, longest, n_rows
from berth.ops.shape import TensorShape
from berth.ops.sparse.checks import check_same_shape
from berth.ops.sparse.sparse_tensor import SparseTensor
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec
from berth.public import public, public_v1


@public_v1("ragged.RaggedTensorValue")
class RaggedTensorValue(NamedTuple):
    """Value of a `RaggedTensor` in a session: NumPy arrays."""

    values: Any
    row_splits: Any

    @property
    def ragged_rank(self) -> int:
        inner = self.values
        return 1 + (inner.ragged_rank if isinstance(inner, RaggedTensorValue) else 0)

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists."""
        return _listed(self.values, self.row_splits)


def _listed(values: Any, splits: Any) -> list[Any]:
    rows = values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()
    return [rows[a:b] for a, b in pairwise(splits)]


@public("RaggedTensor")
class RaggedTensor(RowConstructors, CompositeTensor, Operators):
    """Ragged tensor: row k is ``values[row_splits[k]:row_splits[k + 1]]``.

    >>> RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 3]).to_list()
    [[1, 2], [3]]
    """

    is_tensor = True

    __hash__ = object.__hash__

    # --- what it is -----------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """The rows, one after the other."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The values without any ragged axis."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def row_splits(self) -> Any:
        """Where rows begin and end in the values."""
        return self._row_splits

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged axes, the outermost first."""
        inner = self._values
        more = inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()
        return (self._row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged axes."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known: of a ragged axis it is not."""
        splits = self._row_splits.dims
        n_rows = None if not splits or splits[0] is None else splits[0] - 1
        inner = self._values.shape
        return (
            TensorShape(None)
            if inner.rank is None
            else TensorShape([n_rows, None, *inner.as_list()[1:]])
        )

    def get_shape(self) -> TensorShape:
        """Return the shape, as far as it is known."""
        return self.shape

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """Return the number of rows."""
        count: Any = shape_of(self._row_splits, out_type=int64)[0] - 1
        return count if out_type is None else cast(count, out_type)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the lengths of the rows."""
        return self._row_splits[1:] - self._row_splits[:-1]

    def row_starts(self, name: str | None = None) -> Any:
        """Return where the rows begin."""
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Return where the rows end."""
        return self._row_splits[1:]

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the row of each value."""
        rows = range_op(convert(0, int64), self.nrows(), 1)
        return repeat(rows, self.row_lengths())

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Any:
        """Return the shape of the smallest dense tensor that holds all rows."""
        width = longest(self.row_lengths())
        inner = self._values
        rest: Any = (
            inner.bounding_shape()[1:]
            if isinstance(inner, RaggedTensor)
            else shape_of(inner, out_type=int64)[1:]
        )
        sizes: Any = concat([stack([self.nrows(), width]), rest], 0)
        return sizes if axis is None else gather(sizes, axis)

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Return a ragged tensor with the same rows of other values."""
        return RaggedTensor(new_values, self._row_splits)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Return a ragged tensor with the same rows of other flat values."""
        inner = self._values
        is_nested = isinstance(inner, RaggedTensor)
        return self.with_values(inner.with_flat_values(new_values) if is_nested else new_values)

    # --- as other things ------------------------------------------------------------------

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Any:
        """Return a dense tensor, in which short rows are filled up."""
        inner = self._values
        flat = inner.to_tensor(default_value) if isinstance(inner, RaggedTensor) else inner
        if default_value is None:
            default_value = b"" if flat.dtype is string else 0
        rows = self.value_rowids()
        places: Any = range_op(convert(0, int64), n_rows(flat), 1)
        places = places - gather(self.row_starts(), rows)
        sizes = stack([self.nrows(), longest(self.row_lengths())])
        whole = concat([sizes, shape_of(flat, out_type=int64)[1:]], 0)
        default = (
            cast(convert(default_value), flat.dtype)
            if flat.dtype is not string
            else (convert(default_value, string))
        )
        filled = fill(whole, default)
        return tensor_scatter_nd_update(filled, stack([rows, places], 1), flat)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return a sparse tensor."""
        rows = self.value_rowids()
        places: Any = range_op(convert(0, int64), n_rows(self._values), 1)
        indices = stack([rows, places - gather(self.row_starts(), rows)], 1)
        return SparseTensor(indices, self.flat_values, self.bounding_shape())

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists, in an eager program."""
        inner = self._values
        rows = inner if isinstance(inner, RaggedTensor) else inner.numpy()
        return _listed(rows, self._row_splits.numpy().tolist())

    def numpy(self) -> Any:
        """Return the rows as an array: of arrays, where they differ in length."""
        rows = [np.array(row) for row in self.to_list()]
        if len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        made = np.empty(len(rows), object)
        made[:] = rows
        return made

    def __len__(self) -> int:
        splits = self._row_splits.dims
        return int(splits[0]) - 1

    def __repr__(self) -> str:
        if hasattr(self._row_splits, "numpy") and hasattr(self._row_splits, "place"):
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values!s}, row_splits={self._row_splits!s})"

    def __getitem__(self, key: Any) -> Any:
        """Return a row, or a slice of the rows."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        splits = self._row_splits
        if isinstance(first, slice):
            found = self._sliced(first)
            return found if not rest else found._inside(rest)
        position = first + len(self) if isinstance(first, int) and first < 0 else first
        row = self._values[splits[position] : splits[position + 1]]
        return row[tuple(rest)] if rest else row

    def _sliced(self, rows: slice) -> Any:
        if rows == slice(None):
            return self
        count = self.nrows()
        kept: Any = range_op(convert(0, int64), count, 1)[rows]
        return reductions.gather_rows(self, kept)

    def _inside(self, key: Sequence[Any]) -> Any:
        """Return parts of each row: columns of a slice."""
        part, *rest = key
        if rest or not isinstance(part, slice) or part.step not in (None, 1):
            raise ValueError("Cannot index into an inner ragged dimension.")
        places: Any = range_op(convert(0, int64), n_rows(self._values), 1)
        rows = self.value_rowids()
        places = places - gather(self.row_starts(), rows)
        lengths = gather(self.row_lengths(), rows)
        inside: Any = places >= 0
        for bound, is_start in ((part.start, True), (part.stop, False)):
            if bound is not None:
                limit = bound if bound >= 0 else lengths + bound
                inside = inside & (places >= limit if is_start else places < limit)
        kept = boolean_mask(rows, inside)
        return RaggedTensor.from_value_rowids(
            boolean_mask(self._values, inside), kept, self.nrows()
        )

    # --- as a composite -------------------------------------------------------------------

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype.base_dtype, self.ragged_rank, int64)

    def _map_values(self, function: Callable[[Any], Any]) -> Any:
        return self.with_flat_values(function(self.flat_values))

    def _gradient_component(self) -> Any:
        return self.flat_values

    def _with_gradient(self, grad: Any) -> RaggedTensor:
        return self.with_flat_values(grad)

    def _apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Apply an operation to ragged tensors: element by element, or along an axis."""
        if op.elementwise is not None:
            return self._elementwise(op, inputs, attrs, name)
        found = reductions.OPERATIONS.get(op.name)
        if found is None:
            raise CompositeInput(self)
        return found(inputs, attrs)

    def _elementwise(
        self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None
    ) -> Any:
        """Apply an operation to the flat values; other operands are scalars, or as ragged."""
        splits, flat = list(self.nested_row_splits), []
        for value in inputs:
            if not isinstance(value, RaggedTensor):
                scalar = convert(value, self.dtype) if not is_tensor(value) else value
                if scalar.dims != ():
                    raise ValueError(
                        "Only scalars are broadcast to ragged tensors: use to_tensor() first."
                    )
                flat.append(scalar)
                continue
            if value.ragged_rank != len(splits):
                raise ValueError("Ragged tensors must have the same ragged_rank.")
            if value is not self:
                pairs = zip(splits, value.nested_row_splits, strict=True)
                splits = [a if a is b else check_same_shape(a, b) for a, b in pairs]
            flat.append(value.flat_values)
        return RaggedTensor.from_nested_row_splits(apply(op, flat, attrs, name), splits)


@public("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """The type of a ragged tensor.

    >>> RaggedTensorSpec([2, None])
    RaggedTensorSpec(TensorShape([2, None]), tf.float32, 1, tf.int64)
    """

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = "float32",
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
        flat_values_spec: Any = None,
    ) -> None:
        self._shape, self._dtype = TensorShape(shape), as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        self._ragged_rank = ragged_rank

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        return self._ragged_rank

    @property
    def value_type(self) -> Any:
        return RaggedTensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> Any:
        dims = self._shape.dims_or_none
        inner = None if dims is None else dims[self._ragged_rank + 1 :]
        flat = TensorSpec(None if inner is None else [None, *inner], self._dtype)
        first = None if dims is None or dims[0] is None else dims[0] + 1
        sizes = [first, *[None] * (self._ragged_rank - 1)]
        return [flat, *(TensorSpec([size], self._row_splits_dtype) for size in sizes)]

    def _to_components(self, value: RaggedTensor) -> Any:
        return [value.flat_values, *value.nested_row_splits]

    def _from_components(self, components: Any) -> Any:
        made = components[0]
        for splits in reversed(components[1:]):
            made = RaggedTensor(made, splits)
        return made

    def _from_arrays(self, arrays: Sequence[Any]) -> Any:
        made = arrays[0]
        for splits in reversed(arrays[1:]):
            made = RaggedTensorValue(made, splits)
        return made

    def _to_arrays(self, value: Any) -> Sequence[Any]:
        splits = []
        while isinstance(value, RaggedTensorValue):
            splits.append(value.row_splits)
            value = value.values
        return [value, *splits]

    def _with_shape(self, shape: TensorShape) -> RaggedTensorSpec:
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank)
