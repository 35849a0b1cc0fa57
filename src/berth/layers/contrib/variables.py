"""``slim.variable``, ``slim.model_variable``, and variables by scope and name."""

from __future__ import annotations

import re
from typing import Any

from berth.front.device_scope import device_v1
from berth.front.graph_scope import add_to_collection, get_collection
from berth.graph.keys import GraphKeys
from berth.layers.contrib.arg_scope import add_arg_scope
from berth.public import public_v1
from berth.variables.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from berth.variables.scope import get_variable

for _function in (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
):
    _name = _function.__name__
    public_v1(f"contrib.framework.{_name}", f"contrib.slim.{_name}")(_function)


@public_v1("contrib.framework.variable", "contrib.slim.variable")
@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: bool | None = None,
) -> Any:
    """Get or create a variable, on a device if one is given."""
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    getter = get_variable if custom_getter is None else custom_getter
    with device_v1(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(keys)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
        )


@public_v1("contrib.framework.model_variable", "contrib.slim.model_variable")
@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: bool | None = None,
) -> Any:
    """Get or create a variable of the model, in ``GraphKeys.MODEL_VARIABLES`` too."""
    keys = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=keys,
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
    )


@public_v1("contrib.framework.add_model_variable", "contrib.slim.add_model_variable")
def add_model_variable(var: Any) -> None:
    """Add a variable to those of the model."""
    if var not in get_collection(GraphKeys.MODEL_VARIABLES):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


@public_v1("contrib.framework.get_variables", "contrib.slim.get_variables")
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Return the variables of a scope whose names end with a suffix."""
    if hasattr(scope, "name"):
        scope = scope.name
    if suffix is not None:
        suffix = suffix if ":" in suffix else f"{suffix}:0"
        scope = f"{scope or ''}.*{suffix}"
    return get_collection(collection, scope)


@public_v1("contrib.framework.get_model_variables", "contrib.slim.get_model_variables")
def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the variables of the model."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@public_v1("contrib.framework.get_local_variables", "contrib.slim.get_local_variables")
def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the local variables."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@public_v1("contrib.framework.get_trainable_variables", "contrib.slim.get_trainable_variables")
def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the trainable variables."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


@public_v1("contrib.framework.get_variables_by_suffix", "contrib.slim.get_variables_by_suffix")
def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Return the variables whose names end with a suffix."""
    return get_variables(scope, suffix)


@public_v1("contrib.framework.get_variables_by_name", "contrib.slim.get_variables_by_name")
def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the variables of a name, in whatever scope."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


@public_v1("contrib.framework.get_unique_variable", "contrib.slim.get_unique_variable")
def get_unique_variable(var_op_name: str) -> Any:
    """Return the one variable of a name; ValueError if there is none, or more."""
    found = get_variables(var_op_name)
    if not found:
        raise ValueError(f"Variable {var_op_name} does not exist.")
    for each in found:
        if each.op.name == var_op_name:
            return each
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable.")


@public_v1(
    "contrib.framework.get_variables_to_restore", "contrib.slim.get_variables_to_restore"
)
def get_variables_to_restore(
    include: list[str] | None = None, exclude: list[str] | None = None
) -> list[Any]:
    """Return the variables of some scopes, without those of others."""
    if include is None:
        found = get_variables()
    else:
        if not isinstance(include, list | tuple):
            raise TypeError("include is provided but is not a list or a tuple.")
        found = [each for scope in include for each in get_variables(scope)]
    if exclude is None:
        return found
    if not isinstance(exclude, list | tuple):
        raise TypeError("exclude is provided but is not a list or a tuple.")
    excluded = {id(each) for scope in exclude for each in get_variables(scope)}
    return [each for each in found if id(each) not in excluded]


@public_v1("contrib.framework.filter_variables", "contrib.slim.filter_variables")
def filter_variables(
    var_list: list[Any],
    include_patterns: list[str] | None = None,
    exclude_patterns: list[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Return the variables whose names match an included pattern, and no excluded one."""
    matches = re.search if reg_search else re.match

    def is_one(patterns: list[str], var: Any) -> bool:
        return any(matches(pattern, var.op.name) for pattern in patterns)

    if include_patterns is not None:
        var_list = [var for var in var_list if is_one(include_patterns, var)]
    return [var for var in var_list if not is_one(exclude_patterns or [], var)]
