"""tf.data.Dataset of TensorFlow 1: the same, with iterators for sessions and older names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.data.dataset import Dataset
from berth.data.iterators_v1 import make_initializable_iterator, make_one_shot_iterator
from berth.data.record_datasets import FixedLengthRecordFiles, TextLineFiles, TFRecordFiles
from berth.data.structure import get_output_classes, get_output_shapes, get_output_types
from berth.public import public_v1


@public_v1("data.Dataset")
class DatasetV1(Dataset):
    """A sequence of elements: tensors, or structures of them, read by iterators."""

    _is_dataset_class = True

    output_types = property(get_output_types, doc="The types of the components of an element.")
    output_shapes = property(get_output_shapes, doc="The shapes of those components.")
    output_classes = property(get_output_classes, doc="The classes of those components.")

    def make_one_shot_iterator(self) -> Any:
        """Make an iterator that needs no initialization."""
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Make an iterator that begins when its `initializer` is run."""
        return make_initializable_iterator(self, shared_name)

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
    ) -> Any:
        """Return a dataset of what a function makes of each element."""
        return self.map(map_func, num_parallel_calls)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Any:
        """Return a dataset of the elements for which a function returns True."""
        return self.filter(predicate)


@public_v1("data.TextLineDataset")
class TextLineDatasetV1(TextLineFiles, DatasetV1):
    """A dataset of the lines of text files."""


@public_v1("data.FixedLengthRecordDataset")
class FixedLengthRecordDatasetV1(FixedLengthRecordFiles, DatasetV1):
    """A dataset of records of so many bytes, from binary files."""


@public_v1("data.TFRecordDataset")
class TFRecordDatasetV1(TFRecordFiles, DatasetV1):
    """A dataset of the records of TFRecord files."""
