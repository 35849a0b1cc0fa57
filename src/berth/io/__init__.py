"""``tf.io``: files of records, and what is read from them."""

from berth.io import gfile as gfile

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.tf_record import TFRecordOptions, TFRecordWriter
from berth.train.saving.import_meta_graph import write_graph

__all__ = [
    "TFRecordOptions",
    "TFRecordWriter",
    "write_graph",
]
# --- end
