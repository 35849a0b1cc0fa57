"""``tf.io``: files of records, and what is read from them."""

from berth.compat.v1.io import gfile as gfile

# --- written by dev/make_api.py: make api
# isort: split
from berth.data.decode_ops import decode_csv_v1 as decode_csv
from berth.data.decode_ops import decode_raw_v1 as decode_raw
from berth.data.decode_ops import parse_tensor, serialize_tensor
from berth.data.file_ops import matching_files, read_file, write_file
from berth.data.parsing import FixedLenFeature, FixedLenSequenceFeature
from berth.data.parsing import parse_example_v1 as parse_example
from berth.data.parsing import parse_single_example_v1 as parse_single_example
from berth.data.tf_record import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from berth.train.saving.import_meta_graph import write_graph

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordCompressionType",
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
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
# --- end

__all__ += ["gfile"]
