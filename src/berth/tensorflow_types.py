"""Base classes by which other packages recognize TensorFlow's tensors and datasets.

Keras does not import TensorFlow to find out what a value is: it compares the names of the
classes that the value's class is derived from, and of their modules.
"""

from __future__ import annotations


class Tensor:
    """What every tensor and variable of TensorFlow is derived from."""

    __slots__ = ()


class DatasetV2:
    """What every dataset of TensorFlow is derived from."""


Tensor.__module__ = "tensorflow.python.types.core"
DatasetV2.__module__ = "tensorflow.python.data.ops.dataset_ops"
