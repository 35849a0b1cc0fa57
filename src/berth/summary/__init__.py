"""``tf.summary``: what a program writes for TensorBoard."""

from berth.summary import experimental as experimental

# --- written by dev/make_api.py: make api
# isort: split
from berth.summary.write_ops import audio, graph, histogram, image, scalar, text, write
from berth.summary.writer import (
    SummaryWriter,
    create_file_writer,
    create_noop_writer,
    flush,
    record_if,
    should_record_summaries,
)

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "write",
]
# --- end
