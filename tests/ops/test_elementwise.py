"""Elementwise operations against NumPy, and the two rules that they keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from berth.dtypes import int32, string
from berth.errors import InvalidArgumentError
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import bind, run, sample
from tests.ops.cases import ELEMENTWISE
from tests.ops.formulas import FORMULAS, dtypes_of, expected_of, operands

SHAPES = [(), (0, 2), (1,), (3, 4), (2, 1, 3)]
PAIRS = [
    *((shape, shape) for shape in SHAPES),
    ((), (3,)),
    ((1,), (0, 2)),
    ((2, 1), (1, 4)),
    ((2, 3, 1), (3, 4)),
    ((4, 1, 1), (1, 0, 2)),
]
LENGTH = 2**16 + 5
"""More than is done at a time."""

every_formula = pytest.mark.parametrize("name", FORMULAS)


def assert_same(actual, expected, dtype):
    assert actual.shape == expected.shape
    if actual.dtype.kind in "fc":
        tolerance = {2: 2e-2, 4: 2e-5}.get(np.dtype(dtype).type(0).real.itemsize, 1e-12)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


def result_type(name, dtype, expected):
    """Say what type a result has, of operands of a type."""
    if expected.dtype == np.bool_:
        return expected.dtype
    if name == "Complex":
        return np.result_type(dtype, np.complex64)
    return dtype.type(0).real.dtype if expected.dtype.kind == "f" else dtype


def test_every_elementwise_operation_is_tested():
    assert {*FORMULAS, "Cast"} == set(ELEMENTWISE)


@every_formula
def test_formulas_are_followed(name):
    shapes = PAIRS if FORMULAS[name].broadcasts else [(shape,) for shape in SHAPES]
    for dtype in dtypes_of(name):
        for each in shapes:
            inputs = operands(name, dtype, *each)
            actual, expected = (
                run(name, *inputs, **FORMULAS[name].attrs),
                expected_of(name, inputs),
            )
            assert actual.dtype == result_type(name, dtype, expected)
            assert_same(actual, expected, dtype)


@pytest.mark.parametrize("name", ["AddV2", "Less", "Xlogy"])
@given(mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_dims=3, max_side=4))
def test_operands_broadcast_like_numpys(name, shapes):
    inputs = operands(name, np.dtype("d"), *shapes.input_shapes)
    assert_same(run(name, *inputs), expected_of(name, inputs), "d")


@every_formula
def test_an_output_may_be_an_input(name):
    for dtype in dtypes_of(name):
        check_in_place(name, dtype, operands(name, dtype, (5, 3)))
        if FORMULAS[name].broadcasts and len(CATALOGUE[name].arguments) == 2:
            check_in_place(name, dtype, operands(name, dtype, (5, 3), (3,)))


def check_in_place(name, dtype, inputs):
    op, attrs = CATALOGUE[name], FORMULAS[name].attrs
    expected = run(op, *inputs, **attrs)
    for position, array in enumerate(inputs):
        if array.shape == expected.shape and dtype.itemsize == expected.dtype.itemsize:
            copies = [array.copy() for array in inputs]
            out = copies[position].view(expected.dtype)
            with np.errstate(all="ignore"):
                op.elementwise(np, attrs)(*copies, out)
            np.testing.assert_array_equal(out, expected)


@every_formula
def test_all_operands_may_be_the_output(name):
    op, attrs = CATALOGUE[name], FORMULAS[name].attrs
    dtype = dtypes_of(name)[-1]
    array = operands(name, dtype, (5, 3))[-1]
    inputs = [array] * len(op.arguments)
    expected = run(op, *inputs, **attrs)
    if expected.dtype == dtype:
        with np.errstate(all="ignore"):
            op.elementwise(np, attrs)(*inputs, array)
        np.testing.assert_array_equal(array, expected)


@every_formula
def test_slices_can_be_done_apart(name):
    op, attrs = CATALOGUE[name], FORMULAS[name].attrs
    for dtype in {*dtypes_of(name)[:1], *dtypes_of(name)[-1:]}:
        few = operands(name, dtype, (64,))
        inputs = [np.resize(array, LENGTH) for array in few]
        expected = np.resize(run(op, *few, **attrs), LENGTH)
        actual = np.empty_like(expected)
        function = op.elementwise(np, attrs)
        with np.errstate(all="ignore"):
            for part in (slice(40, LENGTH), slice(0, 7), slice(7, 40)):
                function(*(array[part] for array in inputs), actual[part])
        tolerance = 1e-3 if dtype.itemsize == 2 else 1e-12 if dtype.itemsize >= 8 else 1e-6
        np.testing.assert_allclose(actual, expected, rtol=tolerance)


@every_formula
def test_large_arrays_may_be_replaced(name):
    dtype = dtypes_of(name)[-1]
    few = operands(name, dtype, (64,))
    check_in_place(name, dtype, [np.resize(array, LENGTH) for array in few])


@pytest.mark.parametrize("source", dtypes_of("Cast"))
@pytest.mark.parametrize("target", CATALOGUE["Cast"].types["SrcT"])
def test_casts_convert_like_numpys(source, target):
    x = sample(source, (2, 3), positive=True)
    actual = run("Cast", x, DstT=target)
    real = x.real if target.kind != "c" else x
    assert actual.dtype == target.np_dtype
    np.testing.assert_array_equal(actual, real.astype(target.np_dtype))


def test_casts_cut_floats_off():
    np.testing.assert_array_equal(run("Cast", [-1.7, 1.7, 0.5], DstT=int32), [-1, 1, 0])


def test_strings_can_be_compared():
    x, y = np.array([b"a", b"b"], object), np.array([b"a", b"c"], object)
    np.testing.assert_array_equal(run("Equal", x, y), [True, False])
    np.testing.assert_array_equal(run("NotEqual", x, y), [False, True])


def test_strings_are_compared_on_the_cpu_only():
    assert CATALOGUE["Equal"].device_types(string) == {"CPU"}


def test_float_division_rounds_the_quotient_down():
    x = np.array([1.0, -1.0, 7.5, 1.0, np.inf], np.float32)
    y = np.array([0.1, 0.1, 2.0, 0.0, 2.0], np.float32)
    np.testing.assert_array_equal(run("FloorDiv", x, y), [10, -10, 3, np.inf, np.inf])


def test_integer_remainders_have_the_divisors_sign():
    x, y = np.array([7, -7, 7, -7]), np.array([3, 3, -3, -3])
    np.testing.assert_array_equal(run("FloorMod", x, y), [1, 2, -2, -1])
    np.testing.assert_array_equal(run("FloorDiv", x, y), [2, -3, -3, 2])


@pytest.mark.parametrize("name", ["FloorDiv", "FloorMod"])
def test_integers_cannot_be_divided_by_zero(name):
    with pytest.raises(InvalidArgumentError) as caught:
        run(name, np.array([1, 2]), np.array([1, 0]))
    assert str(caught.value) == "Integer division by zero"


def test_integers_have_no_negative_powers():
    with pytest.raises(InvalidArgumentError) as caught:
        run("Pow", np.array([1, 2]), np.array([1, -1]))
    assert str(caught.value) == "Integers to negative integer powers are not allowed"


def test_halves_are_rounded_to_the_even():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5])
    np.testing.assert_array_equal(run("Round", x), [0, 2, 2, 0, -2])


def test_not_a_number_stays_one():
    x = np.array([np.nan, 1.0], np.float32)
    assert np.isnan(run("Relu", x)[0])
    assert np.isnan(run("Maximum", x, x[::-1].copy())).all()


def test_a_ufunc_is_called_directly():
    x = sample(np.float32, (3,))
    (function, _), _ = bind(CATALOGUE["AddV2"], [x, x], {})
    assert function is np.add


@pytest.mark.parametrize(
    ("condition", "then", "other"),
    [
        ((3, 2), (3, 2), (3, 2)),
        ((3,), (3, 2), (3, 2)),
        ((), (3, 2), (3, 2)),
        ((0,), (0,), (0,)),
    ],
)
def test_a_choice_is_made_by_element_or_row(condition, then, other):
    c, t, e = sample(bool, condition), sample("f", then, 1), sample("f", other, 2)
    rows = c.reshape(-1, 1) if c.ndim == 1 and t.ndim == 2 else c
    np.testing.assert_array_equal(run("Select", c, t, e), np.where(rows, t, e))


@given(mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_dims=3, max_side=4))
def test_a_choice_can_broadcast(shapes):
    c, t, e = shapes.input_shapes
    arrays = sample(bool, c), sample("f", t, 1), sample("f", e, 2)
    np.testing.assert_array_equal(run("SelectV2", *arrays), np.where(*arrays))
