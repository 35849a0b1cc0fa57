"""``tf.nest``: structures of lists, tuples and dicts."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.graph.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
# --- end
