"""Fourier transforms over any axes, and shifts of their spectra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.rearranging import roll
from berth.ops.arrays.transpose import transpose
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.roots import sqrt
from berth.ops.opdef import OpDef
from berth.ops.signal.fourier import FFT, IFFT, fit
from berth.ops.signal.transforms import irfft, rfft
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v2


def _along(function: Callable[[Any], Any], tensor: Any, axis: int) -> Any:
    """Apply a transform of the last axis along another."""
    rank = len(tensor.dims)
    if axis % rank == rank - 1:
        return function(tensor)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(function(transpose(tensor, order)), order)


def _axes(tensor: Any, fft_length: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """Return how long each transform is, and along which axis."""
    n_axes = len(tensor.dims)
    if axes is None:
        axes = list(range(n_axes - (n_axes if fft_length is None else len(fft_length)), n_axes))
    axes = [int(axis) for axis in axes]
    if fft_length is None:
        return [axis_size(tensor, axis) for axis in axes], axes
    if len(fft_length) != len(axes):
        raise ValueError(f"fft_length {fft_length} and axes {axes} differ in length.")
    return [int(size) for size in fft_length], axes


def _scaled(tensor: Any, sizes: list[Any], norm: str | None, is_inverse: bool) -> Any:
    """Apply a normalization to a transform that is scaled as usual: by 1 / n backwards."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(
            "Unknown normalization. Expected None, 'backward', 'ortho' or 'forward', got: "
            f"{norm}"
        )
    if norm in (None, "backward"):
        return tensor
    dtype = tensor.dtype.base_dtype
    total = cast(1, dtype)
    for size in sizes:
        total = total * cast(size, dtype)
    factor = sqrt(total) if norm == "ortho" else total
    return tensor * factor if is_inverse else tensor / factor


def _fitted(op: OpDef, size: Any, tensor: Any) -> Any:
    return apply(op, (fit(tensor, [size]),), {})


def _nd(op: OpDef, tensor: Any, arguments: tuple[Any, Any, Any], is_inverse: bool) -> Any:
    fft_length, axes, norm = arguments
    sizes, places = _axes(tensor, fft_length, axes)
    for size, axis in zip(sizes, places, strict=True):
        tensor = _along(partial(_fitted, op, size), tensor, axis)
    return _scaled(tensor, sizes, norm, is_inverse)


@public("signal.fftnd")
@public_v2("fftnd")
def fftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Fourier transform over any axes.

    >>> fftnd([[1 + 0j], [0]], axes=[0]).numpy().real.tolist()
    [[1.0], [1.0]]
    """
    with scope("fftnd", name):
        tensor: Any = convert(input_tensor, None, "input_tensor")
        result: Tensor = _nd(FFT[1], tensor, (fft_length, axes, norm), False)
        return result


@public("signal.ifftnd")
@public_v2("ifftnd")
def ifftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Inverse Fourier transform over any axes.

    >>> ifftnd([[1 + 0j], [1]], axes=[0]).numpy().real.tolist()
    [[1.0], [0.0]]
    """
    with scope("ifftnd", name):
        tensor: Any = convert(input_tensor, None, "input_tensor")
        result: Tensor = _nd(IFFT[1], tensor, (fft_length, axes, norm), True)
        return result


@public("signal.rfftnd")
@public_v2("rfftnd")
def rfftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Fourier transform of real signals over any axes, half of them along the last.

    >>> rfftnd([[1.0, 0.0]], axes=[0, 1]).numpy().real.tolist()
    [[1.0, 1.0]]
    """
    with scope("rfftnd", name):
        tensor: Any = convert(input_tensor, None, "input_tensor")
        sizes, places = _axes(tensor, fft_length, axes)
        halved = _along(lambda x: rfft(x, [sizes[-1]]), tensor, places[-1])
        rest = sizes[:-1], places[:-1], None
        result: Tensor = _nd(FFT[1], halved, rest, False)
        return _scaled(result, sizes, norm, False)  # type: ignore[no-any-return]


@public("signal.irfftnd")
@public_v2("irfftnd")
def irfftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Inverse of `rfftnd`.

    >>> irfftnd([[1 + 0j, 1]], axes=[0, 1]).numpy().tolist()
    [[1.0, 0.0]]
    """
    with scope("irfftnd", name):
        tensor: Any = convert(input_tensor, None, "input_tensor")
        sizes, places = _axes(tensor, fft_length, axes)
        if fft_length is None:
            sizes[-1] = 2 * (sizes[-1] - 1)
        rest = sizes[:-1], places[:-1], None
        spectrum = _nd(IFFT[1], tensor, rest, True)
        result = _along(lambda x: irfft(x, [sizes[-1]]), spectrum, places[-1])
        return _scaled(result, sizes, norm, True)  # type: ignore[no-any-return]


# --- the zero frequency in the middle -----------------------------------------------------


@public("signal.fftshift")
def fftshift(x: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """Shift the zero-frequency component to the middle of the spectrum.

    >>> fftshift([0.0, 1.0, 2.0, -2.0, -1.0]).numpy().tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    with scope("fftshift", name):
        return _shift(convert(x), axes, 1)


@public("signal.ifftshift")
def ifftshift(x: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """Inverse of `fftshift`.

    >>> ifftshift([-2.0, -1.0, 0.0, 1.0, 2.0]).numpy().tolist()
    [0.0, 1.0, 2.0, -2.0, -1.0]
    """
    with scope("ifftshift", name):
        return _shift(convert(x), axes, -1)


def _shift(tensor: Any, axes: Any, sign: int) -> Tensor:
    if axes is None:
        axes = list(range(len(tensor.dims)))
    listed = axes if isinstance(axes, list | tuple) else [axes]
    half = [axis_size(tensor, axis) // 2 for axis in listed]
    return roll(tensor, [sign * size for size in half], list(listed))
