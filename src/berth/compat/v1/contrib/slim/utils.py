"""``slim.utils``: outputs of layers by name."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.layers.contrib.outputs import (
    collect_named_outputs,
    convert_collection_to_dict,
    get_tensor_aliases,
    last_dimension,
)

__all__ = [
    "collect_named_outputs",
    "convert_collection_to_dict",
    "get_tensor_aliases",
    "last_dimension",
]
# --- end
