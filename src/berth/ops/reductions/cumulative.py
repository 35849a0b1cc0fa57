"""Cumulative sums and products along an axis: cumsum, cumprod, cumulative_logsumexp.

`exclusive` leaves the element itself out; `reverse` goes from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import FLOATING, NUMBERS, DType
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import where_v2
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater, less
from berth.ops.elementwise.unary import conj, exp, log
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    ScratchShapes,
    Typed,
    all_devices,
)
from berth.ops.rules import INDEX, ShapeMismatch, check_rank
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1


def _scanned(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    x, axis = inputs
    check_rank(axis.dims, 0)
    if x.dims is not None and axis.value is not None:
        rank, position = len(x.dims), int(axis.value)
        if not -rank <= position < rank:
            message = f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got"
            raise ShapeMismatch(f"{message} {position}", f"{message} {position}")
    return ((x.dtype.base_dtype, x.dims),)


Scan = Callable[[Launch, Any, Any], Call]


def _bind_scan(scan: Scan, of_nothing: Any) -> Bind:
    """Make a kernel of a scan along the first axis, from the first element to the last."""

    def bind(launch: Launch) -> Call:
        along = int(launch.inputs[1]) % launch.inputs[0].ndim

        def axis_first(array: Any) -> Any:
            array = launch.xp.moveaxis(array, along, 0)
            return array[::-1] if launch.attrs["reverse"] else array

        source, out = axis_first(launch.inputs[0]), axis_first(launch.outputs[0])
        if not launch.attrs["exclusive"]:
            return scan(launch, source, out)
        rest = scan(launch, source[:-1], out[1:])
        return _exclusive, (out[:1], of_nothing, *rest)

    return bind


def _exclusive(first: Any, of_nothing: Any, scan: Any, arguments: tuple[Any, ...]) -> None:
    first[...] = of_nothing
    scan(*arguments)


def _by(name: str) -> Scan:
    """Make a scan of a function that NumPy and CuPy have."""

    def scan(launch: Launch, source: Any, out: Any) -> Call:
        return getattr(launch.xp, name), (source, 0, out.dtype, out)

    return scan


def _log_scan(launch: Launch, source: Any, out: Any) -> Call:
    other = launch.xp.moveaxis(launch.scratch[0].reshape(out.shape), 0, 0)
    return _double, (launch.xp, source, out, other)


def _double(xp: Any, source: Any, out: Any, other: Any) -> None:
    """Add to each element what is 1, 2, 4, … before it: few steps, each on whole arrays."""
    xp.copyto(out, source)
    distance = 1
    while distance < len(out):
        xp.logaddexp(out[distance:], out[:-distance], other[distance:])
        xp.copyto(out[distance:], other[distance:])
        distance *= 2


def _log_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory for the result of one step while the previous one is still needed."""
    dtype, dims = outputs[0]
    if dims is None or not attrs["exclusive"]:
        return ((dtype, dims),)
    along = int(inputs[1].value) % len(dims)
    return ((dtype, tuple((n or 0) - (k == along and n != 0) for k, n in enumerate(dims))),)


def _scan(
    name: str,
    bind: Bind,
    dtypes: Sequence[DType],
    scratch: ScratchShapes | None = None,
    samples: Sequence[str] = (),
    large_samples: Sequence[str] = (),
) -> OpDef:
    return OpDef(
        name,
        "x:T axis:Tidx",
        _scanned,
        types={"T": dtypes, "Tidx": INDEX},
        kernels=all_devices(bind, dtypes, scratch),
        host_inputs=(1,),
        samples=samples,
        large_samples=large_samples,
    )


CUMSUM = _scan(
    "Cumsum",
    _bind_scan(_by("cumsum"), 0),
    NUMBERS,
    samples=("d(2, 3), at(0), exclusive=True, reverse=True",),
    large_samples=("sample('d', (512, 512)), at(1), exclusive=False, reverse=False",),
)
CUMPROD = _scan(
    "Cumprod",
    _bind_scan(_by("cumprod"), 1),
    NUMBERS,
    samples=("d(2, 3), at(-1), exclusive=False, reverse=False",),
    large_samples=("sample('d', (512, 512)), at(0), exclusive=True, reverse=True",),
)
CUMULATIVE_LOGSUMEXP = _scan(
    "CumulativeLogsumexp",
    _bind_scan(_log_scan, float("-inf")),
    FLOATING,
    _log_scratch,
    samples=(
        "d(2, 5), at(1), exclusive=False, reverse=False",
        "d(2, 5), at(0), exclusive=True, reverse=True",
    ),
    large_samples=("sample('d', (512, 512)), at(0), exclusive=False, reverse=False",),
)


