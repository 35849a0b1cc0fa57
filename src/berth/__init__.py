"""berth: TensorFlow's device and GPU-memory system as a small Python runtime.

``import berth as tf`` is TensorFlow 2 style, eager first;
``import berth.compat.v1 as tf`` is TensorFlow 1 style.
"""

from berth import (
    bitwise,
    both,
    compat,
    config,
    debugging,
    device_lib,
    dtypes,
    errors,
    initializers,
    linalg,
    math,
    nest,
    nn,
    random,
    strings,
    test,
    timeline,
)
from berth.both import *
from berth.devices.spec import DeviceSpecV2 as DeviceSpec
from berth.front.context import reset, simulate, trim
from berth.front.device_scope import device
from berth.front.eager_scope import (
    UnconnectedGradients,
    control_dependencies,
    convert_to_tensor,
    get_static_value,
    is_tensor,
    name_scope,
)
from berth.front.eager_variable import Variable
from berth.front.function import function
from berth.front.function_signature import TensorSpec
from berth.front.mode import executing_eagerly, init_scope
from berth.front.why import why
from berth.graph.autodiff import gradients
from berth.graph.expect import expect_device
from berth.graph.initializers import Constant as constant_initializer
from berth.graph.initializers import Ones as ones_initializer
from berth.graph.initializers import RandomNormal as random_normal_initializer
from berth.graph.initializers import RandomUniform as random_uniform_initializer
from berth.graph.initializers import Zeros as zeros_initializer
from berth.graph.tape import GradientTape
from berth.ops.extremes import argmax_v2 as argmax
from berth.ops.extremes import argmin_v2 as argmin
from berth.ops.filling import ones_like_v2 as ones_like
from berth.ops.filling import zeros_like_v2 as zeros_like
from berth.ops.gathering import gather_v2 as gather
from berth.ops.gathering import where_v2 as where
from berth.ops.indexing import boolean_mask_v2 as boolean_mask
from berth.ops.metadata import shape_v2 as shape
from berth.ops.metadata import size_v2 as size
from berth.ops.moving import pad_v2 as pad
from berth.ops.moving import transpose_v2 as transpose
from berth.ops.norms import norm
from berth.ops.rearranging import reverse_sequence
from berth.ops.scattering import gather_nd

__version__ = "0.1.0"

__all__ = [
    "DeviceSpec",
    "GradientTape",
    "TensorSpec",
    "UnconnectedGradients",
    "Variable",
    "__version__",
    "argmax",
    "argmin",
    "bitwise",
    "boolean_mask",
    "compat",
    "config",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "debugging",
    "device",
    "device_lib",
    "dtypes",
    "errors",
    "executing_eagerly",
    "expect_device",
    "function",
    "gather",
    "gather_nd",
    "get_static_value",
    "gradients",
    "init_scope",
    "initializers",
    "is_tensor",
    "linalg",
    "math",
    "name_scope",
    "nest",
    "nn",
    "norm",
    "ones_initializer",
    "ones_like",
    "pad",
    "random",
    "random_normal_initializer",
    "random_uniform_initializer",
    "reset",
    "reverse_sequence",
    "shape",
    "simulate",
    "size",
    "strings",
    "test",
    "timeline",
    "transpose",
    "trim",
    "where",
    "why",
    "zeros_initializer",
    "zeros_like",
]
__all__ += both.__all__
