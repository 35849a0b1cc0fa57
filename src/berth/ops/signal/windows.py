"""Window functions: Hann, Hamming, Kaiser, Kaiser-Bessel derived, Vorbis."""

from __future__ import annotations

import math
from typing import Any

from berth.dtypes import as_dtype, float32
from berth.ops.arrays.filling import ones, zeros
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.joining import concat
from berth.ops.arrays.rearranging import reverse
from berth.ops.compose import convert, scope
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.elementwise.roots import sqrt
from berth.ops.elementwise.unary import cos, exp, sin
from berth.ops.reductions.cumulative import cumsum
from berth.ops.signal.framing import as_number
from berth.ops.special.bessel import bessel_i0e
from berth.ops.types import DTypeLike, Tensor
from berth.public import public


def _checked(dtype: Any) -> Any:
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {wanted}")
    return wanted


@public("signal.hann_window")
def hann_window(
    window_length: Any,
    periodic: Any = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Hann window, for periodic signals or symmetric.

    >>> hann_window(4).numpy().tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    with scope("hann_window", name):
        return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


@public("signal.hamming_window")
def hamming_window(
    window_length: Any,
    periodic: Any = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Hamming window, for periodic signals or symmetric.

    >>> [round(float(x), 2) for x in hamming_window(4).numpy()]
    [0.08, 0.54, 1.0, 0.54]
    """
    with scope("hamming_window", name):
        return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    length: Any, periodic: Any, dtype: Any, level: float, swing: float
) -> Tensor:
    """``level - swing * cos``; a periodic window of an even length has one step more."""
    wanted = _checked(dtype)
    size = as_number(length, "window_length")
    if isinstance(size, int) and size == 1:
        return ones([1], wanted)
    is_even = 1 - size % 2
    is_periodic: Any = convert(periodic, None, "periodic")
    steps = cast(size + cast(is_periodic, "int32") * is_even - 1, wanted)
    angle = 2 * math.pi * cast(range_op(size), wanted) / steps
    window = cast(level - swing * cos(angle), wanted)
    if isinstance(size, int):
        return window
    return where_v2(equal(size, 1), ones(size[None], wanted), window)


@public("signal.kaiser_window")
def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Kaiser window: nearly all of its energy is in the main lobe.

    >>> [round(float(x), 3) for x in kaiser_window(3, 3.0).numpy()]
    [0.205, 1.0, 0.205]
    """
    with scope("kaiser_window", name):
        wanted = _checked(dtype)
        size = as_number(window_length, "window_length")
        if isinstance(size, int) and size == 1:
            return ones([1], wanted)
        half = (cast(size, wanted) - 1.0) / 2.0
        shape = cast(beta, wanted)
        places = cast(range_op(size), wanted) - half
        rest: Any = 1.0 - places * places / (half * half)
        curve = shape * sqrt(where_v2(rest < 0.0, zeros([], wanted), rest))
        return exp(curve - shape) * (bessel_i0e(curve) / bessel_i0e(shape))


@public("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Kaiser-Bessel derived window, whose squares overlap to 1, as `mdct` needs.

    >>> [round(float(x), 3) for x in kaiser_bessel_derived_window(4, 3.0).numpy()]
    [0.381, 0.924, 0.924, 0.381]
    """
    with scope("kaiser_bessel_derived_window", name):
        half = as_number(window_length, "window_length") // 2
        sums: Any = cumsum(kaiser_window(half + 1, beta, dtype))
        rising = sqrt(sums[:-1] / sums[-1])
        return concat([rising, reverse(rising, [0])], 0)


@public("signal.vorbis_window")
def vorbis_window(
    window_length: Any, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Vorbis window, whose squares overlap to 1.

    >>> [round(float(x), 3) for x in vorbis_window(4).numpy()]
    [0.228, 0.974, 0.974, 0.228]
    """
    with scope("vorbis_window", name):
        wanted = _checked(dtype)
        size = as_number(window_length, "window_length")
        places = cast(range_op(size), wanted)
        wave = sin(math.pi / cast(size, wanted) * (places + 0.5))
        return sin(math.pi / 2.0 * wave * wave)
