"""Short-time Fourier transform, modified cosine transform, and their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from berth.dtypes import float32
from berth.ops.arrays.array import reshape
from berth.ops.arrays.joining import concat, split
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.pad import pad
from berth.ops.arrays.rearranging import reverse
from berth.ops.arrays.tile import tile
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import pow
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.unary import ceil, log, square
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.signal.cosine import dct
from berth.ops.signal.fourier import fit
from berth.ops.signal.framing import as_number, frame, overlap_and_add
from berth.ops.signal.transforms import irfft, rfft
from berth.ops.signal.windows import hann_window, vorbis_window
from berth.ops.types import Tensor, TensorLike
from berth.public import public

WindowFunction = Callable[..., Any]


def _fft_length(given: Any, length: Any) -> Any:
    """Return the given length, or the least power of two that is not less than a frame."""
    if given is not None:
        return as_number(given, "fft_length")
    if isinstance(length, int):
        return 1 << max(length - 1, 0).bit_length()
    exponent = ceil(log(cast(length, float32)) / log(2.0))
    return cast(pow(2.0, exponent), "int32")


@public("signal.stft")
def stft(
    signals: TensorLike,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: WindowFunction | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Short-time Fourier transform: of each frame of the signals, seen through a window.

    >>> stft([0.0, 1.0, 0.0, 1.0], frame_length=2, frame_step=1).numpy().shape
    (3, 2)
    """
    with scope("stft", name):
        tensor: Any = convert(signals, None, "signals")
        tensor.shape.with_rank_at_least(1)
        length = as_number(frame_length, "frame_length")
        step = as_number(frame_step, "frame_step")
        size = _fft_length(fft_length, length)
        frames = frame(tensor, length, step, pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype.base_dtype)
        return rfft(frames, [size])


@public("signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: WindowFunction | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Inverse of `stft`, exact with the window of `inverse_stft_window_fn`.

    >>> spectrum = stft([0.0, 1.0, 0.0, 1.0], frame_length=2, frame_step=2)
    >>> inverse_stft(spectrum, frame_length=2, frame_step=2).numpy().shape
    (4,)
    """
    with scope("inverse_stft", name):
        tensor: Any = convert(stfts, None, "stfts")
        tensor.shape.with_rank_at_least(2)
        length = as_number(frame_length, "frame_length")
        step = as_number(frame_step, "frame_step")
        size = _fft_length(fft_length, length)
        frames: Any = fit(irfft(tensor, [size]), [length])
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype.base_dtype)
        return overlap_and_add(frames, step)


@public("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: Any,
    forward_window_fn: WindowFunction = hann_window,
    name: str | None = None,
) -> WindowFunction:
    """Make the window function with which `inverse_stft` undoes `stft`.

    >>> inverse_stft_window_fn(2)(4, dtype="float32").numpy().tolist()
    [0.0, 1.0, 1.0, 1.0]
    """

    def inverse_window(frame_length: Any, dtype: Any) -> Any:
        with scope("inverse_stft_window_fn", name):
            length = as_number(frame_length, "frame_length")
            step = as_number(frame_step, "frame_step")
            window = forward_window_fn(length, dtype=dtype)
            n_overlaps = -(-length // step)
            squares: Any = pad(square(window), [[0, n_overlaps * step - length]])
            sums = reduce_sum(reshape(squares, [n_overlaps, step]), 0, keepdims=True)
            energy: Any = reshape(tile(sums, [n_overlaps, 1]), [n_overlaps * step])
            return window / energy[:length]

    return inverse_window


# --- modified cosine transform ------------------------------------------------------------


@public("signal.mdct")
def mdct(
    signals: TensorLike,
    frame_length: Any,
    window_fn: WindowFunction | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Modified discrete cosine transform, of frames that overlap by half.

    >>> mdct([0.0, 1.0, 2.0, 3.0], 4).numpy().shape
    (1, 2)
    """
    with scope("mdct", name):
        tensor: Any = convert(signals, None, "signals")
        tensor.shape.with_rank_at_least(1)
        length = as_number(frame_length, "frame_length")
        if isinstance(length, int) and length % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        frames = frame(tensor, length, length // 2, pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype.base_dtype)
        else:
            frames = frames * math.sqrt(0.5)
        a, b, c, d = split(frames, 4, -1)
        folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
        return dct(folded, type=4, norm=norm)


@public("signal.inverse_mdct")
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: WindowFunction | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Inverse of `mdct`, but for the first and last half of a frame.

    >>> inverse_mdct([[1.0, 0.0]]).numpy().shape
    (4,)
    """
    with scope("inverse_mdct", name):
        tensor: Any = convert(mdcts, None, "mdcts")
        tensor.shape.with_rank_at_least(2)
        dtype, half = tensor.dtype.base_dtype, axis_size(tensor, -1)
        found: Any = dct(tensor, type=4, norm=norm)
        if norm is None:
            found = found * (0.5 / cast(half, dtype))
        first, second = split(found, 2, -1)
        unfolded = [second, -reverse(second, [-1]), -reverse(first, [-1]), -first]
        frames: Any = concat(unfolded, -1)
        if window_fn is not None:
            frames = frames * window_fn(2 * half, dtype=dtype)
        else:
            frames = frames * math.sqrt(0.5)
        return overlap_and_add(frames, half)
