"""Shape rules: what they say of a part of the facts holds for all of them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.dtypes import DType, float32, float64, int32, int64, string
from berth.graph.graph import Graph
from berth.ops.convert import dtype_of
from berth.ops.math import add
from berth.ops.opdef import CATALOGUE
from berth.ops.rules import Misfit
from berth.ops.shape import Dims, TensorShape, merge
from tests.ops.calls import MODULES, make, sample


def i(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


def f(*shape: int) -> np.ndarray[Any, Any]:
    return sample("f", shape)


def axis(value: int) -> np.ndarray[Any, Any]:
    return np.array(value, np.int32)


TRUTH = sample(bool, (3, 4))
TEXT = sample("O", (2,))
SEEDS = {"dtype": float32, "seed": 1, "seed2": 2}

CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("AddN", [f(2, 3), f(2, 3)], {}),
    ("All", [TRUTH, i(1)], {"keep_dims": False}),
    ("Any", [TRUTH, i(0, 1)], {"keep_dims": True}),
    ("ArgMax", [f(2, 3), axis(1)], {"output_type": int64}),
    ("ArgMin", [f(2, 3), axis(-2)], {"output_type": int32}),
    ("AsString", [f(2)], {}),
    ("Assert", [np.array(True), f(2)], {"summarize": 3}),
    ("BatchMatMulV2", [f(5, 2, 3), f(1, 3, 4)], {"adj_x": False, "adj_y": False}),
    ("BatchMatMulV2", [f(5, 3, 2), f(4, 3)], {"adj_x": True, "adj_y": True}),
    ("Cast", [f(2, 3)], {"DstT": int32}),
    ("ConcatV2", [f(2, 3), f(4, 3), axis(0)], {}),
    ("ConcatV2", [f(2, 3), f(2, 0), f(2, 1), axis(-1)], {}),
    ("Const", [], {"dtype": float32, "value": f(2)}),
    ("ExpandDims", [f(2, 3), axis(-1)], {}),
    ("Fill", [i(2, 3), f()], {}),
    ("GatherV2", [f(2, 3), i(0, 1, 1), axis(1)], {"batch_dims": 0}),
    ("MatMul", [f(2, 3), f(3, 4)], {"transpose_a": False, "transpose_b": False}),
    ("MatMul", [f(3, 2), f(4, 3)], {"transpose_a": True, "transpose_b": True}),
    ("Max", [f(2, 3, 4), i(-1, 0)], {"keep_dims": False}),
    ("Mean", [f(2, 3, 4), i(1)], {"keep_dims": True}),
    ("Min", [f(2, 3, 4), axis(2)], {"keep_dims": False}),
    ("NoOp", [], {}),
    ("OneHot", [i(1, 2), axis(4), f(), f()], {"axis": -1}),
    ("OneHot", [i(1, 2), axis(4), f(), f()], {"axis": 0}),
    ("Pack", [f(2, 3), f(2, 3)], {"axis": -1}),
    ("Pad", [f(2, 3), np.array([[1, 0], [2, 2]], np.int32)], {}),
    ("PadV2", [f(2), np.array([[1, 0]], np.int32), f()], {}),
    ("Placeholder", [], {"dtype": float32, "shape": TensorShape([2])}),
    ("PlaceholderWithDefault", [f(2, 3)], {"shape": TensorShape([None, 3])}),
    ("Prod", [f(2, 3, 4), i()], {"keep_dims": False}),
    ("PyFunc", [f(2)], {"Tout": [float32], "token": ""}),
    ("PyFuncStateless", [f(2)], {"Tout": [float32], "token": ""}),
    ("RandomStandardNormal", [i(2, 3)], SEEDS),
    ("RandomUniform", [i(2, 3)], {**SEEDS, "dtype": float64}),
    ("RandomUniformInt", [i(2, 3), axis(1), axis(5)], SEEDS),
    ("Range", [axis(1), axis(7), axis(2)], {}),
    ("Rank", [f(2, 3)], {}),
    ("Reshape", [f(2, 6), i(3, 4)], {}),
    ("Reshape", [f(2, 6), i(4, -1)], {}),
    ("Select", [TRUTH, f(3, 4), f(3, 4)], {}),
    ("Select", [TRUTH[:, 0], f(3, 4), f(3, 4)], {}),
    ("SelectV2", [TRUTH[:1], f(4), f(3, 1)], {}),
    ("Shape", [f(2, 3)], {"out_type": int32}),
    ("Size", [f(2, 3)], {"out_type": int64}),
    ("Slice", [f(4, 5), i(1, 2), i(2, -1)], {}),
    ("Split", [axis(1), f(2, 6)], {"num_split": 3}),
    ("SplitV", [f(5, 2), i(1, -1, 2), axis(0)], {"num_split": 3}),
    ("Squeeze", [f(2, 1, 3, 1)], {"squeeze_dims": [1]}),
    ("Squeeze", [f(2, 1, 3, 1)], {"squeeze_dims": []}),
    (
        "StridedSlice",
        [f(4, 5, 6), i(0, 1, 3, 0), i(0, 4, 4, 0), i(1, 2, 1, 1)],
        {
            "begin_mask": 2,
            "ellipsis_mask": 8,
            "end_mask": 0,
            "new_axis_mask": 1,
            "shrink_axis_mask": 4,
        },
    ),
    ("StringJoin", [TEXT, TEXT[0:1].reshape(()), TEXT], {"separator": ""}),
    ("Sum", [f(2, 3), i(0)], {"keep_dims": False}),
    ("Tile", [f(2, 3), i(2, 0)], {}),
    ("Transpose", [f(2, 3, 4), i(1, -1, 0)], {}),
    ("TruncatedNormal", [i(2, 3)], SEEDS),
    ("Unpack", [f(2, 3)], {"axis": 1, "num": 3}),
    ("Where", [TRUTH], {}),
    ("ZerosLike", [f(2, 3)], {}),
    ("Identity", [f(2, 3)], {}),
    ("StopGradient", [f(2, 3)], {}),
]
ELEMENTWISE = [
    (name, [sample(op.types["T"][0].np_dtype, shape) for shape in shapes], {})
    for name, op in sorted(CATALOGUE.items())
    if op.elementwise is not None and name != "Cast"
    for shapes in [((2, 3, 1), (3, 4))[: len(op.arguments)]]
]
EVERY = CASES + ELEMENTWISE


class Known(NamedTuple):
    """What a shape rule may see of an array."""

    dtype: DType
    dims: Dims
    value: Any


def seen(array: np.ndarray[Any, Any], data: st.DataObject) -> Known:
    """Forget something of an array: its value, sizes, or all."""
    dtype = dtype_of(array)
    how = data.draw(st.sampled_from(["all", "shape", "sizes", "nothing"]))
    if how == "all":
        return Known(dtype, array.shape, array)
    if how == "nothing":
        return Known(dtype, None, None)
    if how == "shape":
        return Known(dtype, array.shape, None)
    dims = [None if data.draw(st.booleans()) else size for size in array.shape]
    return Known(dtype, tuple(dims), None)


def test_every_operation_has_a_case():
    ours = {
        op.name
        for module in MODULES
        for op in vars(module).values()
        if CATALOGUE.get(getattr(op, "name", "")) is op
    }
    assert ours == {name for name, _, _ in EVERY}


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])
@given(data=st.data())
def test_what_is_known_in_part_holds_in_full(case, data):
    name, arrays, attrs = case
    op = CATALOGUE[name]
    full = op.infer([Known(dtype_of(a), a.shape, a) for a in arrays], attrs)
    part = op.infer([seen(array, data) for array in arrays], attrs)
    for (dtype, dims), (dtype_in_part, dims_in_part) in zip(full, part, strict=True):
        assert dtype is dtype_in_part
        assert merge(dims, dims_in_part) == dims


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])
def test_all_that_is_known_decides_the_shape(case):
    name, arrays, attrs = case
    types = CATALOGUE[name].infer([Known(dtype_of(a), a.shape, a) for a in arrays], attrs)
    if not name.startswith("PyFunc"):
        assert all(dims is not None and None not in dims for _, dims in types)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "tf.add(P(2), P(3))",
            "Dimensions must be equal, but are 2 and 3 for 'Add' (op: 'AddV2') with input "
            "shapes: [2], [3].",
        ),
        (
            "tf.matmul(P(2, 3), P(2, 3), name='product')",
            "Dimensions must be equal, but are 3 and 2 for 'product' (op: 'MatMul') with input "
            "shapes: [2,3], [2,3].",
        ),
        (
            "tf.concat([P(2, 3), P(2, 4)], 0)",
            "Dimension 0 in both shapes must be equal, but are 3 and 4. Shapes are [3] and [4]. "
            "for 'concat' (op: 'ConcatV2') with input shapes: [2,3], [2,4], [].",
        ),
        (
            "P(None, 4)[..., 4]",
            "slice index 4 of dimension 1 out of bounds. for 'strided_slice' (op: 'StridedSlice') "
            "with input shapes: [?,4], [2], [2], [2].",
        ),
    ],
)
def test_shape_errors_say_where(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make(call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "tf.add(P(2), I(2))",
            "Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument "
            "'x'.",
        ),
        (
            "tf.sqrt(I(2))",
            "Value passed to parameter 'x' has DataType int32 not in list of allowed values: "
            "float16, float32, float64, complex64, complex128",
        ),
        (
            "tf.logical_and(P(2), P(2))",
            "Input 'x' of 'LogicalAnd' Op has type float32 that does not match expected type of "
            "bool.",
        ),
        (
            "tf.truediv(P(2), I(2))",
            "`x` and `y` must have the same dtype, got tf.float32 != tf.int32.",
        ),
        (
            "tf.one_hot([1], 3, on_value=1, off_value=0.0)",
            "dtype <dtype: 'int32'> of on_value does not match dtype <dtype: 'float32'> of "
            "off_value",
        ),
        ("tf.cast(P(2), tf.string)", "Cannot cast to tf.string: it is no type of numbers."),
    ],
)
def test_type_errors_say_what(call, message):
    with pytest.raises(TypeError) as caught:
        make(call)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "arrays", "attrs", "message"),
    [
        ("AddV2", [f(3), f(2)], {}, "Incompatible shapes: [3] vs. [2]"),
        (
            "MatMul",
            [f(2, 3), f(2, 3)],
            {"transpose_a": False, "transpose_b": False},
            "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]",
        ),
        (
            "BatchMatMulV2",
            [f(2, 2, 3), f(3, 3, 2)],
            {"adj_x": False, "adj_y": False},
            "In[0] and In[1] must have compatible batch dimensions: [2,2,3] vs. [3,3,2]",
        ),
        (
            "ConcatV2",
            [f(2, 3), f(2, 4), axis(0)],
            {},
            "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = "
            "[2,4]",
        ),
        (
            "Pack",
            [f(2, 3), f(2, 4)],
            {"axis": 0},
            "Shapes of all inputs must match: values[0].shape = [2,3] != values[1].shape = [2,4]",
        ),
        (
            "AddN",
            [f(2, 3), f(2, 4)],
            {},
            "Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: "
            "[2,3] != input 1: [2,4]",
        ),
        (
            "Reshape",
            [f(3), i(2)],
            {},
            "Input to reshape is a tensor with 3 values, but the requested shape has 2",
        ),
        (
            "Reshape",
            [f(3), i(2, -1)],
            {},
            "Input to reshape is a tensor with 3 values, but the requested shape requires a "
            "multiple of 2",
        ),
        ("Slice", [f(3), i(5), i(-1)], {}, "Expected begin[0] in [0, 3], but got 5"),
        (
            "Sum",
            [f(2, 3), axis(5)],
            {"keep_dims": False},
            "Invalid reduction dimension (5 for input with 2 dimension(s)",
        ),
        (
            "Split",
            [axis(0), f(2)],
            {"num_split": 3},
            "Number of ways to split should evenly divide the split dimension, but got split_dim "
            "0 (size = 2) and num_split 3",
        ),
        (
            "Unpack",
            [f(2)],
            {"num": 3, "axis": 0},
            "Input shape axis 0 must equal 3, got shape [2]",
        ),
        ("Pad", [f(3), np.array([[-1, 1]])], {}, "Paddings must be non-negative: -1 1"),
        (
            "Transpose",
            [f(2, 3), i(0)],
            {},
            "transpose expects a vector of size 2. But input(1) is a vector of size 1",
        ),
    ],
)
def test_a_run_complains_in_other_words(name, arrays, attrs, message):
    with pytest.raises(Misfit) as caught:
        CATALOGUE[name].infer([Known(dtype_of(a), a.shape, a) for a in arrays], attrs)
    assert caught.value.at_run == message


@pytest.mark.parametrize(
    ("name", "arrays", "attrs", "message"),
    [
        ("Reshape", [f(3), i(-1, -1)], {}, "Only one input size may be -1, not both 0 and 1"),
        ("Slice", [f(3), i(1), i(5)], {}, "Expected size[0] in [0, 2], but got 5"),
        ("Tile", [f(2), i(-1)], {}, "Expected multiples[0] >= 0, but got -1"),
        ("Transpose", [f(2, 3), i(0, 0)], {}, "1 is missing from {0,0}."),
        (
            "Range",
            [axis(0), axis(-3), axis(1)],
            {},
            "Requires start <= limit when delta > 0: 0/-3",
        ),
        (
            "Squeeze",
            [f(2, 3)],
            {"squeeze_dims": [0]},
            "Can not squeeze dim[0], expected a dimension of 1, got 2",
        ),
    ],
)
def test_a_run_finds_what_building_could_not(name, arrays, attrs, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        CATALOGUE[name].infer([Known(dtype_of(a), a.shape, a) for a in arrays], attrs)


def test_a_failed_call_leaves_no_node():
    graph = Graph()
    with graph.as_default(), pytest.raises(ValueError, match="Dimensions must be equal"):
        add(np.zeros(2), np.zeros(3))
    assert graph.ops == []


def test_strings_have_no_arithmetic():
    assert all(string not in CATALOGUE[name].types["T"] for name in ("AddV2", "Sum", "Less"))
