"""``tf.data`` of TensorFlow 1: input pipelines and their iterators."""

from berth.compat.v1.data import experimental as experimental
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.dataset_v1 import DatasetV1 as Dataset
from berth.data.dataset_v1 import FixedLengthRecordDatasetV1 as FixedLengthRecordDataset
from berth.data.dataset_v1 import TextLineDatasetV1 as TextLineDataset
from berth.data.dataset_v1 import TFRecordDatasetV1 as TFRecordDataset
from berth.data.iterators_v1 import (
    Iterator,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from berth.data.options import Options, ThreadingOptions
from berth.data.parallel import AUTOTUNE
from berth.data.pipeline import INFINITE as INFINITE_CARDINALITY
from berth.data.pipeline import UNKNOWN as UNKNOWN_CARDINALITY
from berth.data.structure import (
    DatasetSpec,
    get_output_classes,
    get_output_shapes,
    get_output_types,
)

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "INFINITE_CARDINALITY",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
# --- end

__all__ += ["experimental"]
_explain_missing_names(__name__, __all__)
