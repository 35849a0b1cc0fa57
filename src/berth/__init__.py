"""berth: TensorFlow's device and GPU-memory system as a small Python runtime.

``import berth as tf`` is TensorFlow 2 style, eager first;
``import berth.compat.v1 as tf`` is TensorFlow 1 style.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from berth import both, config, debugging, dtypes, errors, math
from berth.autodiff.backprop import gradients
from berth.autodiff.tape import GradientTape
from berth.both import *
from berth.control_flow.cond import cond
from berth.control_flow.while_loop import while_loop
from berth.devices.spec import DeviceSpecV2 as DeviceSpec
from berth.eager.mode import executing_eagerly, init_scope
from berth.eager.scope import (
    UnconnectedGradients,
    control_dependencies,
    convert_to_tensor,
    get_static_value,
    is_tensor,
    name_scope,
)
from berth.eager.variable import Variable
from berth.front.context import reset, simulate, trim
from berth.front.device_scope import device
from berth.front.why import why
from berth.functions.function import function
from berth.functions.tensor_spec import TensorSpec
from berth.graph.expect import expect_device
from berth.ops.arrays.filling import ones_like_v2 as ones_like
from berth.ops.arrays.filling import zeros_like_v2 as zeros_like
from berth.ops.arrays.gathering import gather_v2 as gather
from berth.ops.arrays.gathering import where_v2 as where
from berth.ops.arrays.indexing import boolean_mask_v2 as boolean_mask
from berth.ops.arrays.metadata import shape_v2 as shape
from berth.ops.arrays.metadata import size_v2 as size
from berth.ops.arrays.moving import pad_v2 as pad
from berth.ops.arrays.moving import transpose_v2 as transpose
from berth.ops.arrays.rearranging import reverse_sequence
from berth.ops.arrays.scattering import gather_nd
from berth.ops.flow.assertions import assert_equal, assert_greater, assert_less
from berth.ops.flow.checks import assert_rank
from berth.ops.flow.control import tuple
from berth.ops.reductions.extremes import argmax_v2 as argmax
from berth.ops.reductions.extremes import argmin_v2 as argmin
from berth.ops.reductions.norms import norm
from berth.variables.initializers import Constant as constant_initializer
from berth.variables.initializers import Ones as ones_initializer
from berth.variables.initializers import RandomNormal as random_normal_initializer
from berth.variables.initializers import RandomUniform as random_uniform_initializer
from berth.variables.initializers import Zeros as zeros_initializer

if TYPE_CHECKING:
    from berth import (
        bitwise,
        compat,
        device_lib,
        experimental,
        initializers,
        linalg,
        nest,
        nn,
        random,
        strings,
        test,
        timeline,
    )

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
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "bitwise",
    "boolean_mask",
    "compat",
    "cond",
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
    "experimental",
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
    "tuple",
    "where",
    "while_loop",
    "why",
    "zeros_initializer",
    "zeros_like",
]
__all__ += both.__all__

_LOADED_LATER = (
    "bitwise",
    "compat",
    "device_lib",
    "experimental",
    "initializers",
    "linalg",
    "nest",
    "nn",
    "random",
    "strings",
    "test",
    "timeline",
)
_NOT_YET = ("data", "distribute", "estimator", "image", "io", "keras", "optimizers", "train")


def __getattr__(name: str) -> Any:
    """Load a part of the face when it is first asked for: most programs need few."""
    if name in _LOADED_LATER:
        return _import_module(f"berth.{name}")
    if name in _NOT_YET:
        raise AttributeError(f"berth has no tf.{name} yet: docs/ops.md lists what it has.")
    raise AttributeError(f"module 'berth' has no attribute {name!r}. {_near(name)}".rstrip())


def _near(name: str) -> str:
    """Say what there is instead of a name: elsewhere under the same name, or one like it."""
    for place in ("math", "nn", "linalg", "random"):
        if name in _import_module(f"berth.{place}").__all__:
            return f"There is tf.{place}.{name}."
    # As an attribute: to import it would make this a program of TensorFlow 1.
    if name in _import_module("berth.compat").v1.__all__:
        return f"It is TensorFlow 1's: tf.compat.v1.{name}, or `import berth.compat.v1 as tf`."
    return errors.did_you_mean(name, __all__)
