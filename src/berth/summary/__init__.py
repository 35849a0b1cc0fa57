"""``tf.summary``: what a program writes for TensorBoard."""

from berth.summary import experimental as experimental

# --- written by dev/make_api.py: make api
# isort: split
from berth.summary.writer import (
    SummaryWriter,
    audio,
    create_file_writer,
    create_noop_writer,
    flush,
    graph,
    histogram,
    image,
    record_if,
    scalar,
    should_record_summaries,
    text,
    write,
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
