"""The data sets of ``tf.keras.datasets``, from the files that Keras keeps.

They are in ``~/.keras/datasets``. CIFAR-10 is read from its binary version, in the folder
``cifar-10-batches-bin``: Keras uses the one of pickles, which are not read here.
"""

from __future__ import annotations

import os

import numpy as np

from berth.data.datasets import synthetic
from berth.data.datasets.cifar import read_cifar10
from berth.data.datasets.files import require
from berth.data.datasets.idx import read_pair
from berth.data.datasets.npz import read_npz
from berth.data.datasets.synthetic import Split

FOLDER = "~/.keras/datasets"
_SOURCE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_FASHION_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_CIFAR_FILES = (*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin")
_CIFAR_SOURCE = "what is in https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
_NO_PICKLES = (
    "Its version for Python is not read, since it is pickled: a pickle can run any code."
)


def load_mnist(path: str = "mnist.npz") -> tuple[Split, Split]:
    """Load MNIST: training and test images, (60000, 28, 28) and (10000, 28, 28), and labels."""
    if synthetic.is_requested():
        return synthetic.make("MNIST", (28, 28), 60_000, 10_000)
    [file] = require(
        os.path.join(FOLDER, os.path.dirname(path)), [os.path.basename(path)], _SOURCE
    )
    x_train, y_train, x_test, y_test = read_npz(
        file, ["x_train", "y_train", "x_test", "y_test"]
    )
    for images, labels in ((x_train, y_train), (x_test, y_test)):
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise ValueError(f"{file} has images {images.shape} with labels {labels.shape}.")
    return (x_train, y_train), (x_test, y_test)


def load_fashion_mnist() -> tuple[Split, Split]:
    """Load Fashion-MNIST, which has the shapes of MNIST."""
    if synthetic.is_requested():
        return synthetic.make("Fashion-MNIST", (28, 28), 60_000, 10_000)
    paths = require(f"{FOLDER}/fashion-mnist", _FASHION_FILES, _SOURCE)
    return read_pair(*paths[:2]), read_pair(*paths[2:])


def load_cifar10() -> tuple[Split, Split]:
    """Load CIFAR-10: images (50000, 32, 32, 3) and (10000, 32, 32, 3), labels of one column."""
    if synthetic.is_requested():
        (x_train, y_train), (x_test, y_test) = synthetic.make(
            "CIFAR-10", (32, 32, 3), 50_000, 10_000
        )
        return (x_train, y_train[:, None]), (x_test, y_test[:, None])
    paths = require(f"{FOLDER}/cifar-10-batches-bin", _CIFAR_FILES, _CIFAR_SOURCE, _NO_PICKLES)
    read = [read_cifar10(path) for path in paths]
    images = np.concatenate([each.images for each in read[:-1]])
    labels = np.concatenate([each.labels for each in read[:-1]])
    return (images, labels[:, None]), (read[-1].images, read[-1].labels[:, None])
