"""Assignment to variables: their methods, and `tf.assign`, `tf.scatter_update` and others.

A variable of a graph is written through its reference or its handle. A write through a
reference returns the reference, so that one write may follow another; a write through a
handle returns the variable, to be read after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import DType, resource
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.arrays.scattering import in_batch
from berth.ops.compose import convert
from berth.ops.opdef import Attrs, OpDef, variable_of
from berth.ops.state.scatter import SCATTERS
from berth.ops.state.variables import ASSIGNMENTS, COUNT_UP_TO
from berth.public import public_v1

WRITES = {**ASSIGNMENTS, **SCATTERS}
"""The ways to write to a variable, by the names of their methods and functions."""


class Writable:
    """Methods of variables that assign or update; subclasses implement `write`."""

    def write(
        self,
        method: str,
        values: Sequence[Any],
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Update the value in one of the ways of `WRITES`."""
        raise NotImplementedError

    # --- the whole value ------------------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assign a value."""
        return self.write("assign", (value,), name, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add to the value."""
        return self.write("assign_add", (delta,), name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract from the value."""
        return self.write("assign_sub", (delta,), name, read_value)

    # --- rows -----------------------------------------------------------------------------

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Assign slices at indices."""
        return self._write_slices("scatter_update", sparse_delta, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add to slices at indices."""
        return self._write_slices("scatter_add", sparse_delta, name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract from slices at indices."""
        return self._write_slices("scatter_sub", sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiply slices at indices."""
        return self._write_slices("scatter_mul", sparse_delta, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divide slices at indices."""
        return self._write_slices("scatter_div", sparse_delta, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Element-wise minimum with slices at indices."""
        return self._write_slices("scatter_min", sparse_delta, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Element-wise maximum with slices at indices."""
        return self._write_slices("scatter_max", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Assign slices at indices, per batch."""
        slices = _slices(sparse_delta)
        where = _in_whole(slices.indices)
        return self.write("scatter_nd_update", (where, slices.values), name)

    def _write_slices(self, method: str, sparse_delta: Any, name: str | None) -> Any:
        slices = _slices(sparse_delta)
        return self.write(method, (slices.indices, slices.values), name)

    # --- elements -------------------------------------------------------------------------

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Assign slices at vectors of indices."""
        return self.write("scatter_nd_update", (indices, updates), name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to slices at vectors of indices."""
        return self.write("scatter_nd_add", (indices, updates), name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract from slices at vectors of indices."""
        return self.write("scatter_nd_sub", (indices, updates), name)

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Element-wise minimum with slices at vectors of indices."""
        return self.write("scatter_nd_min", (indices, updates), name)

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Element-wise maximum with slices at vectors of indices."""
        return self.write("scatter_nd_max", (indices, updates), name)


def _slices(value: Any) -> IndexedSlices:
    if not isinstance(value, IndexedSlices):
        raise TypeError(
            f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {value}"
        )
    return value


def _in_whole(indices: Any) -> Any:
    """Convert indices within each batch to coordinates in the whole."""
    indices = convert(indices)
    return in_batch(expand_dims(indices, -1), len(indices.dims) - 1)


# --- in a graph ---------------------------------------------------------------------------


def write(target: SymbolicTensor, method: str, values: Sequence[Any], name: str | None) -> Any:
    """Write through a reference or handle; return the new reference, or the operation."""
    by_reference, by_handle = WRITES[method]
    graph = target.graph.here()
    if target.dtype is resource:
        dtype = variable_of(target).attrs["dtype"]
        *where, value = values
        tensor = graph.convert(value, dtype)
        return graph.apply(by_handle, (target, *where, tensor), {"dtype": dtype}, name)
    with graph.name_scope(name or by_reference.name) as scope:
        tensors = [
            graph.convert(value, _wanted(argument.type, value, target.dtype), argument.name)
            for argument, value in zip(by_reference.arguments[1:], values, strict=True)
        ]
        return beside(target, by_reference, tensors, {}, scope)


def _wanted(kind: Any, value: Any, dtype: DType) -> DType | None:
    """Return the type of a plain value: that of the variable, if it is an element of it."""
    is_typed = isinstance(getattr(value, "dtype", None), DType)
    return dtype.base_dtype if kind == "T" and not is_typed else None


def beside(
    target: SymbolicTensor, op: OpDef, tensors: Sequence[Any], attrs: Attrs, name: str | None
) -> Any:
    """Apply an operation to a variable, on its device."""
    graph = target.graph.here()
    if target.dtype is resource:  # its edge says that it runs there
        return graph.apply(op, (target, *tensors), attrs, name)
    with graph.colocate_with(target.op):
        return graph.apply(op, (target, *tensors), attrs, name)


def count(target: SymbolicTensor, limit: int, name: str | None) -> Any:
    """Increment an integer behind a reference or handle; return its value before."""
    by_reference, by_handle = COUNT_UP_TO
    is_handle = target.dtype is resource
    dtype = variable_of(target).attrs["dtype"] if is_handle else target.dtype.base_dtype
    attrs = {"limit": int(limit), "T": dtype}
    return beside(target, by_handle if is_handle else by_reference, (), attrs, name)


# --- public functions ---------------------------------------------------------------------


@public_v1("assign")
def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Assign a value to a variable."""
    return _write_to(ref, "assign", (value,), name)


@public_v1("assign_add")
def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add to a variable."""
    return _write_to(ref, "assign_add", (value,), name)


@public_v1("assign_sub")
def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract from a variable."""
    return _write_to(ref, "assign_sub", (value,), name)


@public_v1("scatter_update")
def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Assign slices of a variable at indices."""
    return _write_to(ref, "scatter_update", (indices, updates), name)


@public_v1("scatter_add")
def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Add to slices of a variable at indices."""
    return _write_to(ref, "scatter_add", (indices, updates), name)


@public_v1("scatter_sub")
def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtract from slices of a variable at indices."""
    return _write_to(ref, "scatter_sub", (indices, updates), name)


@public_v1("scatter_mul")
def scatter_mul(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Multiply slices of a variable at indices."""
    return _write_to(ref, "scatter_mul", (indices, updates), name)


@public_v1("scatter_div")
def scatter_div(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Divide slices of a variable at indices."""
    return _write_to(ref, "scatter_div", (indices, updates), name)


@public_v1("scatter_min")
def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Element-wise minimum of updates and slices of a variable at indices."""
    return _write_to(ref, "scatter_min", (indices, updates), name)


@public_v1("scatter_max")
def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Element-wise maximum of updates and slices of a variable at indices."""
    return _write_to(ref, "scatter_max", (indices, updates), name)


@public_v1("scatter_nd_update")
def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Assign slices of a variable at vectors of indices."""
    return _write_to(ref, "scatter_nd_update", (indices, updates), name)


@public_v1("scatter_nd_add")
def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Add to slices of a variable at vectors of indices."""
    return _write_to(ref, "scatter_nd_add", (indices, updates), name)


@public_v1("scatter_nd_sub")
def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtract from slices of a variable at vectors of indices."""
    return _write_to(ref, "scatter_nd_sub", (indices, updates), name)


@public_v1("batch_scatter_update")
def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Assign slices of a variable at indices, per batch."""
    return scatter_nd_update(ref, _in_whole(indices), updates, use_locking, name)


@public_v1("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """Increment an integer variable up to a limit; return its value before."""
    return count(getattr(ref, "handle", ref), limit, name)


def _write_to(ref: Any, method: str, values: Sequence[Any], name: str | None) -> Any:
    """Write to a variable, or through the reference that another write has returned."""
    if isinstance(ref, Writable):
        return ref.write(method, values, name)
    if method in ASSIGNMENTS and hasattr(ref, method):
        return getattr(ref, method)(*values, name=name)
    if not isinstance(ref, SymbolicTensor) or not ref.dtype.is_ref:
        raise TypeError(f"tf.{method} needs a variable, and not {ref!r}.")
    return write(ref, method, values, name)
