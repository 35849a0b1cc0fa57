"""``tf.python_io``: files of records."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.tf_record import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]
# --- end
