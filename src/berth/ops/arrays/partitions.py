"""`dynamic_partition`, `dynamic_stitch` and `invert_permutation`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.errors import InvalidArgumentError
from berth.ops import arrays
from berth.ops.arrays.array import reshape
from berth.ops.arrays.index_checks import index_error
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.metadata import size as size_of
from berth.ops.attributes import check_least
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, scope
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.imported import imported
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    check_rank,
    from_host,
    merge_dims,
)
from berth.ops.shape import Dims, bracketed
from berth.ops.types import Tensor, TensorLike, TensorList
from berth.public import public, public_v1

# --- dynamic_partition --------------------------------------------------------------------


def _partition_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    data, partitions = inputs
    n_parts: int = attrs["num_partitions"]
    dtype = data.dtype.base_dtype
    counts: list[int | None] = [None] * n_parts
    if partitions.value is not None:
        numbers = partitions.value.reshape(-1)
        counts = [int(np.count_nonzero(numbers == k)) for k in range(n_parts)]
    rest = _rest(data.dims, partitions.dims, "partitions")
    return [(dtype, None if rest is None else (count, *rest)) for count in counts]


def _rest(data: Dims, numbers: Dims, name: str) -> Dims:
    """Return the shape of a row; ShapeMismatch unless there is one for each partition index."""
    if data is None or numbers is None:
        return None
    at_run = (
        f"data.shape must start with {name}.shape, got data.shape = {bracketed(data)}, "
        f"{name}.shape = {bracketed(numbers)}"
    )
    if len(numbers) > len(data):
        raise ShapeMismatch(at_run, at_run)
    merge_dims(data[: len(numbers)], numbers, at_run)
    return data[len(numbers) :]


def _bind_partition(launch: Launch) -> Call:
    data, partitions = launch.inputs
    rows = data.reshape((partitions.size, *data.shape[partitions.ndim :]))
    mode = ("clip",) if launch.xp is np else ()
    return _partition, (launch.xp, rows, partitions, tuple(launch.outputs), mode)


def _partition(xp: Any, rows: Any, partitions: Any, outputs: Any, mode: Any) -> None:
    if partitions.size and not 0 <= int(partitions.min()) <= int(partitions.max()) < len(
        outputs
    ):
        raise index_error(partitions, len(outputs), "partitions")
    flat = partitions.reshape(-1)
    for number, out in enumerate(outputs):
        if out.size:
            rows.take(xp.flatnonzero(flat == number), 0, out, *mode)


DYNAMIC_PARTITION = OpDef(
    "DynamicPartition",
    "data:T partitions:int32",
    _partition_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_partition),
    shape_inputs=(1,),
    samples=("f(3, 2), i(1, 0, 1), num_partitions=3",),
)


@public("dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """Partition the rows of a tensor by index into several tensors.

    >>> small, large = dynamic_partition([1, 20, 3], [0, 1, 0], 2)
    >>> small.numpy().tolist(), large.numpy().tolist()
    ([1, 3], [20])
    """
    check_least("DynamicPartition", "num_partitions", num_partitions, 1)
    attrs = {"num_partitions": num_partitions}
    parts = apply(DYNAMIC_PARTITION, (data, partitions), attrs, name)
    return [parts] if num_partitions == 1 else list(parts)


@gradient(DYNAMIC_PARTITION)
def _dynamic_partition_gradient(op: RecordedOp, *grads: Any) -> Any:
    """Stitch the gradients of the partitions into the order of the rows."""
    data, partitions = op.inputs
    indices = reshape(arrays.filling.range(size_of(partitions)), shape_of(partitions))
    of_partitions = dynamic_partition(indices, partitions, len(grads))
    return reshape(dynamic_stitch(of_partitions, grads), shape_of(data)), None


# --- dynamic_stitch -----------------------------------------------------------------------


def _stitch_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    indices, data = inputs
    rest = _rest(data.dims, indices.dims, "indices")
    n_rows = None if indices.value is None else int(indices.value.max(initial=-1)) + 1
    return ((data.dtype.base_dtype, None if rest is None else (n_rows, *rest)),)


def _bind_stitch(launch: Launch) -> Call:
    return _stitch, (*launch.inputs, launch.outputs[0])


def _stitch(indices: Any, data: Any, out: Any) -> None:
    out.fill(b"" if out.dtype.kind == "O" else 0)
    if indices.size and int(indices.min()) < 0:
        first = int((indices < 0).argmax())
        raise InvalidArgumentError(None, None, f"indices[{first}] is out of range")
    out[indices] = data


DYNAMIC_STITCH = OpDef(
    "DynamicStitch",
    "indices:int32 data:T",
    _stitch_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_stitch),
    shape_inputs=(0,),
    samples=("i(2, 0, 2), f(3, 2)",),
)
"""TensorFlow's takes lists; here they are joined before."""


