"""``tf.contrib.layers``: layers, initializers and regularizers."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.layers.contrib.initializers import (
    variance_scaling_initializer,
    xavier_initializer,
    xavier_initializer_conv2d,
)
from berth.layers.contrib.layers import (
    convolution,
    convolution1d,
    convolution2d,
    convolution2d_transpose,
    convolution3d,
    fully_connected,
    linear,
    relu,
    relu6,
    separable_convolution2d,
)
from berth.layers.contrib.layers import convolution1d as conv1d
from berth.layers.contrib.layers import convolution2d as conv2d
from berth.layers.contrib.layers import convolution2d_transpose as conv2d_transpose
from berth.layers.contrib.layers import convolution3d as conv3d
from berth.layers.contrib.layers import separable_convolution2d as separable_conv2d
from berth.layers.contrib.normalization import batch_norm, layer_norm, softmax
from berth.layers.contrib.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)
from berth.layers.contrib.shapes import (
    avg_pool2d,
    dropout,
    embed_sequence,
    embedding_lookup_unique,
    flatten,
    max_pool2d,
    one_hot_encoding,
    repeat,
    stack,
)
from berth.train.optimize_loss import optimize_loss

__all__ = [
    "apply_regularization",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_transpose",
    "convolution3d",
    "dropout",
    "embed_sequence",
    "embedding_lookup_unique",
    "flatten",
    "fully_connected",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "linear",
    "max_pool2d",
    "one_hot_encoding",
    "optimize_loss",
    "relu",
    "relu6",
    "repeat",
    "separable_conv2d",
    "separable_convolution2d",
    "softmax",
    "stack",
    "sum_regularizer",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]
# --- end

from berth.compat.v1.contrib.layers import utils as utils

__all__ += ["utils"]
