"""Trigonometric and hyperbolic functions: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

from berth.ops.elementwise import trigonometry as trig
from tests.ops.everywhere import compute, shape_of
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import between, close, complex_normal, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


ANGLES = ["tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"]


@pytest.mark.parametrize("name", ANGLES)
def test_angles_have_gradients(name):
    function = getattr(trig, name)
    check_gradient(function, between(0.2, 0.8, 3) + (name == "acosh"), order=2)
    check_gradient(function, complex_normal(3) * 0.3)


def test_angles_of_points_broadcast():
    y, x = normal(3, 1), normal(4)
    close(compute(trig.atan2, y, x), np.arctan2(y, x))
    check_gradient(trig.atan2, y, x, order=2)
    assert shape_of(trig.atan2, (None, 1), (4,)) == (None, 4)
