"""Data sets by name: MNIST's batches as TensorFlow's, files of every layout, made-up data."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.data.datasets import keras_datasets, mnist_input, synthetic
from berth.data.datasets.cifar import read_cifar10
from berth.data.datasets.idx import read_images, read_labels, read_pair
from berth.data.datasets.mnist_input import FILES, DataSet, read_data_sets
from tests.tools.run_programs import berth, write

IMAGES = np.arange(10 * 4 * 3, dtype=np.uint8).reshape(10, 4, 3)
LABELS = np.arange(10, dtype=np.uint8)

# The places of ten images in the batches of TensorFlow 1.15's DataSet, with seed 3.
FOURS = [[5, 4, 1, 2], [9, 6, 7, 0], [3, 8, 2, 3], [1, 4, 8, 9], [5, 7, 0, 6], [2, 9, 0, 4]]
FIVES = [[5, 4, 1, 2, 9], [6, 7, 0, 3, 8], [2, 3, 1, 4, 8], [9, 5, 7, 0, 6], [2, 9, 0, 4, 6]]


def idx(array: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return gzip.compress(header + array.tobytes(), 1)


@pytest.fixture
def mnist(tmp_path):
    for name in FILES:
        (tmp_path / name).write_bytes(idx(IMAGES if "images" in name else LABELS))
    return tmp_path


def new_set(**options) -> DataSet:
    return DataSet(IMAGES[..., None], LABELS, **options)


# --- batches --------------------------------------------------------------------------------


@pytest.mark.parametrize("expected", [FOURS, FIVES], ids=["4", "5"])
def test_batches_are_tensorflow_s(expected):
    data = new_set(seed=3)
    for places in expected:
        images, labels = data.next_batch(len(places))
        assert labels.tolist() == places
        np.testing.assert_array_equal(
            images, IMAGES[places].reshape(-1, 12) * np.float32(1 / 255)
        )
    assert data.epochs_completed == 2
    assert data.images.dtype == np.float32


def test_graph_seed_is_used_without_own():
    tf.set_random_seed(3)
    assert new_set().next_batch(4)[1].tolist() == FOURS[0]
    assert new_set(seed=4).next_batch(4)[1].tolist() != FOURS[0]


def test_order_stays_without_shuffling():
    data = new_set(dtype=tf.uint8, reshape=False)
    found = [data.next_batch(4, shuffle=False)[1].tolist() for _ in range(4)]
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1], [2, 3, 4, 5]]
    assert data.epochs_completed == 1
    np.testing.assert_array_equal(data.images, IMAGES[..., None])


def test_fake_data_is_ones():
    data = read_data_sets("", fake_data=True, one_hot=True).train
    images, labels = data.next_batch(2, fake_data=True)
    assert images == [[1] * 784] * 2
    assert labels == [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]] * 2
    assert data.num_examples == 10000


def test_wrong_arguments_are_errors():
    with pytest.raises(
        TypeError, match=r"Invalid image dtype tf\.float64, expected uint8 or float32"
    ):
        new_set(dtype=tf.float64)
    with pytest.raises(
        AssertionError, match=r"images.shape: \(10, 4, 3, 1\) labels.shape: \(9,\)"
    ):
        DataSet(IMAGES[..., None], LABELS[1:])
    with pytest.raises(AssertionError, match="one channel"):
        DataSet(IMAGES[..., None].repeat(3, axis=3), LABELS)


# --- files ----------------------------------------------------------------------------------


def test_files_of_mnist_are_read(mnist, capsys):
    data = read_data_sets(str(mnist), one_hot=True, validation_size=3, dtype=tf.uint8)
    assert [each.num_examples for each in data] == [7, 3, 10]
    np.testing.assert_array_equal(data.validation.images, IMAGES[:3].reshape(3, 12))
    np.testing.assert_array_equal(data.train.labels, np.eye(10)[3:])
    assert capsys.readouterr().out.splitlines() == [f"Extracting {mnist / n}" for n in FILES]
    with pytest.raises(
        ValueError, match=r"Validation size should be between 0 and 10\. Received: 11\."
    ):
        read_data_sets(mnist, validation_size=11)


def test_missing_files_are_named_with_their_source(mnist):
    (mnist / FILES[1]).unlink()
    (mnist / FILES[3]).unlink()
    with pytest.raises(FileNotFoundError) as raised:
        read_data_sets(mnist)
    source = "https://storage.googleapis.com/cvdf-datasets/mnist/"
    assert str(raised.value).splitlines() == [
        f"{FILES[1]}, {FILES[3]}: not in {mnist}, and berth downloads nothing.",
        "  Put there:",
        f"  {source}{FILES[1]}",
        f"  {source}{FILES[3]}",
        "  To try the program with made-up data: berth run --synthetic-data.",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(LABELS), "Invalid magic number 2049 in MNIST image file: {path}"),
        (idx(IMAGES)[:-20], "{path} cannot be decompressed by gzip: "),
        (b"not gzip", "{path} cannot be decompressed by gzip: Not a gzipped file (b'no')"),
        (gzip.compress(b"\0\0\x08\x03\0\0"), "{path} ends within its header, after 6 bytes."),
        (
            gzip.compress(struct.pack(">4I", 2051, 2**31, 28, 28) + bytes(9)),
            f"{{path}}: its header says {2**31 * 784} bytes of data, and it has only 9.",
        ),
        (
            gzip.compress(struct.pack(">4I", 2051, 1, 2, 2) + bytes(9)),
            "{path}: its header says 4 bytes of data, and it has more.",
        ),
    ],
    ids=["labels", "cut", "plain", "header", "too few", "too many"],
)
def test_damaged_idx_file_is_an_error(tmp_path, content, message):
    path = tmp_path / "images.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (compared below)
        read_images(path)
    assert str(raised.value).startswith(message.format(path=path))


def test_labels_must_belong_to_images(tmp_path):
    images, labels = tmp_path / "images", tmp_path / "labels"
    images.write_bytes(idx(IMAGES))
    labels.write_bytes(idx(LABELS[1:]))
    with pytest.raises(ValueError, match=r"labels has 9 labels, and .*images 10 images"):
        read_pair(images, labels)
    labels.write_bytes(idx(LABELS + np.uint8(1)))
    assert read_labels(labels).max() == 10
    with pytest.raises(ValueError, match="labels has the label 10, and there are 0 to 9"):
        read_pair(images, labels)


# --- what Keras keeps -----------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(keras_datasets, "FOLDER", str(tmp_path))
    return tmp_path


def test_layouts_of_keras_are_read(kept):
    arrays = {"x_train": IMAGES, "y_train": LABELS, "x_test": IMAGES[:2], "y_test": LABELS[:2]}
    np.savez(kept / "mnist.npz", **arrays)
    write(
        kept,
        {f"fashion-mnist/{n}": idx(IMAGES if "images" in n else LABELS) for n in FILES},
    )
    record = bytes([7]) + bytes(range(256)) * 12
    names = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
    write(kept, {f"cifar-10-batches-bin/{name}": record * 2 for name in names})

    (x, y), (x_test, _) = keras_datasets.load_mnist()
    np.testing.assert_array_equal(x, IMAGES)
    assert y.tolist() == LABELS.tolist()
    assert x_test.shape == (2, 4, 3)
    (x, _), (_, y) = keras_datasets.load_fashion_mnist()
    np.testing.assert_array_equal(x, IMAGES)
    assert y.tolist() == LABELS.tolist()
    (x, y), (x_test, y_test) = keras_datasets.load_cifar10()
    assert (x.shape, y.shape, x_test.shape) == ((10, 32, 32, 3), (10, 1), (2, 32, 32, 3))
    assert x[3, 1, 5].tolist() == [37, 37, 37]
    assert y_test.tolist() == [[7], [7]]


def test_missing_files_of_keras_are_named(kept):
    with pytest.raises(
        FileNotFoundError, match=r"mnist\.npz: not in .*\n.*\n  https://.*/mnist\.npz"
    ):
        keras_datasets.load_mnist()
    with pytest.raises(
        FileNotFoundError, match=r"t10k-labels-idx1-ubyte\.gz: not in .*fashion-mnist"
    ):
        keras_datasets.load_fashion_mnist()
    with pytest.raises(
        FileNotFoundError, match=r"a pickle can run any code(.|\n)*binary\.tar\.gz"
    ):
        keras_datasets.load_cifar10()


def test_npz_of_another_kind_is_refused(kept):
    path = kept / "mnist.npz"
    path.write_bytes(b"PK no")
    with pytest.raises(ValueError, match=r"mnist\.npz is not a whole \.npz file"):
        keras_datasets.load_mnist()
    np.savez(path, x_train=IMAGES)
    with pytest.raises(ValueError, match="has no array y_train; it has"):
        keras_datasets.load_mnist()
    for wrong in (np.array([{}], object), LABELS.astype(np.int64), np.asfortranarray(IMAGES)):
        np.savez(path, x_train=wrong, y_train=LABELS, x_test=IMAGES, y_test=LABELS)
        with pytest.raises(ValueError, match="unsigned bytes are expected"):
            keras_datasets.load_mnist()
    np.savez(path, x_train=IMAGES, y_train=LABELS[1:], x_test=IMAGES, y_test=LABELS)
    with pytest.raises(ValueError, match=r"has images \(10, 4, 3\) with labels \(9,\)"):
        keras_datasets.load_mnist()


def test_cifar_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(100))
    with pytest.raises(ValueError, match=r"x\.bin has 100 bytes: .* records of 3073 bytes"):
        read_cifar10(path)
    path.write_bytes(bytes(3073) + bytes([11]) + bytes(3072))
    with pytest.raises(ValueError, match=r"x\.bin: record 1 has the label 11, and .* 0 to 9"):
        read_cifar10(path)


# --- made-up data ---------------------------------------------------------------------------


def test_made_up_data_can_be_learned(sim, monkeypatch, capsys):
    sim(BERTH_SYNTHETIC_DATA="1")
    monkeypatch.setattr(mnist_input, "N_TRAIN", 300)
    monkeypatch.setattr(mnist_input, "N_TEST", 100)
    data = read_data_sets("/nowhere", validation_size=100)
    assert capsys.readouterr().err == (
        "berth: MNIST is made up (--synthetic-data): 300 and 100 images of the right shape.\n"
    )
    means = np.stack(
        [data.train.images[data.train.labels == k].mean(axis=0) for k in range(10)]
    )
    distances = np.square(data.test.images[:, None] - means).sum(axis=2)
    assert (distances.argmin(axis=1) == data.test.labels).all()
    again = read_data_sets("/nowhere", validation_size=100)
    np.testing.assert_array_equal(again.test.images, data.test.images)


def test_made_up_data_has_the_real_shapes(sim, monkeypatch):
    """Shapes alone: to make the images would take long."""
    sim(BERTH_SYNTHETIC_DATA="1")
    asked = []

    def make(title, shape, n_train, n_test):
        asked.append((title, shape, n_train, n_test))
        return (np.zeros((2, *shape)), np.zeros(2)), (np.zeros((1, *shape)), np.zeros(1))

    monkeypatch.setattr(synthetic, "make", make)
    keras_datasets.load_mnist()
    keras_datasets.load_fashion_mnist()
    (_, labels), _ = keras_datasets.load_cifar10()
    assert labels.shape == (2, 1)
    assert asked == [
        ("MNIST", (28, 28), 60_000, 10_000),
        ("Fashion-MNIST", (28, 28), 60_000, 10_000),
        ("CIFAR-10", (32, 32, 3), 50_000, 10_000),
    ]


def test_program_gets_data_under_berth_run(tmp_path):
    text = """import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
data = input_data.read_data_sets("MNIST_data", dtype=tf.uint8, reshape=False)
print(data.train.images.shape, data.test.num_examples)
"""
    write(tmp_path, {"p.py": text})
    ended = berth(tmp_path, "run", "--synthetic-data", "--api", "v1", "p.py")
    assert ended.out == "(55000, 28, 28, 1) 10000\n"
    assert ended.err.splitlines() == [
        "berth run: --synthetic-data: data sets like MNIST are made up, and results mean nothing.",
        "berth: MNIST is made up (--synthetic-data): 60000 and 10000 images of the right shape.",
    ]
    missing = berth(tmp_path, "run", "p.py")
    assert missing.code == 1
    assert "input_data.read_data_sets(" in missing.err
    assert f"t10k-labels-idx1-ubyte.gz: not in {tmp_path / 'MNIST_data'}" in missing.err
