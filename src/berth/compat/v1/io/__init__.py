"""``tf.io``: files of records, and what is read from them."""

from berth.compat.v1.io import gfile as gfile

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.tf_record import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from berth.train.saving.import_meta_graph import write_graph

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
    "write_graph",
]
# --- end