@public("dynamic_stitch")
def dynamic_stitch(indices: TensorList, data: TensorList, name: str | None = None) -> Tensor:
    """Interleave slices of several tensors into one, each at its index.

    Where a place is named twice, the last row counts; where none names it, there are zeros.

    >>> dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy().tolist()
    [10, 20, 30]
    """
    if not len(indices) == len(data) > 0:
        message = "DynamicStitch needs as many indices as data, and at least one"
        raise _refused(message, message)
    with scope("DynamicStitch", name) as inner:
        tensors = [convert(value) for value in data]
        numbers = [convert(value) for value in indices]
        rows = [_as_rows(*pair) for pair in zip(tensors, numbers, strict=True)]
        flat = [reshape(number, [-1]) for number in numbers]
        if len(rows) > 1:
            return apply(DYNAMIC_STITCH, (concat(flat, 0), concat(rows, 0)), {}, inner)
        return apply(DYNAMIC_STITCH, (flat[0], rows[0]), {}, inner)


@imported("DynamicStitch", "ParallelDynamicStitch")
def _import_stitch(inputs: list[Any], attrs: dict[str, Any], name: str) -> Any:
    n_lists = attrs["N"]
    return dynamic_stitch(inputs[:n_lists], inputs[n_lists:], name=f"{name}/")


@gradient(DYNAMIC_STITCH)
def _dynamic_stitch_gradient(op: RecordedOp, grad: Any) -> Any:
    return None, arrays.gathering.gather(grad, op.inputs[0])


def _refused(message: str, at_run: str) -> Exception:
    """Return the error that the operation would raise: the tensors are joined already."""
    return InvalidArgumentError(None, None, at_run) if is_eager() else ValueError(message)


def _as_rows(tensor: Any, numbers: Any) -> Any:
    """Flatten a tensor into rows, one for each index."""
    try:
        _rest(tensor.dims, numbers.dims, "indices")
    except ShapeMismatch as error:
        raise _refused(str(error), error.at_run) from None
    rank = rank_of(numbers) if numbers.dims is None else len(numbers.dims)
    if numbers.dims is not None and rank == 1:
        return tensor
    n_rows = reshape(size_of(numbers), [1])
    return reshape(tensor, concat([n_rows, shape_of(tensor)[rank:]], 0))


# --- invert_permutation -------------------------------------------------------------------


def _inverse_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    try:
        check_rank(inputs[0].dims, 1)
    except ValueError as error:
        raise ShapeMismatch(str(error), "invert_permutation expects a 1D vector.") from None
    return ((inputs[0].dtype.base_dtype, inputs[0].dims or (None,)),)


def _room_for_ramp(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    return outputs


def _bind_invert(launch: Launch) -> Call:
    x, out, ramp = launch.inputs[0], launch.outputs[0], launch.scratch[0]
    count = from_host(ramp, np.arange(ramp.size, dtype=ramp.dtype))
    return _invert, (x, ramp, count, out)


def _invert(x: Any, ramp: Any, count: Call, out: Any) -> None:
    count[0](*count[1])
    if x.size and not 0 <= int(x.min()) <= int(x.max()) < x.size:
        wrong = next(n for n in x.tolist() if not 0 <= n < x.size)
        message = f"{wrong} is not between 0 and {x.size}"
        raise InvalidArgumentError(None, None, message)
    out.fill(-1)
    out[x] = ramp
    if x.size and int(out.min()) < 0:
        numbers = x.tolist()
        wrong = next(n for k, n in enumerate(numbers) if n in numbers[:k])
        raise InvalidArgumentError(None, None, f"{wrong} is duplicated in the input.")


INVERT_PERMUTATION = OpDef(
    "InvertPermutation",
    "x:T",
    _inverse_type,
    types={"T": INDEX},
    kernels=all_devices(_bind_invert, INDEX, _room_for_ramp),
    gradient=NOT_DIFFERENTIABLE,
    samples=("i(2, 0, 1)",),
    large_samples=("i(*range(large.size))",),
)


@public("math.invert_permutation")
@public_v1("invert_permutation")
def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse of a permutation.

    >>> invert_permutation([2, 0, 1]).numpy().tolist()
    [1, 2, 0]
    """
    return apply(INVERT_PERMUTATION, (x,), {}, name)
