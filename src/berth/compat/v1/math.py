"""``tf.math``: arithmetic and its functions, as TensorFlow 1 has them."""

from berth import both_math
from berth.both_math import *
from berth.ops.arrays.sorting import in_top_k_v1 as in_top_k
from berth.ops.reductions.extremes import argmax, argmin
from berth.ops.reductions.statistics import bincount_v1 as bincount
from berth.ops.reductions.statistics import confusion_matrix_v1 as confusion_matrix
from berth.ops.reductions.statistics import count_nonzero_v1 as count_nonzero

__all__ = ["argmax", "argmin", "bincount", "confusion_matrix", "count_nonzero", "in_top_k"]
__all__ += both_math.__all__
