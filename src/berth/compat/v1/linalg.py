"""``tf.linalg``: matrices; where TensorFlow 1 differs, as it has them."""

from berth import linalg as _linalg
from berth.linalg import *
from berth.ops.reductions.norms import norm_v1 as norm

__all__ = ["norm"]
__all__ += [name for name in _linalg.__all__ if name not in __all__]
