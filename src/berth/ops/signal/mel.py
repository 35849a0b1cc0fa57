"""The mel scale: spectrograms in it, and their cepstral coefficients."""

from __future__ import annotations

from typing import Any

from berth.dtypes import as_dtype, float32
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.grids import linspace
from berth.ops.arrays.joining import split
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.pad import pad
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import maximum, minimum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.roots import rsqrt
from berth.ops.elementwise.unary import log
from berth.ops.signal.cosine import dct
from berth.ops.signal.framing import frame
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public

_BREAK_HERTZ = 700.0
_HIGH_FREQUENCY_Q = 1127.0


def _to_mel(hertz: Any) -> Any:
    return _HIGH_FREQUENCY_Q * log(1.0 + hertz / _BREAK_HERTZ)


@public("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Matrix that turns spectrograms of linear frequencies into spectrograms of mel bins.

    >>> linear_to_mel_weight_matrix(4, 9).shape.as_list()
    [9, 4]
    """
    _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz)
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {wanted}")
    with scope("linear_to_mel_weight_matrix", name):
        nyquist = cast(sample_rate, wanted) / 2.0
        linear: Any = linspace(cast(0.0, wanted), nyquist, num_spectrogram_bins)
        bins = expand_dims(_to_mel(linear[1:]), 1)
        edges = [_to_mel(cast(edge, wanted)) for edge in (lower_edge_hertz, upper_edge_hertz)]
        bands = frame(linspace(edges[0], edges[1], num_mel_bins + 2), 3, 1)
        lower, center, upper = (expand_dims(each[:, 0], 0) for each in split(bands, 3, axis=1))
        rising = (bins - lower) / (center - lower)
        falling = (upper - bins) / (upper - center)
        weights = maximum(cast(0.0, wanted), minimum(rising, falling))
        return pad(weights, [[1, 0], [0, 0]])


def _check(n_bins: Any, sample_rate: Any, lower: float, upper: float) -> None:
    if n_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {n_bins}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if not hasattr(sample_rate, "dtype"):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if upper > sample_rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency "
                f"(sample_rate / 2). Got {upper} for sample_rate: {sample_rate}"
            )


@public("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Mel-frequency cepstral coefficients of log-magnitude mel spectrograms.

    >>> mfccs_from_log_mel_spectrograms([[1.0, 1.0]]).numpy().tolist()
    [[2.0, 0.0]]
    """
    with scope("mfccs_from_log_mel_spectrograms", name):
        spectrograms: Any = convert(log_mel_spectrograms, None, "log_mel_spectrograms")
        n_bins = axis_size(spectrograms, -1)
        if isinstance(n_bins, int) and n_bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {spectrograms.shape}")
        scale = rsqrt(cast(n_bins, spectrograms.dtype.base_dtype) * 2.0)
        return dct(spectrograms, type=2) * scale
