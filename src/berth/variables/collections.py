"""Collections of the variables of a graph, and their initializer operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import constant
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import rank
from berth.ops.compose import scope as open_scope
from berth.ops.elementwise.compare import logical_not
from berth.ops.flow.control import group, no_op
from berth.ops.state.variables import REFERENCE_IS_INITIALIZED
from berth.public import public_v1
from berth.variables.assignment import beside
from berth.variables.variable import Variable

# --- collections --------------------------------------------------------------------------


@public_v1("global_variables")
def global_variables(scope: str | None = None) -> list[Variable]:
    """Global variables of the default graph; with a scope, those whose names match it."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@public_v1("local_variables")
def local_variables(scope: str | None = None) -> list[Variable]:
    """Local variables of the default graph, which are not saved."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@public_v1("trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Trainable variables of the default graph."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@public_v1("model_variables")
def model_variables(scope: str | None = None) -> list[Variable]:
    """Variables in the collection MODEL_VARIABLES."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


@public_v1("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Variables of which moving averages are kept."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@public_v1("all_variables")
def all_variables() -> list[Variable]:
    """Global variables of the default graph: the old name of `global_variables`."""
    return global_variables()


# --- initializer operations ---------------------------------------------------------------


@public_v1("variables_initializer", "initializers.variables")
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """Operation that initializes a list of variables."""
    return group(*[variable.initializer for variable in var_list], name=name)


@public_v1("global_variables_initializer", "initializers.global_variables")
def global_variables_initializer() -> Any:
    """Operation that initializes all global variables."""
    return variables_initializer(global_variables())


@public_v1("local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Any:
    """Operation that initializes all local variables."""
    return variables_initializer(local_variables())


@public_v1("tables_initializer", "initializers.tables_initializer")
def tables_initializer(name: str = "init_all_tables") -> Any:
    """Operation that initializes all lookup tables of the default graph."""
    found = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*found, name=name) if found else no_op(name=name)


@public_v1("initialize_all_tables")
def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """Initialize all lookup tables: the old name of `tables_initializer`."""
    return tables_initializer(name)


@public_v1("initialize_variables")
def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """Initialize variables: the old name of `variables_initializer`."""
    return variables_initializer(var_list, name)


@public_v1("initialize_all_variables")
def initialize_all_variables() -> Any:
    """Initialize all variables: the old name of `global_variables_initializer`."""
    return global_variables_initializer()


@public_v1("initialize_local_variables")
def initialize_local_variables() -> Any:
    """Initialize local variables: the old name of `local_variables_initializer`."""
    return local_variables_initializer()


# --- checks of initialization -------------------------------------------------------------


@public_v1("is_variable_initialized")
def is_variable_initialized(variable: Any) -> Any:
    """Tell whether a variable is initialized."""
    if isinstance(variable, SymbolicTensor):
        return beside(variable, REFERENCE_IS_INITIALIZED, (), {}, None)
    return variable.is_initialized()


@public_v1("report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: Any = None, name: str = "report_uninitialized_variables"
) -> Any:
    """Names of the variables that are not initialized."""
    variables = _or_all(var_list)
    with open_scope("report_uninitialized_variables", name):
        if not variables:
            return constant(np.array([], object), dtype="string")
        has_value = [is_variable_initialized(variable) for variable in variables]
        with get_default_graph().device("/cpu:0"):
            is_missing = logical_not(stack(has_value))
            names = constant([variable.op.name for variable in variables])
            return boolean_mask(names, is_missing)


@public_v1("assert_variables_initialized")
def assert_variables_initialized(var_list: Any = None) -> Any:
    """Operation that fails unless variables are initialized; None if there are none."""
    ranks = []
    for variable in _or_all(var_list):
        value = variable.read_value()
        with get_default_graph().control_dependencies([value]):
            ranks.append(rank(value))
    if not ranks:
        return None
    return ranks[0] if len(ranks) == 1 else stack(ranks)


def _or_all(var_list: Any) -> list[Any]:
    if var_list is None:
        return [*global_variables(), *local_variables()]
    return list(var_list)
