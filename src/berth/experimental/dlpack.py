"""``tf.experimental.dlpack``: tensors of other libraries, and tensors for them."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.eager.dlpack import from_dlpack, to_dlpack

__all__ = [
    "from_dlpack",
    "to_dlpack",
]
# --- end
