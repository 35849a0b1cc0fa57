"""CIFAR-10's binary files, and the batches of each training step.

A file is a sequence of records of 3073 bytes: one byte for the label (0 to 9), then 32 x 32
bytes of red, as many of green and as many of blue, row by row.

Which images a step gets, and how they are distorted, follows from the seed and the number of
the step alone. So a run that was stopped goes on with what would have come next, and a run on
four GPUs sees what a run on one sees.
"""

import os
from typing import NamedTuple

import numpy as np

IMAGE_SIZE = 32
N_CLASSES = 10
RECORD_BYTES = 1 + 3 * IMAGE_SIZE * IMAGE_SIZE
TRAINING_FILES = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
TEST_FILES = ("test_batch.bin",)
CLASS_NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)


class Images(NamedTuple):
    """Images of bytes, (image, row, column, colour), and their labels."""

    pixels: np.ndarray
    labels: np.ndarray


def read_file(path):
    """Read the images of a file; ValueError if it is not one of CIFAR-10's."""
    size = os.path.getsize(path)
    if not size or size % RECORD_BYTES:
        raise ValueError(
            f"{path} has {size} bytes: a file of CIFAR-10 in the binary version has records of "
            f"{RECORD_BYTES} bytes, and nothing else."
        )
    records = np.fromfile(path, np.uint8).reshape(-1, RECORD_BYTES)
    labels = records[:, 0].astype(np.int32)
    if labels.max() >= N_CLASSES:
        first = int(np.argmax(labels >= N_CLASSES))
        label = labels[first]
        raise ValueError(f"{path}: record {first} has the label {label}; 9 is the last.")
    planes = records[:, 1:].reshape(-1, 3, IMAGE_SIZE, IMAGE_SIZE)
    return Images(planes.transpose(0, 2, 3, 1), labels)


def read_folder(folder, names):
    """Read those of the files that a folder has; an error if it has none of them."""
    paths = [path for name in names if os.path.exists(path := os.path.join(folder, name))]
    if not paths:
        raise FileNotFoundError(
            f"There is no {names[0]} in {folder!r}. Unpack cifar-10-binary.tar.gz of "
            "https://www.cs.toronto.edu/~kriz/cifar.html there, or make small files of the "
            f"same kind: make_data.py --data_dir {folder}"
        )
    read = [read_file(path) for path in paths]
    return Images(*map(np.concatenate, zip(*read, strict=True)))


def standardize(pixels):
    """Give each image a mean of 0 and a standard deviation of 1."""
    x = pixels.astype(np.float32)
    mean = x.mean(axis=(1, 2, 3), keepdims=True)
    deviation = x.std(axis=(1, 2, 3), keepdims=True)
    return (x - mean) / np.maximum(deviation, 1.0 / np.sqrt(x[0].size))


def central_crop(pixels, size):
    """Cut the middle out of each image."""
    start = (IMAGE_SIZE - size) // 2
    return pixels[:, start : start + size, start : start + size]


def distort(pixels, size, random):
    """Cut a random part out of each image, mirror every other one, vary light and contrast."""
    n_images = len(pixels)
    top, left = random.integers(0, IMAGE_SIZE - size + 1, (2, n_images, 1))
    rows, columns = top + np.arange(size), left + np.arange(size)
    is_mirrored = random.random((n_images, 1)) < 0.5
    columns = np.where(is_mirrored, columns[:, ::-1], columns)
    one_each = np.arange(n_images)[:, None, None]
    x = pixels[one_each, rows[:, :, None], columns[:, None, :]].astype(np.float32)
    brightness = random.uniform(-63, 63, (n_images, 1, 1, 1)).astype(np.float32)
    contrast = random.uniform(0.2, 1.8, (n_images, 1, 1, 1)).astype(np.float32)
    mean = x.mean(axis=(1, 2), keepdims=True)
    return (x - mean) * contrast + mean + brightness


class TrainingBatches:
    """The distorted images of each step: every image once in an epoch, in a new order."""

    def __init__(self, images, batch_size, size, seed):
        if batch_size > len(images.labels):
            raise ValueError(f"A batch of {batch_size}, and only {len(images.labels)} images.")
        self._images, self._batch_size = images, batch_size
        self._size, self._seed = size, seed
        self._orders = {}

    def of_step(self, step):
        """Return the pixels and labels of a step."""
        n_images = len(self._images.labels)
        first = step * self._batch_size
        places = range(first, first + self._batch_size)
        chosen = [self._order(place // n_images)[place % n_images] for place in places]
        random = np.random.default_rng([self._seed, 1, step])
        pixels = distort(self._images.pixels[chosen], self._size, random)
        return standardize(pixels), self._images.labels[chosen]

    def _order(self, epoch):
        if epoch not in self._orders:
            self._orders = {k: v for k, v in self._orders.items() if k == epoch - 1}
            random = np.random.default_rng([self._seed, 0, epoch])
            self._orders[epoch] = random.permutation(len(self._images.labels))
        return self._orders[epoch]


def test_batches(images, batch_size, size):
    """Go through all images in order, undistorted; the last batch may be smaller."""
    for start in range(0, len(images.labels), batch_size):
        part = slice(start, start + batch_size)
        yield standardize(central_crop(images.pixels[part], size)), images.labels[part]
