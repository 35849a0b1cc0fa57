"""``tf.experimental``: what may still change."""

from berth.experimental import dlpack

__all__ = ["dlpack"]
