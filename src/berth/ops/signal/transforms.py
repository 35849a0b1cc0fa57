"""``tf.signal.fft`` and its relatives: Fourier transforms as users call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.dtypes import float32, int32
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.stacking import pack
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.opdef import OpDef
from berth.ops.signal.fourier import COMPLEX_OF, FFT, IFFT, IRFFT, REAL, REAL_OF, RFFT, fit
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


def _published(op: OpDef, name: str, doc: str) -> Callable[..., Tensor]:
    """Make the function of a complex transform, and publish it."""

    def call(input: TensorLike, name: str | None = None) -> Tensor:
        return apply(op, (input,), {}, name)

    made: Any = call
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    public(f"signal.{name}")(made)
    public_v1(name, f"spectral.{name}")(made)
    return call


fft = _published(
    FFT[1],
    "fft",
    """Fourier transform over the last axis.

    >>> fft([1 + 0j, 0, 0, 0]).numpy().real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """,
)
ifft = _published(
    IFFT[1],
    "ifft",
    """Inverse Fourier transform over the last axis.

    >>> ifft([1 + 0j, 1, 1, 1]).numpy().real.tolist()
    [1.0, 0.0, 0.0, 0.0]
    """,
)
fft2d = _published(
    FFT[2],
    "fft2d",
    """Fourier transform over the last two axes.

    >>> fft2d([[1 + 0j, 0], [0, 0]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """,
)
ifft2d = _published(
    IFFT[2],
    "ifft2d",
    """Inverse Fourier transform over the last two axes.

    >>> ifft2d([[1 + 0j, 1], [1, 1]]).numpy().real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """,
)
fft3d = _published(
    FFT[3],
    "fft3d",
    """Fourier transform over the last three axes.

    >>> fft3d([[[1 + 0j, 0]]]).numpy().real.tolist()
    [[[1.0, 1.0]]]
    """,
)
ifft3d = _published(
    IFFT[3],
    "ifft3d",
    """Inverse Fourier transform over the last three axes.

    >>> ifft3d([[[1 + 0j, 1]]]).numpy().real.tolist()
    [[[1.0, 0.0]]]
    """,
)


# --- real signals -------------------------------------------------------------------------


@public("signal.rfft")
@public_v1("spectral.rfft")
def rfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Fourier transform of real signals over the last axis: the first half and one more.

    >>> rfft([1.0, 0.0, 0.0, 0.0]).numpy().real.tolist()
    [1.0, 1.0, 1.0]
    """
    return _real(1, "rfft", input_tensor, fft_length, name)


@public("signal.rfft2d")
@public_v1("spectral.rfft2d")
def rfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Fourier transform of real signals over the last two axes.

    >>> rfft2d([[1.0, 0.0], [0.0, 0.0]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _real(2, "rfft2d", input_tensor, fft_length, name)


@public("signal.rfft3d")
@public_v1("spectral.rfft3d")
def rfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Fourier transform of real signals over the last three axes.

    >>> rfft3d([[[1.0, 0.0]]]).numpy().real.tolist()
    [[[1.0, 1.0]]]
    """
    return _real(3, "rfft3d", input_tensor, fft_length, name)


@public("signal.irfft")
@public_v1("spectral.irfft")
def irfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Inverse of `rfft`: real signals, of an even length if `fft_length` does not say another.

    >>> irfft([1 + 0j, 1, 1]).numpy().tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    return _inverse(1, "irfft", input_tensor, fft_length, name)


@public("signal.irfft2d")
@public_v1("spectral.irfft2d")
def irfft2d(
    input_tensor: TensorLike, fft_length: Any = None, name: str | None = None
) -> Tensor:
    """Inverse of `rfft2d`.

    >>> irfft2d([[1 + 0j, 1], [1, 1]]).numpy().tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return _inverse(2, "irfft2d", input_tensor, fft_length, name)


@public("signal.irfft3d")
@public_v1("spectral.irfft3d")
def irfft3d(
    input_tensor: TensorLike, fft_length: Any = None, name: str | None = None
) -> Tensor:
    """Inverse of `rfft3d`.

    >>> irfft3d([[[1 + 0j, 1]]]).numpy().tolist()
    [[[1.0, 0.0]]]
    """
    return _inverse(3, "irfft3d", input_tensor, fft_length, name)


def _real(rank: int, default: str, tensor: Any, fft_length: Any, name: str | None) -> Tensor:
    with scope(default, name) as inner:
        signal: Any = convert(tensor, None if type_of(tensor) else float32, "input")
        dtype = signal.dtype.base_dtype
        if dtype not in REAL:
            raise ValueError(
                "RFFT requires tf.float32 or tf.float64 inputs, got: " + str(signal)
            )
        signal.shape.with_rank_at_least(rank)
        if fft_length is None:
            fft_length = _sizes(signal, rank)
        else:
            fft_length = convert(fft_length, int32, "fft_length")
            signal = _at_least(signal, fft_length, rank)
        attrs = {"Tcomplex": COMPLEX_OF[dtype]}
        return apply(RFFT[rank], (signal, fft_length), attrs, inner)


def _inverse(rank: int, default: str, tensor: Any, fft_length: Any, name: str | None) -> Tensor:
    with scope(default, name) as inner:
        signal: Any = convert(tensor, None, "input")
        if signal.dtype.base_dtype not in REAL_OF:
            raise ValueError(
                "IRFFT requires tf.complex64 or tf.complex128 inputs, got: " + str(signal)
            )
        signal.shape.with_rank_at_least(rank)
        attrs = {"Treal": REAL_OF[signal.dtype.base_dtype]}
        if fft_length is None:
            sizes = _sizes(signal, rank)
            last = maximum(0, 2 * (sizes[-1] - 1))
            fft_length = pack([*(sizes[k] for k in range(rank - 1)), last])
        else:
            fft_length = convert(fft_length, int32, "fft_length")
            halved = [fft_length[k] for k in range(rank - 1)]
            signal = _at_least(signal, [*halved, fft_length[rank - 1] // 2 + 1], rank)
        return apply(IRFFT[rank], (signal, fft_length), attrs, inner)


def _sizes(signal: Any, rank: int) -> Any:
    """Return the sizes of the last axes as a tensor."""
    return shape_of(signal)[-rank:]


def _at_least(signal: Any, sizes: Any, rank: int) -> Any:
    """Fill the last axes up with zeros to some sizes; longer ones stay as they are."""
    if signal.dims is None:
        return signal
    if hasattr(sizes, "dims") and sizes.dims not in ((rank,), None, (None,)):
        return signal  # which the shape rule refuses
    wanted: list[Any] = []
    for position in range(rank):
        size = sizes[position]
        known = size.value
        present = axis_size(signal, position - rank)
        if known is not None and isinstance(present, int):
            wanted.append(max(int(known), present))
        else:
            wanted.append(maximum(size, present))
    return fit(signal, wanted)
