"""The elements of a TensorShape: int and None in TensorFlow 2, Dimension objects in 1."""

from __future__ import annotations

import pytest

import berth as tf
from berth.eager.mode import set_eager

SHAPE = tf.TensorShape([None, 3])
UNKNOWN = tf.TensorShape(None)


@pytest.fixture(params=[True, False], ids=["TensorFlow 2", "TensorFlow 1"])
def _each_version(request):
    set_eager(request.param)  # each test's own mode is restored after it


def test_sizes_are_int_and_none_in_tensorflow_2():
    set_eager(True)
    assert [type(size) for size in SHAPE] == [type(None), int]
    assert (type(SHAPE[1]), SHAPE[0], UNKNOWN[0]) == (int, None, None)
    assert repr(SHAPE) == "TensorShape([None, 3])"


def test_sizes_are_dimensions_in_tensorflow_1():
    set_eager(False)
    assert str(list(SHAPE)) == "[Dimension(None), Dimension(3)]"
    assert (SHAPE[0].value, SHAPE[1].value, UNKNOWN[0].value) == (None, 3, None)
    assert (str(SHAPE[0]), str(SHAPE[1])) == ("?", "3")
    assert repr(SHAPE) == "TensorShape([Dimension(None), Dimension(3)])"


@pytest.mark.usefixtures("_each_version")
def test_dims_and_as_list_are_the_same_in_both():
    assert str(SHAPE.dims) == "[Dimension(None), Dimension(3)]"
    assert UNKNOWN.dims is None
    assert [type(size) for size in SHAPE.as_list()] == [type(None), int]


@pytest.mark.usefixtures("_each_version")
def test_a_slice_is_a_shape_in_both():
    assert isinstance(SHAPE[1:], tf.TensorShape)
    assert SHAPE[1:] == tf.TensorShape([3])
    assert UNKNOWN[1:].rank is None
    assert UNKNOWN[-1:2].rank is None
    assert UNKNOWN[:3].rank == 3
    with pytest.raises(ValueError, match="Steps are not yet handled"):
        UNKNOWN[::2]


@pytest.mark.usefixtures("_each_version")
def test_sizes_make_shapes_in_both():
    assert tf.TensorShape(list(SHAPE)) == SHAPE
    assert tf.TensorShape([SHAPE[0], SHAPE[1]]).as_list() == [None, 3]
