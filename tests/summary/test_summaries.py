"""tf.summary of TensorFlow 1: the values of the operations are TensorFlow's."""

from __future__ import annotations

import io

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError

# TensorFlow 2.21's, for [1, 2, -3, 0].
LIMITS = [
    *(-3.1665833053880363, -2.8787120958073054, 0.0, 1e-12, 0.917246389039776),
    *(1.0089710279437536, 1.9661990955585713, 2.1628190051144287, 1.7976931348623157e308),
]


@pytest.fixture
def evaluate():
    with tf.Graph().as_default(), tf.Session() as session:
        yield lambda tensor: tf.Summary.FromString(session.run(tensor))


def test_scalars_have_the_name_of_their_scope(evaluate):
    with tf.name_scope("sc"):
        loss = tf.summary.scalar("loss", tf.constant(1.5))
        spaced = tf.summary.scalar("h h", 2)
        member = tf.summary.scalar("fam", tf.constant(2), family="F")
    assert [each.name for each in (loss, spaced, member)] == [
        "sc/loss:0",
        "sc/h_h:0",
        "sc/F/fam:0",
    ]
    assert loss.op.type == "ScalarSummary"
    assert [op.name for op in loss.op.inputs[0].graph.get_operations()][1] == "sc/loss/tags"
    values = [evaluate(each).value[0] for each in (loss, spaced, member)]
    assert [(v.tag, v.simple_value) for v in values] == [
        ("sc/loss", 1.5),
        ("sc/h_h", 2.0),
        ("F/sc/F/fam", 2.0),
    ]


def test_histograms_count_in_tensorflow_s_buckets(evaluate):
    histogram = evaluate(tf.summary.histogram("h", [1.0, 2.0, -3.0, 0.0])).value[0].histo
    assert list(histogram.bucket_limit) == LIMITS
    assert list(histogram.bucket) == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert (histogram.min, histogram.max, histogram.num) == (-3, 2, 4)
    assert (histogram.sum, histogram.sum_squares) == (0, 14)


def test_images_are_png_files(evaluate):
    Image = pytest.importorskip("PIL.Image", reason="Pillow reads the image")
    ramp = np.linspace(-1, 1, 24).reshape(2, 2, 2, 3)
    values = evaluate(tf.summary.image("im", tf.constant(ramp, tf.float32))).value
    assert [value.tag for value in values] == ["im/image/0", "im/image/1"]
    for value, pixels in zip(values, RAMP, strict=True):
        opened = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
        assert opened.tolist() == pixels
        assert (value.image.height, value.image.width, value.image.colorspace) == (2, 2, 3)
    whole = np.arange(4, dtype=np.uint8).reshape(1, 2, 2, 1)
    value = evaluate(tf.summary.image("u8", tf.constant(whole), max_outputs=1)).value[0]
    assert value.tag == "u8/image"
    opened = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
    assert opened.tolist() == [[0, 1], [2, 3]]


# The pixels in TensorFlow 2.21's PNG.
RAMP = [
    [[[1, 12, 23], [34, 45, 56]], [[67, 78, 89], [100, 111, 122]]],
    [[[11, 33, 55], [77, 99, 121]], [[144, 166, 188], [210, 232, 255]]],
]


def test_pixels_that_are_not_finite_are_red(evaluate):
    Image = pytest.importorskip("PIL.Image", reason="Pillow reads the image")
    pixels = np.zeros((1, 1, 2, 3), np.float32)
    pixels[0, 0, 0], pixels[0, 0, 1] = np.nan, 2.0
    value = evaluate(tf.summary.image("im", pixels)).value[0]
    opened = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
    assert opened.tolist() == [[[255, 0, 0], [255, 255, 255]]]


def test_sounds_are_wav_files(evaluate):
    value = evaluate(tf.summary.audio("au", tf.constant([[0.0, 0.5, -0.5]]), 8000.0)).value[0]
    assert value.tag == "au/audio/0"
    assert (value.audio.sample_rate, value.audio.num_channels) == (8000, 1)
    assert value.audio.encoded_audio_string == (
        b"RIFF*\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0"
        b"data\x06\0\0\0\0\0\0@\0\xc0"
    )


def test_text_is_a_tensor_for_its_plugin(evaluate):
    summary = tf.summary.text("t", tf.constant(["a", "b"]))
    value = evaluate(summary).value[0]
    assert summary.op.type == "TensorSummaryV2"
    assert value.metadata.plugin_data.plugin_name == "text"
    assert tf.make_ndarray(value.tensor).tolist() == [b"a", b"b"]


def test_all_are_merged(evaluate):
    assert tf.summary.merge_all() is None
    one = tf.summary.scalar("one", 1)
    tf.summary.scalar("elsewhere", 2, collections=["mine"])
    two = tf.summary.histogram("two", [1.0])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [one, two]
    merged = tf.summary.merge_all()
    assert merged.name == "Merge/MergeSummary:0"
    assert [value.tag for value in evaluate(merged).value] == ["one", "two"]
    assert [v.tag for v in evaluate(tf.summary.merge_all("mine")).value] == ["elsewhere"]


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (
            lambda: tf.summary.scalar("s", tf.constant([1.0, 2.0])),
            InvalidArgumentError,
            "tags and values are not the same shape: [] != [2] (tag 's')",
        ),
        (
            lambda: tf.summary.histogram("s", tf.constant([1.0, np.nan])),
            InvalidArgumentError,
            "Nan in summary histogram for: s",
        ),
        (
            lambda: tf.summary.histogram("s", tf.constant([1.0, np.inf])),
            InvalidArgumentError,
            "Infinity in summary histogram for: s",
        ),
        (
            lambda: tf.summary.merge(
                [tf.summary.scalar("s", 1, family="f"), tf.summary.scalar("s", 1, family="f")][
                    :1
                ]
                * 2
            ),
            InvalidArgumentError,
            "Duplicate tag f/f/s found in summary inputs",
        ),
        (
            lambda: tf.summary.merge([]),
            ValueError,
            "List argument 'inputs' to 'MergeSummary' Op with length 0 shorter than minimum length 1.",
        ),
        (lambda: tf.summary.scalar("s", tf.constant("x")), TypeError, None),
        (lambda: tf.summary.histogram("s", tf.constant("x")), TypeError, None),
    ],
)
def test_misuse_is_an_error(evaluate, use, error, message):
    with pytest.raises(error) as raised:
        evaluate(use())
    if message is not None:
        assert str(raised.value).splitlines()[0] == message
    else:
        assert "string" in str(raised.value)
