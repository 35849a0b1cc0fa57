"""Types that do not fit, where operations are computed at once: TensorFlow's words."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
from berth.errors import InvalidArgumentError, UnimplementedError

pytestmark = pytest.mark.usefixtures("eager")

NUMBERS = (
    "half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
    "complex128"
)
FLOATS = "half, float, double, complex64, complex128"
NAMES = {
    "tf": tf,
    "np": np,
    "i": lambda: tf.constant([1, 2]),
    "l": lambda: tf.constant([1, 2], tf.int64),
    "f": lambda: tf.constant([1.0, 2.0]),
    "d": lambda: tf.constant([1.0, 2.0], tf.float64),
    "b": lambda: tf.constant([True, False]),
    "s": lambda: tf.constant(["a", "b"]),
    "m": lambda: tf.ones([2, 2]),
    "v": lambda: tf.Variable([1, 2]),
}


def expected(op, position, wanted, found):
    return (
        f"cannot compute {op} as input #{position}(zero-based) was expected to be a {wanted} "
        f"tensor but is a {found} tensor [Op:{op}] name: "
    )


def refused(op, variable, found, allowed):
    return (
        f"Value for attr '{variable}' of {found} is not in the list of allowed values: "
        f"{allowed} [Op:{op}] name: "
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # Of two types, the first is right.
        ("i() + f()", expected("AddV2", 1, "int32", "float")),
        ("i() + 1.5", expected("AddV2", 1, "int32", "float")),
        ("v() + 1.5", expected("AddV2", 1, "int32", "float")),
        ("tf.add(1.5, i())", expected("AddV2", 1, "float", "int32")),
        ("f() + 'a'", expected("AddV2", 1, "float", "string")),
        ("s() + 1", expected("Add", 1, "string", "int32")),
        ("i() * l()", expected("Mul", 1, "int32", "int64")),
        ("i() & f()", expected("BitwiseAnd", 1, "int32", "float")),
        ("i() == f()", expected("Equal", 1, "int32", "float")),
        ("tf.matmul(m(), tf.cast(m(), tf.float64))", expected("MatMul", 1, "float", "double")),
        ("tf.linalg.matvec(m(), i())", expected("MatMul", 1, "float", "int32")),
        ("tf.tensordot(f(), i(), 1)", expected("Einsum", 1, "float", "int32")),
        ("tf.searchsorted(f(), d())", expected("LowerBound", 1, "float", "double")),
        ("tf.nn.bias_add(m(), i())", expected("BiasAdd", 1, "float", "int32")),
        # In lists, and where the type is fixed.
        ("tf.concat([i(), f()], 0)", expected("ConcatV2", 1, "int32", "float")),
        ("tf.add_n([f(), i()])", expected("AddN", 1, "float", "int32")),
        ("tf.add_n([i(), 1.5])", expected("AddN", 1, "int32", "float")),
        ("tf.where(b(), i(), f())", expected("SelectV2", 2, "int32", "float")),
        ("tf.where(i(), i(), i())", expected("SelectV2", 0, "bool", "int32")),
        ("tf.logical_not(i())", expected("LogicalNot", 0, "bool", "int32")),
        # A type that is not allowed comes first.
        ("b() + b()", refused("AddV2", "T", "bool", NUMBERS)),
        ("b() + 1", refused("AddV2", "T", "bool", NUMBERS)),
        ("tf.sqrt(2)", refused("Sqrt", "T", "int32", FLOATS)),
        ("tf.reduce_sum(s())", refused("Sum", "T", "string", NUMBERS)),
        (
            "tf.gather(f(), [0.5])",
            refused("GatherV2", "Tindices", "float", "int16, int32, int64"),
        ),
        ("tf.reshape(f(), [1.5])", refused("Reshape", "Tshape", "float", "int32, int64")),
        ("tf.reduce_sum(f(), [0.5])", refused("Sum", "Tidx", "float", "int32, int64")),
        # Attributes.
        (
            "tf.nn.conv2d(m()[None, None], m()[None, None], 1, 'NOPE')",
            refused("Conv2D", "padding", '"NOPE"', '"SAME", "VALID", "EXPLICIT"'),
        ),
        (
            "tf.nn.depth_to_space(m()[None, None], 1)",
            "Value for attr 'block_size' of 1 must be at least minimum 2 "
            "[Op:DepthToSpace] name: ",
        ),
        ("tf.bitcast(f(), tf.string)", refused("Bitcast", "type", "string", NUMBERS)),
        ("tf.zeros([-1])", "Dimension -1 must be >= 0 [Op:Fill] name: "),
        (
            "tf.einsum('ijk->i', m())",
            "Expected input 0 to have rank 3 but got: 2 [Op:Einsum] name: ",
        ),
    ],
)
def test_wrong_types_are_invalid_arguments(call, message):
    with pytest.raises(InvalidArgumentError) as caught:
        eval(call, dict(NAMES))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "shown", "dtype"),
    [
        ("1.5 + i()", "1.5", "int32"),
        ("i() - 1.5", "1.5", "int32"),
        ("i() ** 0.5", "0.5", "int32"),
        ("i() < 1.5", "1.5", "int32"),
        ("tf.multiply(1, 1.5)", "1.5", "int32"),
        ("tf.maximum([1, 2], [1.5, 2])", "[1.5, 2]", "int32"),
        ("tf.concat([[1], [1.5]], 0)", "[1.5]", "int32"),
        ("tf.where(b(), i(), 1.5)", "1.5", "int32"),
        ("b() & 1", "1", "bool"),
        ("v().assign_add(1.5)", "1.5", "int32"),
        ("tf.reduce_sum(f(), 0.5)", "0.5", "int32"),
        ("tf.one_hot([0], 2.5)", "2.5", "int32"),
        ("tf.linalg.band_part(m(), 0.5, 0)", "0.5", "int64"),
    ],
)
def test_numbers_take_no_other_type(call, shown, dtype):
    with pytest.raises(TypeError) as caught:
        eval(call, dict(NAMES))
    assert str(caught.value) == f"Cannot convert {shown} to EagerTensor of dtype {dtype}"


@pytest.mark.parametrize("call", ["i() / f()", "i() / 1.5", "tf.truediv(i(), 1.5)"])
def test_quotients_are_of_one_type(call):
    with pytest.raises(TypeError) as caught:
        eval(call, dict(NAMES))
    message = "`x` and `y` must have the same dtype, got tf.int32 != tf.float32."
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("call", "types"),
    [
        ("tf.cast(f(), tf.string)", "float to string"),
        ("tf.cast('a', tf.int32)", "string to int32"),
    ],
)
def test_texts_cannot_be_cast(call, types):
    with pytest.raises(UnimplementedError) as caught:
        eval(call, dict(NAMES))
    assert str(caught.value) == f"Cast {types} is not supported [Op:Cast] name: "


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("tf.multiply(1, np.array([1.5]))", [1]),  # arrays are cast
        ("tf.add(np.array([1]), np.array([1.5]))", [2]),
        ("tf.one_hot([0], 2**32 + 1)", [[1.0]]),  # integers wrap around
        ("tf.shape(tf.zeros([2**33, 0]), tf.int64)", [2**33, 0]),
        ("tf.fill(2, 7)", [7, 7]),
        ("tf.add_n(tf.constant([1, 2, 3]))", 6),
        ("tf.add(1.5, 1)", 2.5),
    ],
)
def test_what_can_be_converted_is(call, value):
    assert eval(call, dict(NAMES)).numpy().tolist() == value
