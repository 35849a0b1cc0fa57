"""Fourier transforms over the last one, two or three axes: the operations and their gradients.

Those of real signals have half of the coefficients only; `fft_length` crops the signal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import COMPLEX, DType, complex64, complex128, float32, float64
from berth.errors import InvalidArgumentError
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.pad import pad
from berth.ops.builder import apply
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, logical_or
from berth.ops.elementwise.complex_numbers import real
from berth.ops.gradient import RecordedOp
from berth.ops.opdef import Attrs, Bind, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.reductions.reduction import reduce_prod
from berth.ops.rules import ShapeMismatch, check_rank
from berth.ops.shape import bracketed

REAL = (float32, float64)
COMPLEX_OF = {float32: complex64, float64: complex128}
REAL_OF = {complex64: float32, complex128: float64}


# --- shape rules --------------------------------------------------------------------------


def _check_at_least(tensor: Typed, rank: int) -> None:
    dims = tensor.dims
    if dims is not None and len(dims) < rank:
        raise ShapeMismatch(
            f"Shape must be at least rank {rank} but is rank {len(dims)}",
            f"Input must have rank of at least {rank} but got: {bracketed(dims)}",
        )


def _complex_type(rank: int) -> Callable[..., Sequence[OutputType]]:
    def infer(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
        _check_at_least(inputs[0], rank)
        return ((inputs[0].dtype.base_dtype, inputs[0].dims),)

    return infer


def _real_type(rank: int, is_inverse: bool) -> Callable[..., Sequence[OutputType]]:
    def infer(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
        tensor, length = inputs
        _check_at_least(tensor, rank)
        check_rank(length.dims, 1)
        n_given = length.dims[0] if length.dims else None
        if n_given not in (rank, None):
            raise ShapeMismatch(
                f"Dimension must be {rank} but is {n_given}",
                f"fft_length must have shape [{rank}]",
            )
        dtype = attrs["Treal" if is_inverse else "Tcomplex"]
        if tensor.dims is None:
            return ((dtype, None),)
        sizes: list[int | None] = [None] * rank
        if length.value is not None:
            sizes = [int(size) for size in length.value]
            if not is_inverse and sizes[-1]:
                sizes[-1] = sizes[-1] // 2 + 1
        return ((dtype, (*tensor.dims[:-rank], *sizes)),)

    return infer


# --- kernels ------------------------------------------------------------------------------


def _bind_complex(function: str, rank: int) -> Bind:
    axes = tuple(range(-rank, 0))

    def bind(launch: Launch) -> Call | None:
        out = launch.outputs[0]
        if not out.size:
            return None
        return _transform, (
            getattr(launch.xp.fft, function),
            launch.inputs[0],
            (None, axes),
            out,
        )

    return bind


def _bind_real(function: str, rank: int, is_inverse: bool) -> Bind:
    axes = tuple(range(-rank, 0))

    def bind(launch: Launch) -> Call | None:
        signal, length = launch.inputs
        out = launch.outputs[0]
        sizes = [int(size) for size in length]
        _check_sizes(signal, sizes, is_inverse)
        if not out.size:
            return None
        transform = getattr(launch.xp.fft, function)
        return _transform, (transform, signal, (sizes, axes), out)

    return bind


def _transform(function: Callable[..., Any], signal: Any, how: Any, out: Any) -> None:
    out[...] = function(signal, *how)


def _check_sizes(signal: Any, sizes: Sequence[int], is_inverse: bool) -> None:
    """Raise InvalidArgumentError for a signal that is shorter than the transform."""
    first = signal.ndim - len(sizes)
    for position, size in enumerate(sizes):
        is_half = is_inverse and position == len(sizes) - 1
        least = size // 2 + 1 if is_half and size else size
        if size < 0:
            raise InvalidArgumentError(
                None, None, f"fft_length[{position}] must >= 0, but got: {size}"
            )
        if signal.size and signal.shape[first + position] < least:
            raise InvalidArgumentError(
                None,
                None,
                f"Input dimension {first + position} must have length of at least {least} but "
                f"got: {signal.shape[first + position]}",
            )


# --- operations ---------------------------------------------------------------------------


def _complex_op(name: str, function: str, rank: int) -> OpDef:
    shape = ("2, 4", "2, 3, 4", "2, 3, 2, 4")[rank - 1]
    return OpDef(
        name,
        "input:Tcomplex",
        _complex_type(rank),
        types={"Tcomplex": COMPLEX},
        kernels=all_devices(_bind_complex(function, rank), COMPLEX),
        samples=(f"sample('c8', ({shape}))",),
    )


def _real_op(name: str, function: str, rank: int, is_inverse: bool) -> OpDef:
    types: tuple[DType, ...] = COMPLEX if is_inverse else REAL
    kind = "Tcomplex" if is_inverse else "Treal"
    shape, length = (("5,", "4"), ("3, 5", "3, 4"), ("2, 3, 5", "2, 3, 4"))[rank - 1]
    attrs = "Treal=float32" if is_inverse else "Tcomplex=complex64"
    return OpDef(
        name,
        f"input:{kind} fft_length:int32",
        _real_type(rank, is_inverse),
        types={kind: types},
        kernels=all_devices(_bind_real(function, rank, is_inverse), types),
        host_inputs=(1,),
        samples=(f"sample('{'c8' if is_inverse else 'f'}', ({shape})), i({length}), {attrs}",),
    )


_RANKS = ((1, ""), (2, "2D"), (3, "3D"))
FFT = {rank: _complex_op(f"FFT{d}", "fftn", rank) for rank, d in _RANKS}
IFFT = {rank: _complex_op(f"IFFT{d}", "ifftn", rank) for rank, d in _RANKS}
RFFT = {rank: _real_op(f"RFFT{d}", "rfftn", rank, False) for rank, d in _RANKS}
IRFFT = {rank: _real_op(f"IRFFT{d}", "irfftn", rank, True) for rank, d in _RANKS}


# --- gradients ----------------------------------------------------------------------------


def _set_complex_gradients(rank: int) -> None:
    """The transform is a matrix, and so is its gradient: the inverse, up to a factor."""

    def n_elements(tensor: Any) -> Any:
        return cast(reduce_prod(shape_of(tensor)[-rank:]), tensor.dtype.base_dtype)

    def forward(op: RecordedOp, grad: Any) -> Any:
        return apply(IFFT[rank], (grad,), {}) * n_elements(grad)

    def inverse(op: RecordedOp, grad: Any) -> Any:
        return apply(FFT[rank], (grad,), {}) / n_elements(grad)

    FFT[rank].gradient, IFFT[rank].gradient = forward, inverse


def _set_real_gradients(rank: int) -> None:
    def forward(op: RecordedOp, grad: Any) -> Any:
        """Coefficients without a counterpart count once: the rest of them is 0 here."""
        signal, length = op.inputs
        full = fit(grad, length)
        scale = cast(reduce_prod(length), signal.dtype.base_dtype)
        found = real(apply(IFFT[rank], (full,), {})) * scale
        return fit(found, shape_of(signal)[-rank:]), None

    def inverse(op: RecordedOp, grad: Any) -> Any:
        """Coefficients with a counterpart count twice."""
        signal, length = op.inputs
        dtype = signal.dtype.base_dtype
        found = apply(RFFT[rank], (grad, length), {"Tcomplex": dtype})
        positions = range_op(axis_size(found, -1))
        is_single = logical_or(equal(positions, 0), equal(positions * 2, length[-1]))
        weights = 2.0 - cast(is_single, REAL_OF[dtype])
        scaled = found * cast(weights / cast(reduce_prod(length), REAL_OF[dtype]), dtype)
        return fit(scaled, shape_of(signal)[-rank:]), None

    RFFT[rank].gradient, IRFFT[rank].gradient = forward, inverse


def fit(tensor: Any, sizes: Any) -> Any:
    """Crop the last axes to some sizes, or fill them up with zeros."""
    if hasattr(sizes, "dims"):
        known = sizes.value
        sizes = [sizes[k] for k in range(sizes.dims[0])] if known is None else known.tolist()
    n_outer = len(tensor.dims) - len(sizes)
    places = [slice(None)] * n_outer
    paddings: list[Any] = [[0, 0]] * n_outer
    crops: Any = False
    pads: Any = False
    for axis, size in enumerate(sizes, n_outer):
        present = axis_size(tensor, axis)
        is_known = isinstance(size, int) and isinstance(present, int)
        missing: Any = max(size - present, 0) if is_known else maximum(size - present, 0)
        places.append(slice(0, size))
        paddings.append([0, missing])
        crops = crops or not is_known or present > size
        pads = pads or not is_known or missing > 0
    tensor = tensor[tuple(places)] if crops else tensor
    return pad(tensor, paddings) if pads else tensor


for _rank in (1, 2, 3):
    _set_complex_gradients(_rank)
    _set_real_gradients(_rank)
