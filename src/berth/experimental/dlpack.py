"""``tf.experimental.dlpack``: tensors of other libraries, and tensors for them."""

from berth.eager.dlpack import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
