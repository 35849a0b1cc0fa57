"""``tf.contrib.slim``: layers with scopes of arguments."""

# --- written by dev/make_api.py: make api
# isort: split
from berth.layers.contrib.arg_scope import (
    add_arg_scope,
    arg_scope,
    arg_scope_func_key,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
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
    flatten,
    max_pool2d,
    one_hot_encoding,
    repeat,
    stack,
)
from berth.layers.contrib.variables import (
    add_model_variable,
    filter_variables,
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    model_variable,
    variable,
)
from berth.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)

__all__ = [
    "add_arg_scope",
    "add_model_variable",
    "apply_regularization",
    "arg_scope",
    "arg_scope_func_key",
    "arg_scoped_arguments",
    "assert_global_step",
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
    "create_global_step",
    "current_arg_scope",
    "dropout",
    "filter_variables",
    "flatten",
    "fully_connected",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "has_arg_scope",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "linear",
    "max_pool2d",
    "model_variable",
    "one_hot_encoding",
    "relu",
    "relu6",
    "repeat",
    "separable_conv2d",
    "separable_convolution2d",
    "softmax",
    "stack",
    "sum_regularizer",
    "variable",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]
# --- end

from berth.compat.v1.contrib.slim import losses as losses
from berth.compat.v1.contrib.slim import utils as utils

__all__ += ["losses", "utils"]
