"""Local response normalization (LRN) and its gradient.

With ``s = bias + alpha * (sum of squares of the channels around)`` the output is
``x / s**beta``. Sums over neighbouring channels are products with a matrix of zeros and
ones, which BLAS does faster than a sliding window; powers are made of square roots for the
usual betas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from berth.dtypes import DType, float16, float32, float64
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.gemm import multiply
from berth.ops.opdef import (
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Parts,
    Typed,
    all_devices,
    make_calls,
)
from berth.ops.rules import check_rank, merge_dims
from berth.ops.types import Tensor, TensorLike
from berth.public import public

AT_ONCE = 2**18
"""About how many elements are worked on at a time: few enough for the cache, and enough that
threads seldom meet at the interpreter's lock."""
FEW = 2**16
"""Up to this number of elements, a second thread is not worth its start."""
TYPES = (float16, float32, float64)
"""TensorFlow has no kernel for float64; a check of gradients wants one."""

# --- types, shapes, memory ----------------------------------------------------------------


def _normalized(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images = inputs[0]
    check_rank(images.dims, 4)
    return ((images.dtype.base_dtype, images.dims or (None,) * 4),)


def _gradient_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    grads, images, outputs = inputs
    for tensor in inputs:
        check_rank(tensor.dims, 4)
    at_run = "input_grads, input_image, and out_image should have the same shape"
    dims = merge_dims(merge_dims(grads.dims, images.dims, at_run), outputs.dims, at_run)
    return ((grads.dtype.base_dtype, dims),)


class _Division(NamedTuple):
    n_threads: int
    at_once: int


def _divide(n_rows: int, n_channels: int, n_threads: int) -> _Division:
    if n_rows * n_channels <= FEW:
        n_threads = 1
    share = max(-(-n_rows // n_threads), 1)
    n_pieces = -(-share // max(AT_ONCE // max(n_channels, 1), 1))
    return _Division(n_threads, -(-share // n_pieces))


def _scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: a band matrix of neighbours, and a few slices for each thread."""
    dtype, dims = outputs[0]
    *rows, n_channels = dims or (0,)
    division = _divide(math.prod(rows), n_channels or 0, n_threads)  # type: ignore[arg-type]
    wide = _computed_in(dtype)
    n_slices = 3 + (len(inputs) if wide is not dtype else 0)
    slices = (division.n_threads, n_slices, division.at_once, n_channels)
    return ((wide, (n_channels, n_channels)), (wide, slices))


def _computed_in(dtype: DType) -> DType:
    return float32 if dtype is float16 else dtype


# --- kernels ------------------------------------------------------------------------------


def _neighbours(launch: Launch) -> list[Call]:
    """Fill the band matrix that sums neighbouring channels, times alpha."""
    matrix, radius = launch.scratch[0], launch.attrs["depth_radius"]
    calls: list[Call] = [(matrix.fill, (0,))]
    n_channels = matrix.shape[0]
    flat = matrix.reshape(-1)
    for offset in range(-min(radius, n_channels - 1), min(radius, n_channels - 1) + 1):
        first = max(0, -offset)
        start = first * n_channels + first + offset
        n_pairs = n_channels - abs(offset)
        diagonal = flat[start : start + (n_pairs - 1) * (n_channels + 1) + 1 : n_channels + 1]
        calls.append((diagonal.fill, (launch.attrs["alpha"],)))
    return calls


def _over_rows(
    launch: Launch, calls_of: Callable[[Sequence[Any], Sequence[Any]], Iterator[Call]]
) -> Parts | None:
    """Divide the work by rows of channels; `calls_of` gets arrays, output last, and memory.

    float16 is converted to float32 first.
    """
    out = launch.outputs[0]
    if out.size == 0:
        return None
    n_channels = out.shape[-1]
    flat = [array.reshape(-1, n_channels) for array in (*launch.inputs, out)]
    memory = launch.scratch[1]
    n_rows, n_threads, at_once = len(flat[0]), memory.shape[0], memory.shape[2]
    starts = range(0, n_rows, at_once)
    share = -(-len(starts) // n_threads)
    parts: list[Call] = []
    for thread in range(n_threads):
        calls: list[Call] = []
        for start in starts[thread * share : (thread + 1) * share]:
            arrays = [array[start : start + at_once] for array in flat]
            work, wide = memory[thread, :3], memory[thread, 3:]
            n_here = len(arrays[0])
            for position, array in enumerate(wide):
                calls.append((launch.xp.copyto, (array[:n_here], arrays[position])))
                arrays[position] = array[:n_here]
            calls += calls_of(arrays, work[:, :n_here])
        parts.append((make_calls, (calls,)))
    return Parts(parts, first=_neighbours(launch))


def _scale(launch: Launch, images: Any, squares: Any, scale: Any) -> Iterator[Call]:
    """Compute bias + alpha * (sum of squares of neighbours)."""
    xp = launch.xp
    yield xp.multiply, (images, images, squares)
    yield multiply(xp, squares, launch.scratch[0], scale)
    yield xp.add, (scale, scale.dtype.type(launch.attrs["bias"]), scale)


def _divisor(launch: Launch, scale: Any, out: Any) -> Iterator[Call]:
    """Compute scale to the power of beta, for some betas by square roots."""
    xp, beta = launch.xp, launch.attrs["beta"]
    if beta == 1.0:
        yield xp.copyto, (out, scale)
    elif beta == 0.5:
        yield xp.sqrt, (scale, out)
    elif beta == 0.75:
        yield _three_quarters, (xp, scale, out)
    else:
        yield xp.power, (scale, scale.dtype.type(beta), out)


def _three_quarters(xp: Any, scale: Any, out: Any) -> None:
    """Square root of s times the square root of s."""
    xp.sqrt(scale, out)
    xp.multiply(out, scale, out)
    xp.sqrt(out, out)


def _bind(launch: Launch) -> Parts | None:
    xp = launch.xp

    def calls_of(arrays: Sequence[Any], memory: Sequence[Any]) -> Iterator[Call]:
        images, out = arrays
        squares, scale, divisor = memory
        yield from _scale(launch, images, squares, scale)
        yield from _divisor(launch, scale, divisor)
        yield _quotient, (xp, images, divisor, out)

    return _over_rows(launch, calls_of)


def _quotient(xp: Any, a: Any, b: Any, out: Any) -> None:
    xp.true_divide(a, b, out=out, casting="same_kind")


def _bind_gradient(launch: Launch) -> Parts | None:
    """With y = x / s**beta: dy / s**beta - 2 alpha beta x (sum around of dy y / s)."""
    xp, beta = launch.xp, launch.attrs["beta"]

    def calls_of(arrays: Sequence[Any], memory: Sequence[Any]) -> Iterator[Call]:
        grads, images, outputs, out = arrays
        a, scale, divisor = memory
        yield from _scale(launch, images, a, scale)
        yield from _divisor(launch, scale, divisor)
        yield xp.multiply, (grads, outputs, a)
        yield xp.true_divide, (a, scale, a)
        yield multiply(xp, a, launch.scratch[0], scale)
        yield xp.multiply, (scale, images, scale)
        yield xp.multiply, (scale, scale.dtype.type(2 * beta), scale)
        yield xp.true_divide, (grads, divisor, divisor)
        yield _difference, (xp, divisor, scale, out)

    return _over_rows(launch, calls_of)


def _difference(xp: Any, a: Any, b: Any, out: Any) -> None:
    xp.subtract(a, b, out=out, casting="same_kind")


LRN = OpDef(
    "LRN",
    "input:T",
    _normalized,
    types={"T": TYPES},
    kernels=all_devices(_bind, TYPES, _scratch),
    samples=("f(2, 3, 2, 6), **lrn",),
    large_samples=("images, **lrn",),
)
LRN_GRAD = OpDef(
    "LRNGrad",
    "input_grads:T input_image:T output_image:T",
    _gradient_type,
    types={"T": TYPES},
    kernels=all_devices(_bind_gradient, TYPES, _scratch),
    samples=("f(2, 3, 2, 6), f(2, 3, 2, 6), f(2, 3, 2, 6), **lrn",),
    large_samples=("images, images, images, **lrn",),
)


@gradient(LRN_GRAD)
def _lrn_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    raise LookupError("No gradient defined for operation 'LRNGrad' (op type: LRNGrad).")


@public("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Local response normalization over `depth_radius` channels to each side.

    >>> lrn([[[[3.0, 4.0]]]], depth_radius=1, bias=0, alpha=1).numpy().tolist()[0][0][0]
    [0.6000000238418579, 0.800000011920929]
    """
    attrs = {
        "depth_radius": int(depth_radius),
        "bias": float(bias),
        "alpha": float(alpha),
        "beta": float(beta),
    }
    return apply(LRN, (input,), attrs, name)


@gradient(LRN)
def _lrn_gradient(op: RecordedOp, grad: Any) -> Any:
    return apply(LRN_GRAD, (grad, op.inputs[0], op.outputs[0]), op.attrs)


lrn = local_response_normalization
