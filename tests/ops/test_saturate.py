"""Saturating casts."""

from __future__ import annotations

import numpy as np
import pytest

from berth.ops.elementwise.saturate import saturate_cast
from tests.ops.everywhere import compute, shape_of
from tests.ops.gradient_checks import check_gradient

FAR = [-2e20, -5.7, 0.0, 7.5, 300.0, 2e20]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("found", ["float32", "float64"])
def test_floats_stop_at_limits(found, dtype):
    actual = compute(lambda x: saturate_cast(x, dtype), np.array(FAR, found))
    info = np.iinfo(dtype)
    nearest = [max(min(int(number), info.max), info.min) for number in FAR]
    assert actual.dtype == dtype
    for one, other in zip(actual.tolist(), nearest, strict=True):
        assert abs(one - other) <= abs(other) * np.finfo(found).eps
        assert abs(one) <= abs(other)


@pytest.mark.parametrize(
    ("values", "found", "dtype", "expected"),
    [
        ([-5, 7, 300], "int32", "uint8", [0, 7, 255]),
        ([-5, 7, 300], "int64", "int8", [-5, 7, 127]),
        ([0, 255], "uint8", "int8", [0, 127]),
        ([0, 255], "uint8", "uint16", [0, 255]),
        ([-128, 127], "int8", "uint64", [0, 127]),
        ([0, 2**63], "uint64", "int64", [0, 2**63 - 1]),
        ([-5, 300], "int32", "float32", [-5.0, 300.0]),
        ([1e300, -1.0], "float64", "float32", [float(np.finfo("float32").max), -1.0]),
        ([1e5, 1.0], "float32", "float16", [65504.0, 1.0]),
        ([1.5], "float32", "float64", [1.5]),
    ],
)
def test_numbers_become_the_nearest(values, found, dtype, expected):
    actual = compute(lambda x: saturate_cast(x, dtype), np.array(values, found))
    assert (actual.tolist(), actual.dtype) == (expected, dtype)


def test_gradient_is_that_of_what_fits():
    check_gradient(lambda x: saturate_cast(x, "float64"), np.array([1.0, -3.0]))


@pytest.mark.parametrize(("found", "dtype"), [(bool, "int32"), (np.int32, "complex64")])
def test_only_real_numbers_have_limits(found, dtype):
    with pytest.raises(TypeError) as caught:
        shape_of(lambda x: saturate_cast(x, dtype), (2,), dtype=found)
    wrong = "bool" if found is bool else dtype
    assert str(caught.value) == f"Cannot find minimum value of tf.{wrong}."
