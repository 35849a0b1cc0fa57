"""Text, and functions of Python's."""

from __future__ import annotations

import numpy as np
import pytest

from berth.dtypes import float32, float64, int32
from berth.errors import InvalidArgumentError, UnknownError
from berth.graph.graph import Graph
from berth.ops.arrays.strings import py_func
from berth.ops.opdef import CATALOGUE, Launch
from tests.ops.calls import make, run

OPTIONS = {"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": ""}
FLOATS = np.array([1.5, -2, 1e10, 0.1, np.nan, np.inf], np.float32)


def texts(array, **options):
    return [item.decode() for item in run("AsString", array, **{**OPTIONS, **options})]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["1.500000", "-2.000000", "10000000000.000000", "0.100000", "nan", "inf"]),
        ({"precision": 2}, ["1.50", "-2.00", "10000000000.00", "0.10", "nan", "inf"]),
        (
            {"scientific": True},
            ["1.500000e+00", "-2.000000e+00", "1.000000e+10", "1.000000e-01", "nan", "inf"],
        ),
        ({"shortest": True}, ["1.5", "-2", "1e+10", "0.1", "nan", "inf"]),
        (
            {"width": 8, "fill": "0"},
            ["1.500000", "-2.000000", "10000000000.000000", "0.100000", "     nan", "     inf"],
        ),
        (
            {"width": 8, "fill": "-"},
            ["1.500000", "-2.000000", "10000000000.000000", "0.100000", "nan     ", "inf     "],
        ),
    ],
)
def test_floats_are_written_as_in_tensorflow(options, expected):
    assert texts(FLOATS, **options) == expected


def test_other_types_are_written_as_in_tensorflow():
    assert texts(np.array([1, -2])) == ["1", "-2"]
    assert texts(np.array([1, -2]), width=5, fill="0") == ["00001", "-0002"]
    assert texts(np.array([True, False])) == ["true", "false"]
    assert texts(np.array([1 + 2j])) == ["(1.000000,2.000000)"]
    assert run("AsString", np.zeros((0, 2)), **OPTIONS).shape == (0, 2)


def test_integers_have_no_precision():
    with pytest.raises(InvalidArgumentError) as caught:
        texts(np.array([1], np.int32), precision=2)
    assert str(caught.value) == "precision not supported for datatype int32"


def test_strings_are_joined_element_by_element():
    a, b = np.array([b"a", b"b"], object), np.array([b"c", b"d"], object)
    middle = np.array(b"x", object)
    assert run("StringJoin", a, middle, b, separator="-").tolist() == [b"a-x-c", b"b-x-d"]
    assert run("StringJoin", middle, middle, separator="").item() == b"xx"


@pytest.mark.parametrize("name", ["AsString", "StringJoin", "PyFunc", "PyFuncStateless"])
def test_text_and_python_stay_on_the_cpu(name):
    assert CATALOGUE[name].device_types(None) == {"CPU"}


# --- functions of Python's ----------------------------------------------------------------------


def call(function, inputs, *outputs):
    """Call a function by its operation, for outputs like these arrays."""
    tensor, _ = make_py_func(function, inputs, outputs)
    op = tensor[0].op if isinstance(tensor, list) else tensor.op if outputs else tensor
    filled = [np.empty_like(output) for output in outputs]
    run_it, arguments = op.definition.kernels[0].bind(Launch(np, inputs, filled, op.attrs))
    run_it(*arguments)
    return filled


def make_py_func(function, inputs, outputs):
    graph = Graph()
    with graph.as_default():
        return py_func(function, inputs, [output.dtype for output in outputs]), graph


def test_a_function_gets_and_gives_arrays():
    x = np.array([1, 2], np.float32)
    [double, size] = call(lambda x: (2 * x, x.size), [x], x, np.array(0))
    assert double.tolist() == [2, 4]
    assert size == 2


def test_a_function_may_keep_its_arguments():
    kept = []
    x = np.array([1, 2], np.float32)
    call(kept.append, [x])
    x[:] = 0
    assert kept[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.astype("f"), "0-th value returned by {} is float, but expects double"),
        (lambda x: (x, x), "{} returns 2 values, but expects to see 1 values."),
        (lambda x: x[:1], "0-th value returned by {} has shape [1], and not [2]"),
        (lambda x: int("a"), "ValueError: invalid literal for int() with base 10: 'a'"),
    ],
)
def test_what_a_function_gives_is_checked(function, message):
    x = np.zeros(2)
    with pytest.raises(InvalidArgumentError) as caught:
        call(function, [x], x)
    token = str(caught.value).split(" returns ")[0].split("returned by ")[-1].split()[0]
    assert str(caught.value) == message.format(token)


def test_other_failures_are_unknown_to_tensorflow():
    x = np.zeros(2)
    with pytest.raises(UnknownError) as caught:
        call(lambda x: {}["boo"], [x], x)
    assert str(caught.value) == "KeyError: 'boo'"
    assert isinstance(caught.value.__cause__, KeyError)


def test_tensorflows_own_errors_pass_through():
    def fail():
        raise InvalidArgumentError(None, None, "mine")

    with pytest.raises(InvalidArgumentError, match=r"^mine$"):
        call(fail, [], np.zeros(2))


def test_a_functions_types_are_known_and_its_shapes_not():
    tensors, _ = make("tf.py_func(f, [P(2)], [tf.float32, tf.int32])")
    assert [(t.dtype, t.dims) for t in tensors] == [(float32, None), (int32, None)]
    single, _ = make("tf.py_func(f, [P(2)], tf.float64)")
    assert (single.dtype, single.dims) == (float64, None)
