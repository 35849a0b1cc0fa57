"""Complex numbers: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.elementwise import complex_numbers as cn
from tests.ops.everywhere import compute, shape_of
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import complex_normal, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_complex_numbers_have_parts(dtype):
    x, y = normal(3, 1).astype(dtype), normal(4).astype(dtype)
    z = compute(cn.complex, x, y)
    np.testing.assert_array_equal(z, x + 1j * y)
    np.testing.assert_array_equal(compute(cn.real, z), z.real)
    np.testing.assert_array_equal(compute(cn.imag, z), z.imag)
    np.testing.assert_array_equal(compute(cn.angle, z), np.angle(z))


def test_real_numbers_are_complex_without_a_part():
    x = np.array([1.0, -2.0])
    np.testing.assert_array_equal(compute(cn.real, x), x)
    np.testing.assert_array_equal(compute(cn.imag, x), [0, 0])
    np.testing.assert_array_equal(compute(cn.angle, x), [0, np.pi])


def test_parts_have_gradients():
    check_gradient(cn.complex, normal(3, 1), normal(4), order=2)
    for function in (cn.real, cn.imag, cn.angle):
        check_gradient(function, complex_normal(3))


def test_parts_must_be_floats_of_one_type():
    with pytest.raises(TypeError, match="components have incorrect types: float32 float64"):
        shape_of(lambda x: cn.complex(x, tf.constant(1, tf.float64)), ())
