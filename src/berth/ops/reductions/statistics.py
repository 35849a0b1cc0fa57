"""Statistics: variance, standard deviation, log-sum-exp, counts, bincount, confusion matrix."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from berth.dtypes import COMPLEX, as_dtype, float32, float64, int32, int64
from berth.ops.arrays.array import either_name, reshape, stop_gradient
from berth.ops.arrays.filling import ones_like, zeros, zeros_like
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.joining import stack, unstack
from berth.ops.arrays.metadata import shape, size
from berth.ops.builder import current
from berth.ops.compose import Composer, convert, is_integer, scope
from berth.ops.elementwise.arithmetic import add, maximum, minimum, multiply, subtract, truediv
from berth.ops.elementwise.casting import cast as cast_to
from berth.ops.elementwise.compare import greater_equal, less, less_equal, not_equal
from berth.ops.elementwise.complex_numbers import real
from berth.ops.elementwise.roots import sqrt
from berth.ops.elementwise.unary import conj, exp, is_finite, log, square
from berth.ops.flow.control import Assert
from berth.ops.reductions.reduction import reduce_all, reduce_max, reduce_mean, reduce_sum
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.ops.types import AxisLike, DTypeLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- along axes ---------------------------------------------------------------------------


@public("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Logarithm of the sum of exponentials along axes, without overflow.

    >>> reduce_logsumexp([1000.0]).numpy().tolist()
    1000.0
    """
    axis = either_name("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(either_name("keepdims", keepdims, "keep_dims", keep_dims))
    with scope("ReduceLogSumExp", name) as inner:
        x = convert(input_tensor)
        largest = reduce_max(x, axis, keepdims=True)
        finite = where_v2(is_finite(largest), largest, zeros_like(largest))
        largest = stop_gradient(finite)
        result = log(reduce_sum(exp(subtract(x, largest)), axis, keepdims=keepdims))
        if not keepdims:
            largest = reshape(largest, shape(result))
        return add(result, largest, name=inner)


@public("math.reduce_variance")
def reduce_variance(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Variance of elements along axes, by default along all.

    >>> reduce_variance([1.0, 3.0]).numpy().tolist()
    1.0
    """
    with scope("reduce_variance", name):
        x = convert(input_tensor)
        dtype = x.dtype.base_dtype
        if dtype.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type {dtype}."
            )
        distance = subtract(x, reduce_mean(x, axis, keepdims=True))
        if dtype in COMPLEX:
            squares = real(multiply(conj(distance), distance))
        else:
            squares = square(distance)
        return reduce_mean(squares, axis, keepdims=keepdims)


@public("math.reduce_std")
def reduce_std(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Standard deviation of elements along axes, by default along all.

    >>> reduce_std([1.0, 5.0]).numpy().tolist()
    2.0
    """
    with scope("reduce_std", name):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


@public("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Euclidean norm of elements along axes; truncated for integers.

    >>> reduce_euclidean_norm([3.0, 4.0]).numpy().tolist()
    5.0
    """
    with scope("EuclideanNorm", name):
        x = convert(input_tensor)
        dtype = x.dtype.base_dtype
        if dtype.is_integer:
            x = cast_to(x, float64)
        total = reduce_sum(multiply(x, conj(x)), axis, keepdims=keepdims)
        return cast_to(sqrt(total), dtype)


# --- counting -----------------------------------------------------------------------------


@public_v2("math.count_nonzero")
def count_nonzero(
    input: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Count the nonzero elements along axes; of strings, the nonempty ones.

    >>> count_nonzero([[0, 1], [2, 3]], axis=0).numpy().tolist()
    [1, 2]
    """
    with scope("count_nonzero", name):
        x = convert(input, None, "input")
        nothing = zeros([], x.dtype.base_dtype)
        counted = cast_to(not_equal(x, nothing), int64)
        return cast_to(reduce_sum(counted, axis, keepdims=keepdims), as_dtype(dtype))


@public_v1("count_nonzero", "math.count_nonzero")
def count_nonzero_v1(
    input_tensor: TensorLike | None = None,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Count the nonzero elements along axes, with TensorFlow 1's argument names.

    >>> count_nonzero_v1([0, 1, 2], reduction_indices=0).numpy().tolist()
    2
    """
    keepdims = either_name("keepdims", keepdims, "keep_dims", keep_dims)
    tensor = either_name("input", input, "input_tensor", input_tensor)
    axis = either_name("axis", axis, "reduction_indices", reduction_indices)
    return count_nonzero(tensor, axis, keepdims, dtype, name)


@public("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Fraction of zeros in a tensor.

    >>> zero_fraction([0.0, 1.0, 0.0, 3.0]).numpy().tolist()
    0.5
    """
    with scope("zero_fraction", name) as inner:
        value = convert(value, None, "value")
        n_elements = size(value, out_type=int64)
        n_zeros = n_elements - count_nonzero(value)
        return truediv(cast_to(n_zeros, float32), cast_to(n_elements, float32), name=inner)


# --- how often ----------------------------------------------------------------------------


@public_v2("math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Count the occurrences of each value in an integer array, or sum their weights.

    >>> bincount([1, 1, 3]).numpy().tolist()
    [0, 2, 0, 1]
    """
    if weights is not None and binary_output:
        raise ValueError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Please specify "
            "only one."
        )
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are.")
    with scope("bincount", name):
        numbers = cast_to(convert(arr, None, "arr"), int32)
        counted = _counted(numbers, weights, as_dtype(dtype), binary_output)
        with only_if(reduce_all(greater_equal(numbers, 0)), "Input arr must be non-negative!"):
            n_bins = _n_bins(numbers, minlength, maxlength)
        in_bins = where_v2(less(numbers, n_bins), numbers, -ones_like(numbers))
        if axis == -1 and (numbers.dims is None or len(numbers.dims) == 2):
            counts = _counts_by_row(counted, in_bins, n_bins)
        else:
            flat = reshape(counted, [-1]), reshape(in_bins, [-1])
            counts = unsorted_segment_sum(*flat, n_bins)
        return minimum(counts, ones_like(counts)) if binary_output else counts


def _counted(numbers: Any, weights: Any, dtype: Any, is_binary: bool) -> Any:
    if weights is None:
        return ones_like(numbers, dtype)
    return convert(weights, None, "weights")


def only_if(condition: Any, message: str) -> Any:
    """Make the operations of a block depend on an assertion, which runs on a CPU."""
    builder = cast(Composer, current())
    with builder.device("/cpu:0"):
        check = Assert(condition, [message])
    return builder.control_dependencies([check])


def _n_bins(numbers: Any, minlength: Any, maxlength: Any) -> Any:
    largest = reduce_max(numbers) + 1
    n_bins = cast_to(size(numbers) > 0, int32) * largest
    if minlength is not None:
        n_bins = maximum(cast_to(minlength, int32), n_bins)
    if maxlength is not None:
        n_bins = minimum(cast_to(maxlength, int32), n_bins)
    return n_bins


def _counts_by_row(counted: Any, numbers: Any, n_bins: Any) -> Any:
    n_rows = shape(numbers)[0]
    rows = reshape(range_of(n_rows), [-1, 1])
    places = where_v2(less(numbers, 0), numbers, numbers + rows * n_bins)
    return reshape(unsorted_segment_sum(counted, places, n_rows * n_bins), [n_rows, n_bins])


@public_v1("bincount", "math.bincount")
def bincount_v1(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike = int32,
) -> Tensor:
    """Count the occurrences of each value in an integer array, with TensorFlow 1's arguments.

    >>> bincount_v1([0, 0, 2]).numpy().tolist()
    [2, 0, 1]
    """
    return bincount(arr, weights, minlength, maxlength, dtype)


@public_v2("math.confusion_matrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: Any = None,
    weights: Any = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Confusion matrix of labels (rows) and predictions (columns).

    >>> confusion_matrix([0, 1, 1], [0, 1, 0]).numpy().tolist()
    [[1, 0], [1, 1]]
    """
    wanted = as_dtype(dtype)
    with scope("confusion_matrix", name):
        rows = _classes(labels, "labels")
        columns = _classes(predictions, "predictions")
        rows, columns = unstack(stack([rows, columns]))  # raises if the lengths differ
        if num_classes is None:
            n_classes = maximum(reduce_max(rows), reduce_max(columns)) + 1
        else:
            n_classes = cast_to(convert(num_classes), int64)
            within = reduce_all(less(rows, n_classes) & less(columns, n_classes))
            message = "`labels` or `predictions` out of bound"
            with only_if(within, message):
                rows = rows + 0
        counted = ones_like(rows, wanted) if weights is None else cast_to(weights, wanted)
        places = rows * n_classes + columns
        counts = unsorted_segment_sum(counted, places, n_classes * n_classes)
        n_sides = num_classes if is_integer(num_classes) else n_classes
        return reshape(counts, [n_sides, n_sides])


def _classes(numbers: Any, what: str) -> Any:
    """Return class indices as a vector, asserted not to be negative."""
    classes = reshape(cast_to(convert(numbers, None, what), int64), [-1])
    message = f"`{what}` contains negative values."
    with only_if(reduce_all(greater_equal(classes, np.int64(0))), message):
        return classes + 0


@public_v1("confusion_matrix", "math.confusion_matrix")
def confusion_matrix_v1(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: Any = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """Confusion matrix, with TensorFlow 1's argument order.

    >>> confusion_matrix_v1([0, 1], [1, 1], 2).numpy().tolist()
    [[0, 1], [0, 1]]
    """
    return confusion_matrix(labels, predictions, num_classes, weights, dtype, name)


# --- in order -----------------------------------------------------------------------------


@public("math.is_non_decreasing")
@public_v1("is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is at least as large as the one before it.

    >>> is_non_decreasing([1, 2, 2]).numpy().tolist()
    True
    """
    with scope("is_non_decreasing", name):
        flat = _numbers_in_a_row(x)
        return reduce_all(less_equal(flat[:-1], flat[1:]))


@public("math.is_strictly_increasing")
@public_v1("is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is larger than the one before it.

    >>> is_strictly_increasing([1, 2, 2]).numpy().tolist()
    False
    """
    with scope("is_strictly_increasing", name):
        flat = _numbers_in_a_row(x)
        return reduce_all(less(flat[:-1], flat[1:]))


def _numbers_in_a_row(x: Any) -> Any:
    x = convert(x, None, "x")
    if not x.dtype.is_numeric:
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    return reshape(x, [-1])
