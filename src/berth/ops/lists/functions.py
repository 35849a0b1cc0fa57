"""Functions on lists of tensors, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from berth.dtypes import DType
from berth.ops.arrays.filling import zeros_like
from berth.ops.builder import apply, current
from berth.ops.compose import Composer
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.lists import list_ops as ops
from berth.ops.opdef import Attrs, OpDef
from berth.ops.shape import Dims, TensorShape


def _apply(op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None = None) -> Any:
    """Apply an operation on whatever device can: a list is no reason to copy elements."""
    with cast(Composer, current()).device(None):
        return apply(op, inputs, attrs, name)


def reserve(n_elements: Any, dtype: DType, dims: Dims = None) -> Any:
    """Make a list in which nothing is set."""
    attrs = {"element_dtype": dtype, "element_shape": TensorShape(dims)}
    return _apply(ops.RESERVE, (n_elements,), attrs)


def make_array(size: Any, attrs: Attrs, name: str) -> Any:
    """Make a list with the rules of TensorFlow 1's arrays."""
    return _apply(ops.ARRAY, (size,), attrs, name)


def length(handle: Any) -> Any:
    """Return the number of elements."""
    return _apply(ops.LENGTH, (handle,), {})


def _of(dtype: DType, dims: Dims) -> Attrs:
    return {"element_dtype": dtype, "element_shape": TensorShape(dims)}


def get_item(handle: Any, index: Any, dtype: DType, dims: Dims, name: str | None = None) -> Any:
    """Return an element."""
    return _apply(ops.GET, (handle, index), _of(dtype, dims), name)


def set_item(
    handle: Any, index: Any, item: Any, resize: bool = False, name: str | None = None
) -> Any:
    """Return the list with another element."""
    attrs = {"element_dtype": item.dtype.base_dtype, "resize": resize}
    return _apply(ops.SET, (handle, index, item), attrs, name)


def stack(
    handle: Any,
    dtype: DType,
    dims: Dims,
    n_elements: int | None = None,
    name: str | None = None,
) -> Any:
    """Return the elements as one tensor."""
    attrs = {**_of(dtype, dims), "num_elements": n_elements}
    return _apply(ops.STACK, (handle,), attrs, name)


def from_tensor(tensor: Any, name: str | None = None) -> Any:
    """Return the list of a tensor's rows."""
    return _apply(ops.FROM_TENSOR, (tensor,), {"element_dtype": tensor.dtype.base_dtype}, name)


def gather(handle: Any, indices: Any, dtype: DType, dims: Dims, name: str | None = None) -> Any:
    """Return some elements as one tensor."""
    return _apply(ops.GATHER, (handle, indices), _of(dtype, dims), name)


def scatter(
    handle: Any,
    tensor: Any,
    indices: Any,
    resize: bool = True,
    adds: bool = False,
    name: str | None = None,
) -> Any:
    """Return the list with rows of a tensor in the places of some elements."""
    attrs = {"element_dtype": tensor.dtype.base_dtype, "resize": resize, "adds": adds}
    return _apply(ops.SCATTER, (handle, tensor, indices), attrs, name)


def concat(handle: Any, dtype: DType, dims: Dims, name: str | None = None) -> list[Any]:
    """Return the elements joined along their first axis, and their lengths."""
    parts: list[Any] = _apply(ops.CONCAT, (handle,), _of(dtype, dims), name)
    return parts


def split(tensor: Any, lengths: Any, name: str | None = None) -> Any:
    """Return the list of parts of a tensor, of given lengths along its first axis."""
    attrs = {"element_dtype": tensor.dtype.base_dtype}
    return _apply(ops.SPLIT, (tensor, lengths), attrs, name)


# --- gradients ------------------------------------------------------------------------------


def _has_gradient(op: RecordedOp) -> bool:
    dtype = op.attrs["element_dtype"]
    return bool(dtype.is_floating or dtype.is_complex)


def _rows(dims: Dims) -> Dims:
    return None if dims is None else dims[1:]


@gradient(ops.SET)
def _of_set(op: RecordedOp, grad: Any) -> Any:
    if not _has_gradient(op):
        return None, None, None
    handle, index, item = op.inputs
    element = get_item(grad, index, op.attrs["element_dtype"], item.dims)
    others = set_item(grad, index, zeros_like(item))
    if op.attrs["resize"]:
        others = _apply(ops.RESIZE, (others, length(handle)), {})
    return others, None, element


@gradient(ops.GET)
def _of_get(op: RecordedOp, grad: Any) -> Any:
    if not _has_gradient(op):
        return None, None
    empty = reserve(length(op.inputs[0]), op.attrs["element_dtype"], grad.dims)
    return set_item(empty, op.inputs[1], grad), None


@gradient(ops.STACK)
def _of_stack(op: RecordedOp, grad: Any) -> Any:
    return from_tensor(grad) if _has_gradient(op) else None


@gradient(ops.FROM_TENSOR)
def _of_from_tensor(op: RecordedOp, grad: Any) -> Any:
    if not _has_gradient(op):
        return None
    dims = op.inputs[0].dims
    return stack(grad, op.attrs["element_dtype"], _rows(dims), dims[0] if dims else None)


@gradient(ops.GATHER)
def _of_gather(op: RecordedOp, grad: Any) -> Any:
    if not _has_gradient(op):
        return None, None
    empty = reserve(length(op.inputs[0]), op.attrs["element_dtype"], _rows(grad.dims))
    return scatter(empty, grad, op.inputs[1], adds=True), None


@gradient(ops.SCATTER)
def _of_scatter(op: RecordedOp, grad: Any) -> Any:
    if not _has_gradient(op):
        return None, None, None
    handle, tensor, indices = op.inputs
    rows = gather(grad, indices, op.attrs["element_dtype"], _rows(tensor.dims))
    others = scatter(grad, zeros_like(tensor), indices)
    return _apply(ops.RESIZE, (others, length(handle)), {}), rows, None


@gradient(ops.CONCAT)
def _of_concat(op: RecordedOp, grad: Any, lengths: Any) -> Any:
    return split(grad, op.outputs[1]) if _has_gradient(op) else None


@gradient(ops.SPLIT)
def _of_split(op: RecordedOp, grad: Any) -> Any:
    if not _has_gradient(op):
        return None, None
    dims = op.inputs[0].dims
    inner = None if dims is None else (None, *dims[1:])
    return concat(grad, op.attrs["element_dtype"], inner)[0], None


@gradient(ops.RESIZE)
def _of_resize(op: RecordedOp, grad: Any) -> Any:
    return _apply(ops.RESIZE, (grad, length(op.inputs[0])), {}), None
