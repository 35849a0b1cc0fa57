"""What the layers of `tf.contrib.layers` share: their variables' names and collections."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from berth.front.graph_scope import add_to_collections
from berth.layers.contrib.variables import model_variable
from berth.variables.scope import variable_scope

_NAMES = {
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}
"""How the variables of `tf.layers` are called here."""

_OPTIONS = (
    "shape",
    "dtype",
    "initializer",
    "regularizer",
    "trainable",
    "collections",
    "caching_device",
    "partitioner",
    "use_resource",
)
"""What `model_variable` takes of the options of a variable."""


def layer_scope(
    scope: Any, default: str, inputs: Any, reuse: Any, names: Mapping[str, str] = _NAMES
) -> variable_scope:
    """Open the variable scope of a layer, whose variables belong to the model."""
    getter = partial(_get_variable, names)
    return variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=getter)


def _get_variable(
    names: Mapping[str, str], getter: Any, name: str, *arguments: Any, **options: Any
) -> Any:
    place, slash, own = name.rpartition("/")
    given = {option: options.pop(option) for option in _OPTIONS if option in options}
    if given.get("trainable") is None:
        given["trainable"] = True
    return model_variable(
        f"{place}{slash}{names.get(own, own)}",
        custom_getter=partial(getter, **options),
        **given,
    )


def add_variables(collections: Any, **variables: Any) -> None:
    """Add a layer's variables to the collections that are given for all, or by name."""
    for name, variable in variables.items():
        keys = collections.get(name) if isinstance(collections, dict) else collections
        if variable is not None and keys:
            add_to_collections(keys, variable)


def channels(data_format: str | None, choices: tuple[str, ...] = ("NCHW", "NHWC")) -> str:
    """Return the data format as `tf.layers` names it."""
    if data_format is not None and data_format not in choices:
        raise ValueError("data_format has to be either NCHW or NHWC.")
    is_first = data_format is not None and data_format.startswith("NC")
    return "channels_first" if is_first else "channels_last"


def normalized(outputs: Any, normalizer_fn: Any, normalizer_params: Any) -> Any:
    """Apply a normalizer, if one is given."""
    if normalizer_fn is None:
        return outputs
    return normalizer_fn(outputs, **(normalizer_params or {}))
