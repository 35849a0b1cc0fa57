"""Discrete cosine transforms of types I to IV, and their inverses, by `rfft`."""

from __future__ import annotations

import math
from typing import Any

from berth.dtypes import float32
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.pad import pad
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.complex_numbers import complex, real
from berth.ops.elementwise.roots import rsqrt, sqrt
from berth.ops.elementwise.unary import cos, sin
from berth.ops.signal.fourier import fit
from berth.ops.signal.transforms import irfft, rfft
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _check(signal: Any, kind: int, n: Any, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in _INVERSE:
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if kind == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if signal.dims is not None and signal.dims[-1] is not None and signal.dims[-1] < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


@public("signal.dct")
@public_v1("spectral.dct")
def dct(
    input: TensorLike,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Discrete cosine transform over the last axis, of type 1 to 4.

    >>> dct([1.0, 1.0]).numpy().tolist()
    [4.0, 0.0]
    """
    with scope("dct", name):
        signal: Any = convert(input, None if type_of(input) else float32)
        _check(signal, type, n, axis, norm)
        if n is not None:
            signal = fit(signal, [n])
        result: Tensor = _FORMS[type](signal, axis_size(signal, -1), norm)
        return result


@public("signal.idct")
@public_v1("spectral.idct")
def idct(
    input: TensorLike,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Inverse discrete cosine transform, up to a factor if it is not normalized.

    >>> idct([4.0, 0.0]).numpy().tolist()
    [4.0, 4.0]
    """
    with scope("idct", name):
        signal: Any = convert(input, None if type_of(input) else float32)
        _check(signal, type, n, axis, norm)
        return dct(signal, _INVERSE.get(type, type), n, axis, norm)


def _first(signal: Any, size: Any, norm: str | None) -> Any:
    mirrored = concat([signal, signal[..., -2:0:-1]], -1)
    return real(rfft(mirrored))


def _turns(size: Any, dtype: Any, sign: float) -> Any:
    """``2 exp(± i π k / 2n)``, for each of the coefficients."""
    angle = cast(range_op(size), dtype) * (sign * math.pi * 0.5) / cast(size, dtype)
    return complex(2.0 * cos(angle), 2.0 * sin(angle))


def _weights(first: Any, others: Any, size: Any) -> Any:
    """One number for the first coefficient, another for all others."""
    positions = range_op(size)
    is_first = cast(positions < 1, first.dtype.base_dtype)
    return others + is_first * (first - others)


def _second(signal: Any, size: Any, norm: str | None) -> Any:
    dtype = signal.dtype.base_dtype
    spectrum: Any = rfft(fit(signal, [2 * size]))
    found = real(spectrum[..., :size] * _turns(size, dtype, -1.0))
    if norm == "ortho":
        first = 0.5 * rsqrt(cast(size, dtype))
        found = found * _weights(first, first * math.sqrt(2.0), size)
    return found


def _third(signal: Any, size: Any, norm: str | None) -> Any:
    dtype = signal.dtype.base_dtype
    n_samples = cast(size, dtype)
    if norm == "ortho":
        first = sqrt(n_samples)
        signal = signal * _weights(first, first * math.sqrt(0.5), size)
    else:
        signal = signal * n_samples
    spectrum = _turns(size, dtype, 1.0) * complex(signal, signal * 0.0)
    whole: Any = irfft(fit(spectrum, [size + 1]), [2 * size])
    return whole[..., :size]


def _fourth(signal: Any, size: Any, norm: str | None) -> Any:
    rank = len(signal.dims)
    longer = pad(signal, [*([[0, 0]] * (rank - 1)), [0, size]])
    found = _second(longer, 2 * size, None)[..., 1::2]
    if norm == "ortho":
        found = found * (math.sqrt(0.5) * rsqrt(cast(size, signal.dtype.base_dtype)))
    return found


_FORMS = {1: _first, 2: _second, 3: _third, 4: _fourth}
