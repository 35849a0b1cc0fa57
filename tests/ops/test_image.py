"""`tf.image`, by TensorFlow's results: image.json has the calls and what they return there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import berth as tf
from tests.ops.gradient_checks import check_gradient

pytestmark = pytest.mark.usefixtures("eager")

RECORDED = json.loads((Path(__file__).parent / "image.json").read_text())
X = np.arange(48, dtype=np.float32).reshape(4, 4, 3) / 48
v1 = tf.compat.v1


def array(recorded: dict[str, Any]) -> Any:
    return np.array(recorded["values"], recorded["dtype"]).reshape(recorded["shape"])


INPUTS = {name: array(each) for name, each in RECORDED["inputs"].items()}


def call(module: Any, written: str, inputs: dict[str, Any]) -> Any:
    return eval(f"module.{written}", {"module": module, **inputs})


def check(actual: Any, expected: dict[str, Any]) -> None:
    assert str(actual.dtype) == expected["dtype"]
    assert list(actual.shape) == expected["shape"]
    tolerance = 0 if actual.dtype.kind in "iu" else 3e-6
    np.testing.assert_allclose(actual, array(expected), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("written", RECORDED["results"])
def test_results_are_tensorflow_s(written):
    """Eager; in a graph with sizes that are known only in a run; with seeds, in a new graph."""
    expected = RECORDED["results"][written]
    api, _, text = written.partition(" ")
    module = tf.image if api == "v2" else v1.image
    if api != "graph":
        check(call(module, text, INPUTS).numpy(), expected)
    with tf.Graph().as_default(), v1.Session() as session:
        if api == "graph" or ".astype" in text:
            check(session.run(call(module, text, INPUTS)), expected)
            return
        fed = {
            name: v1.placeholder(each.dtype, [None] * (each.ndim - 1) + [each.shape[-1]])
            for name, each in INPUTS.items()
        }
        result = call(module, text, fed)
        values = {placeholder: INPUTS[name] for name, placeholder in fed.items()}
        check(session.run(result, values), expected)


@pytest.mark.parametrize(
    "written",
    [
        "crop_to_bounding_box(x, 1, 0, 2, 3)",
        "pad_to_bounding_box(x, 1, 0, 6, 5)",
        "flip_left_right(x)",
        "rot90(x)",
        "rgb_to_hsv(x)",
        "hsv_to_rgb(x)",
    ],
)
def test_gradients(written):
    pixels = np.random.default_rng(2).permutation(36).reshape(4, 3, 3) / 40 + 0.05
    check_gradient(lambda x: call(tf.image, written, {"x": x}), pixels)


@pytest.mark.parametrize("written", RECORDED["gradients"])
def test_gradients_are_tensorflow_s(written):
    """Of the sum of cubes."""
    x = tf.constant(INPUTS["x"])
    with tf.GradientTape() as tape:
        tape.watch(x)
        cubes = tf.reduce_sum(call(tf.image, written, {"x": x}) ** 3)
    expected = array(RECORDED["gradients"][written])
    np.testing.assert_allclose(tape.gradient(cubes, x), expected, rtol=1e-4, atol=1e-4)


def test_what_cannot_be_resized():
    message = "If half_pixel_centers is True, align_corners must be False."
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        v1.image.resize_bilinear(X[None], [2, 2], True, half_pixel_centers=True)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        v1.image.resize_bilinear(X, [2, 2])
    assert "input must be 4-dimensional[4,4,3]" in str(caught.value)
    with pytest.raises(NotImplementedError, match="antialias"):
        tf.image.resize(X, [2, 2], antialias=True)


def test_functions_take_images_of_any_size():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 3], "float32")])
    def small(x):
        return tf.image.resize_with_crop_or_pad(tf.image.flip_up_down(x), 2, 6)

    assert small(X).shape == (2, 6, 3)
    assert small(X[:1]).shape == (2, 6, 3)


def test_flips_of_images_whose_rank_is_not_known():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32")
        flipped = v1.image.flip_left_right(x)
        by_chance = v1.image.random_flip_up_down(x, seed=1)
        for images in (X, X[None]):
            result = session.run(flipped, {x: images})
            np.testing.assert_array_equal(result, images[..., ::-1, :])
        assert session.run(by_chance, {x: X}).shape == X.shape


def test_static_shapes():
    with tf.Graph().as_default():
        x = v1.placeholder("float32", [None, 8, 6, 3])
        assert v1.image.central_crop(x, 0.5).shape.as_list() == [None, 4, 4, 3]
        assert v1.image.rot90(x).shape.as_list() == [None, 6, 8, 3]
        assert v1.image.rgb_to_grayscale(x).shape.as_list() == [None, 8, 6, 1]
        assert v1.image.resize_images(x, [5, 7]).shape.as_list() == [None, 5, 7, 3]
        assert v1.random_crop(X, [2, 3, 3]).shape.as_list() == [2, 3, 3]


FLAT = "'image' (shape (3,)) must be at least three-dimensional."
TWO_SIZES = "'size' must be a 1-D Tensor of 2 elements: new_height, new_width"
THREE_OR_FOUR = "'image' (shape (3,)) must have either 3 or 4 dimensions."


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("crop_to_bounding_box(x, -1, 0, 2, 2)", "offset_height must be >= 0."),
        ("crop_to_bounding_box(x, 0, -1, 2, 2)", "offset_width must be >= 0."),
        ("crop_to_bounding_box(x, 0, 0, 0, 2)", "target_height must be > 0."),
        ("crop_to_bounding_box(x, 0, 0, 9, 2)", "height must be >= target + offset."),
        ("crop_to_bounding_box(x, 0, 0, 2, 9)", "width must be >= target + offset."),
        ("crop_to_bounding_box(flat, 0, 0, 2, 9)", THREE_OR_FOUR),
        ("pad_to_bounding_box(x, -1, 0, 9, 9)", "offset_height must be >= 0"),
        ("pad_to_bounding_box(x, 0, -1, 9, 9)", "offset_width must be >= 0"),
        ("pad_to_bounding_box(x, 0, 0, 2, 9)", "height must be <= target - offset"),
        ("pad_to_bounding_box(x, 0, 0, 9, 2)", "width must be <= target - offset"),
        ("pad_to_bounding_box(flat, 0, 0, 9, 2)", THREE_OR_FOUR),
        ("resize_with_crop_or_pad(x, 0, 2)", "target_height must be > 0."),
        ("resize_with_crop_or_pad(x, 2, 0)", "target_width must be > 0."),
        ("central_crop(x, 0.0)", "central_fraction must be within (0, 1]"),
        ("central_crop(flat, 0.5)", FLAT),
        ("flip_left_right(flat)", FLAT),
        ("random_flip_up_down(flat)", FLAT),
        ("rot90(flat)", FLAT),
        ("transpose(flat)", FLAT),
        ("per_image_standardization(flat)", FLAT),
        ("random_brightness(x, -1)", "max_delta must be non-negative."),
        ("random_contrast(x, 2, 1)", "upper must be > lower."),
        ("random_contrast(x, -1, 1)", "lower must be non-negative."),
        ("random_hue(x, 0.6)", "max_delta must be <= 0.5."),
        ("adjust_hue(x, 2.0)", "delta must be in the interval [-1, 1]"),
        ("adjust_gamma(x, -1)", "Gamma should be a non-negative real number."),
        ("resize(x, [2])", TWO_SIZES),
        ("resize(x, 2)", TWO_SIZES),
        ("resize(flat, [2, 2])", "'images' must have either 3 or 4 dimensions."),
        ("resize(x, [2, 2], 'zz')", "Resize method is not implemented: zz"),
        ("grayscale_to_rgb(x)", "Last dimension of a grayscale image should be size 1."),
    ],
)
def test_mistakes(written, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        call(tf.image, written, {"x": X, "flat": np.zeros(3, np.float32)})
    assert str(caught.value) == message


def test_a_crop_larger_than_the_image():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Need value\.shape >= size, got "
    ):
        tf.image.random_crop(X, [9, 2, 3])
    with pytest.raises(AttributeError) as caught:
        tf.image.convert_image_dtype(X, tf.string)
    assert str(caught.value) == "dtype must be either floating point or integer"
