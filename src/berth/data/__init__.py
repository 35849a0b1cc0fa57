"""``tf.data``: input pipelines; files of records, examples, queues."""

from berth.data import experimental as experimental
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.dataset import Dataset
from berth.data.graph_iterator import IteratorSpec
from berth.data.iterators import OwnedIterator as Iterator
from berth.data.options import Options, ThreadingOptions
from berth.data.parallel import AUTOTUNE
from berth.data.pipeline import INFINITE as INFINITE_CARDINALITY
from berth.data.pipeline import UNKNOWN as UNKNOWN_CARDINALITY
from berth.data.record_datasets import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from berth.data.structure import DatasetSpec

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "INFINITE_CARDINALITY",
    "Iterator",
    "IteratorSpec",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
]
# --- end

__all__ += ["experimental"]
_explain_missing_names(__name__, __all__)
