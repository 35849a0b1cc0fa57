"""``tf.io``: files of records, and what is read from them."""

from berth.io import gfile as gfile

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.decode_ops import decode_csv, decode_raw, parse_tensor, serialize_tensor
from berth.data.file_ops import matching_files, read_file, write_file
from berth.data.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    parse_example,
    parse_single_example,
)
from berth.data.tf_record import TFRecordOptions, TFRecordWriter
from berth.train.saving.import_meta_graph import write_graph

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "decode_csv",
    "decode_raw",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
    "write_graph",
]
# --- end

__all__ += ["gfile"]
