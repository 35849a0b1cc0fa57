"""``tf.nn``: functions for neural networks."""

from berth.nn import experimental as experimental

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.arrays.sorting import in_top_k, top_k
from berth.ops.arrays.space_to_depth import depth_to_space, space_to_depth
from berth.ops.elementwise.sigmoid import relu, sigmoid, tanh
from berth.ops.nn.accidental_hits import compute_accidental_hits
from berth.ops.nn.activations import crelu, elu, gelu, leaky_relu, relu6, selu
from berth.ops.nn.bias import bias_add
from berth.ops.nn.candidate_sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
)
from berth.ops.nn.conv1d import conv1d, conv1d_transpose
from berth.ops.nn.conv2d import conv2d, conv2d_transpose
from berth.ops.nn.conv3d import avg_pool3d, conv3d, max_pool3d
from berth.ops.nn.conv3d_transpose import conv3d_transpose
from berth.ops.nn.convolution import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv_transpose,
    convolution,
)
from berth.ops.nn.depthwise import (
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    separable_conv2d,
)
from berth.ops.nn.dropout import dropout
from berth.ops.nn.embedding import embedding_lookup
from berth.ops.nn.losses import (
    l2_loss,
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from berth.ops.nn.lrn import local_response_normalization
from berth.ops.nn.lrn import local_response_normalization as lrn
from berth.ops.nn.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from berth.ops.nn.pool import avg_pool, max_pool, pool
from berth.ops.nn.pooling import (
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool_with_argmax,
)
from berth.ops.nn.sampled_losses import nce_loss, sampled_softmax_loss
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
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "compute_accidental_hits",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
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
    "dropout",
    "elu",
    "embedding_lookup",
    "fixed_unigram_candidate_sampler",
    "gelu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "relu",
    "relu6",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "zero_fraction",
]
# --- end

__all__ += ["experimental"]
