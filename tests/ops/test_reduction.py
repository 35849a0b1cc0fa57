"""Reductions, argmax and argmin against NumPy's."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from berth.dtypes import int32, int64
from berth.errors import InvalidArgumentError
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import compute, run, sample

REDUCTIONS = {
    "Sum": np.sum,
    "Prod": np.prod,
    "Max": np.max,
    "Min": np.min,
    "Mean": np.mean,
    "All": np.all,
    "Any": np.any,
}
SHAPES = [(), (1,), (3,), (2, 3), (3, 1, 2), (3, 3, 2, 3)]


def dtypes_of(name):
    return [dtype.np_dtype for dtype in CATALOGUE[name].types["T"]]


def axes_of(shape):
    """List all choices of axes, some counted from the end."""
    n_axes = len(shape)
    for count in range(n_axes + 1):
        for axes in combinations(range(n_axes), count):
            yield [axis - n_axes * (axis % 2) for axis in axes]


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name in REDUCTIONS for dtype in dtypes_of(name)]
)
def test_reductions_are_numpys(name, dtype):
    for shape in SHAPES:
        x = sample(dtype, shape, positive=True)
        for axes in axes_of(shape):
            for keep_dims in (False, True):
                check(name, x, axes, keep_dims)


def check(name, x, axes, keep_dims):
    actual = run(name, x, np.array(axes, np.int32), keep_dims=keep_dims)
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    with np.errstate(all="ignore"):
        expected = REDUCTIONS[name](wide, axis=tuple(axes), keepdims=keep_dims)
        expected = np.asarray(expected).astype(x.dtype)
    assert actual.dtype == x.dtype
    assert actual.shape == expected.shape
    if x.dtype.kind in "fc":
        tolerance = {2: 5e-2, 4: 1e-4}.get(x.dtype.type(0).real.itemsize, 1e-9)
        np.testing.assert_allclose(actual, expected, rtol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        ("Sum", "f4", 0.0),
        ("Prod", "f4", 1.0),
        ("Max", "f4", -np.inf),
        ("Min", "f4", np.inf),
        ("Max", "i4", -(2**31)),
        ("Min", "u1", 255),
        ("Mean", "f4", np.nan),
        ("Mean", "i4", 0),
        ("All", "?", True),
        ("Any", "?", False),
    ],
)
def test_nothing_reduces_to_what_tensorflow_says(name, dtype, expected):
    actual = run(name, np.zeros((2, 0), dtype), 1, keep_dims=False)
    np.testing.assert_array_equal(actual, np.full(2, expected, dtype))


def test_integer_means_are_cut_off_towards_zero():
    assert run("Mean", np.array([-1, -2], np.int32), 0, keep_dims=False) == -1
    assert run("Mean", np.array([1, 2], np.int32), 0, keep_dims=False) == 1


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4"])
def test_integer_means_do_not_overflow(dtype):
    x = np.full((3, 300), np.iinfo(dtype).max, dtype)
    np.testing.assert_array_equal(run("Mean", x, 1, keep_dims=False), x[:, 0])


def test_half_floats_are_summed_up_in_wider_ones():
    x = np.ones(10_000, np.float16)
    assert run("Sum", x, 0, keep_dims=False) == 10_000
    assert run("Mean", np.full(100_000, 7, np.float16), 0, keep_dims=False) == 7


@pytest.mark.parametrize("indices", [[0, 0], [0, -2]])
def test_no_axis_is_reduced_twice(indices):
    with pytest.raises(ValueError, match="contains duplicate dimension: 0"):
        run("Sum", np.zeros((2, 3)), indices, keep_dims=False)


@pytest.mark.parametrize(("name", "find"), [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
@pytest.mark.parametrize("output_type", [int32, int64])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3,), 0), ((2, 3), 1), ((2, 3), -2), ((4, 1, 2), 0)]
)
def test_positions_of_extremes_are_numpys(name, find, output_type, shape, axis):
    x = sample("f", shape)
    actual = run(name, x, axis, output_type=output_type)
    assert actual.dtype == output_type.np_dtype
    np.testing.assert_array_equal(actual, find(x, axis))


def test_a_scalar_has_no_extreme():
    with pytest.raises(InvalidArgumentError) as caught:
        run("ArgMax", np.float32(3), 0, output_type=int64)
    assert str(caught.value) == "Expected dimension in the range [0, 0), but got 0"


def test_nothing_has_no_extreme():
    with pytest.raises(InvalidArgumentError) as caught:
        run("ArgMax", np.zeros((0, 3)), 0, output_type=int64)
    assert str(caught.value) == "Reduction axis 0 is empty in shape [0,3]"
    assert run("ArgMax", np.zeros((0, 3)), 1, output_type=int64).shape == (0,)


def test_all_axes_are_reduced_by_default():
    x = sample("f", (2, 3))
    assert compute("tf.reduce_max(x)", x=x) == x.max()
    assert compute("tf.reduce_max(x)", x=x[0, 0]) == x[0, 0]
    assert compute("tf.reduce_max(x, keepdims=True)", x=x).shape == (1, 1)


@pytest.mark.parametrize(
    ("shapes", "attrs"),
    [
        (((2, 3), (3, 4)), {}),
        (((3, 2), (3, 4)), {"transpose_a": True}),
        (((2, 3), (4, 3)), {"transpose_b": True}),
        (((3, 2), (4, 3)), {"transpose_a": True, "transpose_b": True}),
        (((0, 3), (3, 4)), {}),
        (((2, 0), (0, 4)), {}),
        (((5, 2, 3), (5, 3, 4)), {}),
        (((5, 2, 3), (3, 4)), {}),
        (((1, 6, 3, 2), (7, 1, 3, 4)), {"transpose_a": True}),
        (((5, 2, 3), (5, 4, 3)), {"adjoint_b": True}),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c8"])
def test_matrices_are_multiplied_like_numpys(shapes, attrs, dtype):
    a, b = (sample(dtype, shape, seed) for seed, shape in enumerate(shapes))
    options = "".join(f", {name}=True" for name in attrs)
    actual = compute(f"tf.matmul(a, b{options})", a=a, b=b)
    if {"transpose_a", "adjoint_a"} & set(attrs):
        a = a.swapaxes(-1, -2)
    if {"transpose_b", "adjoint_b"} & set(attrs):
        b = b.swapaxes(-1, -2)
    b = b.conj() if "adjoint_b" in attrs else b
    np.testing.assert_allclose(actual, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_inputs", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_several_tensors_are_added(n_inputs, shape):
    arrays = [sample("f", shape, seed) for seed in range(n_inputs)]
    np.testing.assert_allclose(run("AddN", *arrays), np.sum(arrays, axis=0), rtol=1e-5)
