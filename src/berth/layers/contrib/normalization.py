"""Batch and layer normalization of `tf.contrib.layers`."""

from __future__ import annotations

from typing import Any

from berth.front.graph_scope import add_to_collections, control_dependencies
from berth.graph.keys import GraphKeys
from berth.layers.contrib.arg_scope import add_arg_scope
from berth.layers.contrib.base import add_variables, channels, layer_scope
from berth.layers.contrib.outputs import collect_named_outputs
from berth.layers.contrib.variables import model_variable
from berth.layers.normalization import BatchNormalization
from berth.ops.arrays.array import identity, reshape
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.compose import convert
from berth.ops.nn.normalization import batch_normalization, moments_v1
from berth.ops.nn.softmax import softmax as soft
from berth.public import public_v1
from berth.variables.initializers_v1 import Ones, Zeros
from berth.variables.scope import variable_scope


class _BatchNormalization(BatchNormalization):
    """Batch normalization whose updates go to collections of the caller's choice."""

    def __init__(self, updates_collections: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._updates_collections = updates_collections

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            self._updates.append(update)
            if self._updates_collections is not None:
                add_to_collections(self._updates_collections, update)

    def updated(self, outputs: Any) -> Any:
        """Return the outputs, after the updates if no collection has them."""
        if self._updates_collections is not None or not self.updates:
            return outputs
        with control_dependencies(self.updates):
            return identity(outputs)


_NAMES = ("moving_mean", "moving_variance", "beta", "gamma")


def _refuse(*options: Any) -> None:
    if any(option is not None and option is not False for option in options):
        raise NotImplementedError(
            "berth's batch_norm has no batch_weights, renorm, adjustment or "
            "zero_debias_moving_mean."
        )


def _parameters(initializers: dict[str, Any], regularizers: dict[str, Any]) -> dict[str, Any]:
    return {
        "beta_initializer": initializers.get("beta", Zeros()),
        "gamma_initializer": initializers.get("gamma", Ones()),
        "moving_mean_initializer": initializers.get("moving_mean", Zeros()),
        "moving_variance_initializer": initializers.get("moving_variance", Ones()),
        "beta_regularizer": regularizers.get("beta"),
        "gamma_regularizer": regularizers.get("gamma"),
    }


@public_v1("contrib.layers.batch_norm", "contrib.slim.batch_norm")
@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Batch normalization; without `updates_collections` it updates its averages at once."""
    _refuse(batch_weights, renorm, adjustment, zero_debias_moving_mean)
    place = channels(data_format)
    with layer_scope(scope, "BatchNorm", inputs, reuse) as inner:
        inputs = convert(inputs)
        layer = _BatchNormalization(
            updates_collections,
            axis=1 if place == "channels_first" else -1,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            trainable=trainable,
            name=inner.name,
            _scope=inner,
            _reuse=reuse,
            fused=fused,
            **_parameters(param_initializers or {}, param_regularizers or {}),
        )
        outputs = _normalized(layer, inputs, is_training, fused)
        add_variables(variables_collections, **{name: getattr(layer, name) for name in _NAMES})
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, inner.name, outputs)


def _normalized(layer: _BatchNormalization, inputs: Any, training: Any, fused: Any) -> Any:
    """Normalize; a matrix as an image of one pixel, for which there is the fused kernel."""
    if inputs.shape.rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank")
    sizes = inputs.shape.as_list()
    if len(sizes) != 2 or fused is False:
        return layer.updated(layer(inputs, training=training))
    if sizes[1] is None:
        raise ValueError("`C` dimension must be known but is None")
    wide = [-1, 1, 1, sizes[1]] if layer.axis == [-1] else [-1, sizes[1], 1, 1]
    outputs = layer.updated(layer(reshape(inputs, wide), training=training))
    return reshape(outputs, [-1 if size is None else size for size in sizes])


@public_v1("contrib.layers.layer_norm", "contrib.slim.layer_norm")
@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Layer normalization: each example is normalized along its own axes."""
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as inner:
        inputs = convert(inputs)
        rank = inputs.shape.rank
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if first >= rank or begin_params_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({first}) must "
                f"be < rank(inputs) ({rank})"
            )
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully "
                f"defined: {inputs.shape}"
            )

        def parameter(name: str, initializer: Any) -> Any:
            variable = model_variable(
                name,
                shape=shape,
                dtype=inputs.dtype.base_dtype,
                initializer=initializer,
                trainable=trainable,
            )
            add_variables(variables_collections, **{name: variable})
            return variable

        beta = parameter("beta", Zeros()) if center else None
        gamma = parameter("gamma", Ones()) if scale else None
        mean, variance = moments_v1(inputs, list(range(first, rank)), keep_dims=True)
        outputs: Any = batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, inner.name, outputs)


@public_v1("contrib.layers.softmax", "contrib.slim.softmax")
def softmax(logits: Any, scope: Any = None) -> Any:
    """Softmax along the last axis."""
    with variable_scope(scope, "softmax", [logits]):
        size = logits.shape.as_list()[-1]
        flat = soft(reshape(logits, [-1, size]))
        result: Any = reshape(flat, shape_of(logits))
        result.set_shape(logits.shape)
        return result
