"""Elementwise operations against NumPy, and the two rules that they keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

from berth.dtypes import float32, int32, string
from berth.errors import InvalidArgumentError
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import bind, run, sample

ELEMENTWISE = sorted(name for name, op in CATALOGUE.items() if op.elementwise is not None)

BINARY = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": np.true_divide,
    "FloorDiv": lambda x, y: np.floor(x / y) if x.dtype.kind == "f" else x // y,
    "FloorMod": np.mod,
    "Pow": np.power,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "SquaredDifference": lambda x, y: (x - y) * np.conj(x - y),
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
UNARY = {
    "Neg": np.negative,
    "Abs": np.abs,
    "ComplexAbs": np.abs,
    "Conj": np.conj,
    "Sign": np.sign,
    "Square": np.square,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Reciprocal": lambda x: 1 / x,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log1p": np.log1p,
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Cos": np.cos,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Relu": lambda x: np.where(x > 0, x, np.zeros_like(x)),
    "Invert": np.invert,
    "IsNan": np.isnan,
    "IsInf": np.isinf,
    "IsFinite": np.isfinite,
    "LogicalNot": np.logical_not,
}
POSITIVE = {"Pow", "Sqrt", "Rsqrt", "Log", "Log1p"}


def dtypes_of(name):
    """List the types that an operation takes, as NumPy's."""
    types = CATALOGUE[name].types
    allowed = types.get("SrcT") or types["T"]
    return [dtype.np_dtype for dtype in allowed if dtype is not string]


def assert_same(actual, expected, dtype):
    assert actual.shape == expected.shape
    if actual.dtype.kind in "fc":
        tolerance = {2: 2e-2, 4: 2e-5}.get(np.dtype(dtype).type(0).real.itemsize, 1e-12)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


def test_every_elementwise_operation_is_tested():
    assert {*BINARY, *UNARY, "Cast"} == set(ELEMENTWISE)


@pytest.mark.parametrize("name", BINARY)
@given(
    mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_dims=3, max_side=4), st.data()
)
def test_two_operands_broadcast_like_numpys(name, shapes, data):
    dtype = data.draw(st.sampled_from(dtypes_of(name)))
    x, y = (
        sample(dtype, shape, seed, name in POSITIVE)
        for seed, shape in enumerate(shapes.input_shapes)
    )
    actual = run(name, x, y)
    with np.errstate(all="ignore"):
        expected = np.asarray(BINARY[name](x, y))
    assert actual.dtype == (np.bool_ if expected.dtype == np.bool_ else dtype)
    assert_same(actual, expected, dtype)


@pytest.mark.parametrize("name", UNARY)
@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.data())
def test_one_operand_is_treated_as_by_numpy(name, shape, data):
    dtype = data.draw(st.sampled_from(dtypes_of(name)))
    x = sample(dtype, shape, positive=name in POSITIVE)
    with np.errstate(all="ignore"):
        expected = np.asarray(UNARY[name](x))
    assert_same(run(name, x), expected, dtype)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_output_may_be_an_input(name):
    op = CATALOGUE[name]
    n_inputs = len(op.arguments)
    for dtype in dtypes_of(name):
        attrs = {"DstT": float32} if name == "Cast" else {}
        inputs = [sample(dtype, (5, 3), seed, name in POSITIVE) for seed in range(n_inputs)]
        expected = run(op, *inputs, **attrs)
        for position in range(n_inputs):
            if expected.dtype != dtype:
                continue
            copies = [array.copy() for array in inputs]
            with np.errstate(all="ignore"):
                op.elementwise(np, attrs)(*copies, copies[position])
            np.testing.assert_array_equal(copies[position], expected)


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if name != "Cast"])
def test_slices_can_be_done_apart(name):
    op = CATALOGUE[name]
    dtype = dtypes_of(name)[-1]
    inputs = [sample(dtype, (64,), seed, name in POSITIVE) for seed in range(len(op.arguments))]
    expected = run(op, *inputs)
    actual = np.empty_like(expected)
    function = op.elementwise(np, {})
    with np.errstate(all="ignore"):
        for part in (slice(40, 64), slice(0, 7), slice(7, 40)):
            function(*(array[part] for array in inputs), actual[part])
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


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
