"""``tensorflow.examples.tutorials.mnist.input_data``: MNIST, in batches of NumPy arrays.

Images are shuffled by NumPy's own random numbers (`numpy.random`), which a `DataSet` seeds
when it is made, as TensorFlow's does: for the same seed the batches are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berth.data.datasets import synthetic
from berth.data.datasets.files import require
from berth.data.datasets.idx import read_pair
from berth.dtypes import as_dtype, float32, uint8
from berth.ops.builder import current

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
SHAPE, N_TRAIN, N_TEST = (28, 28), 60_000, 10_000
N_CLASSES = 10
_N_FAKE = 10_000
_MAX_SEED = 2**31 - 1

__all__ = ["DEFAULT_SOURCE_URL", "DataSet", "Datasets", "dense_to_one_hot", "read_data_sets"]


class DataSet:
    """Images and labels, by batches: each image once in an epoch, in a new order.

    With `fake_data` every batch is the same image of ones. `seed` overrides the graph's seed.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        # The global generator on purpose: programs that draw from it get TensorFlow's numbers.
        own = seed if seed is None else seed % _MAX_SEED
        np.random.seed(getattr(current(), "seed", None) if own is None else own)
        dtype = as_dtype(dtype).base_dtype
        if dtype not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self.one_hot = one_hot
        self._num_examples = _N_FAKE if fake_data else len(images)
        if not fake_data:
            _check(images, labels, reshape)
            if reshape:
                images = images.reshape(len(images), images.shape[1] * images.shape[2])
            if dtype == float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        """All images, in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """Their labels."""
        return self._labels

    @property
    def num_examples(self) -> int:
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return the next images and labels; the rest of one epoch is joined to the next."""
        if fake_data:
            label: Any = [1, *[0] * (N_CLASSES - 1)] if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if not (self._epochs_completed or start) and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        rest = self._images[start:], self._labels[start:]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = end - self._num_examples
        return (
            np.concatenate((rest[0], self._images[:end])),
            np.concatenate((rest[1], self._labels[:end])),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def _check(images: Any, labels: Any, reshape: bool) -> None:
    if len(images) != len(labels):
        raise AssertionError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
    if reshape and (images.ndim != 4 or images.shape[3] != 1):
        raise AssertionError(f"images.shape: {images.shape}, and reshape takes one channel")


class Datasets(NamedTuple):
    """Three data sets."""

    train: DataSet
    validation: DataSet
    test: DataSet


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Return a row for each label, with a one in the column of its class."""
    rows = np.zeros((len(labels_dense), num_classes))
    rows[np.arange(len(labels_dense)), np.ravel(labels_dense)] = 1
    return rows


def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Read MNIST's four files from a folder; the first training images are for validation."""
    if fake_data:
        options = {"one_hot": one_hot, "dtype": dtype, "seed": seed}
        return Datasets(*(DataSet([], [], fake_data=True, **options) for _ in range(3)))
    train, test = _read(train_dir, source_url or DEFAULT_SOURCE_URL)
    if not 0 <= validation_size <= len(train[0]):
        raise ValueError(
            f"Validation size should be between 0 and {len(train[0])}. "
            f"Received: {validation_size}."
        )
    parts = (
        (part[validation_size:] for part in train),
        (part[:validation_size] for part in train),
        test,
    )
    found = []
    for images, dense in parts:
        labels = dense_to_one_hot(dense, N_CLASSES) if one_hot else dense
        found.append(
            DataSet(images[..., None], labels, dtype=dtype, reshape=reshape, seed=seed)
        )
    return Datasets(*found)


def _read(folder: Any, source_url: str) -> tuple[synthetic.Split, synthetic.Split]:
    if synthetic.is_requested():
        return synthetic.make("MNIST", SHAPE, N_TRAIN, N_TEST)
    paths = require(folder, FILES, source_url.rstrip("/") + "/")
    for path in paths:
        print("Extracting", path)  # as TensorFlow does
    return read_pair(*paths[:2]), read_pair(*paths[2:])