def _cumulate(
    op: OpDef, x: Any, axis: Any, exclusive: bool, reverse: bool, name: str | None
) -> Tensor:
    with scope(op.name, name) as inner:
        x = convert(x, None, "x")
        attrs = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
        return apply(op, (x, axis), attrs, inner)


@public("cumsum", "math.cumsum")
def cumsum(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Cumulative sum of x along an axis.

    >>> cumsum([1, 2, 3]).numpy().tolist()
    [1, 3, 6]
    >>> cumsum([1, 2, 3], exclusive=True, reverse=True).numpy().tolist()
    [5, 3, 0]
    """
    return _cumulate(CUMSUM, x, axis, exclusive, reverse, name)


@gradient(CUMSUM)
def _cumsum_gradient(op: RecordedOp, grad: Any) -> Any:
    return cumsum(grad, **_backwards(op)), None


def _backwards(op: RecordedOp) -> dict[str, Any]:
    """Return the arguments of a scan in the other direction."""
    return {
        "axis": op.inputs[1],
        "exclusive": op.attrs["exclusive"],
        "reverse": not op.attrs["reverse"],
    }


@public("math.cumprod")
@public_v1("cumprod")
def cumprod(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Cumulative product of x along an axis.

    >>> cumprod([2, 3, 4]).numpy().tolist()
    [2, 6, 24]
    >>> cumprod([2, 3, 4], exclusive=True).numpy().tolist()
    [1, 2, 6]
    """
    return _cumulate(CUMPROD, x, axis, exclusive, reverse, name)


@gradient(CUMPROD)
def _cumprod_gradient(op: RecordedOp, grad: Any) -> Any:
    """Products without one factor each: divided by it, unless it is 0.

    All products from the first 0 on are 0, and depend on that factor alone.
    """
    x, axis = conj(op.inputs[0]), op.inputs[1]
    forwards = {**op.attrs, "axis": axis}
    is_zero = equal(x, zeros_like(x))
    n_zeros = cumsum(cast(is_zero, x.dtype.base_dtype), axis, reverse=op.attrs["reverse"])
    is_first = is_zero & equal(n_zeros, ones_like(n_zeros))
    divisor = where_v2(is_zero, ones_like(x), x)
    by_factor = cumsum(cumprod(x, **forwards) * grad, **_backwards(op)) / divisor
    without_first = cumprod(where_v2(is_first, ones_like(x), x), **forwards)
    by_zero = cumsum(without_first * grad, **_backwards(op))
    by_factor = where_v2(is_zero, zeros_like(x), by_factor)
    return where_v2(is_first, by_zero, by_factor), None


@public("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Cumulative log-sum-exp of x along an axis, without overflow.

    >>> cumulative_logsumexp([0.0, 1000.0]).numpy().tolist()
    [0.0, 1000.0]
    """
    return _cumulate(CUMULATIVE_LOGSUMEXP, x, axis, exclusive, reverse, name)


@gradient(CUMULATIVE_LOGSUMEXP)
def _cumulative_logsumexp_gradient(op: RecordedOp, grad: Any) -> Any:
    """Sums of grad · exp(x - output), in logarithms; by the sign of `grad`, which have none."""
    x, output = op.inputs[0], op.outputs[0]
    nothing = convert(x.dtype.base_dtype.np_dtype.type("-inf"))

    def part(has_sign: Any, size: Any) -> Any:
        known = log(where_v2(has_sign, size, ones_like(size)))
        logarithm = where_v2(has_sign, known - output, nothing)
        return exp(cumulative_logsumexp(logarithm, **_backwards(op)) + x)

    zero = zeros_like(grad)
    return part(greater(grad, zero), grad) - part(less(grad, zero), -grad), None
