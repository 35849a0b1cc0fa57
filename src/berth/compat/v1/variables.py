"""Variables of TensorFlow 1: making, finding, initialising and writing them."""

from berth.variables.assignment import (
    assign,
    assign_add,
    assign_sub,
    batch_scatter_update,
    count_up_to,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from berth.variables.collections import (
    all_variables,
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    initialize_local_variables,
    initialize_variables,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from berth.variables.initializers_v1 import Constant as constant_initializer
from berth.variables.initializers_v1 import GlorotNormal as glorot_normal_initializer
from berth.variables.initializers_v1 import GlorotUniform as glorot_uniform_initializer
from berth.variables.initializers_v1 import Ones as ones_initializer
from berth.variables.initializers_v1 import Orthogonal as orthogonal_initializer
from berth.variables.initializers_v1 import RandomNormal as random_normal_initializer
from berth.variables.initializers_v1 import RandomUniform as random_uniform_initializer
from berth.variables.initializers_v1 import TruncatedNormal as truncated_normal_initializer
from berth.variables.initializers_v1 import (
    UniformUnitScaling as uniform_unit_scaling_initializer,
)
from berth.variables.initializers_v1 import VarianceScaling as variance_scaling_initializer
from berth.variables.initializers_v1 import Zeros as zeros_initializer
from berth.variables.scope import (
    get_local_variable,
    get_variable,
    no_regularizer,
    variable_scope,
)
from berth.variables.store import (
    AUTO_REUSE,
    VariableScope,
    disable_resource_variables,
    enable_resource_variables,
    get_variable_scope,
    resource_variables_enabled,
)
from berth.variables.template import make_template
from berth.variables.variable import Variable

__all__ = [
    "AUTO_REUSE",
    "Variable",
    "VariableScope",
    "all_variables",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "batch_scatter_update",
    "constant_initializer",
    "count_up_to",
    "disable_resource_variables",
    "enable_resource_variables",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "make_template",
    "model_variables",
    "moving_average_variables",
    "no_regularizer",
    "ones_initializer",
    "orthogonal_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "report_uninitialized_variables",
    "resource_variables_enabled",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "trainable_variables",
    "truncated_normal_initializer",
    "uniform_unit_scaling_initializer",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]
