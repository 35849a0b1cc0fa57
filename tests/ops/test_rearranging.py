"""Other orders, borders, blocks, grids, parts and shapes, against NumPy's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.array import identity_n
from berth.ops.arrays.bitcast import bitcast
from berth.ops.arrays.broadcast_shapes import broadcast_dynamic_shape, broadcast_static_shape
from berth.ops.arrays.ensure_shape import ensure_shape
from berth.ops.arrays.grids import linspace, meshgrid, sequence_mask, unravel_index
from berth.ops.arrays.indexing import boolean_mask, boolean_mask_v2
from berth.ops.arrays.metadata import shape_n
from berth.ops.arrays.pad import pad, pad_v2
from berth.ops.arrays.partitions import dynamic_partition, dynamic_stitch, invert_permutation
from berth.ops.arrays.rearranging import (
    repeat,
    reverse,
    reverse_sequence,
    reverse_sequence_v1,
    roll,
)
from berth.ops.arrays.space_to_depth import (
    depth_to_space,
    depth_to_space_v1,
    space_to_depth,
    space_to_depth_v1,
)
from berth.ops.arrays.transpose import transpose_v2
from tests.ops.calls import sample
from tests.ops.gradient_checks import CPU, GPU, KNOWN, check_gradient, each_type, evaluate

on_devices = pytest.mark.parametrize("device", [CPU, GPU])
everywhere = each_type(["f2", "i4", "?", "c8"])
X = np.arange(24.0).reshape(2, 3, 4) / 7


@pytest.fixture
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def one(function, *arrays, device=CPU):
    [output] = evaluate(function, [np.asarray(array) for array in arrays], device)
    return output


def assert_same(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


# --- other orders ---------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("axes", [[], [0], [-1], [0, 2], [2, 1, 0]])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 4)])
def test_axes_are_turned_round(shape, axes, dtype, device):
    x = sample(dtype, shape)
    actual = one(lambda x: reverse(x, np.array(axes, np.int32)), x, device=device)
    assert_same(actual, np.flip(x, axes) if axes else x)


@everywhere
@pytest.mark.parametrize(("seq", "batch"), [(1, 0), (0, 1), (2, 1), (0, 2)])
def test_sequences_are_turned_round(seq, batch, dtype, device):
    x = sample(dtype, (4, 3, 5))
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, x.shape[seq] + 1, x.shape[batch]).astype(np.int32)
    expected = np.moveaxis(x, (batch, seq), (0, 1)).copy()
    for row, length in enumerate(lengths):
        expected[row, :length] = expected[row, :length][::-1].copy()
    expected = np.moveaxis(expected, (0, 1), (batch, seq))
    for function in (
        lambda x, n: reverse_sequence(x, n, seq, batch),
        lambda x, n: reverse_sequence_v1(x, n, seq_dim=seq, batch_dim=batch),
    ):
        assert_same(one(function, x, lengths, device=device), expected)


@everywhere
@pytest.mark.parametrize(
    ("shift", "axis"), [(1, 0), (-7, -1), ([1, 2], [0, 1]), ([1, 2, -1], [0, 1, 1]), (0, 1)]
)
@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (1, 2)])
def test_rolls_are_numpys(shape, shift, axis, dtype, device):
    x = sample(dtype, shape)
    assert_same(one(lambda x: roll(x, shift, axis), x, device=device), np.roll(x, shift, axis))


@everywhere
@pytest.mark.parametrize(
    ("repeats", "axis"), [(3, None), (2, 0), ([2], 1), ([1, 0, 2], 1), ([3, 1], -2), (0, 1)]
)
def test_repeats_are_numpys(repeats, axis, dtype, device):
    x = sample(dtype, (2, 3))
    expected = np.repeat(x, repeats, axis)
    assert_same(one(lambda x: repeat(x, repeats, axis), x, device=device), expected)
    fed = np.array(repeats, np.int32)
    assert_same(one(lambda x, n: repeat(x, n, axis), x, fed, device=device), expected)


def test_repeated_sizes_are_known(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    assert repeat(x, 2, 1).dims == (None, 6)
    assert repeat(x, [1, 0, 4], 1).dims == (None, 5)
    assert repeat(x, tf.placeholder(tf.int32, [3]), 1).dims == (None, None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: reverse(x, [2]), "'axis'[0] = 2 is out of valid range [0, 1"),
        (lambda x: reverse(x, [0, -2]), "axis 0 specified more than once."),
        (
            lambda x: reverse_sequence(x, [1, 2, 3], 1, 0),
            "Dimensions must be equal, but are 2 and 3",
        ),
        (lambda x: reverse_sequence(x, [1, 2], 3, 0), "seq_dim must be < input rank: 3 vs. 2"),
        (lambda x: roll(x, [1, 2], [0]), "Dimension 0 in both shapes must be equal, but are 2"),
        (lambda x: repeat(x, [1, 2, 3], 0), "Dimensions 2 and 3 are not compatible"),
        (lambda x: repeat(x, [1, 2], 3), "axis=3 out of bounds: expected -2<=axis<2"),
        (lambda x: pad(x, [[0, 0], [-1, 0]], "SYMMETRIC"), "Paddings must be non-negative"),
        (lambda x: space_to_depth(x[None, :, :, None], 2), "Dimension size must be evenly"),
        (lambda x: depth_to_space(x[None, None], 1), "Attr 'block_size' of 'DepthToSpace' Op"),
        (
            lambda x: ensure_shape(x, [2, 4]),
            "Dimension 1 in both shapes must be equal, but are",
        ),
        (lambda x: ensure_shape(x, [None]), "Shape must be rank 1 but is rank 2"),
        (
            lambda x: bitcast(x, "float64"),
            "Cannot bitcast from 4 to 8 due to shape. 3 does not",
        ),
        (lambda x: dynamic_partition(x, [1, 2, 3], 2), "Dimension 0 in both shapes must be"),
        (lambda x: meshgrid(x, indexing="k"), "Argument `indexing` parameter must be either"),
        (
            lambda x: sequence_mask([1], [3]),
            "Argument `maxlen` must be scalar for sequence_mask",
        ),
    ],
)
def test_building_finds_what_does_not_fit(graph, call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call(tf.placeholder(tf.float32, [2, 3]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: pad(x, [[3, 0]], "REFLECT"),
            "paddings must be less than the dimension size: ",
        ),
        (
            lambda x: pad(x, [[0, 4]], "SYMMETRIC"),
            "paddings must be no greater than the dimension",
        ),
        (lambda x: roll(x, 1, 1), "axis 1 is out of range"),
        (lambda x: reverse_sequence(x[None], [4], 1, 0), "seq_lens(0) > input.dims(1)"),
        (lambda x: reverse_sequence(x[None], [-1], 1, 0), "seq_lens(0) < 0"),
        (lambda x: dynamic_partition(x, [0, 5, 1], 2), "partitions[1] = 5 is not in [0, 2)"),
        (lambda x: dynamic_stitch([[0, -1, 1]], [x]), "indices[1] is out of range"),
        (lambda x: invert_permutation([0, 0]), "0 is duplicated in the input."),
        (lambda x: invert_permutation([0, 2]), "2 is not between 0 and 2"),
        (lambda x: unravel_index([6], [2, 3]), "index is out of bound as with dims"),
        (lambda x: broadcast_dynamic_shape([2, 3], [4]), "Incompatible shapes: [2,3] vs. [4]"),
    ],
)
def test_running_finds_what_does_not_fit(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        evaluate(call, [np.ones(3, np.float32)])
    assert caught.value.message.startswith(message)


# --- borders --------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize(
    ("shape", "widths"),
    [
        ((4,), [(3, 2)]),
        ((3, 4), [(2, 2), (0, 3)]),
        ((2, 3, 4), [(1, 0), (2, 2), (1, 3)]),
        ((3, 4), [(0, 0), (0, 0)]),
        ((0, 4), [(0, 0), (1, 1)]),
    ],
)
def test_mirrors_are_numpys(shape, widths, dtype, device):
    x = sample(dtype, shape)
    for mode in ("REFLECT", "SYMMETRIC") if x.size else ("SYMMETRIC",):
        expected = np.pad(x, widths, mode.lower())
        assert_same(one(lambda x, m=mode: pad(x, widths, m), x, device=device), expected)
        assert_same(one(lambda x, m=mode: pad_v2(x, widths, m.lower()), x), expected)


def test_a_value_fills_the_border():
    x = np.ones((1, 2), np.float32)
    expected = np.pad(x, [(1, 0), (0, 2)], constant_values=7)
    assert_same(one(lambda x: pad_v2(x, [[1, 0], [0, 2]], "CONSTANT", 7.0), x), expected)


# --- blocks ---------------------------------------------------------------------------------


def in_blocks(x, size):
    n, h, w, c = x.shape
    blocks = x.reshape(n, h // size, size, w // size, size, c).swapaxes(2, 3)
    return blocks.reshape(n, h // size, w // size, size * size * c)


@everywhere
@pytest.mark.parametrize(
    ("size", "shape"), [(2, (2, 4, 6, 3)), (3, (1, 3, 6, 1)), (2, (0, 2, 2, 1))]
)
def test_blocks_become_channels(size, shape, dtype, device):
    x = sample(dtype, shape)
    deep = in_blocks(x, size)
    first = np.moveaxis(x, 3, 1).copy()
    assert_same(one(lambda x: space_to_depth(x, size), x, device=device), deep)
    assert_same(one(lambda x: depth_to_space(x, size), deep, device=device), x)
    assert_same(one(lambda x: space_to_depth_v1(x, size, None, "NHWC"), x), deep)
    assert_same(one(lambda x: depth_to_space_v1(x, size, None, "NHWC"), deep), x)
    moved = one(lambda x: space_to_depth(x, size, "NCHW"), first, device=device)
    assert_same(moved, np.moveaxis(deep, 3, 1))
    assert_same(one(lambda x: depth_to_space(x, size, "NCHW"), moved, device=device), first)


def test_sizes_of_blocks_are_known(graph):
    x = tf.placeholder(tf.float32, [None, None, 4, 8])
    assert space_to_depth(x, 2).dims == (None, None, 2, 32)
    assert depth_to_space(x, 2).dims == (None, None, 8, 2)
    assert depth_to_space(tf.placeholder(tf.float32), 2).dims == (None,) * 4


# --- grids ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("device", "dtype"), [(CPU, "f8"), (GPU, "f4")])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize(("shape", "axis"), [((), 0), ((3,), 0), ((2, 3), 1), ((2, 3), -1)])
def test_steps_are_equal(shape, axis, num, dtype, device):
    start, stop = sample(dtype, shape), sample(dtype, shape, 1)
    expected = np.linspace(start, stop, num, axis=axis, dtype=dtype)
    for actual in (
        one(lambda a, b: linspace(a, b, num, axis=axis), start, stop, device=device),
        one(lambda a, b, n: linspace(a, b, n, axis=axis), start, stop, np.int32(num)),
    ):
        assert actual.dtype == np.dtype(dtype)
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
        if num > 1:
            np.testing.assert_array_equal(actual.take(-1, axis), stop)


def test_integer_bounds_become_floats(graph):
    points = linspace(0, 10, 3)
    assert points.dtype == tf.float64
    assert points.dims == (3,)
    assert linspace(tf.zeros([2]), 1.0, tf.placeholder(tf.int32, []), axis=-1).dims == (2, None)


@on_devices
@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(3,), (3, 2), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_grids_are_numpys(sizes, indexing, dtype, device):
    vectors = [sample(dtype, (size,)) for size in sizes]
    actual = evaluate(lambda *v: meshgrid(*v, indexing=indexing), vectors, device)
    for part, expected in zip(actual, np.meshgrid(*vectors, indexing=indexing), strict=True):
        assert_same(part, expected)


def test_grids_know_their_shapes(graph):
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [None])
    assert [part.dims for part in meshgrid(x, y)] == [(None, 2)] * 2
    assert [part.dims for part in meshgrid(x, 3.0, indexing="ij")] == [(2, 1)] * 2
    with pytest.raises(TypeError, match="'sparse' is an invalid keyword argument"):
        meshgrid(x, y, sparse=True)


@on_devices
@pytest.mark.parametrize("lengths", [[1, 3, 0], [[2], [1]], 2])
@pytest.mark.parametrize("longest", [None, 5])
def test_the_first_are_marked(lengths, longest, device):
    lengths = np.array(lengths, np.int32)
    size = lengths.max() if longest is None else longest
    expected = np.arange(size) < lengths[..., None]
    assert_same(one(lambda n: sequence_mask(n, longest), lengths, device=device), expected)
    floats = one(lambda n: sequence_mask(n, longest, "float32"), lengths, device=device)
    assert_same(floats, expected.astype(np.float32))


@on_devices
@pytest.mark.parametrize("indices", [[22, 41, 37], 5, []])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_numbers_become_coordinates(indices, dtype, device):
    indices = np.array(indices, dtype)
    actual = one(lambda k: unravel_index(k, np.array([7, 6], dtype)), indices, device=device)
    assert_same(actual, np.array(np.unravel_index(indices, (7, 6)), dtype))


# --- parts ----------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("numbers", [[1, 0, 1], [[2, 2], [0, 2], [0, 0]], [3, 3, 3]])
def test_rows_are_dealt_out_and_put_back(numbers, dtype, device):
    data, numbers = sample(dtype, (3, 2, 2)), np.array(numbers, np.int32)
    parts = evaluate(lambda x, n: dynamic_partition(x, n, 4), [data, numbers], device)
    for number, part in enumerate(parts):
        assert_same(part, data[numbers == number])

    def there_and_back(x, n):
        places = tf.reshape(tf.range(numbers.size), numbers.shape)
        return dynamic_stitch(dynamic_partition(places, n, 4), dynamic_partition(x, n, 4))

    rows = data.reshape(-1, *data.shape[numbers.ndim :])
    assert_same(one(there_and_back, data, numbers, device=device), rows)


@on_devices
def test_the_last_of_two_counts(device):
    first, second = np.array([[1, 2], [3, 4]], np.int32), np.array([9, 8], np.int32)

    def stitch(a, b):
        return dynamic_stitch([[[0, 3]], 3], [tf.expand_dims(a, 0), b])

    actual = one(stitch, first, second, device=device)
    assert actual.tolist() == [[1, 2], [0, 0], [0, 0], [9, 8]]


@on_devices
@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_inverted_orders_are_numpys(size, dtype, device):
    order = np.random.default_rng(3).permutation(size).astype(dtype)
    expected = np.argsort(order).astype(dtype)
    assert_same(one(invert_permutation, order, device=device), expected)


# --- indices --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: x[::-1, None, ..., -1],
        lambda x: x[1:, ::-2],
        lambda x: x[..., None, 3:0:-1],
        lambda x: x[np.int64(1), np.array(2)],
        lambda x: x[-1:5, 1:1],
    ],
)
@on_devices
def test_indices_are_numpys(cut, device):
    x = sample("f", (2, 3, 4))
    assert_same(one(cut, x, device=device), cut(x))


def test_tensors_may_be_indices():
    x, k = sample("f", (4, 3)), np.array(2, np.int32)
    assert_same(one(lambda x, k: x[k, k - 1 :], x, k), x[2, 1:])


@pytest.mark.parametrize(
    "key",
    [
        1.5,
        "a",
        np.array([0, 1]),
        [True, False],
        slice(1.5, None),
        (0, slice(None, np.array([1]))),
    ],
)
def test_only_numbers_are_indices(graph, key):
    with pytest.raises(TypeError, match="Only integers, slices"):
        tf.placeholder(tf.float32, [2, 3])[key]


def test_vectors_are_no_indices(graph):
    x = tf.placeholder(tf.float32, [3])
    for index in (tf.constant([0, 1]), tf.constant(1.5), tf.constant(1, tf.uint8)):
        with pytest.raises(TypeError, match="Only integers, slices"):
            x[index]
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        x[True]


@pytest.mark.parametrize("axis", [None, 0, 1])
@on_devices
def test_masks_keep_rows_along_an_axis(axis, device):
    x = sample("f", (3, 3, 2))
    mask = np.array([True, False, True])
    expected = np.compress(mask, x, axis or 0)
    for function in (
        lambda x, m: boolean_mask(x, m, axis=axis),
        lambda x, m: boolean_mask_v2(x, m, axis),
        *([lambda x, m: x[m]] if not axis else []),
    ):
        assert_same(one(function, x, mask, device=device), expected)


# --- shapes and bytes -----------------------------------------------------------------------


@on_devices
@pytest.mark.parametrize(
    ("x", "y", "expected"), [([2, 1], [3], [2, 3]), ([], [4, 5], [4, 5]), ([1], [1, 0], [1, 0])]
)
def test_shapes_broadcast_to_one(x, y, expected, device):
    shapes = np.array(x, np.int32), np.array(y, np.int32)
    assert one(broadcast_dynamic_shape, *shapes, device=device).tolist() == expected
    assert broadcast_static_shape(tf.TensorShape(x), tf.TensorShape(y)).as_list() == expected


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"Received: \(2, 3\) and \(4,\)\."):
        broadcast_static_shape(tf.TensorShape([2, 3]), tf.TensorShape([4]))
    assert broadcast_static_shape(tf.TensorShape(None), tf.TensorShape([4])).rank is None


@on_devices
def test_a_shape_is_made_sure_of(device):
    def ensured(x, n):
        return ensure_shape(tf.reshape(x, n), [None, 3])

    x = sample("f", (6,))
    assert_same(one(ensured, x, np.array([2, 3], np.int32), device=device), x.reshape(2, 3))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        one(ensured, x, np.array([3, 2], np.int32), device=device)
    assert caught.value.message.startswith(
        "Shape of tensor input [3,2] is not compatible with expected shape [?,3].\n"
    )


def test_a_shape_made_sure_of_is_known(graph):
    x = tf.placeholder(tf.float32, [2, None])
    assert ensure_shape(x, [None, 3]).dims == (2, 3)
    assert ensure_shape(tf.placeholder(tf.float32), [None, 3]).dims == (None, 3)


def test_several_are_asked_at_once():
    arrays = [sample("f", (2, 3)), sample("i4", (4,))]
    shapes = evaluate(lambda *t: shape_n(t, out_type="int64"), arrays)
    assert [sizes.tolist() for sizes in shapes] == [[2, 3], [4]]
    assert shapes[0].dtype == np.int64
    for array, same in zip(arrays, evaluate(lambda *t: identity_n(t), arrays), strict=True):
        assert_same(same, array)


@on_devices
@pytest.mark.parametrize(
    ("dtype", "shape", "other"),
    [
        ("f4", (2, 3), "int32"),
        ("f4", (), "uint8"),
        ("f8", (2,), "complex64"),
        ("u1", (3, 4), "float32"),
        ("i4", (2,), "int64"),
        ("f4", (0, 2), "float64"),
    ],
)
def test_bytes_are_reinterpreted(dtype, shape, other, device):
    x = sample(dtype, shape)
    wanted = np.dtype(other)
    dims = shape
    if x.itemsize > wanted.itemsize:
        dims = (*shape, x.itemsize // wanted.itemsize)
    elif x.itemsize < wanted.itemsize:
        dims = shape[:-1]
    expected = x.reshape(-1).view(wanted).reshape(dims)
    assert_same(one(lambda x: bitcast(x, other), x, device=device), expected)


def test_turned_numbers_are_conjugated():
    x = sample("c8", (2, 3))
    assert_same(one(lambda x: transpose_v2(x, conjugate=True), x), x.T.conj())
    assert_same(one(lambda x: transpose_v2(x, [1, 0]), x), x.T)


# --- gradients ------------------------------------------------------------------------------

PICTURE = np.arange(32.0).reshape(1, 2, 4, 4) / 5


@pytest.mark.parametrize(
    "function",
    [
        lambda x: reverse(x * x, [0, 2]),
        lambda x: reverse_sequence(x * x, [2, 3], 1, 0),
        lambda x: roll(x * x, [1, -2], [0, 2]),
        lambda x: repeat(x * x, 2, 1),
        lambda x: repeat(x * x, [2, 0, 1], 1),
        lambda x: repeat(x * x, tf.constant([2, 0, 1]), 1),
        lambda x: pad(x * x, [[0, 1], [2, 1], [1, 3]], "REFLECT"),
        lambda x: pad(x * x, [[1, 1], [3, 1], [1, 4]], "SYMMETRIC"),
        lambda x: ensure_shape(x * x, [None, 3, None]),
        lambda x: dynamic_partition(x * x, [1, 0], 3),
        lambda x: dynamic_stitch([[3, 0], 1], [x * x, x[0] * x[1]]),
        lambda x: linspace(x, x * x, 4, axis=1),
    ],
)
def test_gradients_go_back_the_same_way(function):
    check_gradient(function, X, order=2)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_gradients_of_blocks_are_blocks(layout):
    check_gradient(lambda x: space_to_depth(x * x, 2, layout), PICTURE, order=2, sizes=[KNOWN])
    check_gradient(
        lambda x: depth_to_space(x * x, 2, layout), PICTURE.reshape(1, 4, 2, 4), order=2
    )


def test_gradients_of_grids_are_sums():
    check_gradient(lambda x, y: meshgrid(x * x, y), np.array([1.0, 2.0]), np.array([3.0, 4, 5]))
