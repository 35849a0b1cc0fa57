"""``tf.spectral``: Fourier and cosine transforms."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.signal.cosine import dct, idct
from berth.ops.signal.transforms import (
    fft,
    fft2d,
    fft3d,
    ifft,
    ifft2d,
    ifft3d,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "irfft",
    "irfft2d",
    "irfft3d",
    "rfft",
    "rfft2d",
    "rfft3d",
]
# --- end
