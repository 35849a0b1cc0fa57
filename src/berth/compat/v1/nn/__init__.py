"""``tf.nn``: functions for neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.missing import LazyNames as _LazyNames
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.arrays.sorting import in_top_k_v1 as in_top_k
from berth.ops.arrays.sorting import top_k
from berth.ops.arrays.space_to_depth import depth_to_space_v1 as depth_to_space
from berth.ops.arrays.space_to_depth import space_to_depth_v1 as space_to_depth
from berth.ops.elementwise.sigmoid import relu, sigmoid, tanh
from berth.ops.nn.accidental_hits import compute_accidental_hits
from berth.ops.nn.activations import crelu_v1 as crelu
from berth.ops.nn.activations import elu, leaky_relu, relu6, selu
from berth.ops.nn.bias import bias_add, relu_layer, xw_plus_b
from berth.ops.nn.candidate_sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from berth.ops.nn.conv1d import conv1d_transpose
from berth.ops.nn.conv1d import conv1d_v1 as conv1d
from berth.ops.nn.conv2d import conv2d_backprop_filter, conv2d_backprop_input
from berth.ops.nn.conv2d import conv2d_transpose_v1 as conv2d_transpose
from berth.ops.nn.conv2d import conv2d_v1 as conv2d
from berth.ops.nn.conv3d import avg_pool3d, max_pool3d
from berth.ops.nn.conv3d import conv3d_v1 as conv3d
from berth.ops.nn.conv3d_transpose import conv3d_transpose_v1 as conv3d_transpose
from berth.ops.nn.convolution import atrous_conv2d, atrous_conv2d_transpose, conv_transpose
from berth.ops.nn.convolution import convolution_v1 as convolution
from berth.ops.nn.depthwise import (
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    depthwise_conv2d_native,
)
from berth.ops.nn.depthwise import (
    depthwise_conv2d_backprop_filter as depthwise_conv2d_native_backprop_filter,
)
from berth.ops.nn.depthwise import (
    depthwise_conv2d_backprop_input as depthwise_conv2d_native_backprop_input,
)
from berth.ops.nn.depthwise import depthwise_conv2d_v1 as depthwise_conv2d
from berth.ops.nn.depthwise import separable_conv2d_v1 as separable_conv2d
from berth.ops.nn.dropout import dropout_v1 as dropout
from berth.ops.nn.embedding import embedding_lookup_v1 as embedding_lookup
from berth.ops.nn.fused_batch_norm import fused_batch_norm
from berth.ops.nn.losses import (
    l2_loss,
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from berth.ops.nn.losses import (
    softmax_cross_entropy_with_logits_v1 as softmax_cross_entropy_with_logits,
)
from berth.ops.nn.losses import (
    sparse_softmax_cross_entropy_with_logits_v1 as sparse_softmax_cross_entropy_with_logits,
)
from berth.ops.nn.losses import (
    weighted_cross_entropy_with_logits_v1 as weighted_cross_entropy_with_logits,
)
from berth.ops.nn.lrn import local_response_normalization
from berth.ops.nn.lrn import local_response_normalization as lrn
from berth.ops.nn.normalization import (
    batch_norm_with_global_normalization_v1 as batch_norm_with_global_normalization,
)
from berth.ops.nn.normalization import batch_normalization, normalize_moments
from berth.ops.nn.normalization import moments_v1 as moments
from berth.ops.nn.normalization import sufficient_statistics_v1 as sufficient_statistics
from berth.ops.nn.normalization import weighted_moments_v1 as weighted_moments
from berth.ops.nn.pool import avg_pool as avg_pool_v2
from berth.ops.nn.pool import max_pool as max_pool_v2
from berth.ops.nn.pool import pool_v1 as pool
from berth.ops.nn.pooling import avg_pool1d, max_pool1d, max_pool2d
from berth.ops.nn.pooling import avg_pool_v1 as avg_pool
from berth.ops.nn.pooling import avg_pool_v1 as avg_pool2d
from berth.ops.nn.pooling import max_pool_v1 as max_pool
from berth.ops.nn.pooling import max_pool_with_argmax_v1 as max_pool_with_argmax
from berth.ops.nn.sampled_losses import nce_loss_v1 as nce_loss
from berth.ops.nn.sampled_losses import sampled_softmax_loss_v1 as sampled_softmax_loss
from berth.ops.nn.softmax import log_softmax, softmax
from berth.ops.nn.softplus import silu, softplus, softsign
from berth.ops.nn.softplus import silu as swish
from berth.ops.reductions.norms import l2_normalize
from berth.ops.reductions.statistics import zero_fraction

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "compute_accidental_hits",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "fixed_unigram_candidate_sampler",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "relu",
    "relu6",
    "relu_layer",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]

_LAZY_NAMES: _LazyNames = {
    "bidirectional_dynamic_rnn": ("berth.layers.rnn.dynamic", "bidirectional_dynamic_rnn"),
    "dynamic_rnn": ("berth.layers.rnn.dynamic", "dynamic_rnn"),
    "static_bidirectional_rnn": ("berth.layers.rnn.static", "static_bidirectional_rnn"),
    "static_rnn": ("berth.layers.rnn.static", "static_rnn"),
    "static_state_saving_rnn": ("berth.layers.rnn.static", "static_state_saving_rnn"),
}

if TYPE_CHECKING:
    from berth.layers.rnn.dynamic import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
    from berth.layers.rnn.dynamic import dynamic_rnn as dynamic_rnn
    from berth.layers.rnn.static import static_bidirectional_rnn as static_bidirectional_rnn
    from berth.layers.rnn.static import static_rnn as static_rnn
    from berth.layers.rnn.static import static_state_saving_rnn as static_state_saving_rnn
# --- end

__all__ += ["experimental", "rnn_cell"]

_explain_missing_names(__name__, __all__, ("experimental", "rnn_cell"), _LAZY_NAMES)
