"""Operations that make arrays, join, cut and move them, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

from berth.dtypes import float32, int32, int64, string
from berth.errors import InvalidArgumentError
from berth.graph.graph import Graph
from berth.ops.arrays.array import constant
from berth.ops.opdef import CATALOGUE, Launch
from berth.ops.shape import TensorShape
from tests.ops.calls import compute, make, run, run_all, sample

SHAPES = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
WITH_AXES = array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
DTYPES = ["f4", "i8", "?", "c8", "O"]
TYPES = st.sampled_from(DTYPES)


def assert_same(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


# --- the same bytes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "new"),
    [
        ((2, 3), [3, 2]),
        ((2, 3), [-1]),
        ((6,), [2, -1]),
        ((1,), []),
        ((0, 3), [0, -1]),
        ((), [1, 1]),
    ],
)
def test_reshape_keeps_the_elements(shape, new):
    x = sample("f", shape)
    expected = x.reshape((0, 3) if shape == (0, 3) else new)
    assert_same(run("Reshape", x, np.array(new, np.int32)), expected)


@given(SHAPES, st.data())
def test_axes_of_one_come_and_go(shape, data):
    x = sample("f", shape)
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    wide = run("ExpandDims", x, axis)
    assert_same(wide, np.expand_dims(x, axis))
    assert_same(run("Squeeze", wide, squeeze_dims=[axis]), x)
    assert_same(run("Squeeze", wide, squeeze_dims=[]), np.squeeze(wide))


@pytest.mark.parametrize(
    "name", ["Identity", "StopGradient", "Reshape", "ExpandDims", "Squeeze"]
)
def test_aliases_bind_nothing(name):
    op = CATALOGUE[name]
    assert op.is_alias
    assert all(kernel.bind(None) is None for kernel in op.kernels)


def test_a_default_is_used_unless_fed():
    assert compute("tf.placeholder_with_default(x, [None])", x=sample("f", (3,))).shape == (3,)
    tensor, _ = make("tf.placeholder_with_default([1.0, 2.0], [None])")
    assert tensor.dims == (None,)


# --- joining and splitting --------------------------------------------------------------------


@given(WITH_AXES, TYPES, st.data())
def test_joined_parts_are_split_again(shape, dtype, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=4))
    parts = []
    for seed, size in enumerate(sizes):
        dims = list(shape)
        dims[axis] = size
        parts.append(sample(dtype, tuple(dims), seed))
    joined = run("ConcatV2", *parts, np.int32(axis))
    assert_same(joined, np.concatenate(parts, axis))
    outputs = run_all("SplitV", joined, np.array(sizes), np.int32(axis), num_split=len(sizes))
    for part, output in zip(parts, outputs, strict=True):
        assert_same(output, part)


@given(SHAPES, st.data())
def test_stacked_parts_are_unstacked_again(shape, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    parts = [sample("f", shape, seed) for seed in range(data.draw(st.integers(1, 4)))]
    stacked = run("Pack", *parts, axis=axis)
    assert_same(stacked, np.stack(parts, axis))
    for part, output in zip(
        parts, run_all("Unpack", stacked, num=len(parts), axis=axis), strict=True
    ):
        assert_same(output, part)


def test_equal_parts_are_split_off():
    x = sample("f", (4, 6))
    for part, expected in zip(
        run_all("Split", 1, x, num_split=3), np.split(x, 3, 1), strict=True
    ):
        assert_same(part, expected)


def test_one_part_is_still_a_list():
    assert [t.name for t in make("tf.split(P(4), 1)")[0]] == ["split:0"]
    assert [t.name for t in make("tf.unstack(P(1, 4))")[0]] == ["unstack:0"]
    assert make("tf.unstack(P(0, 4))")[0] == []


# --- repeating, padding, turning ----------------------------------------------------------------


@given(SHAPES, TYPES, st.data())
def test_tiles_are_numpys(shape, dtype, data):
    x = sample(dtype, shape)
    multiples = [data.draw(st.integers(0, 3)) for _ in shape]
    actual = run("Tile", x, np.array(multiples, np.int32))
    assert_same(actual, np.tile(x, multiples))


@given(SHAPES, st.data())
def test_pads_are_numpys(shape, data):
    x = sample("f", shape)
    widths = [[data.draw(st.integers(0, 2)) for _ in "ab"] for _ in shape]
    paddings = np.array(widths, np.int32).reshape(-1, 2)
    assert_same(run("Pad", x, paddings), np.pad(x, widths) if shape else x)
    assert_same(
        run("PadV2", x, paddings, np.float32(7)),
        np.pad(x, widths, constant_values=7) if shape else x,
    )


@given(SHAPES, TYPES, st.data())
def test_axes_are_put_in_any_order(shape, dtype, data):
    x = sample(dtype, shape)
    order = data.draw(st.permutations(range(len(shape))))
    assert_same(run("Transpose", x, np.array(order, np.int32)), x.transpose(order))
    assert_same(compute("tf.transpose(x)", x=x), x.T)


# --- slices and indices ---------------------------------------------------------------------------


@given(SHAPES, st.data())
def test_slices_begin_and_have_sizes(shape, data):
    x = sample("f", shape)
    begin = [data.draw(st.integers(0, size)) for size in shape]
    sizes = [
        data.draw(st.integers(-1, size - at)) for at, size in zip(begin, shape, strict=True)
    ]
    ends = [None if n == -1 else at + n for at, n in zip(begin, sizes, strict=True)]
    expected = x[tuple(slice(at, end) for at, end in zip(begin, ends, strict=True))]
    actual = run("Slice", x, np.array(begin, np.int32), np.array(sizes, np.int32))
    assert_same(actual, expected)


@pytest.mark.parametrize(
    ("name", "numbers", "shape", "message"),
    [
        ("Slice", [[2], [2]], (2,), "Expected size[0] in [0, 1], but got 2"),
        ("Slice", [[4], [1]], (1,), "Expected begin[0] in [0, 3], but got 4"),
        ("StridedSlice", [[3], [4], [1]], (), "slice index 3 of dimension 0 out of bounds."),
    ],
)
def test_a_shape_known_early_does_not_hide_mistakes(name, numbers, shape, message):
    inputs = [sample("f", (3,)), *(np.array(n, np.int32) for n in numbers)]
    masks = ("begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask")
    attrs = {**dict.fromkeys(masks, 0), "shrink_axis_mask": 1}
    with pytest.raises(InvalidArgumentError) as caught:
        CATALOGUE[name].kernels[0].bind(Launch(np, inputs, [np.empty(shape, "f")], attrs))
    assert str(caught.value) == message


@given(st.data())
def test_indices_cut_out_what_numpys_do(data):
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, max_side=4))
    x = sample("f", shape)
    index = data.draw(basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    assert_same(compute(f"x[{index!r}]", x=x), np.asarray(x[index]))


def test_an_index_may_be_a_tensor():
    x = sample("f", (4, 3))
    assert_same(compute("x[i]", x=x, i=np.array(2, np.int32)), x[2])
    assert_same(compute("x[i:, 1]", x=x, i=np.array(2, np.int64)), x[2:, 1])
    assert_same(compute("x[..., i - 1]", x=x, i=np.array(0, np.int32)), x[..., -1])


def test_strides_and_masks_are_pythons():
    x = sample("f", (4, 5, 6))
    call = "tf.strided_slice(x, [3, 0, 1], [0, 0, 4], [-2, 1, 2], end_mask=2)"
    assert_same(compute(call, x=x), x[3:0:-2, 0:, 1:4:2])


@given(WITH_AXES, SHAPES, TYPES, st.data())
def test_gather_takes_like_numpy(shape, picks, dtype, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape = tuple(size or int(k == axis % len(shape)) for k, size in enumerate(shape))
    x = sample(dtype, shape)
    integer = data.draw(st.sampled_from([np.int16, np.int32, np.int64]))
    indices = np.random.default_rng(0).integers(0, shape[axis], picks).astype(integer)
    actual = run("GatherV2", x, indices, np.int32(axis), batch_dims=0)
    expected = np.empty(actual.shape, x.dtype)
    expected[...] = np.take(x, indices, axis)
    assert_same(actual, expected)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0, 7], "indices[1] = 7 is not in [0, 3)"),
        ([[0, -1], [5, 0]], "indices[0,1] = -1 is not in [0, 3)"),
        (3, "indices = 3 is not in [0, 3)"),
    ],
)
def test_gather_names_the_index_out_of_range(indices, message):
    with pytest.raises(InvalidArgumentError) as caught:
        run("GatherV2", np.zeros(3), np.array(indices, np.int32), 0, batch_dims=0)
    assert str(caught.value) == message


@given(SHAPES, st.sampled_from(["?", "f4", "i4", "c8"]))
def test_where_says_where(shape, dtype):
    condition = sample(dtype, shape) * sample(bool, shape, 1)
    assert_same(run("Where", condition), np.argwhere(condition))


@pytest.mark.parametrize(
    ("shape", "mask", "axis"),
    [
        ((4,), (4,), 0),
        ((4, 2), (4,), 0),
        ((4, 2), (4, 2), 0),
        ((4, 2), (2,), 1),
        ((2, 4, 3), (4, 3), 1),
    ],
)
def test_masks_keep_what_is_true(shape, mask, axis):
    x, m = sample("f", shape), sample(bool, mask, 3)
    expected = x[(slice(None),) * axis + (m,)]
    assert_same(compute(f"tf.boolean_mask(x, m, axis={axis})", x=x, m=m), expected)
    if axis == 0:
        assert_same(compute("x[m]", x=x, m=m), expected)


# --- filling --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dims", [[], [2, 3], [0], [3, 0]])
def test_fill_repeats_one_value(dtype, dims):
    value = sample(dtype, ())
    actual = run("Fill", np.array(dims, np.int32), value)
    assert_same(actual, np.full(dims, value, value.dtype))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("tf.zeros([2, 3])", np.zeros((2, 3), "f")),
        ("tf.zeros([40, 30], tf.int64)", np.zeros((40, 30), "i8")),
        ("tf.zeros([2], tf.bool)", np.zeros(2, "?")),
        ("tf.zeros([2], tf.string)", np.array([b"", b""], object)),
        ("tf.ones(3)", np.ones(3, "f")),
        ("tf.ones(x[0])", np.ones((2,), "f")),
        ("tf.ones_like(x)", np.ones(2, "i4")),
        ("tf.zeros_like(x, tf.float32)", np.zeros(2, "f")),
        ("tf.range(x[0], 7)", np.arange(2, 7, dtype="i4")),
        ("tf.range(10, 0, -3)", np.arange(10, 0, -3, dtype="i4")),
        ("tf.range(0, 10, 3)", np.arange(0, 10, 3, dtype="i4")),
        ("tf.range(3, 3)", np.arange(0, dtype="i4")),
        ("tf.range(0.0, 1.0, 0.1)", np.arange(10, dtype="f") * np.float32(0.1)),
        ("tf.range(0.0, 0.3, 0.1)", np.arange(3, dtype="f") * np.float32(0.1)),
        ("tf.shape(x)", np.array([2], "i4")),
        ("tf.size(x, out_type=tf.int64)", np.array(2, "i8")),
        ("tf.rank(x)", np.array(1, "i4")),
    ],
)
def test_fillings_are_numpys(call, expected):
    assert_same(compute(call, x=np.array([2, 3], np.int32)), expected)


def test_zeros_are_like_a_tensor_of_unknown_shape():
    assert_same(run("ZerosLike", sample("f", (2, 3))), np.zeros((2, 3), "f"))
    assert_same(run("ZerosLike", sample("O", (2,))), np.array([b"", b""], object))


@pytest.mark.parametrize(("name", "value"), [("Shape", [2, 0, 3]), ("Size", 0), ("Rank", 3)])
def test_metadata_needs_no_values(name, value):
    op = CATALOGUE[name]
    assert op.is_metadata
    attrs = {} if name == "Rank" else {"out_type": int64}
    actual = run(op, np.zeros((2, 0, 3)), **attrs)
    assert_same(actual, np.array(value, np.int32 if name == "Rank" else np.int64))


@given(SHAPES, st.integers(0, 4), st.data())
def test_one_hot_vectors_are_numpys(shape, depth, data):
    axis = data.draw(st.integers(-1, len(shape)))
    indices = np.random.default_rng(1).integers(-1, 5, shape).astype(np.int32)
    actual = run("OneHot", indices, np.int32(depth), np.float32(3), np.float32(-1), axis=axis)
    at = len(shape) if axis == -1 else axis
    wide = np.expand_dims(indices, at)
    classes = np.arange(depth).reshape(-1, *(1,) * (len(shape) - at))
    assert_same(actual, np.where(wide == classes, np.float32(3), np.float32(-1)))


# --- constants ------------------------------------------------------------------------------------


def test_a_constant_is_filled_up_with_its_last_value():
    assert_same(
        compute("tf.constant([1, 2], shape=[2, 3])"), np.array([[1, 2, 2], [2, 2, 2]], "i4")
    )


def test_a_constant_cannot_be_changed_afterwards():
    value = np.ones(3, np.float32)
    with Graph().as_default():
        tensor = constant(value)
    value[:] = 5
    assert_same(tensor.value, np.ones(3, np.float32))


def test_shapes_made_of_numbers_are_known_in_part():
    assert make("tf.reshape(P(None, 3), [tf.shape(U())[0], 7])")[0].dims == (None, 7)
    assert make("tf.reshape(P(None, 3), tf.shape(P(None, 5)))")[0].dims == (None, 5)
    assert make("tf.zeros([2, I()])")[0].shape == TensorShape([2, None])


@pytest.mark.parametrize("name", ["Const", "Identity", "ConcatV2", "GatherV2", "Reshape"])
def test_strings_stay_on_the_cpu(name):
    assert CATALOGUE[name].device_types(string) == {"CPU"}
    assert CATALOGUE[name].device_types(float32) == {"CPU", "GPU"}


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("Reshape", {1}),
        ("ConcatV2", {-1}),
        ("Split", {0}),
        ("StridedSlice", {1, 2, 3}),
        ("Sum", {1}),
    ],
)
def test_what_decides_shapes_stays_on_the_host(name, positions):
    assert CATALOGUE[name].host_inputs == positions


def test_int32_is_the_type_of_plain_axes():
    tensor, _ = make("tf.reduce_sum(P(2, 3), [])")
    assert tensor.op.inputs[1].dtype is int32
    tensor, _ = make("tf.reshape(P(6), np.array([2, 3]))")
    assert tensor.op.inputs[1].dtype is int64
