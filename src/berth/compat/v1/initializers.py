"""``tf.initializers``: first values for variables."""

from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.variables.collections import global_variables_initializer as global_variables
from berth.variables.collections import local_variables_initializer as local_variables
from berth.variables.collections import tables_initializer
from berth.variables.collections import variables_initializer as variables
from berth.variables.initializers_v1 import Constant as constant
from berth.variables.initializers_v1 import GlorotNormal as glorot_normal
from berth.variables.initializers_v1 import GlorotUniform as glorot_uniform
from berth.variables.initializers_v1 import Identity as identity
from berth.variables.initializers_v1 import Ones as ones
from berth.variables.initializers_v1 import Orthogonal as orthogonal
from berth.variables.initializers_v1 import RandomNormal as random_normal
from berth.variables.initializers_v1 import RandomUniform as random_uniform
from berth.variables.initializers_v1 import TruncatedNormal as truncated_normal
from berth.variables.initializers_v1 import UniformUnitScaling as uniform_unit_scaling
from berth.variables.initializers_v1 import VarianceScaling as variance_scaling
from berth.variables.initializers_v1 import Zeros as zeros
from berth.variables.initializers_v1 import he_normal, he_uniform, lecun_normal, lecun_uniform

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
# --- end

_explain_missing_names(__name__, __all__)
