"""``tf.math``: arithmetic and its functions."""

from berth import both_math
from berth.both_math import *
from berth.ops.arrays.sorting import in_top_k
from berth.ops.reductions.extremes import argmax_v2 as argmax
from berth.ops.reductions.extremes import argmin_v2 as argmin
from berth.ops.reductions.statistics import bincount, confusion_matrix, count_nonzero

__all__ = ["argmax", "argmin", "bincount", "confusion_matrix", "count_nonzero", "in_top_k"]
__all__ += both_math.__all__
