"""Shape rules: what they say of a part of the facts holds for all of them."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from berth.dtypes import DType, string
from berth.graph.graph import Graph
from berth.ops.convert import dtype_of
from berth.ops.elementwise.arithmetic import add
from berth.ops.opdef import CATALOGUE
from berth.ops.rules import ShapeMismatch
from berth.ops.shape import Dims, merge
from tests.ops.calls import at, f, i, make
from tests.ops.cases import EVERY
from tests.ops.samples import Held

MOST = 1000
"""How many ways to forget something are tried for one case."""


class Known(NamedTuple):
    """What a shape rule may see of an array."""

    dtype: DType
    dims: Dims
    value: Any


def known(given: Any) -> Any:
    """Return all there is to know of an input."""
    if isinstance(given, Held):
        return given.reference(given.array.shape)
    return Known(dtype_of(given), given.shape, given)


def views(given: Any) -> list[Any]:
    """List what may be known of an input: all, its shape, some sizes, or its type alone."""
    array = given.array if isinstance(given, Held) else given
    shapes = [*product(*((size, None) for size in array.shape)), None]
    if isinstance(given, Held):
        return [given.reference(dims) for dims in shapes]
    dtype = dtype_of(array)
    return [known(array), *(Known(dtype, dims, None) for dims in shapes)]


def ways(inputs: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Go through the ways to see inputs, or through some if there are too many."""
    each = [views(given) for given in inputs]
    if math.prod(map(len, each)) <= MOST:
        yield from product(*each)
        return
    draw = random.Random(0)
    for _ in range(MOST):
        yield [draw.choice(seen) for seen in each]


every_case = pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])


def test_every_operation_has_a_sample():
    # Those of files, queues and summaries are declared above ops/, and have tests of their own.
    declared = {
        name for name, op in CATALOGUE.items() if op.infer.__module__.startswith("berth.ops")
    }
    without = declared - {name for name, _, _ in EVERY}
    assert not without, "give these OpDefs `samples`, or a row in tests/ops/formulas.py"


@every_case
def test_what_is_known_in_part_holds_in_full(case):
    name, inputs, attrs = case
    op = CATALOGUE[name]
    full = op.infer([known(given) for given in inputs], attrs)
    for seen in ways(inputs):
        part = op.infer(seen, attrs)
        for (dtype, dims), (dtype_in_part, dims_in_part) in zip(full, part, strict=True):
            assert dtype is dtype_in_part
            assert merge(dims, dims_in_part) == dims


@every_case
def test_all_that_is_known_decides_the_shape(case):
    name, inputs, attrs = case
    types = CATALOGUE[name].infer([known(given) for given in inputs], attrs)
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
            [f(2, 3), f(2, 4), at(0)],
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
            [f(2, 3), at(5)],
            {"keep_dims": False},
            "Invalid reduction dimension (5 for input with 2 dimension(s)",
        ),
        (
            "Split",
            [at(0), f(2)],
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
    with pytest.raises(ShapeMismatch) as caught:
        CATALOGUE[name].infer([known(array) for array in arrays], attrs)
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
            [at(0), at(-3), at(1)],
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
        CATALOGUE[name].infer([known(array) for array in arrays], attrs)


def test_a_failed_call_leaves_no_node():
    graph = Graph()
    with graph.as_default(), pytest.raises(ValueError, match="Dimensions must be equal"):
        add(np.zeros(2), np.zeros(3))
    assert graph.ops == []


def test_strings_have_no_arithmetic():
    assert all(string not in CATALOGUE[name].types["T"] for name in ("AddV2", "Sum", "Less"))
