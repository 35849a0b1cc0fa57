"""Fourier transforms along any axes, which TensorFlow computes on GPUs only, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")
REAL = np.linspace(-1, 2, 24).reshape(2, 3, 4) ** 2
COMPLEX = REAL + 1j * REAL[::-1]
HOW = [
    {},
    {"axes": [0, 2]},
    {"fft_length": [2, 5], "axes": [1, 2]},
    {"fft_length": [3], "axes": [0], "norm": "ortho"},
    {"axes": [0, 1], "norm": "forward"},
]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_any_axes_are_numpy_s(name, how):
    signal = REAL if name == "rfftn" else COMPLEX
    expected = getattr(np.fft, name)(
        signal, how.get("fft_length"), how.get("axes"), how.get("norm")
    )
    found = getattr(tf.signal, f"{name}d")(signal, **how)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)


def test_gradients_crop_and_pad():
    """TensorFlow refuses lengths that are not the signal's, but for gradients of zero padding."""
    signal = tf.constant(REAL[0])
    with tf.GradientTape() as tape:
        tape.watch(signal)
        spectrum = tf.signal.rfft(signal, [3])
        energy = tf.reduce_sum(tf.abs(spectrum) ** 2)
    slope = tape.gradient(energy, signal).numpy()
    step = 1e-6 * np.eye(12).reshape(12, 3, 4)
    values = [
        np.sum(np.abs(np.fft.rfft(REAL[0] + sign * each, 3)) ** 2)
        for each in step
        for sign in (1, -1)
    ]
    differences = np.diff(np.array(values).reshape(12, 2), axis=1).reshape(3, 4) / -2e-6
    np.testing.assert_allclose(slope, differences, rtol=1e-4, atol=1e-4)
